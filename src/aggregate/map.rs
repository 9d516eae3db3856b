//! The sharded map and its bound.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use dashmap::DashMap;
use dashmap::mapref::entry::Entry;
use foldhash::fast::FixedState;

use super::{Key, Stats};

/// Sums by key, at most a given number of keys, and the sums of everything beyond.
#[derive(Debug)]
pub struct Aggregate<K: Key, W> {
    rows: DashMap<K, Stats<W>, FixedState>,
    /// Keys held. Taken before the insertion, so that the bound is never passed.
    keys: AtomicUsize,
    bound: usize,
    overflow: Mutex<Overflow<W>>,
}

#[derive(Debug)]
struct Overflow<W> {
    rows: Vec<Stats<W>>,
    refused_flushes: u64,
}

/// The map at one instant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Snapshot<K, W> {
    /// Every row, in the order of keys.
    pub rows: Vec<(K, Stats<W>)>,
    /// The overflow rows, by [`Key::bucket`].
    pub overflow: Vec<Stats<W>>,
    /// How often a worker's sums for a key were refused: at least the number of keys without a row
    /// of their own, at most the number of waits in the overflow rows.
    pub refused_flushes: u64,
}

impl<K, W> Snapshot<K, W> {
    /// All waits in it, those in the overflow rows included.
    pub fn waits(&self) -> u64 {
        let rows = self.rows.iter().map(|(_, stats)| stats).chain(&self.overflow);
        rows.map(Stats::waits).fold(0, u64::saturating_add)
    }
}

impl<K: Key, W: Copy + Ord> Aggregate<K, W> {
    /// An empty map for at most `bound` keys.
    pub fn new(bound: usize) -> Aggregate<K, W> {
        let overflow = Overflow { rows: vec![Stats::default(); K::BUCKETS], refused_flushes: 0 };
        Aggregate {
            rows: DashMap::default(),
            keys: AtomicUsize::new(0),
            bound,
            overflow: Mutex::new(overflow),
        }
    }

    /// Adds to the key's row; gives the sums back if it has none and the map is full.
    pub(super) fn merge(&self, key: K, stats: Stats<W>) -> Option<Stats<W>> {
        if let Some(mut row) = self.rows.get_mut(&key) {
            row.merge(&stats);
            return None;
        }
        if self.keys.load(Ordering::Relaxed) >= self.bound {
            return Some(stats);
        }
        // The place is reserved with the shard locked: two workers with one new key take one place.
        match self.rows.entry(key) {
            Entry::Occupied(mut row) => row.get_mut().merge(&stats),
            Entry::Vacant(place) if self.reserve() => drop(place.insert(stats)),
            Entry::Vacant(_) => return Some(stats),
        }
        None
    }

    /// Adds what found no place, by bucket.
    pub(super) fn overflow(&self, refused: &[(usize, Stats<W>)]) {
        if refused.is_empty() {
            return;
        }
        let mut overflow = self.lock_overflow();
        overflow.refused_flushes += refused.len() as u64;
        for (bucket, stats) in refused {
            if let Some(row) = overflow.rows.get_mut(*bucket) {
                row.merge(stats);
            }
        }
    }

    /// A copy of everything. May be taken while workers flush.
    pub fn snapshot(&self) -> Snapshot<K, W> {
        let mut rows: Vec<_> =
            self.rows.iter().map(|row| (*row.key(), row.value().clone())).collect();
        rows.sort_unstable_by_key(|(key, _)| *key);
        let overflow = self.lock_overflow();
        Snapshot {
            rows,
            overflow: overflow.rows.clone(),
            refused_flushes: overflow.refused_flushes,
        }
    }

    /// How many keys the map may hold.
    pub fn bound(&self) -> usize {
        self.bound
    }

    fn reserve(&self) -> bool {
        let taken = self.keys.fetch_add(1, Ordering::Relaxed);
        if taken >= self.bound {
            self.keys.fetch_sub(1, Ordering::Relaxed);
        }
        taken < self.bound
    }

    /// Sums stay usable although a worker panicked with the lock held: each addition is whole.
    fn lock_overflow(&self) -> MutexGuard<'_, Overflow<W>> {
        self.overflow.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
