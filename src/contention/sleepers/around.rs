//! Sleeping waits around spinning ones: a lock's own inner lock.

use super::{Nest, Sleepers};
use crate::contention::Wait;
use crate::event::{Head, Tid};

/// An inner lock lies within the outer one: no sleeping lock is larger.
const LOCK_SIZE_BYTES: u64 = 128;

/// Bits by stretches of memory as long as a lock can be.
const FILTER_BITS: u64 = 1 << 16;

/// The sleeping waits of a window, open and finished, to be found by their task and lock.
#[derive(Debug)]
pub struct Around<'a> {
    open: &'a Sleepers,
    /// Sorted by task and lock.
    finished: Vec<(Tid, u64, &'a Wait)>,
    /// Stretches with a lock that is waited for: nearly all other locks are told from these by one bit.
    stretches: Vec<u64>,
}

impl Sleepers {
    /// The waits that are open, and those that `finished`, in whichever order.
    pub fn around<'a>(&'a self, finished: &'a [Wait]) -> Around<'a> {
        let open = self.waiters.values().flat_map(Nest::open).map(|wait| wait.lock);
        let mut stretches = vec![0; (FILTER_BITS / 64) as usize];
        for lock in open.chain(finished.iter().map(|wait| wait.lock)) {
            for address in [lock, lock.saturating_add(LOCK_SIZE_BYTES - 1)] {
                let (word, bit) = place(address);
                if let Some(word) = stretches.get_mut(word) {
                    *word |= bit;
                }
            }
        }
        let mut finished: Vec<_> =
            finished.iter().map(|wait| (wait.begin.tid, wait.lock, wait)).collect();
        finished.sort_unstable_by_key(|&(tid, lock, _)| (tid, lock));
        Around { open: self, finished, stretches }
    }
}

impl Around<'_> {
    /// Whether the task waits, or waited, around a wait for `inner` that began at `head`, for a lock that
    /// `inner` is a part of.
    #[inline]
    pub fn encloses(&self, inner: u64, head: &Head) -> bool {
        let (word, bit) = place(inner);
        self.stretches.get(word).is_some_and(|word| word & bit != 0)
            && self.really_encloses(inner, head)
    }

    fn really_encloses(&self, inner: u64, head: &Head) -> bool {
        let part_of =
            |outer: u64| inner.checked_sub(outer).is_some_and(|at| at > 0 && at < LOCK_SIZE_BYTES);
        let open = self.open.waiters.get(&head.tid).map_or(&[][..], Nest::open);
        let place = |lock| self.finished.partition_point(|of| (of.0, of.1) < (head.tid, lock));
        let first = inner.saturating_sub(LOCK_SIZE_BYTES - 1);
        let finished = self.finished.get(place(first)..place(inner)).unwrap_or(&[]);
        open.iter().any(|wait| wait.begin.stamp < head.stamp && part_of(wait.lock))
            || finished
                .iter()
                .any(|(.., wait)| wait.begin.stamp < head.stamp && wait.end_ns >= head.ts_ns)
    }
}

/// An address's bit: which word, and which of it.
#[inline]
fn place(address: u64) -> (usize, u64) {
    let stretch = address / LOCK_SIZE_BYTES;
    // Allocators align: the higher bits tell as much.
    let number = (stretch ^ (stretch >> 16)) % FILTER_BITS;
    (usize::try_from(number / 64).unwrap_or(0), 1 << (number % 64))
}
