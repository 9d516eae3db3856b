//! A finished wait, and one that is still open.

use crate::event::{Head, LockFlags, StackId};

/// How a finished wait ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// The waiter got the lock.
    Acquired,
    /// The waiter gave up; a negative errno says why.
    Failed(i32),
    /// The wait overlaps a loss: its end may be another wait's, its time is an upper bound.
    Uncertain,
}

/// A wait with its begin and its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Wait {
    /// The first begin: who waited, from when, where. The wait's name is that of this instant.
    pub begin: Head,
    /// The end, in ns of the trace clock; never before the begin.
    pub end_ns: u64,
    /// The lock's address.
    pub lock: u64,
    /// The first begin's flags.
    pub flags: LockFlags,
    /// What `contention_end` returned: zero or a negative errno.
    pub ret: i32,
    /// The kernel stack of the begin, where one was recorded.
    pub stack: Option<StackId>,
    /// A mutex's waiter gave up spinning and slept.
    pub slept: bool,
    /// Events that may belong to this wait were lost.
    pub uncertain: bool,
    /// The lock is a part of the lock that the task waits for around this wait: its time is in
    /// the outer wait's too.
    pub internal: bool,
}

impl Wait {
    /// From the first begin to the end, in ns.
    pub fn wait_ns(&self) -> u64 {
        self.end_ns.saturating_sub(self.begin.ts_ns)
    }

    /// How it ended; a loss outweighs a failure, since its time may be wrong.
    pub fn outcome(&self) -> Outcome {
        match self.ret {
            _ if self.uncertain => Outcome::Uncertain,
            0.. => Outcome::Acquired,
            errno => Outcome::Failed(errno),
        }
    }
}

/// A wait without an end (yet).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OpenWait {
    /// Its first begin.
    pub begin: Head,
    /// The lock's address.
    pub lock: u64,
    /// The first begin's flags.
    pub flags: LockFlags,
    /// The kernel stack of the begin, where one was recorded.
    pub stack: Option<StackId>,
    /// A later begin was without spinning.
    pub slept: bool,
    /// Its end may have been lost.
    pub uncertain: bool,
    /// An end of the same task and lock on another CPU, just before this begin, that had none:
    /// if this wait gets no end of its own, the clocks of the two CPUs disagree.
    pub(super) suspect: Option<super::sleepers::Unmatched>,
}

impl OpenWait {
    pub(super) fn new(begin: &Head, lock: u64, flags: LockFlags) -> OpenWait {
        OpenWait {
            begin: *begin,
            lock,
            flags,
            stack: None,
            slept: false,
            uncertain: false,
            suspect: None,
        }
    }
}
