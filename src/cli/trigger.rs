//! `--when-wait`: what is waited for, seen on its way to the stream.

use std::time::Duration;

use crate::event::{Cpu, Gap};
use crate::pipeline::{NamedWait, RawEvent, Sink, Stream};

/// A sink that looks for a long wait.
pub(super) struct Trigger<'a, 's> {
    pub(super) stream: &'a mut Option<Stream<'s>>,
    /// Longer ones are looked for, if any.
    pub(super) than: Option<Duration>,
    /// How long the first one was.
    pub(super) found: Option<Duration>,
}

impl Sink for Trigger<'_, '_> {
    fn wait(&mut self, wait: &NamedWait) {
        let length = Duration::from_nanos(wait.wait.wait_ns());
        if self.found.is_none() && self.than.is_some_and(|than| length > than) {
            self.found = Some(length);
        }
        self.stream.wait(wait);
    }

    fn event(&mut self, event: &RawEvent<'_>) {
        self.stream.event(event);
    }

    fn gap(&mut self, cpu: Cpu, gap: &Gap, before_ns: u64) {
        self.stream.gap(cpu, gap, before_ns);
    }
}
