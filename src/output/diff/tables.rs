//! A run's tables, with rows that can be found in another run.

use super::key::{Places, SharedKey, key_columns, key_ids};
use crate::output::Summary;
use crate::output::keys::{stack_of, values};
use crate::output::text::caller_text;
use crate::report::{By, Figures, RowKey, RowStats, RunTable, Table};
use std::collections::BTreeMap;

/// One of the tables of a run.
#[derive(Debug, Clone)]
pub struct SharedTable {
    /// Which one.
    pub table: Table,
    /// What its rows stand for.
    pub by: Vec<By>,
    /// Its rows.
    pub rows: RunTable<SharedKey>,
}

impl SharedTable {
    /// Whether that column of a row is not known; rows of what found no room are left out.
    pub fn lacks(&self, id: &str) -> bool {
        let place = key_ids(self.table, &self.by).iter().position(|known| *known == id);
        let lacks = |key: &SharedKey| {
            let value = place.and_then(|place| key.values.get(place));
            !key.is_overflow && value.is_some_and(Option::is_none)
        };
        self.rows.keys().any(lacks)
    }
}

/// All tables of a run. Rows that only an id or an address tells apart are added up.
pub fn tables(summary: &Summary<'_>, places: Places) -> Vec<SharedTable> {
    let table = |of: Summary<'_>| SharedTable {
        table: of.table,
        by: of.by.to_vec(),
        rows: rows(&of, places),
    };
    summary.tables().map(table).collect()
}

fn rows(summary: &Summary<'_>, places: Places) -> RunTable<SharedKey> {
    let columns = key_columns(summary.table, summary.by);
    let ids: Vec<&str> = columns.iter().map(|column| column.id).collect();
    let mut sums: BTreeMap<SharedKey, RowStats> = BTreeMap::new();
    for row in summary.rows {
        let values = values(&row.key, &columns, summary);
        let value = |id: &str| {
            let place = ids.iter().position(|known| *known == id)?;
            values.get(place)?.bytes().map(|bytes| bytes.into_owned())
        };
        let is_overflow = matches!(row.key, RowKey::Overflow(..));
        let key = SharedKey::new(&ids, places, is_overflow, value, stack(&row.key, summary));
        sums.entry(key).or_default().merge(&row.stats);
    }
    let figures = |stats: &RowStats| Figures::of(stats, summary.totals, summary.split);
    let mut table = RunTable::new(figures(summary.totals));
    for (key, stats) in sums {
        table.is_whole &= !key.is_overflow;
        table.add(key, &figures(&stats));
    }
    table
}

/// The frames of a row's stack by name, if rows are stacks.
fn stack(key: &RowKey, summary: &Summary<'_>) -> Option<Vec<Vec<u8>>> {
    let frames = summary.stacks.frames(stack_of(key)?)?;
    let name = |&frame: &u64| caller_text(Some(frame), summary.symbols).into_bytes();
    Some(frames.iter().map(name).collect())
}
