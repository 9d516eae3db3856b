//! One worker's sums, until it flushes them.

use std::collections::HashMap;

use foldhash::fast::FixedState;

use super::{Aggregate, Key, Sample, Split, Stats};

/// Keys a worker keeps before it flushes on its own: the delta is bounded too.
const MAX_KEYS: usize = 4096;

/// Sums that one worker has not flushed yet.
#[derive(Debug)]
pub struct Delta<K, W> {
    sums: HashMap<K, Stats<W>, FixedState>,
}

impl<K: Key, W> Default for Delta<K, W> {
    fn default() -> Self {
        Delta { sums: HashMap::default() }
    }
}

impl<K: Key, W: Copy + Ord> Delta<K, W> {
    /// Adds one wait, with what bears witness to it. Flushes into `aggregate` first if too many
    /// keys have gathered.
    pub fn add(
        &mut self,
        key: K,
        (sample, split): (Sample, Split),
        witness: W,
        aggregate: &Aggregate<K, W>,
    ) {
        if self.sums.len() >= MAX_KEYS && !self.sums.contains_key(&key) {
            self.flush(aggregate);
        }
        self.sums.entry(key).or_default().add(sample, split, witness);
    }

    /// Moves everything into `aggregate`.
    pub fn flush(&mut self, aggregate: &Aggregate<K, W>) {
        for (key, stats) in self.sums.drain() {
            aggregate.merge(key, stats);
        }
    }
}
