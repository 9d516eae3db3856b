//! Futex system calls.

/// A futex system call that may wait, as it begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FutexCall {
    /// What it does.
    pub op: FutexOp,
    /// The futex's address in the caller's address space; of `futex_waitv` that of its list.
    pub address: u64,
    /// The value that the caller expects there. What it means is up to the lock's code.
    pub value: u32,
    /// Other processes may share the futex: it was not said to be private.
    pub shared: bool,
    /// It gives up after a time.
    pub timed: bool,
}

/// How a futex system call waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum FutexOp {
    /// Waits while the value is there (`FUTEX_WAIT`, `FUTEX_WAIT_BITSET`, `futex_wait`).
    Wait,
    /// Waits for one of several (`futex_waitv`).
    WaitAny,
    /// Waits for a lock with priority inheritance (`FUTEX_LOCK_PI`, `FUTEX_LOCK_PI2`).
    LockPi,
    /// Waits for a condition, and then for the lock (`FUTEX_WAIT_REQUEUE_PI`).
    WaitRequeuePi,
}

const FUTEX_PRIVATE: u32 = 128;
const FUTEX_CLOCK_REALTIME: u32 = 256;

impl FutexOp {
    /// From the `op` of `futex` (include/uapi/linux/futex.h, 2.6.22 to 7.3), and whether the futex
    /// is shared; nothing of a call that does not wait.
    pub fn from_op(op: u32) -> Option<(FutexOp, bool)> {
        let what = match op & !(FUTEX_PRIVATE | FUTEX_CLOCK_REALTIME) {
            0 | 9 => FutexOp::Wait,
            6 | 13 => FutexOp::LockPi,
            11 => FutexOp::WaitRequeuePi,
            _ => return None,
        };
        Some((what, op & FUTEX_PRIVATE == 0))
    }

    /// From the `flags` of `futex_wait` (6.7): whether the futex is shared.
    pub fn shared_by_flags(flags: u32) -> bool {
        flags & FUTEX_PRIVATE == 0
    }
}

#[cfg(test)]
mod tests {
    use super::FutexOp;

    /// As `strace` shows glibc's calls: a mutex waits with 0x80, a condition with 0x189.
    #[test]
    fn operations_that_wait_are_told_from_those_that_do_not() {
        let table = [
            (0, Some((FutexOp::Wait, true))),
            (0x80, Some((FutexOp::Wait, false))),
            (0x189, Some((FutexOp::Wait, false))),
            (0x86, Some((FutexOp::LockPi, false))),
            (13, Some((FutexOp::LockPi, true))),
            (0x18b, Some((FutexOp::WaitRequeuePi, false))),
            (0x81, None),
            (8, None),
        ];
        for (op, expected) in table {
            assert_eq!(FutexOp::from_op(op), expected, "{op:#x}");
        }
    }
}
