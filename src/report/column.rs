//! The columns: names as in perf's `-k` and `-F`, headings and widths as in its tables.

use super::{RowStats, Table};

/// What a column counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    /// Waits.
    Count,
    /// Nanoseconds.
    Nanoseconds,
    /// Tenths of a percent; shown as percent with one decimal.
    PerMille,
    /// No number: the task that the row's longest wait waited for.
    Holder,
    /// No number: where that task let the lock go.
    HolderCaller,
}

/// One column of a report.
#[derive(Debug, Clone, Copy)]
pub struct Column {
    /// Its name in `-k`, `-F` and machine formats.
    pub id: &'static str,
    /// Its heading.
    pub title: &'static str,
    /// What it says, in words.
    pub about: &'static str,
    /// Its width in a table, in characters.
    pub width: usize,
    /// What the value is.
    pub unit: Unit,
    /// The value, of a row and of all rows added up.
    pub value: fn(&RowStats, &RowStats) -> u64,
}

/// Every column; perf's own first (tools/perf/builtin-lock.c, 6.1 to 7.3).
pub static COLUMNS: [Column; 17] = [
    count("contended", "contended", "How many waits got the lock", |row, _| row.contended),
    time("wait_total", "total wait", "Their time together", |row, _| row.wait_total_ns),
    time("wait_max", "max wait", "The longest of them", |row, _| row.wait_max_ns),
    time("wait_min", "min wait", "The shortest of them", |row, _| row.wait_min_ns),
    time("avg_wait", "avg wait", "Their mean", |row, _| row.avg_wait_ns()),
    time("p50", "p50", "Half of them were not longer (within 3.2 %)", |row, _| {
        row.quantile_ns(500)
    }),
    time("p95", "p95", "95 of 100 of them were not longer", |row, _| row.quantile_ns(950)),
    time("p99", "p99", "99 of 100 of them were not longer", |row, _| row.quantile_ns(990)),
    Column {
        id: "share",
        title: "share",
        about: "Their part of the time of all rows, in percent",
        width: 7,
        unit: Unit::PerMille,
        value: |row, all| share(row.wait_total_ns, all.wait_total_ns),
    },
    count("failed", "failed", "How many waits ended without the lock", |row, _| row.failed),
    count("uncertain", "uncertain", "How many waits overlap a loss", |row, _| row.uncertain),
    time(
        "spin",
        "spin",
        "Of the total: on a CPU, spinning or on the way to sleep (--sched)",
        |row, _| row.spin_ns(),
    ),
    time("blocked", "blocked", "Asleep, until woken (--sched)", |row, _| row.split.blocked_ns),
    time("runnable", "runnable", "Woken, and without a CPU (--sched)", |row, _| {
        row.split.runnable_ns
    }),
    time("preempted", "preempted", "Robbed of the CPU (--sched)", |row, _| row.split.preempted_ns),
    Column {
        id: "holder",
        title: "holder",
        about: "Who had the lock that the longest of them waited for",
        width: 22,
        unit: Unit::Holder,
        value: |_, _| 0,
    },
    Column {
        id: "holder_caller",
        title: "holder caller",
        about: "Where that one let it go (--holder-stack)",
        width: 28,
        unit: Unit::HolderCaller,
        value: |_, _| 0,
    },
];

/// The columns that `--sched` adds.
pub const SPLIT_FIELDS: [&str; 4] = ["spin", "blocked", "runnable", "preempted"];

/// Those whose values add up over rows.
const SUMS: [&str; 8] =
    ["contended", "wait_total", "failed", "uncertain", "spin", "blocked", "runnable", "preempted"];

/// The columns that sleeps have beside the default ones: a sleeper is on no CPU, and not robbed of one.
pub const SLEEP_FIELDS: [&str; 2] = ["blocked", "runnable"];

/// perf's default of `-F`; its first time column is the default of `-k`.
pub const DEFAULT_FIELDS: [&str; 4] = ["contended", "wait_total", "wait_max", "avg_wait"];

impl Column {
    /// Its heading in that table.
    pub fn title_in(&self, table: Table) -> &'static str {
        match self.id {
            "contended" if table.is_of_sleeps() => "sleeps",
            _ => self.title,
        }
    }

    /// Whether rows can be sorted by it.
    pub fn is_number(&self) -> bool {
        !matches!(self.unit, Unit::Holder | Unit::HolderCaller)
    }

    /// Whether its values add up over rows, to that of all rows.
    pub fn is_sum(&self) -> bool {
        SUMS.contains(&self.id)
    }

    /// The column of that name.
    pub fn find(id: &str) -> Option<&'static Column> {
        COLUMNS.iter().find(|column| column.id == id)
    }
}

const fn count(
    id: &'static str,
    title: &'static str,
    about: &'static str,
    value: fn(&RowStats, &RowStats) -> u64,
) -> Column {
    Column { id, title, about, width: 10, unit: Unit::Count, value }
}

const fn time(
    id: &'static str,
    title: &'static str,
    about: &'static str,
    value: fn(&RowStats, &RowStats) -> u64,
) -> Column {
    Column { id, title, about, width: 12, unit: Unit::Nanoseconds, value }
}

/// Thousandths, rounded; 0 of nothing.
pub(super) fn share(part: u64, whole: u64) -> u64 {
    let (part, whole) = (u128::from(part), u128::from(whole));
    let per_mille = (part * 1000 + whole / 2).checked_div(whole).unwrap_or(0);
    u64::try_from(per_mille).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::{COLUMNS, Column, DEFAULT_FIELDS, share};
    use crate::event::{Context, Cpu, Tid};
    use crate::report::{RowStats, Sample, Split, Witness};

    fn values(row: &RowStats, all: &RowStats) -> Vec<u64> {
        COLUMNS.iter().map(|column| (column.value)(row, all)).collect()
    }

    /// A row of `perf lock contention`: 14 waits, 1,881,441 ns, average 134,388 ns.
    #[test]
    fn values_are_perfs() {
        let row = RowStats {
            contended: 14,
            wait_total_ns: 1_881_441,
            wait_max_ns: 1_759_412,
            wait_min_ns: 2_494,
            failed: 3,
            uncertain: 2,
            split: Split { blocked_ns: 100, runnable_ns: 200, preempted_ns: 300 },
            ..RowStats::default()
        };
        let all = RowStats { wait_total_ns: 10_000_000, ..RowStats::default() };
        let numbers = [14, 1_881_441, 1_759_412, 2_494, 134_388, 0, 0, 0, 188, 3, 2];
        let split = [1_881_441 - 600, 100, 200, 300];
        let expected = [&numbers[..], &split, &[0, 0]].concat();
        assert_eq!(values(&row, &all), expected);
    }

    #[test]
    fn quantiles_are_those_that_their_names_say() {
        let mut row = RowStats::default();
        let witness = Witness {
            ts_ns: 0,
            tid: Tid(0),
            comm: None,
            cpu: Cpu(0),
            context: Context::Task,
            stack: None,
            holder: None,
        };
        (1..=100).for_each(|ns| row.add(Sample::Acquired(ns), Split::default(), || witness));
        let of = |id| (Column::find(id).unwrap().value)(&row, &row);
        assert_eq!(["p50", "p95", "p99", "wait_max"].map(of), [50, 95, 99, 100]);
    }

    #[test]
    fn a_row_without_a_taken_lock_has_no_times() {
        let row = RowStats { failed: 1, ..RowStats::default() };
        let expected = COLUMNS.iter().map(|column| u64::from(column.id == "failed"));
        assert_eq!(values(&row, &row), expected.collect::<Vec<_>>());
    }

    #[test]
    fn shares_are_rounded_and_never_overflow() {
        let table = [(1, 3, 333), (2, 3, 667), (u64::MAX, u64::MAX, 1000), (0, 5, 0), (5, 0, 0)];
        for (part, whole, expected) in table {
            assert_eq!(share(part, whole), expected, "{part} of {whole}");
        }
    }

    #[test]
    fn columns_are_found_by_name() {
        assert!(DEFAULT_FIELDS.iter().all(|id| Column::find(id).is_some_and(|c| c.id == *id)));
        assert!(Column::find("total wait").is_none());
    }
}
