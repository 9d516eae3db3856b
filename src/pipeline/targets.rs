//! Whose waits are wanted.

use std::collections::HashSet;

use foldhash::fast::FixedState;

use crate::cmdline_cache::{CmdlineCache, TaskName};
use crate::event::{Head, Stamp, TaskEvent, Tid};

/// Members of a family that are remembered. Beyond, the dead are forgotten.
const MAX_MEMBERS: usize = 1 << 17;

/// Whose waits are wanted.
#[derive(Debug)]
pub enum Targets {
    /// Everybody's.
    All,
    /// Those of all threads of these processes.
    Processes(HashSet<Tid, FixedState>),
    /// Those of these threads.
    Threads(HashSet<Tid, FixedState>),
    /// Those of a process that we start, and of its descendants.
    Family(Family),
}

/// A process and its descendants, found by their births.
#[derive(Debug)]
pub struct Family {
    /// The process that starts it: its child is the first member.
    starter: Tid,
    /// A thread of a certain incarnation, since numbers are used again.
    members: HashSet<(Tid, u32), FixedState>,
}

impl Targets {
    /// The children that process `starter` begets from now on, with their descendants.
    pub fn children_of(starter: Tid) -> Targets {
        Targets::Family(Family { starter, members: HashSet::default() })
    }

    /// Whether a task is wanted, by its number and the name it had at the instant in question.
    pub fn wants(&self, tid: Tid, name: &TaskName) -> bool {
        match self {
            Targets::All => true,
            Targets::Processes(tgids) => name.tgid.is_some_and(|tgid| tgids.contains(&tgid)),
            Targets::Threads(tids) => tids.contains(&tid),
            Targets::Family(family) => family.members.contains(&(tid, name.incarnation)),
        }
    }

    /// Follows births, which `cache` has already seen.
    pub(super) fn follow(&mut self, head: &Head, task: &TaskEvent, cache: &CmdlineCache) {
        let Targets::Family(family) = self else { return };
        match *task {
            TaskEvent::New { tid: child, .. }
            | TaskEvent::Heir { tid: child, .. }
            | TaskEvent::Fork { child, .. } => {
                family.born(head, child, cache);
            }
            TaskEvent::Exec { tid, old_tid, .. } if tid != old_tid => {
                family.exchanged(head, tid, old_tid, cache);
            }
            _ => {}
        }
    }
}

impl Family {
    fn born(&mut self, head: &Head, child: Tid, cache: &CmdlineCache) {
        let parent = cache.name_at(head.tid, head.cpu, head.stamp);
        let ours = self.members.contains(&(head.tid, parent.incarnation));
        if !ours && parent.tgid != Some(self.starter) {
            return;
        }
        if self.members.len() >= MAX_MEMBERS {
            let now = Stamp::behind(head.stamp.ts_ns);
            self.members.retain(|&(tid, incarnation)| {
                cache.name_at(tid, head.cpu, now).incarnation == incarnation
            });
        }
        let born = cache.name_at(child, head.cpu, Stamp::behind(head.stamp.ts_ns));
        self.members.insert((child, born.incarnation));
    }

    /// A thread took its leader's number with its program: it is whatever it was before.
    fn exchanged(&mut self, head: &Head, tid: Tid, old_tid: Tid, cache: &CmdlineCache) {
        let incarnation = |tid| cache.name_at(tid, head.cpu, head.stamp).incarnation;
        if self.members.contains(&(old_tid, incarnation(old_tid))) {
            self.members.insert((tid, incarnation(tid)));
        }
    }
}
