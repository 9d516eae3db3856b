//! Idle waiting in user space told from contention.

use crate::event::{FutexCall, FutexOp};

/// What a contended mutex of glibc, Rust's standard library and Go has in its word.
const CONTENDED: u32 = 2;

/// `-ETIMEDOUT`.
const ETIMEDOUT: i32 = -110;

/// Whether a call that has ended so was a wait for something to do rather than for a lock.
pub fn is_idle(call: &FutexCall, ret: i32) -> bool {
    match call.op {
        FutexOp::LockPi => false,
        FutexOp::Wait => call.value != CONTENDED || ret == ETIMEDOUT,
        FutexOp::WaitAny | FutexOp::WaitRequeuePi | FutexOp::Other => true,
    }
}
