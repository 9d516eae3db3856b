//! `--when-wait`: what is waited for, seen on its way to the stream.

use std::time::Duration;

use crate::event::{Cpu, Gap};
use crate::pipeline::{NamedWait, Outputs, RawEvent, Sink};
use crate::symbols::StackTable;

/// A sink that looks for a long wait.
pub(super) struct Trigger<'a, 's> {
    pub(super) outputs: &'a mut Outputs<'s>,
    /// Longer ones are looked for, if any.
    pub(super) than: Option<Duration>,
    /// How long the first one was.
    pub(super) found: Option<Duration>,
}

impl Sink for Trigger<'_, '_> {
    fn wants_waits(&self) -> bool {
        self.than.is_some() && self.found.is_none() || self.outputs.wants_waits()
    }

    fn wait(&mut self, wait: &NamedWait, stacks: &StackTable) {
        let length = Duration::from_nanos(wait.wait.wait_ns());
        if self.found.is_none() && self.than.is_some_and(|than| length > than) {
            self.found = Some(length);
        }
        self.outputs.wait(wait, stacks);
    }

    fn event(&mut self, event: &RawEvent<'_>) {
        self.outputs.event(event);
    }

    fn gap(&mut self, cpu: Cpu, gap: &Gap, before_ns: u64) {
        self.outputs.gap(cpu, gap, before_ns);
    }
}
