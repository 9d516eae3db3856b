//! When and from where was waited, all rows together.

use super::{Series, Timeline};
use crate::event::StackId;
use std::collections::BTreeMap;

/// Stacks kept apart, for each kind of waits; the time of others counts as that of waits without one.
const MAX_STACKS: usize = 1 << 16;

/// What a picture of a run is made of.
#[derive(Debug, Clone, Default)]
pub struct Profile {
    /// How many tasks waited when.
    pub timeline: Timeline,
    stacks: BTreeMap<(Series, Option<StackId>), u64>,
}

impl Profile {
    /// Adds the time that a wait for a lock took until it was there.
    pub fn add(&mut self, series: Series, stack: Option<StackId>, wait_ns: u64) {
        let is_full =
            self.stacks.len() >= MAX_STACKS && !self.stacks.contains_key(&(series, stack));
        let stack = stack.filter(|_| !is_full);
        let time = self.stacks.entry((series, stack)).or_default();
        *time = time.saturating_add(wait_ns);
    }

    /// The time waited in each stack, in ns.
    pub fn stacks(&self) -> impl Iterator<Item = (Series, Option<StackId>, u64)> {
        self.stacks.iter().map(|(&(series, stack), &wait_ns)| (series, stack, wait_ns))
    }
}
