//! Names that a worker asked for, close at hand.
//!
//! The cache holds every task of the machine, and looking one up costs as much as the memory is slow. Most
//! waits are of few tasks, whose names do not change.

use super::{CmdlineCache, TaskName};
use crate::event::{Head, Stamp, Tid};

/// How many groups of thread ids are told apart by when their names last changed.
const GROUPS: usize = 1 << 10;

/// When the names of each group of thread ids last changed, in changes.
#[derive(Debug)]
pub(super) struct Changes {
    of_groups: Vec<u32>,
    of_all: u32,
}

impl Default for Changes {
    fn default() -> Self {
        Changes { of_groups: vec![0; GROUPS], of_all: 0 }
    }
}

impl Changes {
    pub(super) fn note(&mut self, tid: Tid) {
        let of_group = self.of_groups.get_mut(tid.0 as usize % GROUPS);
        of_group.into_iter().for_each(|changes| *changes = changes.wrapping_add(1));
    }

    pub(super) fn note_all(&mut self) {
        self.of_all = self.of_all.wrapping_add(1);
    }

    #[inline]
    fn of(&self, tid: Tid) -> (u32, u32) {
        let of_group = self.of_groups.get(tid.0 as usize % GROUPS).copied().unwrap_or(0);
        (of_group, self.of_all)
    }
}

/// One worker's recent names: those that nothing casts doubt on, from an instant on.
#[derive(Debug)]
pub struct NameMemo {
    names: Vec<Option<Remembered>>,
}

#[derive(Debug, Clone, Copy)]
struct Remembered {
    tid: Tid,
    changes: (u32, u32),
    /// It is so behind this instant.
    since: Stamp,
    name: TaskName,
}

impl NameMemo {
    /// For so many names, of 64 bytes each.
    pub fn new(names: usize) -> NameMemo {
        NameMemo { names: vec![None; names.max(1)] }
    }

    /// What [`CmdlineCache::name_at`] says of the task of an event.
    #[inline]
    pub fn name(&mut self, cache: &CmdlineCache, head: &Head) -> TaskName {
        let place = head.tid.0 as usize % self.names.len().max(1);
        let changes = cache.changes.of(head.tid);
        match self.names.get(place) {
            Some(Some(known))
                if known.tid == head.tid
                    && known.changes == changes
                    && known.since < head.stamp =>
            {
                known.name
            }
            _ => self.ask(cache, head, place),
        }
    }

    fn ask(&mut self, cache: &CmdlineCache, head: &Head, place: usize) -> TaskName {
        if let Some(known) = self.names.get_mut(place) {
            *known = cache.settled(head.tid).map(|(since, name)| {
                let changes = cache.changes.of(head.tid);
                Remembered { tid: head.tid, changes, since, name }
            });
        }
        cache.name_at(head.tid, head.cpu, head.stamp)
    }
}
