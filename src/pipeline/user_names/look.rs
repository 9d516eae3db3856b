//! Names looked up in the processes themselves, while these are there.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use foldhash::fast::FixedState;

use crate::cmdline_cache::{CmdlineCache, TaskName};
use crate::contention::Process;
use crate::event::{Head, Tid};
use crate::symbols::{NamedBy, UserName};
use crate::user_symbols::{AddressSpace, Found, UserSymbols};

use super::super::spaces::process;
use super::held::HeldNames;
use super::news::{Moment, NameChange, NameNews, ToldName};

/// How long is looked for one window; what is left is looked for behind the next one. The largest
/// programs take longer once, when their symbols are read.
const MAX_LOOK: Duration = Duration::from_millis(5);

/// Futexes that wait to be looked for.
const MAX_OPEN: usize = 1 << 14;

/// What is to be looked for, and what became of it.
#[derive(Debug, Default)]
pub(super) struct Looking {
    symbols: UserSymbols,
    /// Waited for, by whom, and not looked for yet.
    open: HashMap<(Tid, u64), Open, FixedState>,
    /// What became known since it was last taken, where that is kept.
    news: Option<Vec<NameNews>>,
    pub(super) put_off: u64,
    pub(super) unread: u64,
}

/// Since a futex was last looked for: the first and the last wait.
#[derive(Debug, Clone, Copy)]
struct Open {
    first: Head,
    last: Head,
}

impl Looking {
    pub(super) fn keep_news(&mut self) {
        self.news.get_or_insert_default();
    }

    pub(super) fn take_news(&mut self) -> Vec<NameNews> {
        self.news.as_mut().map(std::mem::take).unwrap_or_default()
    }

    /// A task begins to wait for a futex.
    pub(super) fn note(&mut self, head: &Head, address: u64) {
        if let Some(open) = self.open.get_mut(&(head.tid, address)) {
            open.last = *head;
        } else if self.open.len() < MAX_OPEN {
            self.open.insert((head.tid, address), Open { first: *head, last: *head });
        } else {
            self.put_off += 1;
        }
    }

    /// Looks for the names of the futexes that wanted tasks wait for, in the window behind `since_ns`.
    pub(super) fn look(
        &mut self,
        held: &mut HeldNames,
        since_ns: u64,
        cache: &CmdlineCache,
        wants: impl Fn(&Head, &TaskName) -> bool,
    ) {
        let begin = Instant::now();
        let mut asked: HashMap<Process, Vec<(u64, Open)>, FixedState> = HashMap::default();
        for ((tid, address), open) in self.open.drain() {
            let Open { last, .. } = open;
            let process = process(&last, cache);
            let known = held
                .space(process)
                .is_some_and(|space| space.replaced.is_none() && space.knows(address));
            if !known && wants(&last, &cache.name_at(tid, last.cpu, last.stamp)) {
                asked.entry(process).or_default().push((address, open));
            }
        }
        for (process, futexes) in asked {
            let replaced = held.space(process).and_then(|space| space.replaced);
            // What the new program waits for is looked for when the old one's names are gone.
            let is_later =
                |(_, open): &(u64, Open)| replaced.is_some_and(|at| open.last.stamp > at);
            let (later, now): (Vec<_>, Vec<_>) = futexes.into_iter().partition(is_later);
            let is_late = begin.elapsed() > MAX_LOOK;
            if replaced.is_none() && !is_late {
                self.look_at(process, now, held, since_ns);
            } else if replaced.is_none() {
                self.put_off += 1;
                self.put_back(now);
            }
            self.put_back(later);
        }
    }

    fn put_back(&mut self, futexes: Vec<(u64, Open)>) {
        let of = |(address, open): (u64, Open)| ((open.last.tid, address), open);
        self.open.extend(futexes.into_iter().map(of));
    }

    fn look_at(
        &mut self,
        process: Process,
        futexes: Vec<(u64, Open)>,
        held: &mut HeldNames,
        since_ns: u64,
    ) {
        let (tgid, _) = process;
        let mapped = AddressSpace::read(tgid.0);
        self.unread += u64::from(mapped.is_none());
        if held.make_room() {
            self.tell(since_ns, NameChange::Dropped);
        }
        let first_ns = futexes.iter().map(|(_, open)| open.first.ts_ns).min();
        let of = first_ns.map(|at_ns| Moment { pid: tgid, at_ns });
        let mut names = Vec::new();
        for (address, _) in futexes {
            // Several threads wait for one.
            if held.space(process).is_some_and(|space| space.knows(address)) {
                continue;
            }
            let found = mapped.as_ref().and_then(|space| self.symbols.find(space, address));
            let name = found.and_then(|found| kept(found, held));
            held.insert(process, address, name);
            let told = |UserName { name, by }| ToldName { address, name: name.to_owned(), by };
            names.extend(name.filter(|_| self.news.is_some()).map(told));
        }
        if let Some(of) = of.filter(|_| !names.is_empty()) {
            held.space_mut(process).told_as.get_or_insert(of);
            self.tell(since_ns, NameChange::Named { of, names });
        }
    }

    /// The process told of as this one's has no names behind an instant.
    pub(super) fn over(&mut self, of: Moment, since_ns: u64) {
        self.tell(since_ns, NameChange::Over(of));
    }

    fn tell(&mut self, since_ns: u64, what: NameChange) {
        self.news.iter_mut().for_each(|news| news.push(NameNews { since_ns, what: what.clone() }));
    }
}

fn kept(found: Found, held: &mut HeldNames) -> Option<UserName> {
    match found {
        Found::Global(text) => held.kept(text, NamedBy::Global),
        Found::Mapping(text) => held.kept(text, NamedBy::Mapping),
    }
}
