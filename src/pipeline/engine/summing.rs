//! A window's waits get their names, and go into the rows.

use super::super::named::NamedWait;
use super::super::naming::Naming;
use super::super::workers::by_workers;
use super::{Engine, Summing};

impl Engine {
    /// Every name of the window is known by now: spinning waits each CPU for itself, then the others.
    /// `wants_waits`: each of them is wanted afterwards.
    pub(super) fn name_and_sum(&mut self, wants_waits: bool) {
        let each = wants_waits || self.lock_names.is_some();
        let by = Summing {
            keep: &self.keep,
            with: Naming::new(
                &self.cache,
                &self.decoding.stacks,
                &self.mmap_locks,
                &self.spaces,
                each || self.keep.filters.ask_for_names(),
            ),
            aggregate: &self.aggregate,
            each,
        };
        let around = self.sleepers.around(&self.waits);
        let waits = self.lanes.iter().map(|lane| lane.window.waits).sum();
        by_workers(&mut self.lanes, waits, &mut self.sums, |lanes, sums| {
            for lane in lanes {
                for wait in lane.waits.iter_mut().take(lane.window.waits) {
                    wait.internal |= around.encloses(wait.lock, &wait.begin);
                    sums.take(wait, &by);
                }
            }
            sums.flush(by.aggregate);
        });
        let Some(sums) = self.sums.first_mut() else { return };
        // One after the other, as they ended: a wait's chain is found in those before.
        for wait in &self.waits {
            match &mut self.chaining {
                Some(chains) => sums.take_chained(wait, chains, &by),
                None => sums.take(wait, &by),
            }
        }
        self.slept.iter().for_each(|wait| sums.take(wait, &by));
        sums.flush(by.aggregate);
        if let Some(mut names) = self.lock_names.take() {
            self.as_they_ended().into_iter().for_each(|named| names.count(named));
            self.lock_names = Some(names);
        }
    }

    /// The window's waits, where something needs each of them.
    pub(super) fn as_they_ended(&self) -> Vec<&NamedWait> {
        let mut named: Vec<&NamedWait> = self.sums.iter().flat_map(|sums| &sums.named).collect();
        named.sort_unstable_by_key(|named| (named.wait.end_ns, named.wait.begin.stamp));
        named
    }
}
