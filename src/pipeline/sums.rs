//! What one worker has summed: rows, and where the waits went.

use crate::aggregate::{Aggregate, Delta, Sample};
use crate::contention::Wait;
use crate::report::{Part, RowKey, Table, Witness};

use super::chaining::Chaining;
use super::keep::Keep;
use super::named::{Kept, NamedWait};
use super::naming::Naming;

/// One worker's sums, flushed at the end of each window.
#[derive(Debug, Default)]
pub(super) struct Sums {
    delta: Delta<RowKey, Witness>,
    pub(super) kept: Kept,
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

impl Sums {
    /// Names a wait, and sums it if it is kept.
    pub(super) fn take(&mut self, wait: &Wait, by: &Summing<'_>) {
        if let Some((named, sample)) = by.keep.take(wait, &by.with, &mut self.kept) {
            self.add(named, sample, by);
        }
    }

    /// The same with the chain that the wait begins: waits that are left out are in chains, too.
    pub(super) fn take_chained(&mut self, wait: &Wait, chains: &mut Chaining, by: &Summing<'_>) {
        let named = by.with.named(wait, by.with.name(&wait.begin));
        let chain = chains.take(&named);
        let named = NamedWait { chain: chain.map(|(chain, _)| chain), ..named };
        let Some((named, sample)) = by.keep.take_named(named, &by.with, &mut self.kept) else {
            return;
        };
        if let Some((chain, true)) = chain {
            let key = RowKey::of(Table::Chains, [Part::Chain(Some(chain))]);
            self.delta.add(key, (sample, named.split()), || named.witness(), by.aggregate);
        }
        self.add(named, sample, by);
    }

    /// Hands the rows over to everybody's.
    pub(super) fn flush(&mut self, aggregate: &Aggregate<RowKey, Witness>) {
        self.delta.flush(aggregate);
    }

    fn add(&mut self, named: NamedWait, sample: Sample, by: &Summing<'_>) {
        let key = by.keep.row_key(&named, by.with.cache);
        self.delta.add(key, (sample, named.split()), || named.witness(), by.aggregate);
        if by.each {
            self.named.push(named);
        }
    }
}
