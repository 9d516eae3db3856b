//! Futex calls: the waits of user space's locks.

use std::collections::HashSet;

use foldhash::fast::FixedState;

use super::super::nest::Matched;
use super::super::wait::{Cause, Wait};
use super::{MAX_SEEN, Sleepers};
use crate::event::{FutexCall, FutexOp, Head, Tid};

/// Which tasks are in futex calls, as far as their waits do not tell.
#[derive(Debug, Default)]
pub(super) struct Calls {
    /// In a call that does not wait.
    other: HashSet<Tid, FixedState>,
    /// Seen to begin a call, or to be born: an end without a begin is not from before the start.
    seen: HashSet<Tid, FixedState>,
    any_gap: bool,
}

impl Calls {
    /// A task was born.
    pub(super) fn born(&mut self, tid: Tid) {
        self.other.remove(&tid);
        self.see(tid);
    }

    /// Events were lost: whatever ends now may have begun in the gap.
    pub(super) fn forget(&mut self) {
        self.other.clear();
        self.any_gap = true;
    }

    fn see(&mut self, tid: Tid) {
        if self.seen.len() < MAX_SEEN {
            self.seen.insert(tid);
        }
    }

    fn began_before_start(&self, tid: Tid) -> bool {
        !self.any_gap && self.seen.len() < MAX_SEEN && !self.seen.contains(&tid)
    }
}

impl Sleepers {
    pub(super) fn enter_call(&mut self, head: &Head, call: FutexCall) {
        self.calls.other.remove(&head.tid);
        self.calls.see(head.tid);
        if call.op != FutexOp::Other {
            self.begin(head, call.address, Cause::Futex(call));
        } else if self.calls.other.len() < MAX_SEEN {
            self.calls.other.insert(head.tid);
        }
    }

    pub(super) fn exit_call(&mut self, head: &Head, ret: i64) -> Option<Wait> {
        if self.calls.other.remove(&head.tid) {
            return None;
        }
        self.counts.futexes.ends_read += 1;
        // `futex_waitv` returns which one woke it.
        let ret = i32::try_from(ret).unwrap_or(if ret < 0 { i32::MIN } else { 0 }).min(0);
        let matched = match self.waiters.get_mut(&head.tid) {
            Some(nest) => nest.end_futex(head, ret, &mut self.counts),
            None => Matched::Nothing,
        };
        self.drop_if_empty(head.tid);
        match matched {
            Matched::Wait(wait) => return Some(self.finished(wait, head)),
            Matched::Nothing if self.calls.began_before_start(head.tid) => {
                self.counts.futexes.began_before_start += 1;
            }
            Matched::Nothing => self.counts.futexes.orphan_end += 1,
            Matched::NoWait | Matched::Overflowed => {}
        }
        self.calls.see(head.tid);
        None
    }
}
