//! The parts of the summary record.

use super::holder::JsonHolder;
use super::{Address, caller_name, comm};
use crate::event::StackId;
use crate::output::escape::json_name;
use crate::output::keys::{KeyValue, columns, stack_of, values};
use crate::output::lock::KnownLock;
use crate::output::text::reason_text;
use crate::output::{StreamBlocked, StreamOpen, Summary};
use crate::report::{
    By, COLUMNS, Column, Identity, Row, RowKey, RowStats, SPLIT_FIELDS, Unit, Witness,
};
use crate::symbols::Kallsyms;
use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};
use std::borrow::Cow;

/// What both the stream's last line and the report tell behind the rows of the first table.
#[derive(Serialize)]
pub(super) struct JsonFound<'a> {
    totals: Totals<'a>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tables: Vec<JsonTable<'a>>,
    open: Vec<JsonOpen<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    cycles: Vec<Vec<usize>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    blocked: Vec<JsonBlocked<'a>>,
}

impl<'a> JsonFound<'a> {
    /// `further`: the tables behind the first one.
    pub(super) fn new(summary: &'a Summary<'a>, further: &'a [Summary<'a>]) -> JsonFound<'a> {
        JsonFound {
            totals: Totals(summary.totals, summary.split),
            tables: json_tables(further),
            open: summary.open.iter().map(|wait| JsonOpen::new(wait, summary.symbols)).collect(),
            cycles: summary.cycles(),
            blocked: summary.blocked.iter().map(JsonBlocked::new).collect(),
        }
    }
}

/// A wait without an end.
#[derive(Serialize)]
pub(super) struct JsonOpen<'a> {
    ts: u64,
    age_ns: u64,
    tid: u32,
    comm: Option<Cow<'a, str>>,
    cpu: u16,
    lock: Address,
    lock_name: Option<Cow<'a, str>>,
    lock_name_by: Option<&'static str>,
    kind: &'static str,
    flags: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
    context: &'static str,
    caller: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    holder: Option<JsonHolder<'a>>,
}

impl<'a> JsonOpen<'a> {
    pub(super) fn new(wait: &'a StreamOpen, symbols: &'a Kallsyms) -> JsonOpen<'a> {
        let known = KnownLock::of(wait.cause, wait.lock, wait.lock_name, symbols);
        JsonOpen {
            ts: wait.begin_ns,
            age_ns: wait.age_ns,
            tid: wait.tid.0,
            comm: comm(wait.comm.as_ref()),
            cpu: wait.cpu.0,
            lock: Address(wait.lock),
            lock_name_by: known.as_ref().map(|known| known.by),
            lock_name: known.map(|known| known.name),
            kind: wait.cause.kind().name(),
            flags: wait.cause.flags().map(|flags| flags.to_string()),
            reason: wait.reason.map(|reason| reason_text(reason, symbols)),
            context: wait.context.name(),
            caller: wait.caller.map(|addr| caller_name(addr, symbols)),
            holder: wait.holder.as_ref().map(|holder| JsonHolder::new(holder, symbols)),
        }
    }
}

/// A task that was blocked all the time.
#[derive(Serialize)]
struct JsonBlocked<'a> {
    tid: u32,
    comm: Option<Cow<'a, str>>,
    stack: &'a [String],
}

impl<'a> JsonBlocked<'a> {
    fn new(task: &'a StreamBlocked<'a>) -> JsonBlocked<'a> {
        JsonBlocked { tid: task.tid.0, comm: comm(Some(task.comm)), stack: task.stack }
    }
}

/// A row's longest wait.
#[derive(Serialize)]
struct JsonWitness<'a> {
    ts: u64,
    tid: u32,
    comm: Option<Cow<'a, str>>,
    cpu: u16,
    context: &'static str,
    stack: Option<Vec<String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    holder: Option<ItsHolder<'a>>,
}

/// Whoever had the lock that it waited for.
#[derive(Serialize)]
struct ItsHolder<'a> {
    tid: u32,
    comm: Option<Cow<'a, str>>,
    by: &'static str,
    caller: Option<String>,
}

impl<'a> JsonWitness<'a> {
    fn new(witness: &'a Witness, summary: &Summary<'_>) -> JsonWitness<'a> {
        JsonWitness {
            ts: witness.ts_ns,
            tid: witness.tid.0,
            comm: comm(witness.comm.as_ref()),
            cpu: witness.cpu.0,
            context: witness.context.name(),
            stack: stack(witness.stack, summary),
            holder: witness.holder.as_ref().map(|holder| ItsHolder {
                tid: holder.tid.0,
                comm: comm(holder.comm.as_ref()),
                by: holder.evidence.name(),
                caller: holder.caller.map(|addr| caller_name(addr, summary.symbols)),
            }),
        }
    }
}

/// A stack's frames by name, innermost first.
fn stack(id: Option<StackId>, summary: &Summary<'_>) -> Option<Vec<String>> {
    let frames = id.and_then(|stack| summary.stacks.frames(stack))?;
    Some(frames.iter().map(|&frame| caller_name(frame, summary.symbols)).collect())
}

/// A row's keys, all columns and the witness, in one object.
pub(super) struct JsonRow<'a> {
    pub(super) row: &'a Row,
    pub(super) summary: &'a Summary<'a>,
}

impl Serialize for JsonRow<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        let columns = columns(self.summary);
        let values = values(&self.row.key, &columns, self.summary);
        if matches!(self.row.key, RowKey::Overflow(..)) {
            map.serialize_entry("overflow", &true)?;
        }
        for (column, value) in columns.iter().zip(values) {
            match value {
                KeyValue::Number(number) => map.serialize_entry(column.id, &number)?,
                KeyValue::Address(address) => map.serialize_entry(column.id, &Address(address))?,
                KeyValue::Flag(is) => map.serialize_entry(column.id, &is)?,
                KeyValue::Text(text) => map.serialize_entry(column.id, &text)?,
                KeyValue::Name(name) => map.serialize_entry(column.id, &comm(Some(&name)))?,
                KeyValue::Cgroup(path) => map.serialize_entry(column.id, &json_name(&path))?,
                KeyValue::Bytes(text) => map.serialize_entry(column.id, &json_name(&text))?,
                KeyValue::Unknown => map.serialize_entry(column.id, &())?,
            }
        }
        if self.summary.by.contains(&By::Stack) {
            map.serialize_entry("stack", &stack(stack_of(&self.row.key), self.summary))?;
        }
        let stats = &self.row.stats;
        figures(&mut map, stats, self.summary.totals, self.summary.split)?;
        if stats.lacks_max_ns > 0 {
            map.serialize_entry("lacks_max_ns", &stats.lacks_max_ns)?;
        }
        let witness = stats.witness.as_ref();
        let witness = witness.map(|witness| JsonWitness::new(witness, self.summary));
        map.serialize_entry("witness", &witness)?;
        map.end()
    }
}

/// A table behind the first one.
#[derive(Serialize)]
struct JsonTable<'a> {
    table: &'static str,
    by: Vec<&'static str>,
    rows: Vec<JsonRow<'a>>,
    totals: Totals<'a>,
}

/// Each of the tables.
fn json_tables<'a>(tables: &'a [Summary<'a>]) -> Vec<JsonTable<'a>> {
    let table = |of: &'a Summary<'a>| JsonTable {
        table: of.table.name(),
        by: of.by.iter().map(|by| by.name()).collect(),
        rows: of.rows.iter().map(|row| JsonRow { row, summary: of }).collect(),
        totals: Totals(of.totals, of.split),
    };
    tables.iter().map(table).collect()
}

/// All columns over all rows, by their names.
struct Totals<'a>(&'a RowStats, bool);

impl Serialize for Totals<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        figures(&mut map, self.0, self.0, self.1)?;
        map.end()
    }
}

fn figures<M: SerializeMap>(
    map: &mut M,
    stats: &RowStats,
    totals: &RowStats,
    split: bool,
) -> Result<(), M::Error> {
    // The row's witness has those that are no numbers.
    let is_known =
        |column: &&Column| column.is_number() && (split || !SPLIT_FIELDS.contains(&column.id));
    COLUMNS.iter().filter(is_known).try_for_each(|column| {
        let value = (column.value)(stats, totals);
        match column.unit {
            Unit::Count | Unit::Nanoseconds => map.serialize_entry(column.id, &value),
            Unit::PerMille => map.serialize_entry(column.id, &(value as f64 / 10.0)),
            Unit::Holder | Unit::HolderCaller => Ok(()),
        }
    })
}

#[derive(Serialize)]
pub(super) struct JsonIdentity {
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
