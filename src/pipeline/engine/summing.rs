//! A window's waits get their names, and go into the rows.

use super::super::naming::Naming;
use super::super::workers::on_each;
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
        on_each(&mut self.lanes, waits, |lane| {
            for wait in lane.waits.iter_mut().take(lane.window.waits) {
                wait.internal |= around.encloses(wait.lock, &wait.begin);
                lane.sums.take(wait, &by);
            }
            lane.sums.flush(by.aggregate);
        });
        // One after the other, as they ended: a wait's chain is found in those before.
        for wait in &self.waits {
            match &mut self.chaining {
                Some(chains) => self.sums.take_chained(wait, chains, &by),
                None => self.sums.take(wait, &by),
            }
        }
        self.slept.iter().for_each(|wait| self.sums.take(wait, &by));
        self.sums.flush(by.aggregate);
        if let Some(names) = &mut self.lock_names {
            let of_lanes = self.lanes.iter().flat_map(|lane| &lane.sums.named);
            of_lanes.chain(&self.sums.named).for_each(|named| names.count(named));
        }
    }
}
