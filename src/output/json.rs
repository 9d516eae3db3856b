//! JSON: the stream's lines, every line one object, told apart by `record`, as `docs/stream.md`
//! describes them; and the report, one object for all.

mod holder;
mod report;
mod summary;
#[cfg(test)]
mod tests;
mod visible;

use self::holder::{JsonHolder, JsonSplit};
pub use self::report::report;
use self::summary::{JsonFound, JsonIdentity, JsonOpen, JsonRow};
use super::escape::json_name;
use super::lock::KnownLock;
use super::text::reason_text;
use super::{FieldValue, RawEvent, RunInfo, StreamLoss, StreamOpen, StreamWait, Summary};
use crate::event::Comm;
use crate::report::Quality;
use crate::symbols::{Kallsyms, StackTable};
use serde::{Serialize, Serializer};
use std::borrow::Cow;
use std::io::{self, Write};

/// Raised where a field changes its meaning or goes; new fields do not raise it.
pub const SCHEMA: u32 = 1;

/// The largest integer that every JSON reader keeps exactly.
const MAX_EXACT: u64 = 1 << 53;

#[derive(Serialize)]
#[serde(tag = "record", rename_all = "lowercase")]
enum Record<'a, F: Serialize> {
    Header {
        schema: u32,
        ftlock: &'static str,
        clock: &'a str,
        kernel: &'a str,
        cpus: usize,
        command: Vec<Cow<'a, str>>,
    },
    Wait {
        ts: u64,
        end: u64,
        wait_ns: u64,
        tid: u32,
        pid: Option<u32>,
        comm: Option<Cow<'a, str>>,
        comm_confirmed: bool,
        cpu: u16,
        lock: Address,
        lock_name: Option<Cow<'a, str>>,
        lock_name_by: Option<&'static str>,
        kind: &'static str,
        flags: Option<String>,
        #[serde(skip_serializing_if = "Option::is_none")]
        shared: Option<bool>,
        #[serde(skip_serializing_if = "Option::is_none")]
        idle: Option<bool>,
        #[serde(skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
        context: &'static str,
        ret: i32,
        caller: Option<String>,
        #[serde(skip_serializing_if = "Option::is_none")]
        cgroup: Option<Option<Cow<'a, str>>>,
        #[serde(skip_serializing_if = "Option::is_none")]
        cmdline: Option<Option<Cow<'a, str>>>,
        uncertain: bool,
        #[serde(flatten)]
        split: Option<JsonSplit>,
        #[serde(skip_serializing_if = "Option::is_none")]
        holder: Option<Option<JsonHolder<'a>>>,
    },
    Open {
        #[serde(flatten)]
        wait: JsonOpen<'a>,
        stack: Option<Vec<String>>,
    },
    Event {
        ts: u64,
        cpu: u16,
        tid: u32,
        comm: Option<Cow<'a, str>>,
        event: &'a str,
        fields: F,
    },
    Loss {
        cpu: u16,
        missed: Option<u64>,
        after: u64,
        before: u64,
    },
    Summary {
        duration_ns: u64,
        waits: u64,
        by: Vec<&'static str>,
        rows: Vec<JsonRow<'a>>,
        #[serde(flatten)]
        found: JsonFound<'a>,
        quality: &'a Quality,
        identities: Vec<JsonIdentity>,
    },
}

type Plain<'a> = Record<'a, ()>;

/// The first line of a stream.
///
/// # Errors
///
/// Those of `out`, as in every function here.
pub fn header(run: &RunInfo<'_>, out: &mut dyn Write) -> io::Result<()> {
    line(
        &Plain::Header {
            schema: SCHEMA,
            ftlock: env!("CARGO_PKG_VERSION"),
            clock: run.clock,
            kernel: run.kernel,
            cpus: run.cpus,
            command: run.command.iter().map(|argument| json_name(argument)).collect(),
        },
        out,
    )
}

/// One finished wait.
pub fn wait(wait: &StreamWait<'_>, symbols: &Kallsyms, out: &mut dyn Write) -> io::Result<()> {
    let known = KnownLock::of(wait.cause, wait.lock, wait.lock_name, symbols);
    line(
        &Plain::Wait {
            ts: wait.begin_ns,
            end: wait.end_ns,
            wait_ns: wait.wait_ns,
            tid: wait.tid.0,
            pid: wait.pid.map(|pid| pid.0),
            comm: comm(wait.comm),
            comm_confirmed: wait.comm_confirmed,
            cpu: wait.cpu.0,
            lock: Address(wait.lock),
            lock_name: known.as_ref().map(|known| known.name.as_ref().into()),
            lock_name_by: known.as_ref().map(|known| known.by),
            kind: wait.cause.kind().name(),
            flags: wait.cause.flags().map(|flags| flags.to_string()),
            shared: wait.cause.futex().map(|call| call.shared),
            idle: wait.cause.flags().is_none().then(|| wait.table.is_idle()),
            reason: wait.reason.map(|reason| reason_text(reason, symbols)),
            context: wait.context.name(),
            ret: wait.ret,
            caller: wait.caller.map(|addr| caller_name(addr, symbols)),
            cgroup: wait.cgroup.map(|path| path.map(json_name)),
            cmdline: wait.cmdline.map(|cmdline| cmdline.map(json_name)),
            uncertain: wait.uncertain,
            split: wait.off_cpu.map(|off| JsonSplit::new(wait.wait_ns, off)),
            holder: wait
                .holder
                .as_ref()
                .map(|holder| holder.as_ref().map(|holder| JsonHolder::new(holder, symbols))),
        },
        out,
    )
}

/// A wait that lasts.
pub fn open(
    wait: &StreamOpen,
    stacks: &StackTable,
    symbols: &Kallsyms,
    out: &mut dyn Write,
) -> io::Result<()> {
    let frames = wait.stack.and_then(|stack| stacks.frames(stack));
    let stack =
        frames.map(|frames| frames.iter().map(|&frame| caller_name(frame, symbols)).collect());
    line(&Plain::Open { wait: JsonOpen::new(wait, symbols), stack }, out)
}

/// One raw event. The fields are gone through once.
pub fn event<'a>(
    event: &RawEvent<'_>,
    fields: impl Iterator<Item = (&'a str, FieldValue<'a>)> + Clone,
    out: &mut dyn Write,
) -> io::Result<()> {
    line(
        &Record::Event {
            ts: event.ts_ns,
            cpu: event.cpu.0,
            tid: event.tid.0,
            comm: comm(event.comm),
            event: event.event,
            fields: Fields(fields),
        },
        out,
    )
}

/// A gap in one CPU's events.
pub fn loss(loss: &StreamLoss, out: &mut dyn Write) -> io::Result<()> {
    line(
        &Plain::Loss {
            cpu: loss.cpu.0,
            missed: loss.missed,
            after: loss.after_ns,
            before: loss.before_ns,
        },
        out,
    )
}

/// The last line of a stream.
pub fn summary(summary: &Summary<'_>, out: &mut dyn Write) -> io::Result<()> {
    let row = |row| JsonRow { row, summary };
    let further: Vec<Summary<'_>> = summary.tables().skip(1).collect();
    line(
        &Plain::Summary {
            duration_ns: summary.duration_ns,
            waits: summary.totals.waits(),
            by: summary.by.iter().map(|by| by.name()).collect(),
            rows: summary.rows.iter().map(row).collect(),
            found: JsonFound::new(summary, &further),
            quality: summary.quality,
            identities: summary.quality.identities().into_iter().map(JsonIdentity::from).collect(),
        },
        out,
    )
}

pub(super) fn line(record: &impl Serialize, out: &mut dyn Write) -> io::Result<()> {
    visible::write(record, out)?;
    out.write_all(b"\n")
}

fn comm(comm: Option<&Comm>) -> Option<Cow<'_, str>> {
    comm.map(|comm| json_name(comm.as_bytes()))
}

fn caller_name(addr: u64, symbols: &Kallsyms) -> String {
    symbols.resolve(addr).map_or_else(|| format!("{addr:#x}"), |symbol| symbol.to_string())
}

struct Address(u64);

impl Serialize for Address {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&format_args!("{:#x}", self.0))
    }
}

struct Fields<I>(I);

impl<'a, I: Iterator<Item = (&'a str, FieldValue<'a>)> + Clone> Serialize for Fields<I> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.clone())
    }
}

impl Serialize for FieldValue<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            FieldValue::Signed(value) if value.unsigned_abs() > MAX_EXACT => {
                serializer.collect_str(value)
            }
            FieldValue::Signed(value) => serializer.serialize_i64(*value),
            FieldValue::Unsigned(value) if *value > MAX_EXACT => serializer.collect_str(value),
            FieldValue::Unsigned(value) => serializer.serialize_u64(*value),
            FieldValue::Address(value) => Address(*value).serialize(serializer),
            FieldValue::Code(symbol) => serializer.serialize_str(symbol),
            FieldValue::Text(value) => serializer.serialize_str(&json_name(value)),
            FieldValue::List(values) => serializer.collect_seq(values),
            FieldValue::Fault => serializer.serialize_none(),
        }
    }
}
