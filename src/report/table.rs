//! The tables of a report: waits of different nature are never summed together.

use super::By;

/// A table of a report.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Table {
    /// Waits for the kernel's locks.
    Locks,
    /// Waits for locks of user space.
    Futexes,
    /// Futex calls that wait for something to do.
    IdleFutexes,
    /// Sleeps of tasks that something keeps from going on.
    Sleeps,
    /// Sleeps of tasks that wait for something to do.
    IdleSleeps,
    /// Waits for the kernel's locks once more, by chains of waits. Each is in [`Table::Locks`] too.
    Chains,
}

impl Table {
    /// All of them, in the order of a report.
    pub const ALL: [Table; 6] = [
        Table::Locks,
        Table::Futexes,
        Table::IdleFutexes,
        Table::Sleeps,
        Table::IdleSleeps,
        Table::Chains,
    ];

    /// Its place in [`Table::ALL`].
    pub fn index(self) -> usize {
        self as usize
    }

    /// Its name in machine formats.
    pub fn name(self) -> &'static str {
        match self {
            Table::Locks => "locks",
            Table::Futexes => "futexes",
            Table::IdleFutexes => "idle_futexes",
            Table::Sleeps => "sleeps",
            Table::IdleSleeps => "idle_sleeps",
            Table::Chains => "chains",
        }
    }

    /// Its name over a table; the first one needs none.
    pub fn title(self) -> &'static str {
        match self {
            Table::Locks => "kernel locks",
            Table::Futexes => "user-space locks",
            Table::IdleFutexes => "idle futex waits",
            Table::Sleeps => "sleeps",
            Table::IdleSleeps => "idle sleeps",
            Table::Chains => "chains: who waited for whom",
        }
    }

    /// Its waits are for something to do: they keep nobody from going on.
    pub fn is_idle(self) -> bool {
        matches!(self, Table::IdleFutexes | Table::IdleSleeps)
    }

    /// Its waits are sleeps.
    pub fn is_of_sleeps(self) -> bool {
        matches!(self, Table::Sleeps | Table::IdleSleeps)
    }

    /// What tells its rows apart, where those of locks are told apart by `by`: of a futex the caller
    /// is not known, of a sleep there is no lock.
    pub fn keys(self, by: &[By]) -> Vec<By> {
        let mut keys = Vec::new();
        for &key in by {
            let key = match (self, key) {
                (Table::Chains, _) => By::Chain,
                (Table::Futexes | Table::IdleFutexes, By::Caller | By::Stack) => By::Lock,
                (
                    Table::Sleeps | Table::IdleSleeps,
                    By::Caller | By::Lock | By::Type | By::Owner | By::Chain,
                ) => By::Reason,
                (_, key) => key,
            };
            if !keys.contains(&key) {
                keys.push(key);
            }
        }
        if self.is_of_sleeps() && !keys.contains(&By::Reason) {
            keys.push(By::Reason);
        }
        keys
    }
}

/// What the rows of each table are told apart by.
#[derive(Debug, Clone)]
pub struct Keys([Vec<By>; Table::ALL.len()]);

impl Keys {
    /// Where those of locks are told apart by `by`.
    pub fn new(by: &[By]) -> Keys {
        Keys(Table::ALL.map(|table| table.keys(by)))
    }

    /// Those of a table.
    pub fn of(&self, table: Table) -> &[By] {
        self.0.get(table.index()).map_or(&[], Vec::as_slice)
    }
}

#[cfg(test)]
mod tests {
    use super::{By, Table};

    #[test]
    fn every_table_has_keys_that_its_waits_have() {
        let table = [
            (Table::Locks, vec![By::Comm, By::Caller], vec![By::Comm, By::Caller]),
            (Table::Futexes, vec![By::Caller, By::Comm], vec![By::Lock, By::Comm]),
            (Table::IdleFutexes, vec![By::Stack, By::Lock], vec![By::Lock]),
            (Table::Sleeps, vec![By::Caller], vec![By::Reason]),
            (Table::IdleSleeps, vec![By::Task], vec![By::Task, By::Reason]),
            (Table::Chains, vec![By::Task, By::Caller], vec![By::Chain]),
        ];
        for (of, by, expected) in table {
            assert_eq!(of.keys(&by), expected, "{of:?}");
        }
    }

    #[test]
    fn a_tables_index_is_its_place() {
        assert!(Table::ALL.iter().enumerate().all(|(place, table)| table.index() == place));
    }
}
