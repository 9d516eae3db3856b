//! What a row stands for.

use std::hash::{Hash, Hasher};

use super::by::MAX_KEYS;
use super::{ChainId, Table};
use crate::aggregate;
use crate::contention::Process;
use crate::event::{Comm, Context, Cpu, Reason, StackId, TextId, Tid, WaitKind};

/// A futex: its process and its address there.
pub type FutexId = (Process, u64);

/// What one key of a row is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Part {
    /// A function that wanted a lock: a code address in it; none where there was no stack.
    Caller(Option<u64>, WaitKind),
    /// A call stack; none where there was none.
    Stack(Option<StackId>, WaitKind),
    /// One lock, by its address.
    Lock(u64, WaitKind),
    /// A futex of one process, by its address there. One that several processes share is one in each.
    Futex {
        /// The process; none where it was never learned.
        pid: Option<Tid>,
        /// Tells the processes apart that bore the id in turn.
        incarnation: u32,
        /// The address in the process.
        address: u64,
        /// Other processes may share it: its calls do not say that it is private.
        shared: bool,
        /// Whether it is one with priority inheritance.
        kind: WaitKind,
    },
    /// A thread under one name.
    Task {
        /// The thread.
        tid: Tid,
        /// Tells the tasks apart that bore the id in turn.
        incarnation: u32,
        /// Its name; none where it was never learned.
        comm: Option<Comm>,
    },
    /// Who made others wait, under one name; none where nobody is known to have.
    Owner(Option<Owner>),
    /// A chain of waits; none where it is not known, or found no room.
    Chain(Option<ChainId>),
    /// What a task slept for.
    Reason(Reason),
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
    Type(WaitKind),
    /// A CPU.
    Cpu(Cpu),
    /// A context.
    Context(Context),
}

/// A thread that made others wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Owner {
    /// The thread.
    pub tid: Tid,
    /// Tells the tasks apart that bore the id in turn.
    pub incarnation: u32,
    /// Its name when it let the lock go; none where it was never learned.
    pub comm: Option<Comm>,
}

impl Part {
    /// The futex that it is, if it is one of a known process.
    pub fn futex(&self) -> Option<FutexId> {
        match *self {
            Part::Futex { pid: Some(pid), incarnation, address, .. } => {
                Some(((pid, incarnation), address))
            }
            _ => None,
        }
    }

    fn kind(&self) -> Option<WaitKind> {
        match *self {
            Part::Caller(_, kind) | Part::Stack(_, kind) | Part::Lock(_, kind) => Some(kind),
            Part::Type(kind) | Part::Futex { kind, .. } => Some(kind),
            _ => None,
        }
    }
}

/// Parts that a row's key has at most: sleeps have their reason beside what was asked for.
const MAX_PARTS: usize = MAX_KEYS + 1;

/// The parts of a row's key, in the order of its table's keys.
#[derive(Debug, Clone, Copy, Eq, PartialOrd, Ord)]
pub struct Parts([Option<Part>; MAX_PARTS]);

/// Behind the last part there is nothing to compare or to hash: keys are compared and hashed for every wait,
/// and most have one part.
impl PartialEq for Parts {
    #[inline]
    fn eq(&self, other: &Parts) -> bool {
        for (own, other) in self.0.iter().zip(&other.0) {
            match (own, other) {
                (Some(own), Some(other)) if own == other => {}
                (None, None) => return true,
                _ => return false,
            }
        }
        true
    }
}

impl Hash for Parts {
    #[inline]
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.iter().map_while(Option::as_ref).for_each(|part| match part {
            Part::Caller(address, kind) => {
                state.write_u64(address.unwrap_or(1));
                state.write_u8(*kind as u8);
            }
            Part::Lock(address, kind) => {
                state.write_u64(*address);
                state.write_u8(*kind as u8);
            }
            Part::Task { tid, incarnation, comm } => {
                state.write_u64(u64::from(tid.0) << 32 | u64::from(*incarnation));
                comm.hash(state);
            }
            other => other.hash(state),
        });
    }
}

/// The identity of a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum RowKey {
    /// One part for each key of the table, in their order.
    Of(Table, Parts),
    /// Everything of the table that found no room in the map, by the kind of lock where rows have
    /// one.
    Overflow(Table, Option<WaitKind>),
}

/// Overflow rows of a table: one for each kind, and one for rows without.
const KINDS: usize = WaitKind::ALL.len() + 1;

impl aggregate::Key for RowKey {
    const BUCKETS: usize = Table::ALL.len() * KINDS;

    fn bucket(&self) -> usize {
        let kind = match self {
            RowKey::Of(_, parts) => parts.0.iter().flatten().find_map(Part::kind),
            RowKey::Overflow(_, kind) => *kind,
        };
        self.table().index() * KINDS + kind.map_or(WaitKind::ALL.len(), WaitKind::index)
    }
}

impl RowKey {
    /// A key of these parts; more than there are keys are left out.
    pub fn of(table: Table, parts: impl IntoIterator<Item = Part>) -> RowKey {
        let mut kept = [None; MAX_PARTS];
        for (place, part) in kept.iter_mut().zip(parts) {
            *place = Some(part);
        }
        RowKey::Of(table, Parts(kept))
    }

    /// A key of one part.
    #[inline]
    pub fn of_one(table: Table, part: Part) -> RowKey {
        let mut parts = [None; MAX_PARTS];
        let [first, ..] = &mut parts;
        *first = Some(part);
        RowKey::Of(table, Parts(parts))
    }

    /// The overflow row of a bucket.
    pub fn of_bucket(bucket: usize) -> RowKey {
        let table = Table::ALL.get(bucket / KINDS).copied().unwrap_or(Table::Locks);
        RowKey::Overflow(table, WaitKind::ALL.get(bucket % KINDS).copied())
    }

    /// The table that the row is in.
    pub fn table(&self) -> Table {
        match self {
            RowKey::Of(table, _) | RowKey::Overflow(table, _) => *table,
        }
    }

    /// What it consists of; nothing where it holds what found no room.
    pub fn parts(&self) -> impl Iterator<Item = &Part> {
        let parts = match self {
            RowKey::Of(_, parts) => &parts.0[..],
            RowKey::Overflow(..) => &[],
        };
        parts.iter().flatten()
    }
}

#[cfg(test)]
mod tests {
    use super::{KINDS, Part, RowKey, Table, WaitKind};
    use crate::aggregate::Key;

    #[test]
    fn every_bucket_is_that_of_its_overflow_row() {
        for bucket in 0..Table::ALL.len() * KINDS {
            assert_eq!(RowKey::of_bucket(bucket).bucket(), bucket);
        }
        let key = RowKey::of(Table::Futexes, [Part::Type(WaitKind::FutexPi)]);
        let overflow = RowKey::of_bucket(key.bucket());
        assert_eq!(overflow, RowKey::Overflow(Table::Futexes, Some(WaitKind::FutexPi)));
    }
}
