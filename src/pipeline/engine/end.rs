//! The end of a run: what it came to.

use crate::contention::OpenWait;

use super::super::lock_names::LockNames;
use super::super::named::Kept;
use super::super::naming::Naming;
use super::super::results::{Results, totals};
use super::Engine;

impl Engine {
    /// Ends the run: counts what is open, and gives all results.
    pub fn finish(mut self) -> Results {
        let last_ns = self.known_up_to_ns();
        let mut open = self.sleepers.finish();
        let holders_forgotten = self.sleepers.holders_forgotten();
        let mut counts = self.sleepers.counts;
        if let Some(mut sleeps) = self.sleeps {
            open.extend(sleeps.finish());
            counts.add(&sleeps.counts);
        }
        let mut kept = Kept::default();
        self.sums.iter().for_each(|sums| kept.merge(&sums.kept));
        let mut switches_missing = 0;
        let mut read = Vec::with_capacity(self.lanes.len());
        for mut lane in self.lanes {
            open.extend(lane.spinners.finish());
            counts.add(&lane.spinners.counts);
            switches_missing += lane.spinners.switches_missing;
            read.push((lane.cpu, lane.read));
        }
        open.sort_by_key(|wait| wait.begin.stamp);
        let stacks = self.decoding.stacks;
        let rows = self.aggregate.snapshot();
        let futex_names = self.lock_names.as_ref().map(LockNames::futexes);
        let names = self.lock_names.map(|names| names.finish(&rows.rows, &self.mmap_locks));
        let with = Naming::new(&self.cache, &stacks, &self.mmap_locks, &self.spaces, true);
        let named = |wait: OpenWait| self.keep.open(&wait, last_ns, &with);
        let open = open.into_iter().filter_map(named).collect();
        let (chains, chains_forgotten) = self.chaining.unwrap_or_default().finish();
        Results {
            counts,
            holders_forgotten,
            switches_missing,
            words_forgotten: self.spaces.words_forgotten(),
            futex_names: futex_names.unwrap_or_default(),
            user_names: self.spaces.names_given_up(),
            kept,
            open,
            chains,
            chains_forgotten,
            totals: totals(&rows),
            rows,
            lock_names: names.unwrap_or_default(),
            read,
            unread: 0,
            stacks,
            names: self.cache.counters(),
            facts: self.cache.facts_given_up(),
            end_ns: last_ns,
        }
    }
}
