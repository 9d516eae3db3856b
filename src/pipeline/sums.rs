//! What one worker has summed: rows, and where the waits went.

use crate::aggregate::{Aggregate, Delta, Sample};
use crate::cmdline_cache::NameMemo;
use crate::contention::Wait;
use crate::report::{Part, RowKey, Table, Witness};

use super::chaining::Chaining;
use super::keep::Keep;
use super::named::{Kept, NamedWait};
use super::naming::Naming;

/// Names that a worker has at hand.
const NAMES: usize = 1 << 10;

/// One worker's sums, flushed at the end of each window.
#[derive(Debug)]
pub(super) struct Sums {
    delta: Delta<RowKey, Witness>,
    pub(super) kept: Kept,
    names: NameMemo,
    /// The window's kept waits, where something needs each of them.
    pub(super) named: Vec<NamedWait>,
}

/// What all workers share when a window's waits are summed.
#[derive(Debug, Clone, Copy)]
pub(super) struct Summing<'a> {
    pub(super) keep: &'a Keep,
    pub(super) with: Naming<'a>,
    pub(super) aggregate: &'a Aggregate<RowKey, Witness>,
    /// Whether something needs each wait.
    pub(super) each: bool,
}

impl Default for Sums {
    fn default() -> Sums {
        let names = NameMemo::new(NAMES);
        Sums { delta: Delta::default(), kept: Kept::default(), names, named: Vec::new() }
    }
}

impl Sums {
    /// Names a wait, and sums it if it is kept.
    #[inline]
    pub(super) fn take(&mut self, wait: &Wait, by: &Summing<'_>) {
        let name = self.names.name(by.with.cache, &wait.begin);
        // Most waits of a machine end here where few tasks are asked for: their names are enough.
        if by.keep.admits(&wait.begin, &name, &mut self.kept) {
            self.take_named(&mut by.with.named(wait, name), by);
        }
    }

    /// The same with the chain that the wait begins: waits that are left out are in chains, too.
    pub(super) fn take_chained(&mut self, wait: &Wait, chains: &mut Chaining, by: &Summing<'_>) {
        let mut named = by.with.named(wait, by.with.name(&wait.begin));
        let chain = chains.take(&named);
        named.chain = chain.map(|(chain, _)| chain);
        if !by.keep.admits(&wait.begin, &named.name, &mut self.kept) {
            return;
        }
        let Some(sample) = self.take_named(&mut named, by) else { return };
        if let Some((chain, true)) = chain {
            let key = RowKey::of_one(Table::Chains, Part::Chain(Some(chain)));
            self.delta.add(key, (sample, named.split()), || named.witness(), by.aggregate);
        }
    }

    /// Hands the rows over to everybody's.
    pub(super) fn flush(&mut self, aggregate: &Aggregate<RowKey, Witness>) {
        self.delta.flush(aggregate);
    }

    #[inline]
    fn take_named(&mut self, named: &mut NamedWait, by: &Summing<'_>) -> Option<Sample> {
        let sample = by.keep.sample(named, by.with.stacks, &mut self.kept)?;
        let key = by.keep.row_key(named, by.with.cache);
        self.delta.add(key, (sample, named.split()), || named.witness(), by.aggregate);
        if by.each {
            self.named.push(*named);
        }
        Some(sample)
    }
}
