//! Waits for the formats that need each by itself, not only the sums.

use std::fmt;
use std::io;

use crate::cmdline_cache::TaskName;
use crate::event::{Cpu, Gap, Tid};
use crate::output::perfetto::{Names, Trace, Who};
use crate::output::{StreamLoss, StreamWait};
use crate::report::Timeline;
use crate::symbols::{Kallsyms, StackTable};

use super::named::{NamedWait, OpenNamed, known_comm};
use super::queue::Queue;
use super::raw::RawEvent;
use super::results::Sink;
use super::stream::{Shows, StreamTexts, told};
use super::summary::stream_open;

/// Written bytes that are handed over before the window is at its end.
const PIECE_BYTES: usize = 1 << 20;

/// A report that is written wait by wait.
pub trait Exporter: Sink + fmt::Debug {
    /// Hands over what has been written.
    fn flush(&mut self);

    /// The queue that it goes to, to ask how it fares.
    fn queue(&self) -> &Queue;

    /// Adds what is known at the end only, with the waits that are still open; waits until everything is
    /// written. Returns the waits that are missing, and why writing failed.
    fn finish(self: Box<Self>, open: &[OpenNamed], stacks: &StackTable) -> (u64, io::Result<()>);
}

/// A trace for Perfetto, written while waits come in.
#[derive(Debug)]
pub struct PerfettoExport<'a> {
    trace: Trace,
    timeline: Timeline,
    symbols: &'a Kallsyms,
    texts: StreamTexts,
    shows: Shows,
    queue: Queue,
}

impl<'a> PerfettoExport<'a> {
    /// Goes to `queue`, with addresses under the names of `symbols`; tells what is in `texts` and `shows`.
    pub fn new(
        trace: Trace,
        symbols: &'a Kallsyms,
        (texts, shows): (&StreamTexts, Shows),
        queue: Queue,
    ) -> PerfettoExport<'a> {
        let timeline = Timeline::default();
        PerfettoExport { trace, timeline, symbols, texts: texts.clone(), shows, queue }
    }
}

impl Exporter for PerfettoExport<'_> {
    fn flush(&mut self) {
        let (bytes, waits) = self.trace.take();
        let before = self.queue.dropped_lines();
        // What is no wait - a descriptor, the head - is needed no less.
        self.queue.push(bytes, waits.max(1));
        if self.queue.dropped_lines() > before {
            self.trace.tell_anew();
        }
    }

    fn queue(&self) -> &Queue {
        &self.queue
    }

    fn finish(
        mut self: Box<Self>,
        open: &[OpenNamed],
        stacks: &StackTable,
    ) -> (u64, io::Result<()>) {
        let names = Names { symbols: self.symbols, stacks };
        for wait in open {
            self.trace.open(&stream_open(wait), &who(wait.wait.begin.tid, &wait.name), names);
        }
        self.trace.counters(&self.timeline);
        self.flush();
        let missing = self.queue.dropped_lines() + self.trace.left_out();
        (missing, self.queue.finish())
    }
}

impl Sink for PerfettoExport<'_> {
    fn wants_waits(&self) -> bool {
        true
    }

    fn wait(&mut self, named: &NamedWait, stacks: &StackTable) {
        self.timeline.add(named.series(), named.wait.begin.ts_ns, named.wait.end_ns);
        let names = Names { symbols: self.symbols, stacks };
        let waiter = who(named.wait.begin.tid, &named.name);
        let holder = named.holder.as_ref();
        let holder = holder.map(|holder| who(holder.holder.head.tid, &holder.name));
        let (trace, stack) = (&mut self.trace, named.wait.stack);
        told(named, &self.texts, self.shows, |wait: &StreamWait<'_>| {
            trace.wait(wait, &waiter, holder.as_ref(), stack, names);
        });
        if self.trace.len() >= PIECE_BYTES {
            self.flush();
        }
    }

    fn event(&mut self, _: &RawEvent<'_>) {}

    fn gap(&mut self, cpu: Cpu, gap: &Gap, before_ns: u64) {
        let loss = StreamLoss { cpu, missed: gap.missed, after_ns: gap.after_ns, before_ns };
        self.trace.loss(&loss);
    }
}

fn who(tid: Tid, name: &TaskName) -> Who {
    Who { tid, incarnation: name.incarnation, pid: name.tgid, comm: known_comm(name) }
}
