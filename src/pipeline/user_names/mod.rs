//! What futexes are called in their processes: looked up while these are there, or told by who did.

mod held;
mod look;
mod news;

use std::collections::VecDeque;

use crate::cmdline_cache::{CmdlineCache, TaskName};
use crate::contention::Process;
use crate::event::{Head, Stamp};
use crate::symbols::LockName;

use self::held::HeldNames;
use self::look::Looking;
use super::setup::Processes;

pub use self::news::{Moment, NameChange, NameNews, ToldName};

/// What could not be done.
#[derive(Debug, Clone, Copy, Default)]
pub struct NamesGivenUp {
    /// Names that were dropped, or not kept, for want of room.
    pub dropped: u64,
    /// Looks into /proc that were put off.
    pub put_off: u64,
    /// Processes that had gone before they were looked at.
    pub unread: u64,
}

/// The names of futexes, by process and address.
#[derive(Debug)]
pub(super) struct UserNames {
    held: HeldNames,
    source: Source,
    /// Processes that ended or run another program since the last window.
    over: Vec<Process>,
}

/// Where names come from.
#[derive(Debug)]
enum Source {
    /// The processes themselves.
    Proc(Looking),
    /// Who looked at them once; what waits for the window in which its process can be known.
    Told(VecDeque<NameNews>),
}

impl UserNames {
    /// None yet; nothing where there can never be any.
    pub(super) fn new(processes: Processes) -> Option<UserNames> {
        let source = match processes {
            Processes::Unknown => return None,
            Processes::Here => Source::Proc(Looking::default()),
            Processes::Told => Source::Told(VecDeque::new()),
        };
        Some(UserNames { held: HeldNames::default(), source, over: Vec::new() })
    }

    /// Remembers from now on what becomes known, for [`UserNames::take_news`].
    pub(super) fn keep_news(&mut self) {
        if let Source::Proc(looking) = &mut self.source {
            looking.keep_news();
        }
    }

    /// What became known since this was last asked.
    pub(super) fn take_news(&mut self) -> Vec<NameNews> {
        match &mut self.source {
            Source::Proc(looking) => looking.take_news(),
            Source::Told(_) => Vec::new(),
        }
    }

    /// What once became known: told behind the window that ends at its instant, in the order of time.
    pub(super) fn tell(&mut self, news: NameNews, cache: &CmdlineCache) {
        let Source::Told(waiting) = &mut self.source else { return };
        match news.what {
            NameChange::Named { .. } => waiting.push_back(news),
            NameChange::Over(of) => drop(self.held.remove(of.process(cache))),
            NameChange::Dropped => self.held.drop_all(),
        }
    }

    /// A task begins to wait for a futex.
    pub(super) fn note(&mut self, head: &Head, address: u64) {
        if let Source::Proc(looking) = &mut self.source {
            looking.note(head, address);
        }
    }

    /// The process runs another program.
    pub(super) fn replaced(&mut self, process: Process, at: Stamp) {
        self.held.space_mut(process).replaced = Some(at);
        self.over.push(process);
    }

    /// The process ends.
    pub(super) fn ended(&mut self, process: Process) {
        self.over.push(process);
    }

    /// Finds the names of the futexes that wanted tasks wait for, in the window from `since_ns` to
    /// `up_to_ns`.
    pub(super) fn learn(
        &mut self,
        (since_ns, up_to_ns): (u64, u64),
        cache: &CmdlineCache,
        wants: impl Fn(&Head, &TaskName) -> bool,
    ) {
        match &mut self.source {
            Source::Proc(looking) => looking.look(&mut self.held, since_ns, cache, wants),
            Source::Told(waiting) => {
                // Whose process it is can be told once the thread is born.
                let is_due = |news: &NameNews| match &news.what {
                    NameChange::Named { of, .. } => of.at_ns <= up_to_ns,
                    _ => true,
                };
                let (due, later) = waiting.drain(..).partition(is_due);
                *waiting = later;
                for NameNews { since_ns, what } in due {
                    if let NameChange::Named { of, names } = what {
                        take(&mut self.held, of.process(cache), since_ns, names);
                    }
                }
            }
        }
    }

    /// Forgets processes that are over. The names of their last waits have been asked for.
    pub(super) fn end_window(&mut self, up_to_ns: u64) {
        for process in self.over.drain(..) {
            match &mut self.source {
                Source::Proc(looking) => {
                    let told_as = self.held.remove(process).and_then(|space| space.told_as);
                    told_as.into_iter().for_each(|of| looking.over(of, up_to_ns));
                }
                // Where there are names it is told when they go.
                Source::Told(_) => {
                    if self.held.space(process).is_some_and(|space| space.is_empty()) {
                        self.held.remove(process);
                    }
                }
            }
        }
    }

    /// The futex's name for a wait that began at that instant.
    pub(super) fn name(&self, process: Process, at: Stamp, address: u64) -> Option<LockName> {
        self.held.name(process, at, address)
    }

    /// What could not be done so far.
    pub(super) fn given_up(&self) -> NamesGivenUp {
        let (put_off, unread) = match &self.source {
            Source::Proc(looking) => (looking.put_off, looking.unread),
            Source::Told(_) => (0, 0),
        };
        NamesGivenUp { dropped: self.held.dropped, put_off, unread }
    }
}

fn take(held: &mut HeldNames, process: Process, since_ns: u64, names: Vec<ToldName>) {
    let replaced = held.space(process).and_then(|space| space.replaced);
    if replaced.is_some_and(|replaced| replaced.ts_ns <= since_ns) {
        // There was no room to tell that the old program's are over.
        held.remove(process);
    }
    held.make_room();
    for ToldName { address, name, by } in names {
        let name = held.kept(name, by);
        held.insert(process, address, name);
    }
}

#[cfg(test)]
mod tests;
