//! The sharded map, its bound, and what happens beyond it.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use dashmap::DashMap;
use dashmap::mapref::entry::Entry;
use foldhash::fast::FixedState;

use super::{Key, Stats};

/// Sums by key, the heaviest of a given number of keys, and the sums of everything else.
#[derive(Debug)]
pub struct Aggregate<K: Key, W> {
    rows: DashMap<K, Row<W>, FixedState>,
    /// Keys held. Taken before the insertion, so that the room is never passed.
    keys: AtomicUsize,
    /// Rows that are kept for certain.
    bound: usize,
    /// No key without a row has more time than this.
    floor_ns: AtomicU64,
    given_up: Mutex<GivenUp<W>>,
}

#[derive(Debug, Clone)]
struct Row<W> {
    stats: Stats<W>,
    /// The floor when the row was made: the key may have had so much before.
    floor_ns: u64,
}

/// What rows held that were given up.
#[derive(Debug)]
struct GivenUp<W> {
    overflow: Vec<Stats<W>>,
    rows: u64,
}

/// The map at one instant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Snapshot<K, W> {
    /// The heaviest rows, in the order of keys.
    pub rows: Vec<(K, Stats<W>)>,
    /// The overflow rows, by [`Key::bucket`].
    pub overflow: Vec<Stats<W>>,
    /// How many rows were given up. A key can lose its row more than once.
    pub given_up: u64,
    /// No key without a row has more time than this, and no row lacks more, in ns.
    pub floor_ns: u64,
}

impl<K, W> Snapshot<K, W> {
    /// All waits in it, those in the overflow rows included.
    pub fn waits(&self) -> u64 {
        let rows = self.rows.iter().map(|(_, stats)| stats).chain(&self.overflow);
        rows.map(Stats::waits).fold(0, u64::saturating_add)
    }
}

impl<W> Row<W> {
    /// The most that its key can have had in all.
    fn level_ns(&self) -> u64 {
        self.floor_ns.saturating_add(self.stats.weight_ns())
    }
}

impl<K: Key, W: Copy + Ord> Aggregate<K, W> {
    /// An empty map that keeps `bound` keys.
    pub fn new(bound: usize) -> Aggregate<K, W> {
        let given_up = GivenUp { overflow: vec![Stats::default(); K::BUCKETS], rows: 0 };
        Aggregate {
            rows: DashMap::default(),
            keys: AtomicUsize::new(0),
            bound,
            floor_ns: AtomicU64::new(0),
            given_up: Mutex::new(given_up),
        }
    }

    /// Adds to the key's row. If there is no room for a new one, the lightest rows are given up.
    pub(super) fn merge(&self, key: K, stats: Stats<W>) {
        if let Some(mut row) = self.rows.get_mut(&key) {
            row.stats.merge(&stats);
            return;
        }
        if self.bound == 0 {
            return self.lock_given_up().take(&key, &stats);
        }
        while !self.reserve() {
            self.make_room();
        }
        // The floor is read with the shard locked: whoever raises it looks at the shard later.
        match self.rows.entry(key) {
            Entry::Occupied(mut row) => {
                self.keys.fetch_sub(1, Ordering::Relaxed);
                row.get_mut().stats.merge(&stats);
            }
            Entry::Vacant(place) => {
                let floor_ns = self.floor_ns.load(Ordering::Acquire);
                drop(place.insert(Row { stats, floor_ns }));
            }
        }
    }

    /// A copy of everything. May be taken while workers flush.
    pub fn snapshot(&self) -> Snapshot<K, W> {
        let mut rows: Vec<(K, Row<W>)> =
            self.rows.iter().map(|row| (*row.key(), row.value().clone())).collect();
        let given_up = self.lock_given_up();
        let mut rest = GivenUp { overflow: given_up.overflow.clone(), rows: given_up.rows };
        drop(given_up);
        let mut floor_ns = self.floor_ns.load(Ordering::Acquire);
        rows.sort_unstable_by_key(|(key, row)| (std::cmp::Reverse(row.level_ns()), *key));
        for (key, row) in rows.drain(self.bound.min(rows.len())..) {
            floor_ns = floor_ns.max(row.level_ns());
            rest.take(&key, &row.stats);
        }
        rows.sort_unstable_by_key(|(key, _)| *key);
        let with_lack = |(key, row): (K, Row<W>)| (key, row.stats.lacking(row.floor_ns));
        Snapshot {
            rows: rows.into_iter().map(with_lack).collect(),
            overflow: rest.overflow,
            given_up: rest.rows,
            floor_ns,
        }
    }

    /// How many keys the map keeps.
    pub fn bound(&self) -> usize {
        self.bound
    }

    /// Keys that the map holds before it gives some up.
    fn room(&self) -> usize {
        self.bound.saturating_mul(2)
    }

    fn reserve(&self) -> bool {
        let taken = self.keys.fetch_add(1, Ordering::Relaxed);
        if taken >= self.room() {
            self.keys.fetch_sub(1, Ordering::Relaxed);
        }
        taken < self.room()
    }

    /// Gives up all rows but the `bound` heaviest, and raises the floor to the heaviest of those.
    ///
    /// This is Misra and Gries' summary with lazy subtraction: of `bound + 1` keys each has at least
    /// what the floor rises by, so the floor never exceeds the time of all waits divided by that, and
    /// a key with more than that has a row. Half of the room is freed at once, so a new key costs no
    /// more than a few comparisons.
    fn make_room(&self) {
        let mut given_up = self.lock_given_up();
        if self.keys.load(Ordering::Relaxed) < self.room() {
            return;
        }
        let mut levels: Vec<u64> = self.rows.iter().map(|row| row.level_ns()).collect();
        let Some(last) = levels.len().checked_sub(self.bound + 1) else { return };
        let (_, &mut floor_ns, heavier) = levels.select_nth_unstable(last);
        let heavier = heavier.iter().filter(|&&level_ns| level_ns > floor_ns).count();
        self.floor_ns.fetch_max(floor_ns, Ordering::AcqRel);
        let mut equal = self.bound.saturating_sub(heavier);
        let mut freed = 0;
        self.rows.retain(|key, row| {
            let level_ns = row.level_ns();
            let stays = level_ns > floor_ns || level_ns == floor_ns && equal > 0;
            if !stays {
                given_up.take(key, &row.stats);
                freed += 1;
            } else if level_ns == floor_ns {
                equal -= 1;
            }
            stays
        });
        self.keys.fetch_sub(freed, Ordering::Relaxed);
    }

    /// Sums stay usable although a worker panicked with the lock held: each addition is whole.
    fn lock_given_up(&self) -> MutexGuard<'_, GivenUp<W>> {
        self.given_up.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<W: Copy + Ord> GivenUp<W> {
    fn take<K: Key>(&mut self, key: &K, stats: &Stats<W>) {
        self.rows += 1;
        if let Some(row) = self.overflow.get_mut(key.bucket()) {
            row.merge(stats);
        }
    }
}
