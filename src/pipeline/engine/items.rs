//! The engine's side of sources that are no rings.

use super::super::lane::{Item, Lane};
use super::super::raw::RawStore;
use super::super::workers::on_each;
use super::Engine;
use crate::event::Cpu;

impl Engine {
    /// Takes what was read of every CPU since the last call, in the CPUs' order.
    pub fn take(&mut self, items: &[Vec<Item<'_>>]) {
        let count = items.iter().map(Vec::len).sum();
        let mut work: Vec<_> = self.lanes.iter_mut().zip(items).collect();
        let (decoding, processed_ns) = (&self.decoding, self.processed_ns);
        on_each(&mut work, count, |(lane, items)| {
            items.iter().for_each(|item| lane.take_item(decoding, item, processed_ns));
        });
    }

    /// A CPU of which nothing was known up to here: it is the last in the order.
    pub fn add_cpu(&mut self, cpu: Cpu) {
        self.lanes.push(Lane::new(cpu, self.raw.then(RawStore::default)));
    }

    /// Whether events are decoded and in no window yet.
    pub fn has_pending(&self) -> bool {
        self.lanes.iter().any(|lane| lane.pending() > 0)
    }
}
