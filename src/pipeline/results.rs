//! What comes out of the stages: window by window, and at the end.

use std::collections::HashMap;

use crate::aggregate::Snapshot;
use crate::cmdline_cache::{CacheCounters, FactsGivenUp};
use crate::contention::CauseCounts;
use crate::event::{Cpu, Gap};
use crate::report::{Chains, FutexId, RowKey, RowStats, Table, Witness};
use crate::symbols::{LockName, StackTable};

use super::lane::ReadCounts;
use super::named::{Kept, NamedWait, OpenNamed};
use super::raw::RawEvent;
use super::user_names::NamesGivenUp;

/// Where a window's results go, each in the order of time.
pub trait Sink {
    /// Whether it wants to have each finished wait: else none need come.
    fn wants_waits(&self) -> bool;
    /// A finished wait that is kept; its stack is one of `stacks`.
    fn wait(&mut self, wait: &NamedWait, stacks: &StackTable);
    /// Any event, in raw mode.
    fn event(&mut self, event: &RawEvent<'_>);
    /// Events were lost on a CPU, up to `before_ns`.
    fn gap(&mut self, cpu: Cpu, gap: &Gap, before_ns: u64);
    /// A wait that lasts and is not over yet, where that is of interest.
    fn lasting(&mut self, _wait: &OpenNamed, _stacks: &StackTable) {}
}

/// A stream that is not wanted.
impl<S: Sink> Sink for Option<S> {
    fn wants_waits(&self) -> bool {
        self.as_ref().is_some_and(Sink::wants_waits)
    }

    fn wait(&mut self, wait: &NamedWait, stacks: &StackTable) {
        self.iter_mut().for_each(|sink| sink.wait(wait, stacks));
    }

    fn event(&mut self, event: &RawEvent<'_>) {
        self.iter_mut().for_each(|sink| sink.event(event));
    }

    fn gap(&mut self, cpu: Cpu, gap: &Gap, before_ns: u64) {
        self.iter_mut().for_each(|sink| sink.gap(cpu, gap, before_ns));
    }

    fn lasting(&mut self, wait: &OpenNamed, stacks: &StackTable) {
        self.iter_mut().for_each(|sink| sink.lasting(wait, stacks));
    }
}

/// What a run came to.
#[derive(Debug)]
pub struct Results {
    /// Where every begin and end went.
    pub counts: CauseCounts,
    /// Locks whose holders were forgotten for want of room.
    pub holders_forgotten: u64,
    /// Futexes whose earlier waits were forgotten for want of room.
    pub words_forgotten: u64,
    /// Switches between tasks that were not recorded although no event was lost.
    pub switches_missing: u64,
    /// Where every finished wait went.
    pub kept: Kept,
    /// The waits that were asked for and still open at the end, oldest first.
    pub open: Vec<OpenNamed>,
    /// The rows.
    pub rows: Snapshot<RowKey, Witness>,
    /// All rows of a table together, by its place in [`Table::ALL`].
    pub(super) totals: [RowStats; Table::ALL.len()],
    /// Where rows are by lock: what the locks are known as, by address.
    pub lock_names: HashMap<u64, LockName>,
    /// Likewise of futexes.
    pub futex_names: HashMap<FutexId, LockName>,
    /// What could not be done for those.
    pub user_names: NamesGivenUp,
    /// The chains that rows stand for.
    pub chains: Chains,
    /// Tasks whose waits were forgotten for want of room: chains may lack their ends.
    pub chains_forgotten: u64,
    /// What each CPU's sub-buffers held.
    pub read: Vec<(Cpu, ReadCounts)>,
    /// Records or lines of a saved trace that could not be read, each by itself.
    pub unread: u64,
    /// The kernel stacks of the waits.
    pub stacks: StackTable,
    /// What the names came from.
    pub names: CacheCounters,
    /// What of cgroups and command lines had to be given up.
    pub facts: FactsGivenUp,
    /// Up to when it is known what happened, in ns of the trace clock.
    pub end_ns: u64,
}

impl Results {
    /// All waits of a table that are kept, together.
    pub fn totals(&self, table: Table) -> &RowStats {
        let [locks, ..] = &self.totals;
        self.totals.get(table.index()).unwrap_or(locks)
    }
}

/// The rows of each table and its overflow rows, together.
pub(super) fn totals(rows: &Snapshot<RowKey, Witness>) -> [RowStats; Table::ALL.len()] {
    let mut totals: [RowStats; Table::ALL.len()] = Default::default();
    let mut add = |table: Table, stats| {
        if let Some(total) = totals.get_mut(table.index()) {
            total.merge(stats);
        }
    };
    rows.rows.iter().for_each(|(key, stats)| add(key.table(), stats));
    let overflow = rows.overflow.iter().enumerate();
    overflow.for_each(|(bucket, stats)| add(RowKey::of_bucket(bucket).table(), stats));
    totals
}
