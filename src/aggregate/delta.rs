//! One worker's sums, until it flushes them.

use indexmap::IndexMap;

use super::hashed::{AsIs, Hashed};
use super::{Aggregate, Key, Sample, Split, Stats};

/// Keys a worker keeps before it flushes on its own: the delta is bounded too.
const MAX_KEYS: usize = 4096;

/// Sums that one worker has not flushed yet.
#[derive(Debug)]
pub struct Delta<K, W> {
    /// Side by side in the order of their coming: a flush goes by the shards they belong to.
    pub(super) sums: IndexMap<Hashed<K>, Stats<W>, AsIs>,
    /// For a flush: (shard, place in `sums`).
    pub(super) by_shard: Vec<(u32, u32)>,
}

impl<K: Key, W> Default for Delta<K, W> {
    fn default() -> Self {
        Delta { sums: IndexMap::default(), by_shard: Vec::new() }
    }
}

impl<K: Key, W: Copy + Ord> Delta<K, W> {
    /// Adds one wait, with what bears witness to it if it may be the row's longest. Flushes into
    /// `aggregate` first if too many keys have gathered.
    #[inline]
    pub fn add(
        &mut self,
        key: K,
        (sample, split): (Sample, Split),
        witness: impl FnOnce() -> W,
        aggregate: &Aggregate<K, W>,
    ) {
        let key = Hashed::new(key);
        if let Some(stats) = self.sums.get_mut(&key) {
            return stats.add(sample, split, witness);
        }
        if self.sums.len() >= MAX_KEYS {
            self.flush(aggregate);
        }
        self.sums.entry(key).or_default().add(sample, split, witness);
    }

    /// Moves everything into `aggregate`.
    pub fn flush(&mut self, aggregate: &Aggregate<K, W>) {
        aggregate.take(self);
    }
}
