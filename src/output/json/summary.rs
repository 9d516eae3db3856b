//! The parts of the summary record.

use super::{Address, caller_name, comm};
use crate::event::StackId;
use crate::output::escape::json_name;
use crate::output::keys::{KeyValue, columns, stack_of, values};
use crate::output::{StreamOpen, Summary};
use crate::report::{By, COLUMNS, Identity, Row, RowKey, RowStats, Unit, Witness};
use crate::symbols::Kallsyms;
use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};
use std::borrow::Cow;

/// A wait without an end.
#[derive(Serialize)]
pub(super) struct JsonOpen<'a> {
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
    pub(super) fn new(wait: &'a StreamOpen, symbols: &Kallsyms) -> JsonOpen<'a> {
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

/// A row's longest wait.
#[derive(Serialize)]
struct JsonWitness<'a> {
    ts: u64,
    tid: u32,
    comm: Option<Cow<'a, str>>,
    cpu: u16,
    context: &'static str,
    stack: Option<Vec<String>>,
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
        let columns = columns(self.summary.by);
        let values = values(&self.row.key, &columns, self.summary);
        if matches!(self.row.key, RowKey::Overflow(_)) {
            map.serialize_entry("overflow", &true)?;
        }
        for (column, value) in columns.iter().zip(values) {
            match value {
                KeyValue::Number(number) => map.serialize_entry(column.id, &number)?,
                KeyValue::Address(address) => map.serialize_entry(column.id, &Address(address))?,
                KeyValue::Text(text) => map.serialize_entry(column.id, &text)?,
                KeyValue::Name(name) => map.serialize_entry(column.id, &comm(Some(&name)))?,
                KeyValue::Cgroup(path) => map.serialize_entry(column.id, &json_name(&path))?,
                KeyValue::Unknown => map.serialize_entry(column.id, &())?,
            }
        }
        if self.summary.by.contains(&By::Stack) {
            map.serialize_entry("stack", &stack(stack_of(&self.row.key), self.summary))?;
        }
        let stats = &self.row.stats;
        figures(&mut map, stats, self.summary.totals)?;
        let witness = stats.witness.as_ref();
        let witness = witness.map(|witness| JsonWitness::new(witness, self.summary));
        map.serialize_entry("witness", &witness)?;
        map.end()
    }
}

/// All columns over all rows, by their names.
pub(super) struct Totals<'a>(pub(super) &'a RowStats);

impl Serialize for Totals<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        figures(&mut map, self.0, self.0)?;
        map.end()
    }
}

fn figures<M: SerializeMap>(
    map: &mut M,
    stats: &RowStats,
    totals: &RowStats,
) -> Result<(), M::Error> {
    COLUMNS.iter().try_for_each(|column| {
        let value = (column.value)(stats, totals);
        match column.unit {
            Unit::Count | Unit::Nanoseconds => map.serialize_entry(column.id, &value),
            Unit::PerMille => map.serialize_entry(column.id, &(value as f64 / 10.0)),
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
