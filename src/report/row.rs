//! Rows, and which of them are shown in what order.

use super::{Column, RowStats};
use crate::aggregate;
use crate::event::{Comm, Context, Cpu, LockKind, StackId, TextId, Tid};
use std::cmp::Reverse;

/// What rows are told apart by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum By {
    /// A calling function, and a kind of lock.
    Caller,
    /// A whole call stack, and a kind of lock.
    Stack,
    /// One lock.
    Lock,
    /// A thread under one name, or an interrupt context.
    Task,
    /// A process under one name.
    Process,
    /// A name, whoever bears it.
    Comm,
    /// A cgroup.
    Cgroup,
    /// A kind of lock.
    Type,
    /// The CPU a wait began on.
    Cpu,
    /// Task, softirq, hard interrupt or NMI.
    Context,
}

/// Keys that a row can have at once.
pub const MAX_KEYS: usize = 4;

impl By {
    /// All of them, as `--help` lists them.
    pub const ALL: [By; 10] = [
        By::Caller,
        By::Stack,
        By::Lock,
        By::Task,
        By::Process,
        By::Comm,
        By::Cgroup,
        By::Type,
        By::Cpu,
        By::Context,
    ];

    /// Its name as `--by` takes it.
    pub fn name(self) -> &'static str {
        match self {
            By::Caller => "caller",
            By::Stack => "stack",
            By::Lock => "lock",
            By::Task => "task",
            By::Process => "process",
            By::Comm => "comm",
            By::Cgroup => "cgroup",
            By::Type => "type",
            By::Cpu => "cpu",
            By::Context => "context",
        }
    }

    /// What tells its rows apart, in a few words for `--help`.
    pub fn about(self) -> &'static str {
        match self {
            By::Caller => "The function that wanted the lock, and the lock's kind",
            By::Stack => "The whole call stack, and the lock's kind",
            By::Lock => "The lock's address",
            By::Task => "The thread, under each name it had",
            By::Process => "The process, under each name its leader had",
            By::Comm => "The name, whoever bore it",
            By::Cgroup => "The cgroup that the task was in",
            By::Type => "The lock's kind",
            By::Cpu => "The CPU a wait began on",
            By::Context => "Task, softirq, hardirq or nmi",
        }
    }
}

/// What one key of a row is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Part {
    /// A function that wanted a lock: a code address in it; none where there was no stack.
    Caller(Option<u64>, LockKind),
    /// A call stack; none where there was none.
    Stack(Option<StackId>, LockKind),
    /// One lock, by its address.
    Lock(u64, LockKind),
    /// A thread under one name.
    Task {
        /// The thread.
        tid: Tid,
        /// Tells the tasks apart that bore the id in turn.
        incarnation: u32,
        /// Its name; none where it was never learned.
        comm: Option<Comm>,
    },
    /// An interrupt context on top of whichever task, where rows are tasks.
    Interrupt(Context),
    /// A process under its leader's name.
    Process {
        /// Its id; none where it was never learned.
        pid: Option<Tid>,
        /// Tells the processes apart that bore the id in turn.
        incarnation: u32,
        /// Its leader's name; none where it was never learned.
        comm: Option<Comm>,
    },
    /// A name; none where it was never learned.
    Comm(Option<Comm>),
    /// A cgroup, by its path; none where it was never learned.
    Cgroup(Option<TextId>),
    /// A kind of lock.
    Type(LockKind),
    /// A CPU.
    Cpu(Cpu),
    /// A context.
    Context(Context),
}

impl Part {
    fn kind(&self) -> Option<LockKind> {
        match *self {
            Part::Caller(_, kind) | Part::Stack(_, kind) | Part::Lock(_, kind) => Some(kind),
            Part::Type(kind) => Some(kind),
            _ => None,
        }
    }
}

/// The identity of a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum RowKey {
    /// One part for each key asked for, in their order.
    Of([Option<Part>; MAX_KEYS]),
    /// Everything that found no room in the map, by the kind of lock where rows have one.
    Overflow(Option<LockKind>),
}

impl aggregate::Key for RowKey {
    const BUCKETS: usize = LockKind::ALL.len() + 1;

    fn bucket(&self) -> usize {
        let kind = match self {
            RowKey::Of(parts) => parts.iter().flatten().find_map(Part::kind),
            RowKey::Overflow(kind) => *kind,
        };
        kind.map_or(LockKind::ALL.len(), LockKind::index)
    }
}

impl RowKey {
    /// A key of these parts; more than [`MAX_KEYS`] are left out.
    pub fn of(parts: impl IntoIterator<Item = Part>) -> RowKey {
        let mut kept = [None; MAX_KEYS];
        for (place, part) in kept.iter_mut().zip(parts) {
            *place = Some(part);
        }
        RowKey::Of(kept)
    }

    /// The overflow row of a bucket.
    pub fn of_bucket(bucket: usize) -> RowKey {
        RowKey::Overflow(LockKind::ALL.get(bucket).copied())
    }
}

/// A row of a report.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Row {
    /// What it stands for.
    pub key: RowKey,
    /// Its figures.
    pub stats: RowStats,
}

/// The `limit` first rows by falling `column`, equal ones by their keys, then the overflow
/// rows, which belong to no place in that order. A limit of 0 leaves nothing. `totals`: all rows
/// added up.
pub fn select(
    mut rows: Vec<Row>,
    column: &Column,
    totals: &RowStats,
    limit: Option<usize>,
) -> Vec<Row> {
    let is_overflow = |row: &Row| matches!(row.key, RowKey::Overflow(_));
    let value = |row: &Row| (column.value)(&row.stats, totals);
    rows.sort_by_cached_key(|row| (is_overflow(row), Reverse(value(row)), row.key));
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
    use super::{Part, Row, RowKey, select};
    use crate::event::LockKind;
    use crate::report::{Column, RowStats};

    fn row(key: RowKey, wait_total_ns: u64) -> Row {
        Row { key, stats: RowStats { contended: 1, wait_total_ns, ..RowStats::default() } }
    }

    fn locks_shown(limit: Option<usize>) -> Vec<u64> {
        let lock = |lock| RowKey::of([Part::Lock(lock, LockKind::Mutex)]);
        let rows = vec![
            row(lock(3), 10),
            row(RowKey::Overflow(Some(LockKind::Mutex)), 1000),
            row(lock(2), 10),
            row(lock(1), 5),
            row(lock(4), 20),
        ];
        let shown = select(rows, Column::find("wait_total").unwrap(), &RowStats::default(), limit);
        let name = |row: &Row| match row.key {
            RowKey::Of([Some(Part::Lock(lock, _)), ..]) => lock,
            _ => 99,
        };
        shown.iter().map(name).collect()
    }

    #[test]
    fn rows_fall_by_the_key_and_the_overflow_comes_last() {
        assert_eq!(locks_shown(None), [4, 2, 3, 1, 99]);
        assert_eq!(locks_shown(Some(9)), [4, 2, 3, 1, 99]);
        assert_eq!(locks_shown(Some(2)), [4, 2, 99]);
        assert!(locks_shown(Some(0)).is_empty());
    }
}
