//! What ftlock says in a file about tasks: what /proc showed of them, and when.

use serde::{Deserialize, Serialize};

use crate::cmdline_cache::{Look, Said, SeededTask};
use crate::event::{Comm, Stamp, Tid};
use crate::pipeline::Blocked;

use super::byte_text::ByteText;
use super::saved_names::harmless;

/// A task that /proc listed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct TaskLine {
    at_ns: u64,
    tid: u32,
    tgid: u32,
    comm: ByteText,
    start_time: u64,
    kernel_thread: bool,
}

/// What /proc said of a task beyond its name; no text where it was gone.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct LookLine {
    at_ns: u64,
    /// Whether that is behind all events of this time, or before them.
    behind: bool,
    tid: u32,
    tgid: u32,
    text: Option<ByteText>,
}

/// A task that was blocked all the time.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct BlockedLine {
    tid: u32,
    tgid: u32,
    comm: ByteText,
    stack: Vec<String>,
}

impl TaskLine {
    pub(super) fn new((task, at): &(SeededTask, Stamp)) -> TaskLine {
        let SeededTask { tid, tgid, comm, start_time, kernel_thread } = *task;
        let (at_ns, tid, tgid) = (at.ts_ns, tid.0, tgid.0);
        let comm = ByteText(comm.as_bytes().to_vec());
        TaskLine { at_ns, tid, tgid, comm, start_time, kernel_thread }
    }

    pub(super) fn task(self) -> (SeededTask, Stamp) {
        let TaskLine { at_ns, tid, tgid, comm, start_time, kernel_thread } = self;
        let (tid, tgid, comm) = (Tid(tid), Tid(tgid), Comm::new(&comm.0));
        let task = SeededTask { tid, tgid, comm, start_time, kernel_thread };
        (task, Stamp::before(at_ns))
    }
}

impl BlockedLine {
    pub(super) fn new(Blocked { tid, tgid, comm, stack, .. }: &Blocked) -> BlockedLine {
        let (tid, tgid, comm) = (tid.0, tgid.0, ByteText(comm.as_bytes().to_vec()));
        BlockedLine { tid, tgid, comm, stack: stack.clone() }
    }

    pub(super) fn blocked(self) -> Blocked {
        let BlockedLine { tid, tgid, comm, stack } = self;
        let stack = stack.iter().map(|function| harmless(function)).collect();
        Blocked::told(Tid(tid), Tid(tgid), Comm::new(&comm.0), stack)
    }
}

impl LookLine {
    pub(super) fn new(look: &Look) -> LookLine {
        let text = match &look.said {
            Said::Cgroup(text) | Said::Cmdline(text) => text.clone().map(ByteText),
        };
        LookLine {
            at_ns: look.at.ts_ns,
            behind: look.at == Stamp::behind(look.at.ts_ns),
            tid: look.tid.0,
            tgid: look.tgid.0,
            text,
        }
    }

    pub(super) fn look(self, said: fn(Option<Vec<u8>>) -> Said) -> Look {
        let LookLine { at_ns, behind, tid, tgid, text } = self;
        let at = if behind { Stamp::behind(at_ns) } else { Stamp::before(at_ns) };
        Look { at, tid: Tid(tid), tgid: Tid(tgid), said: said(text.map(|text| text.0)) }
    }
}
