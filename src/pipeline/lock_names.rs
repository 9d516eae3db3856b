//! What the rows by lock are called: of the names that a lock's waits had, the most frequent.

use std::collections::HashMap;

use crate::event::WaitKind;
use crate::report::{FutexId, Part, RowKey, RowStats};
use crate::symbols::LockName;

use super::mmap_locks::MmapLocks;
use super::named::NamedWait;

/// Names by address, at most a given number.
///
/// A derived name may differ from wait to wait of one lock: a rule can be wrong, and memory is
/// used again. The name that more than half of the named waits had wins, by a running majority
/// vote; where none has as many, one of the frequent ones. A name that is certain wins always.
#[derive(Debug)]
pub(super) struct LockNames {
    names: HashMap<u64, Vote>,
    /// Of futexes, the last one each: there is no doubt about them.
    futexes: HashMap<FutexId, LockName>,
    bound: usize,
}

#[derive(Debug, Clone, Copy)]
struct Vote {
    name: LockName,
    lead: u64,
}

impl LockNames {
    /// None yet, and never more than the rows they are for.
    pub(super) fn new(bound: usize) -> LockNames {
        LockNames { names: HashMap::new(), futexes: HashMap::new(), bound }
    }

    /// Counts the name of a finished wait.
    pub(super) fn count(&mut self, named: &NamedWait) {
        let Some(name) = named.lock_name else { return };
        let Some(process) = named.process else { return self.vote(named.wait.lock, name) };
        let futex = (process, named.wait.lock);
        if self.futexes.len() < self.bound || self.futexes.contains_key(&futex) {
            self.futexes.insert(futex, name);
        }
    }

    /// The names of futexes.
    pub(super) fn futexes(&self) -> HashMap<FutexId, LockName> {
        self.futexes.clone()
    }

    /// The winners for these rows. What became certain only later counts for the whole run.
    pub(super) fn finish(
        self,
        rows: &[(RowKey, RowStats)],
        mmap_locks: &MmapLocks,
    ) -> HashMap<u64, LockName> {
        let mut names: HashMap<_, _> =
            self.names.into_iter().map(|(lock, vote)| (lock, vote.name)).collect();
        for (lock, kind) in rows.iter().filter_map(|(key, _)| lock_of(key)) {
            if let Some(name) = mmap_locks.name(lock, kind) {
                names.insert(lock, name);
            }
        }
        names
    }

    fn vote(&mut self, lock: u64, name: LockName) {
        let room = self.names.len() < self.bound;
        let Some(vote) = self.names.get_mut(&lock) else {
            if room {
                self.names.insert(lock, Vote { name, lead: 1 });
            }
            return;
        };
        match (vote.name, name) {
            (LockName::MmapLock, _) => {}
            (_, LockName::MmapLock) => vote.name = name,
            (known, new) if known.name() == new.name() => vote.lead += 1,
            (_, _) if vote.lead > 1 => vote.lead -= 1,
            (_, _) => *vote = Vote { name, lead: 1 },
        }
    }
}

fn lock_of(key: &RowKey) -> Option<(u64, WaitKind)> {
    key.parts().find_map(|part| match *part {
        Part::Lock(lock, kind) => Some((lock, kind)),
        _ => None,
    })
}

#[cfg(test)]
mod tests {
    use super::{LockNames, MmapLocks};
    use crate::symbols::{DerivedName, LockName};

    fn derived(name: &'static str, function: &'static str) -> LockName {
        LockName::Derived(DerivedName { name, function })
    }

    #[test]
    fn the_majority_names_a_lock_and_certainty_outweighs_it() {
        let (rq, pi) = (derived("rq_lock", "__schedule"), derived("pi_lock", "task_work_run"));
        let also_rq = derived("rq_lock", "sched_tick");
        let table = [
            (vec![rq], rq),
            (vec![pi, rq, also_rq], rq),
            (vec![rq, also_rq, pi], rq),
            (vec![pi, rq, pi, rq, pi], pi),
            (vec![rq, rq, LockName::MmapLock, rq, rq], LockName::MmapLock),
        ];
        for (votes, expected) in table {
            let mut names = LockNames::new(1);
            votes.iter().for_each(|&name| names.vote(7, name));
            let winner = names.finish(&[], &MmapLocks::default())[&7];
            assert_eq!(winner.name(), expected.name(), "{votes:?}");
        }
    }

    #[test]
    fn there_are_no_more_names_than_rows() {
        let mut names = LockNames::new(2);
        (0..9).for_each(|lock| names.vote(lock, LockName::MmapLock));
        assert_eq!(names.finish(&[], &MmapLocks::default()).len(), 2);
    }
}
