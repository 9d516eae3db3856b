//! A window's waits get their names, and go into the rows.

use crate::contention::Finished;
use crate::report::{Part, RowKey, Table};

use super::super::named::NamedWait;
use super::super::naming::Naming;
use super::super::workers::on_each;
use super::Engine;

impl Engine {
    /// Every name of the window is known by now: spinning waits each CPU for itself, then the others.
    pub(super) fn name_and_sum(&mut self, events: usize) {
        self.sum_spinners(events);
        self.sum_sleepers();
        self.sum_sleeps();
        self.delta.flush(&self.aggregate);
        if let Some(names) = &mut self.lock_names {
            let of_lanes = self.lanes.iter().flat_map(|lane| &lane.named);
            of_lanes.chain(&self.named).for_each(|named| names.count(named));
        }
        self.spaces.end_window();
    }

    fn sum_spinners(&mut self, events: usize) {
        let (keep, aggregate) = (&self.keep, &self.aggregate);
        let (sleepers, slept) = (&self.sleepers, Finished::new(&self.waits));
        let with = Naming::new(&self.cache, &self.decoding.stacks, &self.mmap_locks, &self.spaces);
        on_each(&mut self.lanes, events, |lane| {
            for wait in &mut lane.waits {
                wait.internal |= sleepers.encloses(&slept, wait.lock, &wait.begin);
                let kept = keep.take(wait, &with, &mut lane.kept);
                let Some((named, key, sample)) = kept else { continue };
                lane.delta.add(key, (sample, named.split()), named.witness(), aggregate);
                lane.named.push(named);
            }
            lane.delta.flush(aggregate);
        });
    }

    /// One after the other, as they ended: a wait's chain is found in those before.
    fn sum_sleepers(&mut self) {
        let with = Naming::new(&self.cache, &self.decoding.stacks, &self.mmap_locks, &self.spaces);
        for wait in &self.waits {
            let (chain, kept) = match &mut self.chaining {
                // Waits that are left out are in chains, too.
                Some(chains) => {
                    let named = with.named(wait, with.name(&wait.begin));
                    let chain = chains.take(&named);
                    let named = NamedWait { chain: chain.map(|(chain, _)| chain), ..named };
                    (chain, self.keep.take_named(named, &with, &mut self.kept))
                }
                None => (None, self.keep.take(wait, &with, &mut self.kept)),
            };
            let Some((named, key, sample)) = kept else { continue };
            let (sums, witness) = ((sample, named.split()), named.witness());
            self.delta.add(key, sums, witness, &self.aggregate);
            if let Some((chain, true)) = chain {
                let key = RowKey::of(Table::Chains, [Part::Chain(Some(chain))]);
                self.kept.count_chain(&named, sample);
                self.delta.add(key, sums, witness, &self.aggregate);
            }
            self.named.push(named);
        }
    }

    fn sum_sleeps(&mut self) {
        let with = Naming::new(&self.cache, &self.decoding.stacks, &self.mmap_locks, &self.spaces);
        for wait in &self.slept {
            let kept = self.keep.take(wait, &with, &mut self.kept);
            let Some((named, key, sample)) = kept else { continue };
            self.delta.add(key, (sample, named.split()), named.witness(), &self.aggregate);
            self.named.push(named);
        }
    }
}
