//! Where waits go while a run lasts.

use std::io;

use crate::contention::Outcome;
use crate::event::{Cpu, Gap};
use crate::report::Profile;
use crate::symbols::StackTable;

use super::export::Exporter;
use super::named::{NamedWait, OpenNamed};
use super::queue::Queue;
use super::raw::RawEvent;
use super::results::Sink;
use super::stream::Stream;

/// What may wait to be written where there is no hurry.
const WAITING_BYTES: usize = 1 << 20;

/// What a report's format needs of each wait.
#[derive(Debug)]
pub enum Export<'a> {
    /// The report is written wait by wait.
    Waits(Box<dyn Exporter + 'a>),
    /// The report has pictures of the run.
    Profile(Profile),
}

/// The stream, and what a report is made of beside the rows.
#[derive(Debug)]
pub struct Outputs<'a> {
    /// Lines, where waits are streamed.
    pub stream: Option<Stream<'a>>,
    /// Where the report's format needs each wait.
    pub export: Option<Export<'a>>,
}

impl Outputs<'_> {
    /// Hands over what a window brought.
    pub fn flush(&mut self) {
        self.stream.iter_mut().for_each(Stream::flush);
        if let Some(Export::Waits(report)) = &mut self.export {
            report.flush();
        }
    }

    /// Hands it over, and waits for whoever reads it: for a source that does not run away.
    pub fn flush_and_wait(&mut self) {
        self.flush();
        self.queues().for_each(|queue| queue.wait(WAITING_BYTES));
    }

    /// Whether writing stopped for an error, and for which kind.
    pub fn failed(&self) -> Option<io::ErrorKind> {
        self.queues().find_map(Queue::failed)
    }

    fn queues(&self) -> impl Iterator<Item = &Queue> {
        let exported = match &self.export {
            Some(Export::Waits(report)) => Some(report.queue()),
            Some(Export::Profile(_)) | None => None,
        };
        self.stream.as_ref().map(Stream::queue).into_iter().chain(exported)
    }
}

/// As in the rows, the time of a wait counts if it ended with the lock.
fn add(named: &NamedWait, profile: &mut Profile) {
    let wait = &named.wait;
    profile.timeline.add(named.series(), wait.begin.ts_ns, wait.end_ns);
    if wait.outcome() == Outcome::Acquired {
        profile.add(named.series(), wait.stack, wait.wait_ns());
    }
}

impl Sink for Export<'_> {
    fn wants_waits(&self) -> bool {
        true
    }

    fn wait(&mut self, wait: &NamedWait, stacks: &StackTable) {
        match self {
            Export::Waits(report) => report.wait(wait, stacks),
            Export::Profile(profile) => add(wait, profile),
        }
    }

    fn event(&mut self, event: &RawEvent<'_>) {
        match self {
            Export::Waits(report) => report.event(event),
            Export::Profile(_) => {}
        }
    }

    fn gap(&mut self, cpu: Cpu, gap: &Gap, before_ns: u64) {
        match self {
            Export::Waits(report) => report.gap(cpu, gap, before_ns),
            Export::Profile(_) => {}
        }
    }
}

impl Sink for Outputs<'_> {
    fn wants_waits(&self) -> bool {
        self.stream.wants_waits() || self.export.wants_waits()
    }

    fn wait(&mut self, wait: &NamedWait, stacks: &StackTable) {
        self.stream.wait(wait, stacks);
        self.export.wait(wait, stacks);
    }

    fn event(&mut self, event: &RawEvent<'_>) {
        self.stream.event(event);
        self.export.event(event);
    }

    fn gap(&mut self, cpu: Cpu, gap: &Gap, before_ns: u64) {
        self.stream.gap(cpu, gap, before_ns);
        self.export.gap(cpu, gap, before_ns);
    }

    fn lasting(&mut self, wait: &OpenNamed, stacks: &StackTable) {
        self.stream.lasting(wait, stacks);
    }
}
