//! One worker's sums, until it flushes them.

use std::collections::HashMap;

use foldhash::fast::FixedState;

use super::{Aggregate, Key, Sample, Stats};

/// Keys a worker keeps before it flushes on its own: the delta is bounded too.
const MAX_KEYS: usize = 4096;

/// Sums that one worker has not flushed yet.
#[derive(Debug)]
pub struct Delta<K> {
    sums: HashMap<K, Stats, FixedState>,
}

impl<K: Key> Default for Delta<K> {
    fn default() -> Self {
        Delta { sums: HashMap::default() }
    }
}

impl<K: Key> Delta<K> {
    /// Adds one wait. Flushes into `aggregate` first if too many keys have gathered.
    pub fn add(&mut self, key: K, sample: Sample, aggregate: &Aggregate<K>) {
        if self.sums.len() >= MAX_KEYS && !self.sums.contains_key(&key) {
            self.flush(aggregate);
        }
        self.sums.entry(key).or_default().add(sample);
    }

    /// Moves everything into `aggregate`.
    pub fn flush(&mut self, aggregate: &Aggregate<K>) {
        let mut overflow = Vec::new();
        for (key, stats) in self.sums.drain() {
            if !aggregate.merge(key, &stats) {
                overflow.push((key.bucket(), stats));
            }
        }
        aggregate.overflow(&overflow);
    }
}
