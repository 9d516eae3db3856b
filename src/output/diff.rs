//! Two runs side by side: as a table, as CSV, as JSON.

pub mod csv;
pub mod json;
pub mod table;

mod around;
mod key;
mod tables;
#[cfg(test)]
mod tests;

pub use key::{Places, SharedKey, key_ids};
pub use tables::{SharedTable, tables};

use crate::report::{
    Basis, By, Column, ComparedRow, Comparison, Measure, Presence, RunFacts, Table, Unit, scaled,
};

/// A table of both runs.
#[derive(Debug)]
pub struct DiffTable {
    /// Which one.
    pub table: Table,
    /// What its rows stand for.
    pub by: Vec<By>,
    /// Its rows.
    pub rows: Comparison<SharedKey>,
}

/// All there is to say.
#[derive(Debug, Clone, Copy)]
pub struct Diff<'a> {
    /// The run before.
    pub a: &'a RunFacts,
    /// The run that is held against it.
    pub b: &'a RunFacts,
    /// The tables that any of them has.
    pub tables: &'a [DiffTable],
    /// The columns, in order.
    pub columns: &'a [&'static Column],
    /// What counts.
    pub measure: Measure,
    /// Rows to show of each table; all if not given.
    pub entries: Option<usize>,
    /// Why they may not be comparable.
    pub notes: &'a [String],
    /// By how many percent the measure may grow.
    pub limit_percent: Option<f64>,
}

impl<'a> Diff<'a> {
    /// Whether sums are given for each second too.
    fn has_rates(&self) -> bool {
        self.measure.basis == Basis::PerSecond || !self.measure.lengths.are_equal()
    }

    /// The rows to show: those that hold what found no room come last, and always.
    fn shown(&self, table: &'a DiffTable) -> impl Iterator<Item = &'a ComparedRow<SharedKey>> {
        let (overflow, rows): (Vec<_>, Vec<_>) =
            table.rows.rows.iter().partition(|row| row.key.is_overflow);
        let limit = self.entries.unwrap_or(usize::MAX);
        let overflow = overflow.into_iter().filter(move |_| limit > 0);
        rows.into_iter().take(limit).chain(overflow)
    }

    /// What grew by more than it may: a line each.
    pub fn over(&self) -> Vec<String> {
        let Some(limit) = self.limit_percent else { return Vec::new() };
        let mut lines = Vec::new();
        for table in self.tables {
            let title = table.table.title();
            let rows = table.rows.rows.iter().filter(|row| row.is_over);
            let rows = rows.map(|row| (row.key.text(), self.growth(row)));
            let all = &table.rows.totals;
            let all = all.is_over.then(|| ("all together".to_owned(), self.growth(all)));
            for (what, growth) in all.into_iter().chain(rows) {
                let column = self.measure.column.title_in(table.table);
                lines.push(format!("over {limit} %: {title}, {what}: {column} {growth}"));
            }
        }
        lines
    }

    /// How the measure grew.
    fn growth<K>(&self, row: &ComparedRow<K>) -> String {
        let column = self.measure.column;
        let change = row.change(column);
        let (a, b) = (value(column, change.a), value(column, change.b));
        let (change_percent, per) = match self.measure.basis {
            Basis::PerSecond if column.is_sum() => {
                (change.rate_percent(self.measure.lengths), " per second")
            }
            _ => (change.percent(), ""),
        };
        format!("{a} -> {b}, {}{per}", percent(change_percent, row.presence))
    }
}

/// A figure for people.
fn value(column: &Column, value: Option<u64>) -> String {
    match (value, column.unit) {
        (Some(ns), Unit::Nanoseconds) => scaled(ns).to_string(),
        (Some(value), Unit::PerMille) => format!("{}.{}%", value / 10, value % 10),
        (Some(value), _) => value.to_string(),
        (None, _) => "-".to_owned(),
    }
}

/// A change in percent for people; of a row that only one run had, that.
fn percent(percent: Option<f64>, presence: Presence) -> String {
    match (presence, percent) {
        (Presence::New, _) => "new".to_owned(),
        (Presence::Gone, _) => "gone".to_owned(),
        (Presence::Both, None) => "-".to_owned(),
        (Presence::Both, Some(0.0)) => "0.0%".to_owned(),
        (Presence::Both, Some(percent)) if percent.abs() >= 1000.0 => format!("{percent:+.0}%"),
        (Presence::Both, Some(percent)) => format!("{percent:+.1}%"),
    }
}

/// Its name in machine formats, if only one run had it.
fn presence_name(presence: Presence) -> Option<&'static str> {
    match presence {
        Presence::Both => None,
        Presence::New => Some("new"),
        Presence::Gone => Some("gone"),
    }
}
