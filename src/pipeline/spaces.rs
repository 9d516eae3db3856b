//! What belongs to the address spaces of processes: futexes, what they are for, what they are called.

use crate::cmdline_cache::{CmdlineCache, TaskName};
use crate::contention::{Holder, OpenWait, Process, Wait, Words};
use crate::event::{Head, TaskEvent};
use crate::symbols::LockName;

use super::setup::Processes;
use super::user_names::{NameNews, NamesGivenUp, UserNames};

/// What is known of the futexes of all processes.
#[derive(Debug)]
pub(super) struct Spaces {
    words: Words,
    /// Where there can be any.
    names: Option<UserNames>,
}

impl Spaces {
    /// Nothing known yet.
    pub(super) fn new(processes: Processes) -> Spaces {
        Spaces { words: Words::default(), names: UserNames::new(processes) }
    }

    /// Remembers from now on what becomes known of names.
    pub(super) fn keep_news(&mut self) {
        self.names.iter_mut().for_each(UserNames::keep_news);
    }

    /// What became known of names since this was last asked.
    pub(super) fn take_news(&mut self) -> Vec<NameNews> {
        self.names.as_mut().map(UserNames::take_news).unwrap_or_default()
    }

    /// What once became known of names.
    pub(super) fn tell(&mut self, news: NameNews, cache: &CmdlineCache) {
        if let Some(names) = &mut self.names {
            names.tell(news, cache);
        }
    }

    /// A task begins to wait.
    pub(super) fn note(&mut self, head: &Head, address: u64) {
        self.names.iter_mut().for_each(|names| names.note(head, address));
    }

    /// Finds the names of the futexes that wanted tasks wait for, in the window from the one instant to
    /// the other.
    pub(super) fn learn(
        &mut self,
        window_ns: (u64, u64),
        cache: &CmdlineCache,
        wants: impl Fn(&Head, &TaskName) -> bool,
    ) {
        self.names.iter_mut().for_each(|names| names.learn(window_ns, cache, &wants));
    }

    /// The window's waits have their names.
    pub(super) fn end_window(&mut self, up_to_ns: u64) {
        self.names.iter_mut().for_each(|names| names.end_window(up_to_ns));
    }

    /// What the futex of a wait is called.
    pub(super) fn name(&self, of: Process, begin: &Head, address: u64) -> Option<LockName> {
        self.names.as_ref()?.name(of, begin.stamp, address)
    }

    /// What could not be done for names.
    pub(super) fn names_given_up(&self) -> NamesGivenUp {
        self.names.as_ref().map_or(NamesGivenUp::default(), UserNames::given_up)
    }

    /// An address means something else where a process ends or runs another program.
    pub(super) fn follow(&mut self, head: &Head, task: &TaskEvent, cache: &CmdlineCache) {
        let (TaskEvent::Exec { tid, .. } | TaskEvent::Exit { tid }) = *task else { return };
        let name = cache.name_at(tid, head.cpu, head.stamp);
        if name.tgid.is_some_and(|tgid| tgid != tid) {
            return;
        }
        let process = (tid, name.incarnation);
        self.words.forget(process);
        let Some(names) = &mut self.names else { return };
        match task {
            TaskEvent::Exec { .. } => names.replaced(process, head.stamp),
            _ => names.ended(process),
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

    /// Whether an open wait would be an idle one if it ended now.
    pub(super) fn is_idle_so_far(&self, wait: &OpenWait, cache: &CmdlineCache) -> bool {
        let call = wait.cause.futex();
        call.is_some_and(|call| self.words.seems_idle(process(&wait.begin, cache), &call))
    }

    /// Futexes whose earlier waits were forgotten for want of room.
    pub(super) fn words_forgotten(&self) -> u64 {
        self.words.forgotten()
    }
}

/// Whose process a task was part of; its own where that is not known.
pub(super) fn process(head: &Head, cache: &CmdlineCache) -> Process {
    let name = cache.name_at(head.tid, head.cpu, head.stamp);
    match name.tgid.filter(|tgid| *tgid != head.tid) {
        Some(tgid) => (tgid, cache.name_at(tgid, head.cpu, head.stamp).incarnation),
        None => (head.tid, name.incarnation),
    }
}
