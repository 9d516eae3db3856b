//! What became known of futexes' names, and when: for who reads a recording later.

use crate::cmdline_cache::CmdlineCache;
use crate::contention::Process;
use crate::event::{Context, Cpu, Head, Stamp, Tid};
use crate::symbols::NamedBy;

use super::super::spaces::process;

/// Something that became known of names. It holds for waits that end behind an instant: those up to there
/// were named without it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NameNews {
    /// The instant, in ns of the trace clock.
    pub since_ns: u64,
    /// What.
    pub what: NameChange,
}

/// What became known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NameChange {
    /// Futexes have names.
    Named {
        /// Whose.
        of: Moment,
        /// The names.
        names: Vec<ToldName>,
    },
    /// The process that was told of as this one's has none any more: it ended, or runs another program.
    Over(Moment),
    /// All names were dropped for want of room.
    Dropped,
}

/// The name of a futex.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToldName {
    /// Its address in the process.
    pub address: u64,
    /// Its name.
    pub name: String,
    /// What that is the name of.
    pub by: NamedBy,
}

/// A process: who had its id at an instant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Moment {
    /// The id.
    pub pid: Tid,
    /// The instant, in ns of the trace clock.
    pub at_ns: u64,
}

impl Moment {
    pub(super) fn process(self, cache: &CmdlineCache) -> Process {
        let (stamp, context) = (Stamp::before(self.at_ns), Context::Task);
        process(&Head { stamp, ts_ns: self.at_ns, cpu: Cpu(0), tid: self.pid, context }, cache)
    }
}
