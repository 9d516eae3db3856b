//! The sharded map, its bound, and what happens beyond it.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use dashmap::{DashMap, SharedValue};
use indexmap::IndexMap;

use super::hashed::{AsIs, Hashed};
use super::{Delta, Key, Stats};

/// Far more than workers: two seldom want the same one.
const SHARDS: usize = 64;

/// Sums by key, the heaviest of a given number of keys, and the sums of everything else.
#[derive(Debug)]
pub struct Aggregate<K: Key, W> {
    rows: DashMap<Hashed<K>, Row<W>, AsIs>,
    /// Keys held.
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

type Sums<K, W> = IndexMap<Hashed<K>, Stats<W>, AsIs>;

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
            rows: DashMap::with_hasher_and_shard_amount(AsIs::default(), SHARDS),
            keys: AtomicUsize::new(0),
            bound,
            floor_ns: AtomicU64::new(0),
            given_up: Mutex::new(given_up),
        }
    }

    /// Takes all of a worker's sums. Each shard is locked once, whatever it gets; if there are too many
    /// rows then, the lightest are given up.
    pub(super) fn take(&self, delta: &mut Delta<K, W>) {
        let Delta { sums, by_shard } = delta;
        if self.bound == 0 {
            let mut given_up = self.lock_given_up();
            sums.drain(..).for_each(|(key, stats)| given_up.take(&key.key, &stats));
            return;
        }
        let shard = |key: &Hashed<K>| self.rows.determine_shard(self.rows.hash_usize(key));
        let number = |number: usize| u32::try_from(number).unwrap_or(u32::MAX);
        by_shard.clear();
        let places = sums.keys().enumerate();
        by_shard.extend(places.map(|(place, key)| (number(shard(key)), number(place))));
        by_shard.sort_unstable();
        for of_shard in by_shard.chunk_by(|(a, _), (b, _)| a == b) {
            self.take_shard(of_shard, sums);
            if self.keys.load(Ordering::Relaxed) > self.room() {
                self.make_room();
            }
        }
        sums.clear();
    }

    fn take_shard(&self, of_shard: &[(u32, u32)], sums: &mut Sums<K, W>) {
        let Some(&(shard, _)) = of_shard.first() else { return };
        let Some(shard) = self.rows.shards().get(shard as usize) else { return };
        let mut rows = shard.write();
        // Read with the shard locked: whoever raises it looks at the shard later.
        let floor_ns = self.floor_ns.load(Ordering::Acquire);
        let before = rows.len();
        for &(_, place) in of_shard {
            let Some((&key, stats)) = sums.get_index_mut(place as usize) else { continue };
            match rows.get_mut(key.hash(), |(known, _)| *known == key) {
                Some((_, row)) => row.get_mut().stats.merge(stats),
                None => {
                    let row = Row { stats: std::mem::take(stats), floor_ns };
                    let hash = |(key, _): &(Hashed<K>, _)| key.hash();
                    rows.insert(key.hash(), (key, SharedValue::new(row)), hash);
                }
            }
        }
        self.keys.fetch_add(rows.len() - before, Ordering::Relaxed);
    }

    /// A copy of everything. May be taken while workers flush.
    pub fn snapshot(&self) -> Snapshot<K, W> {
        let mut rows: Vec<(K, Row<W>)> =
            self.rows.iter().map(|row| (row.key().key, row.value().clone())).collect();
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

    /// Gives up all rows but the `bound` heaviest, and raises the floor to the heaviest of those.
    ///
    /// This is Misra and Gries' summary with lazy subtraction: of `bound + 1` keys each has at least
    /// what the floor rises by, so the floor never exceeds the time of all waits divided by that, and
    /// a key with more than that has a row. Half of the room is freed at once, so a new key costs no
    /// more than a few comparisons.
    fn make_room(&self) {
        let mut given_up = self.lock_given_up();
        if self.keys.load(Ordering::Relaxed) <= self.room() {
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
                given_up.take(&key.key, &row.stats);
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
