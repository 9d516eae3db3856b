//! Waits summed by key, in a concurrent map of bounded size.
//!
//! ```text
//!   worker 0: Delta --\
//!   worker 1: Delta ---+-- flush, once a window --> Aggregate: shards of key -> Stats
//!   worker n: Delta --/                                 \--> overflow: Stats per bucket
//! ```
//!
//! A worker adds to its own [`Delta`] without any lock and flushes it into the shards of the
//! [`Aggregate`] at the window's end. Once the map holds its bound of keys a further key is
//! refused: its sums go to an overflow row, so rows and overflow always add up to everything.
//! A full map costs no more than a half-full one: a look-up that misses, and one addition.
//!
//! A row has counts, times, their [`Histogram`], and the *witness* of its longest wait: something
//! that came with the wait and of which only the order is known here. Of equally long waits the
//! least witness stays, so rows do not depend on who flushes first.
//!
//! Invariants: no guard of the map leaves this module (a guard held across another call on the
//! map can deadlock); totals are conserved; nothing here knows what a key means.

mod delta;
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
