//! Sleeping waits around spinning ones: a lock's own inner lock.

use super::{Nest, Sleepers};
use crate::contention::Wait;
use crate::event::{Head, Tid};

/// An inner lock lies within the outer one: no sleeping lock is larger.
const LOCK_SIZE_BYTES: u64 = 128;

/// Bits by task and stretch of memory as long as a lock can be.
const FILTER_BITS: u64 = 1 << 16;

/// Lists by task.
const LISTS: usize = 1 << 10;

/// The sleeping waits of a window, open and finished, to be found by their task and lock.
#[derive(Debug)]
pub struct Around<'a> {
    open: &'a Sleepers,
    finished: &'a [Wait],
    /// The last one of each list, and the one before each in its list: places from 1 on.
    lists: Vec<u32>,
    before: Vec<u32>,
    /// Nearly all spinning waits are told by one bit to have none around.
    filter: Vec<u64>,
}

impl Sleepers {
    /// The waits that are open, and those that `finished`, in whichever order.
    pub fn around<'a>(&'a self, finished: &'a [Wait]) -> Around<'a> {
        let mut around = Around {
            open: self,
            finished,
            lists: vec![0; LISTS],
            before: Vec::with_capacity(finished.len()),
            filter: vec![0; (FILTER_BITS / 64) as usize],
        };
        let open = self
            .waiters
            .iter()
            .flat_map(|(tid, nest)| nest.open().iter().map(|wait| (*tid, wait.lock)));
        open.for_each(|(tid, lock)| around.mark(tid, lock));
        for (number, wait) in (1..).zip(finished) {
            around.mark(wait.begin.tid, wait.lock);
            let before = around.lists.get_mut(list(wait.begin.tid));
            around.before.push(before.map_or(0, |last| std::mem::replace(last, number)));
        }
        around
    }
}

impl Around<'_> {
    /// Whether the task waits, or waited, around a wait for `inner` that began at `head`, for a lock that
    /// `inner` is a part of.
    #[inline]
    pub fn encloses(&self, inner: u64, head: &Head) -> bool {
        let (word, bit) = place(head.tid, inner / LOCK_SIZE_BYTES);
        self.filter.get(word).is_some_and(|word| word & bit != 0)
            && self.really_encloses(inner, head)
    }

    fn really_encloses(&self, inner: u64, head: &Head) -> bool {
        let part_of =
            |outer: u64| inner.checked_sub(outer).is_some_and(|at| at > 0 && at < LOCK_SIZE_BYTES);
        let open = self.open.waiters.get(&head.tid).map_or(&[][..], Nest::open);
        open.iter().any(|wait| wait.begin.stamp < head.stamp && part_of(wait.lock))
            || self.listed(head.tid).any(|wait| {
                wait.begin.tid == head.tid
                    && part_of(wait.lock)
                    && wait.begin.stamp < head.stamp
                    && wait.end_ns >= head.ts_ns
            })
    }

    /// Finished waits: all of the task's, and some others.
    fn listed(&self, tid: Tid) -> impl Iterator<Item = &Wait> {
        let place = |number: u32| usize::try_from(number).ok()?.checked_sub(1);
        let last = self.lists.get(list(tid)).copied();
        let numbers =
            std::iter::successors(last, move |&number| self.before.get(place(number)?).copied());
        numbers.map_while(move |number| self.finished.get(place(number)?))
    }

    /// Of each stretch that the lock may reach into.
    fn mark(&mut self, tid: Tid, lock: u64) {
        let stretch = lock / LOCK_SIZE_BYTES;
        for stretch in [stretch, stretch.saturating_add(1)] {
            let (word, bit) = place(tid, stretch);
            self.filter.get_mut(word).into_iter().for_each(|word| *word |= bit);
        }
    }
}

fn list(tid: Tid) -> usize {
    tid.0 as usize % LISTS
}

/// The bit of a task and a stretch: which word, and which of it.
#[inline]
fn place(tid: Tid, stretch: u64) -> (usize, u64) {
    // 2^64 divided by the golden ratio spreads what differs in any bit over the upper ones.
    let mixed = (stretch ^ (u64::from(tid.0) << 40)).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 48;
    (usize::try_from(mixed % FILTER_BITS / 64).unwrap_or(0), 1 << (mixed % 64))
}
