//! A report of `--format json`, read back. `docs/report.md` describes it.

use std::collections::BTreeMap;
use std::io::Read;

use serde::Deserialize;
use serde::de::IgnoredAny;

use crate::output::diff::{Places, SharedKey, SharedTable, key_ids};
use crate::output::escape::of_json_name;
use crate::report::{By, COLUMNS, Column, Figures, RunFacts, RunTable, Table, Unit};

/// The version that is understood.
const SCHEMA: u32 = 1;

/// More than a report with a million rows has: a bound on what is kept.
const MAX_BYTES: u64 = 1 << 30;

/// The columns that hold names of tasks and cgroups, whose bytes may be escaped.
const NAMES: [&str; 5] = ["comm", "process", "owner", "cgroup", "chain"];

/// What is read of a report.
#[derive(Debug, Deserialize)]
pub(super) struct SavedReport {
    schema: u32,
    pub(super) run: SavedReportRun,
    by: Vec<String>,
    rows: Vec<SavedRow>,
    overflow: Vec<SavedRow>,
    totals: BTreeMap<String, Scalar>,
    #[serde(default)]
    tables: Vec<SavedTable>,
    loss: SavedLoss,
}

#[derive(Debug, Deserialize)]
pub(super) struct SavedReportRun {
    command: Vec<String>,
    duration_ns: u64,
    pub(super) kernel: String,
    host: Option<String>,
    cpus: u64,
}

#[derive(Debug, Deserialize)]
struct SavedLoss {
    events: u64,
}

#[derive(Debug, Deserialize)]
struct SavedTable {
    table: String,
    by: Vec<String>,
    rows: Vec<SavedRow>,
    totals: BTreeMap<String, Scalar>,
}

#[derive(Debug, Deserialize)]
struct SavedRow {
    stack: Option<Vec<String>>,
    /// The longest wait: large, and of no use here.
    #[serde(default, rename = "witness")]
    _witness: IgnoredAny,
    #[serde(flatten)]
    fields: BTreeMap<String, Scalar>,
}

/// A field's value.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum Scalar {
    Flag(bool),
    Number(u64),
    Text(String),
    Other(IgnoredAny),
}

/// Why a file is no such report.
#[derive(Debug, thiserror::Error)]
pub(super) enum Unreadable {
    #[error("no report of --format json: {0}")]
    Json(#[from] serde_json::Error),
    #[error("larger than {MAX_BYTES} bytes")]
    Large,
    #[error("a report of schema {0}, and only {SCHEMA} is known")]
    Schema(u32),
    #[error("rows by {0:?}, which is not known")]
    By(String),
}

impl SavedReport {
    /// Reads a report.
    pub(super) fn read(source: impl Read) -> Result<SavedReport, Unreadable> {
        let mut limited = source.take(MAX_BYTES);
        let mut buffered = std::io::BufReader::new(&mut limited);
        let read = serde_json::from_reader::<_, SavedReport>(&mut buffered);
        if limited.limit() == 0 {
            return Err(Unreadable::Large);
        }
        let report = read?;
        match report.schema {
            SCHEMA => Ok(report),
            other => Err(Unreadable::Schema(other)),
        }
    }

    /// What its rows are told apart by.
    pub(super) fn by(&self) -> Result<Vec<By>, Unreadable> {
        keys(&self.by)
    }

    /// What it tells of the run; not what was traced.
    pub(super) fn facts(&self, file: String) -> RunFacts {
        let SavedReportRun { command, duration_ns, kernel, host, cpus } = &self.run;
        let uncertain = match self.totals.get("uncertain") {
            Some(Scalar::Number(waits)) => *waits,
            _ => 0,
        };
        RunFacts {
            file,
            command: command.clone(),
            duration_ns: *duration_ns,
            kernel: kernel.clone(),
            host: host.clone(),
            cpus: *cpus,
            lost: self.loss.events,
            uncertain,
            traced: None,
        }
    }

    /// Its tables. Those of a kind that is not known are left out.
    pub(super) fn tables(&self, places: Places) -> Result<Vec<SharedTable>, Unreadable> {
        let rows: Vec<&SavedRow> = self.rows.iter().chain(&self.overflow).collect();
        let first = table(Table::Locks, self.by()?, &rows, &self.totals, places);
        let further = self.tables.iter().filter_map(|saved| {
            let known = Table::ALL.into_iter().find(|table| table.name() == saved.table)?;
            let by = keys(&saved.by);
            Some(by.map(|by| {
                let rows: Vec<&SavedRow> = saved.rows.iter().collect();
                table(known, by, &rows, &saved.totals, places)
            }))
        });
        [Ok(first)].into_iter().chain(further).collect()
    }
}

fn table(
    table: Table,
    by: Vec<By>,
    rows: &[&SavedRow],
    totals: &BTreeMap<String, Scalar>,
    places: Places,
) -> SharedTable {
    let ids = key_ids(table, &by);
    let mut kept = RunTable::new(figures(totals));
    for row in rows {
        let is_overflow = matches!(row.fields.get("overflow"), Some(Scalar::Flag(true)));
        let stack = row.stack.as_ref();
        let stack = stack.map(|frames| frames.iter().map(|f| f.as_bytes().to_vec()).collect());
        let key = SharedKey::new(&ids, places, is_overflow, |id| row.value(id), stack);
        kept.add(key, &figures(&row.fields));
        kept.is_whole &= !is_overflow;
    }
    // With -E a report has only some.
    let is_missing =
        |column: &&Column| kept.totals.get(column).is_some_and(|all| all != kept.sum(column));
    let of_waits = COLUMNS.iter().filter(|column| ["contended", "failed"].contains(&column.id));
    kept.is_whole &= of_waits.filter(is_missing).count() == 0;
    SharedTable { table, by, rows: kept }
}

impl SavedRow {
    fn value(&self, id: &str) -> Option<Vec<u8>> {
        match self.fields.get(id)? {
            Scalar::Flag(flag) => Some(flag.to_string().into_bytes()),
            Scalar::Number(number) => Some(number.to_string().into_bytes()),
            Scalar::Text(text) if NAMES.contains(&id) => Some(of_json_name(text)),
            Scalar::Text(text) => Some(text.clone().into_bytes()),
            Scalar::Other(_) => None,
        }
    }
}

fn figures(fields: &BTreeMap<String, Scalar>) -> Figures {
    Figures::new(|column| match (fields.get(column.id)?, column.unit) {
        (Scalar::Number(value), Unit::Count | Unit::Nanoseconds) => Some(*value),
        // Shares follow from the sums.
        _ => None,
    })
}

fn keys(names: &[String]) -> Result<Vec<By>, Unreadable> {
    let key = |name: &String| {
        let known = By::ALL.into_iter().chain([By::Reason]).find(|by| by.name() == name);
        known.ok_or_else(|| Unreadable::By(name.clone()))
    };
    names.iter().map(key).collect()
}
