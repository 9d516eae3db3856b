//! A finished wait, and one that is still open.

use super::holders::Holder;
use super::off_cpu::OffCpu;
use crate::event::{FutexCall, FutexOp, Head, LeftAs, LockFlags, StackId, WaitKind};

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

/// What a task waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cause {
    /// A lock of the kernel's; the flags of the wait's first begin.
    Lock(LockFlags),
    /// A futex.
    Futex(FutexCall),
    /// Whatever it sleeps for.
    Sleep(LeftAs),
}

impl Cause {
    /// The kind of lock, or what else it is.
    pub fn kind(self) -> WaitKind {
        match self {
            Cause::Lock(flags) => flags.kind(),
            Cause::Futex(FutexCall { op: FutexOp::LockPi, .. }) => WaitKind::FutexPi,
            Cause::Futex(_) => WaitKind::Futex,
            Cause::Sleep(_) => WaitKind::Sleep,
        }
    }

    /// The waiter stays on its CPU: see [`LockFlags::is_spinning`].
    pub fn is_spinning(self) -> bool {
        matches!(self, Cause::Lock(flags) if flags.is_spinning())
    }

    /// The flags, if it is a lock of the kernel's.
    pub fn flags(self) -> Option<LockFlags> {
        match self {
            Cause::Lock(flags) => Some(flags),
            Cause::Futex(_) | Cause::Sleep(_) => None,
        }
    }

    /// The call, if it is a futex.
    pub fn futex(self) -> Option<FutexCall> {
        match self {
            Cause::Futex(call) => Some(call),
            Cause::Lock(_) | Cause::Sleep(_) => None,
        }
    }

    /// It is a futex.
    pub fn is_futex(self) -> bool {
        self.futex().is_some()
    }

    pub(super) fn is_mutex(self) -> bool {
        self.flags().is_some_and(LockFlags::is_mutex)
    }
}

/// A wait with its begin and its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Wait {
    /// The first begin: who waited, from when, where. The wait's name is that of this instant.
    pub begin: Head,
    /// The end, in ns of the trace clock; never before the begin.
    pub end_ns: u64,
    /// The lock's address: a futex's is one of its process, and a sleep has none (0).
    pub lock: u64,
    /// What was waited for.
    pub cause: Cause,
    /// What the end returned: zero, or a negative errno.
    pub ret: i32,
    /// The kernel stack of the begin, where one was recorded.
    pub stack: Option<StackId>,
    /// The waiter slept, as far as that is known: it left its CPU, or its lock's begin says so.
    pub slept: bool,
    /// Where its time went, as far as the scheduler's events were recorded.
    pub off_cpu: OffCpu,
    /// Whose doing ended it, where that is known.
    pub holder: Option<Holder>,
    /// Events that may belong to this wait were lost.
    pub uncertain: bool,
    /// The lock is a part of the lock that the task waits for around this wait: its time is in
    /// the outer wait's too.
    pub internal: bool,
    /// It was a wait for something to do, not for a lock, as [`super::Words`] tell of a futex.
    pub idle: bool,
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
    /// What is waited for.
    pub cause: Cause,
    /// The kernel stack of the begin, where one was recorded.
    pub stack: Option<StackId>,
    /// The waiter has slept, as far as that is known.
    pub slept: bool,
    /// Where its time went so far; what it does now not included.
    pub off_cpu: OffCpu,
    /// Who woke it last, and, when tracing stops, who probably has the lock.
    pub holder: Option<Holder>,
    /// Its end may have been lost.
    pub uncertain: bool,
    /// It has been told of as one that lasts.
    pub(super) told: bool,
    /// An end of the same task and lock on another CPU, just before this begin, that had none:
    /// if this wait gets no end of its own, the clocks of the two CPUs disagree.
    pub(super) suspect: Option<super::sleepers::Unmatched>,
}

impl OpenWait {
    pub(super) fn new(begin: &Head, lock: u64, cause: Cause) -> OpenWait {
        OpenWait {
            begin: *begin,
            lock,
            cause,
            stack: None,
            slept: !cause.is_mutex() && !cause.is_spinning(),
            off_cpu: OffCpu::default(),
            holder: None,
            uncertain: false,
            told: false,
            suspect: None,
        }
    }
}
