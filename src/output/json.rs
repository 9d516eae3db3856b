//! JSON lines: every line one object, told apart by `record`. `docs/stream.md` describes them.

use super::escape::json_name;
use super::{FieldValue, RawEvent, RunInfo, StreamLoss, StreamOpen, StreamWait, Summary};
use crate::event::{Comm, LockKind};
use crate::report::{COLUMNS, Identity, Quality, Row, RowKey, RowStats};
use crate::symbols::Kallsyms;
use serde::ser::SerializeMap;
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
        kind: &'static str,
        flags: String,
        context: &'static str,
        ret: i32,
        caller: Option<String>,
        uncertain: bool,
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
        by: &'static str,
        rows: Vec<JsonRow<'a>>,
        totals: Figures<'a>,
        open: Vec<JsonOpen<'a>>,
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
            kind: wait.flags.kind().name(),
            flags: wait.flags.to_string(),
            context: wait.context.name(),
            ret: wait.ret,
            caller: wait.caller.map(|addr| caller_name(addr, symbols)),
            uncertain: wait.uncertain,
        },
        out,
    )
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
    let row = |row| JsonRow { row, symbols: summary.symbols };
    line(
        &Plain::Summary {
            duration_ns: summary.duration_ns,
            waits: summary.totals.waits(),
            by: summary.by.name(),
            rows: summary.rows.iter().map(row).collect(),
            totals: Figures(&summary.totals),
            open: summary.open.iter().map(|wait| JsonOpen::new(wait, summary.symbols)).collect(),
            quality: summary.quality,
            identities: summary.quality.identities().into_iter().map(JsonIdentity::from).collect(),
        },
        out,
    )
}

fn line(record: &impl Serialize, out: &mut dyn Write) -> io::Result<()> {
    serde_json::to_writer(&mut *out, record)?;
    out.write_all(b"\n")
}

fn comm(comm: Option<&Comm>) -> Option<Cow<'_, str>> {
    comm.map(|comm| json_name(comm.as_bytes()))
}

fn caller_name(addr: u64, symbols: &Kallsyms) -> String {
    symbols.resolve(addr).map_or_else(|| format!("{addr:#x}"), |symbol| symbol.to_string())
}

/// A wait without an end.
#[derive(Serialize)]
struct JsonOpen<'a> {
    ts: u64,
    age_ns: u64,
    tid: u32,
    comm: Option<Cow<'a, str>>,
    cpu: u16,
    lock: Address,
    kind: &'static str,
    flags: String,
    context: &'static str,
    caller: Option<String>,
}

impl<'a> JsonOpen<'a> {
    fn new(wait: &'a StreamOpen, symbols: &Kallsyms) -> JsonOpen<'a> {
        JsonOpen {
            ts: wait.begin_ns,
            age_ns: wait.age_ns,
            tid: wait.tid.0,
            comm: comm(wait.comm.as_ref()),
            cpu: wait.cpu.0,
            lock: Address(wait.lock),
            kind: wait.flags.kind().name(),
            flags: wait.flags.to_string(),
            context: wait.context.name(),
            caller: wait.caller.map(|addr| caller_name(addr, symbols)),
        }
    }
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

/// A row's keys and all columns, in one object.
struct JsonRow<'a> {
    row: &'a Row,
    symbols: &'a Kallsyms,
}

impl Serialize for JsonRow<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        let kind_entry =
            |map: &mut S::SerializeMap, kind: LockKind| map.serialize_entry("type", kind.name());
        match self.row.key {
            RowKey::Caller { caller, kind } => {
                let name = caller.map(|addr| caller_name(addr, self.symbols));
                map.serialize_entry("caller", &name)?;
                kind_entry(&mut map, kind)?;
            }
            RowKey::Lock { lock, kind } => {
                let symbol = self.symbols.resolve_data(lock).map(|symbol| symbol.to_string());
                map.serialize_entry("lock", &Address(lock))?;
                map.serialize_entry("symbol", &symbol)?;
                kind_entry(&mut map, kind)?;
            }
            RowKey::Task { tid, comm, .. } => {
                map.serialize_entry("tid", &tid.0)?;
                map.serialize_entry("comm", &self::comm(comm.as_ref()))?;
            }
            RowKey::Context(context) => map.serialize_entry("context", context.name())?,
            RowKey::Type(kind) => kind_entry(&mut map, kind)?,
            RowKey::Overflow(kind) => {
                map.serialize_entry("overflow", &true)?;
                map.serialize_entry("type", &kind.map(LockKind::name))?;
            }
        }
        figures(&mut map, &self.row.stats)?;
        map.end()
    }
}

/// All columns of a row, by their names.
struct Figures<'a>(&'a RowStats);

impl Serialize for Figures<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        figures(&mut map, self.0)?;
        map.end()
    }
}

fn figures<M: SerializeMap>(map: &mut M, stats: &RowStats) -> Result<(), M::Error> {
    COLUMNS.iter().try_for_each(|column| map.serialize_entry(column.id, &(column.value)(stats)))
}

#[derive(Serialize)]
struct JsonIdentity {
    law: &'static str,
    cpu: Option<u16>,
    left: u64,
    right: u64,
    holds: bool,
}

impl From<Identity> for JsonIdentity {
    fn from(identity: Identity) -> JsonIdentity {
        let holds = identity.holds();
        let Identity { law, cpu, left, right } = identity;
        JsonIdentity { law, cpu, left, right, holds }
    }
}

#[cfg(test)]
mod tests;
