//! Two runs side by side as one JSON object. `docs/diff.md` describes it.

use super::key::key_columns;
use super::{Diff, DiffTable, SharedKey, presence_name};
use crate::output::escape::json_name;
use crate::output::json::line;
use crate::report::{
    Basis, COLUMNS, Change, Column, ComparedRow, Figures, Lengths, RunFacts, Unit,
};
use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};
use std::borrow::Cow;
use std::io::{self, Write};

/// Raised where a field changes its meaning or goes; new fields do not raise it.
const SCHEMA: u32 = 1;

#[derive(Serialize)]
struct Object<'a> {
    schema: u32,
    a: Run<'a>,
    b: Run<'a>,
    key: &'static str,
    per_second: bool,
    limit_percent: Option<f64>,
    over: bool,
    notes: &'a [String],
    tables: Vec<JsonTable<'a>>,
}

#[derive(Serialize)]
struct Run<'a> {
    file: &'a str,
    command: &'a [String],
    duration_ns: u64,
    kernel: &'a str,
    host: Option<&'a str>,
    cpus: u64,
    lost: u64,
    uncertain: u64,
}

#[derive(Serialize)]
struct JsonTable<'a> {
    table: &'static str,
    by: Vec<&'static str>,
    totals: JsonRow<'a, ()>,
    rows: Vec<JsonRow<'a, SharedKey>>,
}

struct JsonRow<'a, K> {
    row: &'a ComparedRow<K>,
    table: &'a DiffTable,
    lengths: Lengths,
}

#[derive(Serialize)]
struct JsonChange {
    a: Option<Number>,
    b: Option<Number>,
    change: Option<Number>,
    percent: Option<f64>,
    #[serde(flatten)]
    rates: Option<JsonRates>,
}

#[derive(Serialize)]
struct JsonRates {
    a_per_s: Option<f64>,
    b_per_s: Option<f64>,
    percent_per_s: Option<f64>,
}

#[derive(Serialize)]
#[serde(untagged)]
enum Number {
    Whole(i128),
    Decimal(f64),
}

/// All of it, on one line; every column of every row.
///
/// # Errors
///
/// Those of `out`.
pub fn write(diff: &Diff<'_>, out: &mut dyn Write) -> io::Result<()> {
    let tables = diff.tables.iter().map(|table| JsonTable {
        table: table.table.name(),
        by: table.by.iter().map(|by| by.name()).collect(),
        totals: JsonRow { row: &table.rows.totals, table, lengths: diff.measure.lengths },
        rows: diff
            .shown(table)
            .map(|row| JsonRow { row, table, lengths: diff.measure.lengths })
            .collect(),
    });
    line(
        &Object {
            schema: SCHEMA,
            a: Run::new(diff.a),
            b: Run::new(diff.b),
            key: diff.measure.column.id,
            per_second: diff.measure.basis == Basis::PerSecond,
            limit_percent: diff.limit_percent,
            over: !diff.over().is_empty(),
            notes: diff.notes,
            tables: tables.collect(),
        },
        out,
    )
}

impl<'a> Run<'a> {
    fn new(run: &'a RunFacts) -> Run<'a> {
        let RunFacts { file, command, duration_ns, kernel, host, cpus, lost, uncertain, .. } = run;
        Run {
            file,
            command,
            duration_ns: *duration_ns,
            kernel,
            host: host.as_deref(),
            cpus: *cpus,
            lost: *lost,
            uncertain: *uncertain,
        }
    }
}

impl Serialize for JsonRow<'_, SharedKey> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        let key = &self.row.key;
        if key.is_overflow {
            map.serialize_entry("overflow", &true)?;
        }
        let columns = key_columns(self.table.table, &self.table.by);
        for (column, value) in columns.iter().zip(&key.values) {
            let text = value.as_deref().map(json_name);
            match text.as_deref().and_then(|text| text.parse::<u64>().ok()) {
                Some(cpu) if column.id == "cpu" => map.serialize_entry(column.id, &cpu)?,
                _ => map.serialize_entry(column.id, &text)?,
            }
        }
        if let Some(frames) = &key.stack {
            let frames: Vec<Cow<'_, str>> = frames.iter().map(|frame| json_name(frame)).collect();
            map.serialize_entry("stack", &frames)?;
        }
        map.serialize_entry("only", &presence_name(self.row.presence))?;
        figures(&mut map, self.row, self.lengths)?;
        map.end()
    }
}

impl Serialize for JsonRow<'_, ()> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        figures(&mut map, self.row, self.lengths)?;
        map.end()
    }
}

fn figures<M: SerializeMap, K>(
    map: &mut M,
    row: &ComparedRow<K>,
    lengths: Lengths,
) -> Result<(), M::Error> {
    map.serialize_entry("over", &row.is_over)?;
    let is_known = |figures: &Figures, column| figures.get(column).is_some();
    for column in &COLUMNS {
        if is_known(&row.a, column) || is_known(&row.b, column) {
            map.serialize_entry(column.id, &JsonChange::new(column, row.change(column), lengths))?;
        }
    }
    Ok(())
}

impl JsonChange {
    fn new(column: &Column, change: Change, lengths: Lengths) -> JsonChange {
        let number = |value: i128| match column.unit {
            Unit::PerMille => Number::Decimal(value as f64 / 10.0),
            _ => Number::Whole(value),
        };
        let rates = change.rates(lengths);
        JsonChange {
            a: change.a.map(i128::from).map(number),
            b: change.b.map(i128::from).map(number),
            change: change.difference().map(i128::from).map(number),
            percent: change.percent().map(short),
            rates: column.is_sum().then(|| JsonRates {
                a_per_s: rates.map(|(a, _)| short(a)),
                b_per_s: rates.map(|(_, b)| short(b)),
                percent_per_s: change.rate_percent(lengths).map(short),
            }),
        }
    }
}

/// Two decimals: the rest is noise, and spoils a line.
fn short(value: f64) -> f64 {
    (value * 100.0).round() / 100.0
}
