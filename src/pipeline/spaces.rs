//! What belongs to the address spaces of processes: futexes, what they are for, what they are called.

use crate::cmdline_cache::CmdlineCache;
use crate::contention::{Holder, Process, Wait, Words};
use crate::event::{Head, TaskEvent};

/// What is known of the futexes of all processes.
#[derive(Debug, Default)]
pub(super) struct Spaces {
    words: Words,
}

impl Spaces {
    /// An address means something else where a process ends or runs another program.
    pub(super) fn follow(&mut self, head: &Head, task: &TaskEvent, cache: &CmdlineCache) {
        if let TaskEvent::Exec { tid, .. } | TaskEvent::Exit { tid } = *task {
            let name = cache.name_at(tid, head.cpu, head.stamp);
            if name.tgid == Some(tid) {
                self.words.forget((tid, name.incarnation));
            }
        }
    }

    /// A finished wait; of a futex it is told whether it was an idle one.
    pub(super) fn judged(&mut self, wait: Wait, cache: &CmdlineCache) -> Wait {
        if !wait.cause.is_futex() {
            return wait;
        }
        let idle = self.words.is_idle(process(&wait.begin, cache), &wait);
        // Whoever wakes an idle task had nothing that it waited for.
        let holder = wait.holder.map(|holder| match idle {
            true => Holder { held_ns: None, ..holder },
            false => holder,
        });
        Wait { idle, holder, ..wait }
    }

    /// Futexes whose earlier waits were forgotten for want of room.
    pub(super) fn words_forgotten(&self) -> u64 {
        self.words.forgotten()
    }
}

/// Whose process a task was part of; its own where that is not known.
fn process(head: &Head, cache: &CmdlineCache) -> Process {
    let name = cache.name_at(head.tid, head.cpu, head.stamp);
    match name.tgid.filter(|tgid| *tgid != head.tid) {
        Some(tgid) => (tgid, cache.name_at(tgid, head.cpu, head.stamp).incarnation),
        None => (head.tid, name.incarnation),
    }
}
