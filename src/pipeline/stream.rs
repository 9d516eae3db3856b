//! The stream: each window's waits or events as lines, in a queue to whoever reads them.

use std::io;
use std::sync::Arc;

use crate::cmdline_cache::{Certainty, Fact};
use crate::contention::Holder;
use crate::event::decode::Frames;
use crate::event::{Comm, Cpu, Gap, TextId, Texts};
use crate::output::{self, FieldValue, RunInfo, StreamHolder, StreamLoss, StreamWait, json, text};
use crate::symbols::{Kallsyms, StackTable};
use crate::tracefs::{Abi, EventFormat, Value};

use super::named::{NamedHolder, NamedWait, OpenNamed, known_comm};
use super::queue::Queue;
use super::raw::RawEvent;
use super::results::Sink;
use super::summary::stream_open;

/// How lines look.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// For people.
    Text,
    /// For programs.
    Json,
}

/// Where the texts that waits refer to are; none for what is not asked for.
#[derive(Debug, Clone, Default)]
pub struct StreamTexts {
    /// The paths of cgroups.
    pub cgroups: Option<Arc<Texts>>,
    /// Command lines.
    pub cmdlines: Option<Arc<Texts>>,
}

/// What is told of each wait beyond what all have.
#[derive(Debug, Clone, Copy, Default)]
pub struct Shows {
    /// Where its time went.
    pub split: bool,
    /// Who had the lock.
    pub holders: bool,
}

/// Turns results into lines and queues them, a window at a time.
#[derive(Debug)]
pub struct Stream<'a> {
    format: Format,
    symbols: &'a Kallsyms,
    texts: StreamTexts,
    shows: Shows,
    queue: Queue,
    lines: Vec<u8>,
    count: u64,
}

impl<'a> Stream<'a> {
    /// Lines of this format go to `queue`, addresses under the names of `symbols`.
    pub fn new(format: Format, symbols: &'a Kallsyms, queue: Queue) -> Stream<'a> {
        let (texts, shows) = (StreamTexts::default(), Shows::default());
        Stream { format, symbols, texts, shows, queue, lines: Vec::new(), count: 0 }
    }

    /// Also tells of each wait what is kept in these.
    pub fn with_texts(self, texts: &StreamTexts) -> Stream<'a> {
        Stream { texts: texts.clone(), ..self }
    }

    /// Also tells these of each wait.
    pub fn showing(self, shows: Shows) -> Stream<'a> {
        Stream { shows, ..self }
    }

    /// The line, or record, before all others.
    pub fn header(&mut self, run: &RunInfo<'_>) {
        self.line(|format, out| match format {
            Format::Text => text::header(out),
            Format::Json => json::header(run, out),
        });
    }

    /// Hands the lines of a window over.
    pub fn flush(&mut self) {
        self.queue.push(std::mem::take(&mut self.lines), std::mem::take(&mut self.count));
    }

    /// The queue, to ask how it fares or to end it.
    pub fn queue(&self) -> &Queue {
        &self.queue
    }

    /// Waits until everything is written. Returns the lines dropped, and why writing failed.
    pub fn finish(mut self) -> (u64, io::Result<()>) {
        self.flush();
        (self.queue.dropped_lines(), self.queue.finish())
    }

    fn stack<'v>(&self, frames: &Frames<'_>) -> FieldValue<'v> {
        let code = |addr| match self.symbols.resolve(addr) {
            Some(symbol) => FieldValue::Code(symbol.to_string()),
            None => FieldValue::Address(addr),
        };
        FieldValue::List(frames.clone().map(code).collect())
    }

    fn line(&mut self, write: impl FnOnce(Format, &mut dyn io::Write) -> io::Result<()>) {
        // Memory takes every write.
        let written = write(self.format, &mut self.lines);
        self.count += u64::from(written.is_ok());
    }
}

impl Sink for Stream<'_> {
    fn wants_waits(&self) -> bool {
        true
    }

    fn wait(&mut self, named: &NamedWait, _: &StackTable) {
        let Stream { format, symbols, texts, shows, lines, count, .. } = self;
        let written = told(named, texts, *shows, |wait| match format {
            Format::Text => text::wait(wait, symbols, lines),
            Format::Json => json::wait(wait, symbols, lines),
        });
        *count += u64::from(written.is_ok());
    }

    fn event(&mut self, event: &RawEvent<'_>) {
        let comm = known_comm(&event.name);
        let raw = output::RawEvent {
            ts_ns: event.head.ts_ns,
            cpu: event.head.cpu,
            tid: event.head.tid,
            comm: comm.as_ref(),
            flags: event.raw.flags,
            preempt_count: event.raw.preempt_count,
            event: event.format.map_or("?", |format| &format.name),
        };
        let fields = match &event.frames {
            Some(frames) => vec![("caller", self.stack(frames))],
            None => fields(event.format, event.payload, event.abi),
        };
        let fields = fields.iter().cloned();
        self.line(|format, out| match format {
            Format::Text => text::event(&raw, fields, out),
            Format::Json => json::event(&raw, fields, out),
        });
    }

    fn gap(&mut self, cpu: Cpu, gap: &Gap, before_ns: u64) {
        let loss = StreamLoss { cpu, missed: gap.missed, after_ns: gap.after_ns, before_ns };
        self.line(|format, out| match format {
            Format::Text => text::loss(&loss, out),
            Format::Json => json::loss(&loss, out),
        });
    }

    fn lasting(&mut self, wait: &OpenNamed, stacks: &StackTable) {
        let (wait, symbols) = (stream_open(wait), self.symbols);
        self.line(|format, out| match format {
            Format::Text => text::open(&wait, stacks, symbols, out),
            Format::Json => json::open(&wait, stacks, symbols, out),
        });
    }
}

/// What is told of a wait, for whoever writes it.
pub(super) fn told<T>(
    named: &NamedWait,
    texts: &StreamTexts,
    shows: Shows,
    write: impl FnOnce(&StreamWait<'_>) -> T,
) -> T {
    let comm = known_comm(&named.name);
    // Of a sleep both are known without further events.
    let is_sleep = named.reason.is_some();
    let cgroup = fact_text(named.cgroup, texts.cgroups.as_deref());
    let cmdline = fact_text(named.cmdline, texts.cmdlines.as_deref());
    write(&StreamWait {
        cgroup: cgroup.as_ref().map(Option::as_deref),
        cmdline: cmdline.as_ref().map(Option::as_deref),
        off_cpu: (shows.split || is_sleep).then_some(named.wait.off_cpu),
        holder: (shows.holders || is_sleep).then(|| named.holder.as_ref().map(stream_holder)),
        ..stream_wait(named, comm.as_ref())
    })
}

/// A text that is asked for, and the text itself where it is known.
fn fact_text(fact: Option<Fact>, texts: Option<&Texts>) -> Option<Option<Arc<[u8]>>> {
    let get = |id: TextId| texts.and_then(|texts| texts.get(id));
    fact.map(|fact| fact.text.and_then(get))
}

/// Whoever had the lock, for the writers.
pub(super) fn stream_holder(named: &NamedHolder) -> StreamHolder {
    let Holder { head, evidence, held_ns, .. } = named.holder;
    StreamHolder {
        ts_ns: head.ts_ns,
        tid: head.tid,
        comm: known_comm(&named.name),
        evidence,
        caller: named.caller,
        held_ns,
    }
}

fn stream_wait<'a>(named: &NamedWait, comm: Option<&'a Comm>) -> StreamWait<'a> {
    let wait = &named.wait;
    StreamWait {
        begin_ns: wait.begin.ts_ns,
        end_ns: wait.end_ns,
        wait_ns: wait.wait_ns(),
        cpu: wait.begin.cpu,
        tid: wait.begin.tid,
        pid: named.name.tgid,
        comm,
        comm_confirmed: named.name.certainty == Certainty::Known,
        lock: wait.lock,
        lock_name: named.lock_name,
        table: named.table,
        cause: wait.cause,
        reason: named.reason,
        off_cpu: None,
        holder: None,
        context: wait.begin.context,
        ret: wait.ret,
        caller: named.caller,
        cgroup: None,
        cmdline: None,
        uncertain: wait.uncertain,
    }
}

/// An event's fields, as its format has them.
fn fields<'a>(
    format: Option<&'a EventFormat>,
    payload: &'a [u8],
    abi: Abi,
) -> Vec<(&'a str, FieldValue<'a>)> {
    let fields = format.map_or(&[][..], |format| &format.fields);
    fields.iter().map(|field| (&*field.name, shown(field.value(payload, abi)))).collect()
}

fn shown(value: Value<'_>) -> FieldValue<'_> {
    match value {
        Value::Signed(number) => FieldValue::Signed(number),
        Value::Unsigned(number) => FieldValue::Unsigned(number),
        Value::Address(address) => FieldValue::Address(address),
        Value::Text(bytes) => FieldValue::Text(bytes),
        Value::List(list) => FieldValue::List(list.map(shown).collect()),
        Value::Fault(_) => FieldValue::Fault,
    }
}
