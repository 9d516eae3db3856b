//! Rows, and which of them are shown in what order.

use super::{Column, RowKey, RowStats};
use std::cmp::Reverse;

/// A row of a report.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Row {
    /// What it stands for.
    pub key: RowKey,
    /// Its figures.
    pub stats: RowStats,
}

/// The `limit` first rows by falling `column`, equal ones by the time waited and then by their keys (some
/// of which are numbers in the order of coming), then the overflow
/// rows, which belong to no place in that order. A limit of 0 leaves nothing. `totals`: all rows
/// added up.
pub fn select(
    mut rows: Vec<Row>,
    column: &Column,
    totals: &RowStats,
    limit: Option<usize>,
) -> Vec<Row> {
    let is_overflow = |row: &Row| matches!(row.key, RowKey::Overflow(..));
    let value = |row: &Row| (column.value)(&row.stats, totals);
    let time = |row: &Row| Reverse(row.stats.wait_total_ns);
    rows.sort_by_cached_key(|row| (is_overflow(row), Reverse(value(row)), time(row), row.key));
    let ranked = rows.partition_point(|row| !is_overflow(row));
    match limit {
        Some(0) => rows.clear(),
        Some(limit) if limit < ranked => drop(rows.drain(limit..ranked)),
        _ => {}
    }
    rows
}

#[cfg(test)]
mod tests {
    use super::{Row, RowKey, select};
    use crate::event::WaitKind;
    use crate::report::{Column, Part, RowStats, Table};

    fn row(key: RowKey, wait_total_ns: u64) -> Row {
        Row { key, stats: RowStats { contended: 1, wait_total_ns, ..RowStats::default() } }
    }

    fn locks_shown(column: &str, limit: Option<usize>) -> Vec<u64> {
        let lock = |lock| RowKey::of(Table::Locks, [Part::Lock(lock, WaitKind::Mutex)]);
        let rows = vec![
            row(lock(3), 10),
            row(RowKey::Overflow(Table::Locks, Some(WaitKind::Mutex)), 1000),
            row(lock(2), 10),
            row(lock(1), 5),
            row(lock(4), 20),
        ];
        let shown = select(rows, Column::find(column).unwrap(), &RowStats::default(), limit);
        let name = |row: &Row| match row.key.parts().next() {
            Some(&Part::Lock(lock, _)) => lock,
            _ => 99,
        };
        shown.iter().map(name).collect()
    }

    #[test]
    fn rows_fall_by_the_key_and_the_overflow_comes_last() {
        assert_eq!(locks_shown("wait_total", None), [4, 2, 3, 1, 99]);
        assert_eq!(locks_shown("wait_total", Some(9)), [4, 2, 3, 1, 99]);
        assert_eq!(locks_shown("wait_total", Some(2)), [4, 2, 99]);
        assert!(locks_shown("wait_total", Some(0)).is_empty());
        // All have one: then the time waited counts.
        assert_eq!(locks_shown("contended", Some(3)), [4, 2, 3, 99]);
    }
}
