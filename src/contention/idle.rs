//! Idle waiting in user space told from contention.
//!
//! The kernel does not know what a futex is for; the value that a call waits with, and what else was
//! waited with there, mostly tell:
//!
//! | wait | it is |
//! |---|---|
//! | `FUTEX_LOCK_PI` | contention: the kernel itself knows the word as a lock |
//! | `FUTEX_WAIT_REQUEUE_PI`, `futex_waitv` | idle: a condition; a list of anything |
//! | with a value of [`LOCK_VALUES`] | contention, unless one of the next two lines says otherwise |
//! | on a word that was waited on with another value before | idle: a counter of a condition or a barrier happens to stand there; until the last one who got through with such a value wakes the next one with it, as locks do (memory is used again) |
//! | timed out, on a word not known as a lock yet | idle: a pause |
//! | with all bits set | as the word's earlier waits with flags; idle where there was none (`thread::park` of Rust's std, semaphores of musl) |
//! | 4 bytes behind a word with flags | contention: there Rust's `RwLock` counts its writers' wakings |
//! | with anything else | idle: 0 of glibc's conditions and semaphores and of Go's notes, counters of Rust's `Condvar`, the id of a thread to join |

use std::collections::HashMap;

use foldhash::fast::FixedState;

use super::wait::{Cause, Wait};
use crate::event::{FutexCall, FutexOp, Tid};

/// Values that locks wait with while they are taken, as bits under a mask.
const LOCK_VALUES: [(u32, u32); 4] = [
    // Taken and waited for: mutexes of glibc (sysdeps/nptl/lowlevellock.h), of Rust's std
    // (sys/sync/mutex/futex.rs) and of Go's runtime (lock_futex.go).
    (u32::MAX, 2),
    // Taken for writing and waited for: rwlocks of glibc (nptl/pthread_rwlock_common.c).
    (u32::MAX, 3),
    // Waited for: all locks of musl, robust mutexes (FUTEX_WAITERS, include/uapi/linux/futex.h), and
    // by writers a Rust RwLock (sys/sync/rwlock/futex.rs).
    (FLAG_WAITERS, FLAG_WAITERS),
    // Waited for by readers: a Rust RwLock.
    (FLAG_READERS, FLAG_READERS),
];

const FLAG_WAITERS: u32 = 1 << 31;
const FLAG_READERS: u32 = 1 << 30;

/// `PARKED` of Rust's std (sys/sync/thread_parking/futex.rs), and a musl semaphore without a unit.
const ALL_BITS: u32 = u32::MAX;

/// From the state of a Rust `RwLock` to its writers' word.
const TO_WRITERS: u64 = 4;

/// `-ETIMEDOUT`.
const ETIMEDOUT: i32 = -110;

/// Words that are remembered. With more, all are forgotten.
const MAX_WORDS: usize = 1 << 16;

/// A process: its id, and which of those that bore it.
pub type Process = (Tid, u32);

/// What is known of the words that were waited on, by process and address.
#[derive(Debug, Default)]
pub struct Words {
    processes: HashMap<Process, Known, FixedState>,
    held: usize,
    forgotten: u64,
}

/// The words of a process, by address.
type Known = HashMap<u64, Word, FixedState>;

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Word {
    nature: Nature,
    /// It was waited on with a flag in its value.
    flagged: bool,
    /// Who got through last, and with which value.
    through: Option<(Tid, u32)>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Nature {
    #[default]
    Unknown,
    Lock,
    /// A counter, or a condition.
    Other,
}

impl Words {
    /// Whether a finished wait of this process was one for something to do. Waits come in the order
    /// of their ends.
    pub fn is_idle(&mut self, process: Process, wait: &Wait) -> bool {
        let Cause::Futex(call) = wait.cause else { return false };
        let words = self.processes.entry(process).or_default();
        if let Some(is_idle) = without_history(&call, words) {
            return is_idle;
        }
        let words_before = words.len();
        let is_idle = words.entry(call.address).or_default().is_idle(call.value, wait);
        self.held += words.len() - words_before;
        if self.held > MAX_WORDS {
            self.forgotten += self.held as u64;
            self.processes.clear();
            self.held = 0;
        }
        is_idle
    }

    /// Whether a wait that is still open looks like one for something to do.
    pub fn seems_idle(&self, process: Process, call: &FutexCall) -> bool {
        let none = Known::default();
        let words = self.processes.get(&process).unwrap_or(&none);
        without_history(call, words).unwrap_or_else(|| {
            let word = words.get(&call.address).copied().unwrap_or_default();
            match call.value {
                ALL_BITS => !word.flagged,
                value => !is_lock_value(value) || word.nature == Nature::Other,
            }
        })
    }

    /// The process has gone, or runs another program.
    pub fn forget(&mut self, process: Process) {
        let words = self.processes.remove(&process).map_or(0, |words| words.len());
        self.held -= words;
    }

    /// Words that were forgotten for want of room.
    pub fn forgotten(&self) -> u64 {
        self.forgotten
    }
}

/// What needs no look at the word itself.
fn without_history(call: &FutexCall, words: &Known) -> Option<bool> {
    match call.op {
        FutexOp::LockPi => return Some(false),
        FutexOp::WaitAny | FutexOp::WaitRequeuePi => return Some(true),
        FutexOp::Wait => {}
    }
    let state = words.get(&call.address.checked_sub(TO_WRITERS)?)?;
    state.flagged.then_some(false)
}

fn is_lock_value(value: u32) -> bool {
    LOCK_VALUES.iter().any(|&(mask, bits)| value & mask == bits)
}

impl Word {
    fn is_idle(&mut self, value: u32, wait: &Wait) -> bool {
        if value == ALL_BITS {
            return !self.flagged;
        }
        if !is_lock_value(value) {
            self.nature = Nature::Other;
            return true;
        }
        let waker = wait.holder.map(|holder| (holder.head.tid, value));
        let is_handed_over = waker.is_some() && waker == self.through;
        let may_be = self.nature == Nature::Unknown && wait.ret != ETIMEDOUT;
        if is_handed_over || may_be {
            self.nature = Nature::Lock;
        }
        self.flagged |= value & (FLAG_WAITERS | FLAG_READERS) != 0;
        if wait.ret >= 0 {
            self.through = Some((wait.begin.tid, value));
        }
        self.nature != Nature::Lock
    }
}

#[cfg(test)]
mod tests {
    use super::{ETIMEDOUT, MAX_WORDS, Words};
    use crate::contention::{Cause, Evidence, Holder, OffCpu, Wait};
    use crate::event::{Context, Cpu, FutexCall, FutexOp, Head, Stamp, Tid};

    const PROCESS: (Tid, u32) = (Tid(1), 0);

    fn head(tid: u32) -> Head {
        let context = Context::Task;
        Head { stamp: Stamp::before(1), ts_ns: 1, cpu: Cpu(0), tid: Tid(tid), context }
    }

    fn wait(op: FutexOp, address: u64, value: u32, ret: i32, tid: u32, waker: u32) -> Wait {
        let waker = (waker > 0).then(|| head(waker));
        Wait {
            begin: head(tid),
            end_ns: 2,
            lock: address,
            cause: Cause::Futex(FutexCall { op, address, value, shared: false, timed: false }),
            ret,
            stack: None,
            slept: true,
            off_cpu: OffCpu::default(),
            holder: waker.map(|head| Holder {
                head,
                evidence: Evidence::Waking,
                stack: None,
                held_ns: None,
            }),
            uncertain: false,
            internal: false,
            idle: false,
        }
    }

    /// Whether each of these waits - address, value, result, who, woken by whom - is idle.
    fn idle(waits: &[(u64, u32, i32, u32, u32)]) -> Vec<bool> {
        let mut words = Words::default();
        let of = |&(address, value, ret, tid, waker): &(u64, u32, i32, u32, u32)| {
            wait(FutexOp::Wait, address, value, ret, tid, waker)
        };
        let judge = |wait: Wait| {
            let is_idle = words.is_idle(PROCESS, &wait);
            // The next such wait is one, while it lasts, unless it hands over or times out.
            let seems_idle = words.seems_idle(PROCESS, &wait.cause.futex().unwrap());
            assert!(seems_idle == is_idle || wait.ret == ETIMEDOUT, "{wait:?}");
            is_idle
        };
        waits.iter().map(of).map(judge).collect()
    }

    #[test]
    fn the_operation_decides_where_it_can() {
        let table =
            [(FutexOp::LockPi, false), (FutexOp::WaitAny, true), (FutexOp::WaitRequeuePi, true)];
        for (op, expected) in table {
            for value in [0, 2] {
                let wait = wait(op, 64, value, 0, 7, 8);
                assert_eq!(Words::default().is_idle(PROCESS, &wait), expected, "{op:?}");
            }
        }
    }

    /// As measured of glibc 2.36, Rust 1.95, musl 1.2.3 and Go 1.19.
    #[test]
    fn the_first_wait_on_a_word_is_told_by_its_value() {
        let locks = [2, 3, 0x8000_0010, 0x8000_0001, 0x8000_0000 | 4711, 0x7fff_ffff, 0xc000_0001];
        let others = [0, 1, 4, 5, 4711, u32::MAX];
        for value in locks {
            assert_eq!(idle(&[(64, value, 0, 7, 8)]), [false], "{value:#x}");
        }
        for value in others {
            assert_eq!(idle(&[(64, value, 0, 7, 8)]), [true], "{value:#x}");
        }
    }

    #[test]
    fn a_counter_stays_one_whatever_it_counts() {
        let rust_condvar = [0, 1, 2, 2, 3, 0x8000_0000].map(|value| (64, value, 0, 7, 8));
        assert_eq!(idle(&rust_condvar), [true; 6]);
        // Two words of one process have nothing to do with each other.
        assert_eq!(idle(&[(64, 1, 0, 7, 8), (128, 2, 0, 7, 8)]), [true, false]);
    }

    #[test]
    fn memory_that_becomes_a_lock_is_one_from_the_first_handing_over() {
        let waits = [(64, 0, 0, 7, 8), (64, 2, 0, 7, 8), (64, 2, 0, 9, 8), (64, 2, 0, 8, 9)];
        assert_eq!(idle(&waits), [true, true, true, false]);
        // Who waited with another value is not the one before in the queue.
        assert_eq!(idle(&[(64, 1, 0, 7, 8), (64, 3, 0, 7, 8), (64, 2, 0, 9, 7)]), [true; 3]);
    }

    #[test]
    fn who_gives_up_in_time_waited_for_a_lock_only_if_it_is_one() {
        assert_eq!(idle(&[(64, 2, ETIMEDOUT, 7, 0), (64, 2, ETIMEDOUT, 7, 0)]), [true, true]);
        assert_eq!(idle(&[(64, 2, 0, 7, 8), (64, 2, ETIMEDOUT, 7, 0)]), [false, false]);
    }

    #[test]
    fn flags_tell_rust_rwlocks_and_their_writers() {
        let waits = [
            (68, 0, 0, 7, 8),
            (64, u32::MAX, 0, 7, 8),
            (64, 0x7fff_ffff, 0, 7, 8),
            (64, u32::MAX, 0, 7, 8),
            (68, 1, 0, 7, 8),
        ];
        assert_eq!(idle(&waits), [true, true, false, false, false]);
    }

    #[test]
    fn words_are_those_of_a_process_and_not_too_many() {
        let mut words = Words::default();
        let of = |address, value| wait(FutexOp::Wait, address, value, 0, 7, 8);
        assert!(words.is_idle(PROCESS, &of(64, 0)));
        assert!(!words.is_idle((Tid(1), 1), &of(64, 2)));
        assert!(words.is_idle(PROCESS, &of(64, 2)));
        words.forget(PROCESS);
        assert!(!words.is_idle(PROCESS, &of(64, 2)));
        for address in 0..MAX_WORDS as u64 {
            words.is_idle(PROCESS, &of(1024 + 8 * address, 0));
        }
        assert!(words.forgotten() > 0 && words.held < MAX_WORDS);
        let held: usize = words.processes.values().map(|words| words.len()).sum();
        assert_eq!(words.held, held);
    }
}
