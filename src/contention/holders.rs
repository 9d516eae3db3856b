//! Who made others wait: the task that let a lock go.

use std::collections::HashMap;

use foldhash::fast::FixedState;

use crate::event::{Head, StackId, Tid};

/// Locks whose last holder is remembered. With more, all are forgotten.
const MAX_LOCKS: usize = 1 << 16;

/// How a holder is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Evidence {
    /// The kernel told that it let the lock go (`lock:contended_release`, 7.2).
    Release,
    /// It woke the waiter, which got the lock then.
    Waking,
    /// The lock says so itself: its memory was read while the wait lasted.
    Memory,
    /// It was the last one known to have taken the lock; whether it has it still is not known.
    Acquired,
}

impl Evidence {
    /// `release`, `waking`, `memory` or `acquired`.
    pub fn name(self) -> &'static str {
        match self {
            Evidence::Release => "release",
            Evidence::Waking => "waking",
            Evidence::Memory => "memory",
            Evidence::Acquired => "acquired",
        }
    }
}

/// The task that had a lock when another one waited for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Holder {
    /// The moment that shows it: who, when. Its name is that of this instant.
    pub head: Head,
    /// How it is known.
    pub evidence: Evidence,
    /// The kernel stack of that moment, where one was recorded.
    pub stack: Option<StackId>,
    /// How long it had the lock, where it had waited for it itself.
    pub held_ns: Option<u64>,
}

/// What is known of locks, by address: who got them last after a wait, and who let them go.
#[derive(Debug, Default)]
pub(super) struct Holders {
    acquired: HashMap<u64, Acquired, FixedState>,
    released: HashMap<u64, Holder, FixedState>,
    /// Locks that were forgotten for want of room.
    pub(super) forgotten: u64,
}

#[derive(Debug, Clone, Copy)]
struct Acquired {
    end: Head,
    let_go: bool,
}

impl Holders {
    /// A waiter got the lock.
    pub(super) fn acquired(&mut self, lock: u64, end: &Head) {
        let acquired = Acquired { end: *end, let_go: false };
        self.forgotten += remember(&mut self.acquired, lock, acquired);
    }

    /// A task lets the lock go, as that evidence shows.
    pub(super) fn lets_go(&mut self, lock: u64, head: &Head, evidence: Evidence) -> Holder {
        let own = self.acquired.get_mut(&lock).filter(|acquired| acquired.end.tid == head.tid);
        let held_ns = own.and_then(|acquired| {
            acquired.let_go = true;
            head.ts_ns.checked_sub(acquired.end.ts_ns)
        });
        let holder = Holder { head: *head, evidence, stack: None, held_ns };
        if evidence == Evidence::Release {
            self.forgotten += remember(&mut self.released, lock, holder);
        }
        holder
    }

    /// The last release of the lock that the kernel told of, if it lies behind `begin`.
    pub(super) fn released_since(&self, lock: u64, begin: &Head) -> Option<Holder> {
        self.released.get(&lock).copied().filter(|holder| holder.head.stamp > begin.stamp)
    }

    /// Who probably has the lock now, seen by `waiter`.
    pub(super) fn likely(&self, lock: u64, waiter: Tid) -> Option<Holder> {
        let last = self.acquired.get(&lock)?;
        let other = last.end.tid != waiter && !last.let_go;
        let head = last.end;
        other.then_some(Holder { head, evidence: Evidence::Acquired, stack: None, held_ns: None })
    }
}

/// Returns how many had to be forgotten.
fn remember<T>(of: &mut HashMap<u64, T, FixedState>, lock: u64, what: T) -> u64 {
    let mut forgotten = 0;
    if of.len() >= MAX_LOCKS && !of.contains_key(&lock) {
        forgotten = of.len() as u64;
        of.clear();
    }
    of.insert(lock, what);
    forgotten
}
