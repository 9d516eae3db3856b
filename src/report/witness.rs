//! Who waited longest, when and where.

use crate::contention::Evidence;
use crate::event::{Comm, Context, Cpu, StackId, Tid};

/// What is kept of a row's longest wait. Ordered by time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Witness {
    /// When it began, in ns of the trace clock.
    pub ts_ns: u64,
    /// The waiting thread; in interrupt context the interrupted one.
    pub tid: Tid,
    /// Its name at the begin; none where it was never learned.
    pub comm: Option<Comm>,
    /// The CPU it began on.
    pub cpu: Cpu,
    /// Where it waited.
    pub context: Context,
    /// The kernel stack of the begin, where one was recorded.
    pub stack: Option<StackId>,
    /// Whoever had the lock, where that is known.
    pub holder: Option<ItsHolder>,
}

/// The holder that a row's longest wait waited for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct ItsHolder {
    /// The thread.
    pub tid: Tid,
    /// Its name when it let the lock go; none where it was never learned.
    pub comm: Option<Comm>,
    /// How it is known.
    pub evidence: Evidence,
    /// The code address at which it let the lock go, where a stack was recorded.
    pub caller: Option<u64>,
}
