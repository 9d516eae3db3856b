//! Waits summed by key, in a concurrent map of bounded size.
//!
//! ```text
//!   worker 0: Delta --\
//!   worker 1: Delta ---+-- flush, once a window --> Aggregate: shards of key -> Stats
//!   worker n: Delta --/                                 \--> given up: Stats per bucket
//! ```
//!
//! A worker adds to its own [`Delta`] without any lock and flushes it into the shards of the
//! [`Aggregate`] at the window's end. The map keeps the heaviest keys: when it holds twice its
//! bound, the lighter half is given up at once, their sums go to overflow rows, so rows and overflow
//! always add up to everything. What a key had before it was given up and came back is not in
//! its new row; how much that can be at most is known for each row, and no key that weighs more than
//! the whole divided by the bound is without one, however late it turned up.
//!
//! A row has counts, times, their [`Histogram`], and the *witness* of its longest wait: something
//! that came with the wait and of which only the order is known here. Of equally long waits the
//! least witness stays, so rows do not depend on who flushes first.
//!
//! Invariants: no guard of the map leaves this module (a guard held across another call on the
//! map can deadlock); totals are conserved; nothing here knows what a key means.

mod delta;
mod hashed;
mod histogram;
mod map;
mod stats;

#[cfg(test)]
mod tests;

pub use delta::Delta;
pub use histogram::Histogram;
pub use map::{Aggregate, Snapshot};
pub use stats::{Sample, Split, Stats};

use std::hash::Hash;

/// What waits are summed by.
pub trait Key: Copy + Eq + Ord + Hash + Send + Sync {
    /// How many overflow rows there are.
    const BUCKETS: usize;

    /// The overflow row for this key once the map is full; less than [`Key::BUCKETS`].
    fn bucket(&self) -> usize;
}
