//! Who has a lock of user space, as the lock itself says.
//!
//! Some locks have their owner's thread id in them: read from the memory of the process it tells who
//! keeps a task that waits for long, however it got the lock.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;

use crate::contention::Cause;
use crate::event::{FutexCall, FutexOp, Tid};

use super::named::OpenNamed;

/// The bits of a futex word that are a thread's id, where they are one (`FUTEX_TID_MASK`,
/// include/uapi/linux/futex.h).
const TID_MASK: u32 = 0x3fff_ffff;

/// What a contended mutex of glibc has in its word.
const CONTENDED: u32 = 2;

/// Where a glibc mutex has its owner, from its word on (`struct __pthread_mutex_s`, 2.1 to 2.41 on
/// 64-bit machines).
const OWNER_OFFSET: u64 = 8;

/// The thread that has the lock which `open` waits for. None where the lock does not say, or its
/// memory cannot be read.
pub fn futex_owner(open: &OpenNamed) -> Option<Tid> {
    let Cause::Futex(call) = open.wait.cause else { return None };
    let process = Path::new("/proc").join(open.name.tgid?.to_string());
    let memory = File::open(process.join("mem")).ok()?;
    let word = |offset: u64| {
        let mut bytes = [0; 4];
        memory.read_exact_at(&mut bytes, call.address.checked_add(offset)?).ok()?;
        Some(u32::from_ne_bytes(bytes))
    };
    let owner = owner(&call, word)?;
    // Any number may stand there, if it is a lock of another make.
    let is_thread = process.join("task").join(owner.to_string()).exists();
    (is_thread && owner != open.wait.begin.tid).then_some(owner)
}

fn owner(call: &FutexCall, word: impl Fn(u64) -> Option<u32>) -> Option<Tid> {
    let now = word(0)?;
    let owner = match call.op {
        FutexOp::LockPi => now & TID_MASK,
        FutexOp::Wait if call.value == CONTENDED && now == CONTENDED => word(OWNER_OFFSET)?,
        // A robust mutex expects its owner with the bit of a waiter.
        FutexOp::Wait if call.value & !TID_MASK == 1 << 31 && now == call.value => now & TID_MASK,
        _ => 0,
    };
    (owner > 0).then_some(Tid(owner))
}

#[cfg(test)]
mod tests {
    use super::owner;
    use crate::event::{FutexCall, FutexOp, Tid};

    /// (op, expected value, the word, what stands 8 bytes behind it, owner)
    #[test]
    fn a_lock_says_whose_it_is_in_its_own_way() {
        let table = [
            (FutexOp::LockPi, 0, 0x8000_0007, 0, Some(7)),
            (FutexOp::LockPi, 0, 0, 7, None),
            (FutexOp::Wait, 2, 2, 7, Some(7)),
            (FutexOp::Wait, 2, 1, 7, None),
            (FutexOp::Wait, 2, 2, 0, None),
            (FutexOp::Wait, 0x8000_0007, 0x8000_0007, 9, Some(7)),
            (FutexOp::Wait, 0, 0, 7, None),
            (FutexOp::Wait, u32::MAX, u32::MAX, 7, None),
            (FutexOp::WaitAny, 0, 2, 7, None),
        ];
        for (op, value, word, behind, expected) in table {
            let call = FutexCall { op, address: 64, value, shared: false, timed: false };
            let read = |offset| Some(if offset == 0 { word } else { behind });
            assert_eq!(owner(&call, read), expected.map(Tid), "{op:?} {value:#x} {word:#x}");
            assert_eq!(owner(&call, |_| None), None);
        }
    }
}
