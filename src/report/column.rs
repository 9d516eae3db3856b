//! The columns: names as in perf's `-k` and `-F`, headings and widths as in its tables.

use super::RowStats;

/// What a column counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    /// Waits.
    Count,
    /// Nanoseconds.
    Nanoseconds,
}

/// One column of a report.
#[derive(Debug, Clone, Copy)]
pub struct Column {
    /// Its name in `-k`, `-F` and machine formats.
    pub id: &'static str,
    /// Its heading.
    pub title: &'static str,
    /// Its width in a table, in characters.
    pub width: usize,
    /// What the value is.
    pub unit: Unit,
    /// The value.
    pub value: fn(&RowStats) -> u64,
}

/// Every column; perf's own first (tools/perf/builtin-lock.c, 6.1 to 7.3).
pub static COLUMNS: [Column; 7] = [
    count("contended", "contended", |stats| stats.contended),
    time("wait_total", "total wait", |stats| stats.wait_total_ns),
    time("wait_max", "max wait", |stats| stats.wait_max_ns),
    time("wait_min", "min wait", |stats| if stats.contended == 0 { 0 } else { stats.wait_min_ns }),
    time("avg_wait", "avg wait", |stats| {
        stats.wait_total_ns.checked_div(stats.contended).unwrap_or(0)
    }),
    count("failed", "failed", |stats| stats.failed),
    count("uncertain", "uncertain", |stats| stats.uncertain),
];

/// perf's default of `-F`; its first time column is the default of `-k`.
pub const DEFAULT_FIELDS: [&str; 4] = ["contended", "wait_total", "wait_max", "avg_wait"];

impl Column {
    /// The column of that name.
    pub fn find(id: &str) -> Option<&'static Column> {
        COLUMNS.iter().find(|column| column.id == id)
    }
}

const fn count(id: &'static str, title: &'static str, value: fn(&RowStats) -> u64) -> Column {
    Column { id, title, width: 10, unit: Unit::Count, value }
}

const fn time(id: &'static str, title: &'static str, value: fn(&RowStats) -> u64) -> Column {
    Column { id, title, width: 12, unit: Unit::Nanoseconds, value }
}

#[cfg(test)]
mod tests {
    use super::{COLUMNS, Column, DEFAULT_FIELDS};
    use crate::report::RowStats;

    /// A row of `perf lock contention`: 14 waits, 1,881,441 ns, average 134,388 ns.
    #[test]
    fn values_are_perfs() {
        let stats = RowStats {
            contended: 14,
            wait_total_ns: 1_881_441,
            wait_max_ns: 1_759_412,
            wait_min_ns: 2_494,
            failed: 3,
            uncertain: 2,
            ..RowStats::default()
        };
        let values: Vec<u64> = COLUMNS.iter().map(|column| (column.value)(&stats)).collect();
        assert_eq!(values, [14, 1_881_441, 1_759_412, 2_494, 134_388, 3, 2]);
    }

    #[test]
    fn a_row_without_a_taken_lock_has_no_times() {
        let stats = RowStats { wait_min_ns: u64::MAX, failed: 1, ..RowStats::default() };
        let values: Vec<u64> = COLUMNS.iter().map(|column| (column.value)(&stats)).collect();
        assert_eq!(values, [0, 0, 0, 0, 0, 1, 0]);
    }

    #[test]
    fn columns_are_found_by_name() {
        assert!(DEFAULT_FIELDS.iter().all(|id| Column::find(id).is_some_and(|c| c.id == *id)));
        assert!(Column::find("total wait").is_none());
    }
}
