//! What futexes are called in their processes, looked up while these are there.

use std::collections::{HashMap, HashSet};
use std::time::{Duration, Instant};

use foldhash::fast::FixedState;

use crate::cmdline_cache::{CmdlineCache, TaskName};
use crate::contention::Process;
use crate::event::{Head, Stamp, Tid};
use crate::symbols::{LockName, NamedBy, UserName};
use crate::user_symbols::{AddressSpace, Found, UserSymbols};

use super::spaces::process;

/// How long is looked for one window; what is left is looked for behind the next one. The largest
/// programs take longer once, when their symbols are read.
const MAX_LOOK: Duration = Duration::from_millis(5);

/// Futexes that wait to be looked for.
const MAX_OPEN: usize = 1 << 14;

/// Futexes whose names are held; with more, all are dropped.
const MAX_NAMES: usize = 1 << 16;

/// Room for the names themselves, each kept once and for good.
const MAX_TEXT_BYTES: usize = 4 << 20;

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
#[derive(Debug, Default)]
pub(super) struct UserNames {
    symbols: UserSymbols,
    spaces: HashMap<Process, Space, FixedState>,
    held: usize,
    /// Waited for, by whom, and not looked for yet.
    open: HashMap<(Tid, u64), Head, FixedState>,
    /// Processes that ended or run another program since the last window.
    over: Vec<Process>,
    texts: HashSet<&'static str, FixedState>,
    text_bytes: usize,
    given_up: NamesGivenUp,
}

#[derive(Debug, Default)]
struct Space {
    /// No name where nothing was found.
    names: HashMap<u64, Option<LockName>, FixedState>,
    /// From here on the process runs another program.
    replaced: Option<Stamp>,
}

impl UserNames {
    /// A task begins to wait for a futex.
    pub(super) fn note(&mut self, head: &Head, address: u64) {
        if self.open.len() < MAX_OPEN {
            self.open.insert((head.tid, address), *head);
        } else {
            self.given_up.put_off += 1;
        }
    }

    /// The process runs another program.
    pub(super) fn replaced(&mut self, process: Process, at: Stamp) {
        self.spaces.entry(process).or_default().replaced = Some(at);
        self.over.push(process);
    }

    /// The process ends.
    pub(super) fn ended(&mut self, process: Process) {
        self.over.push(process);
    }

    /// Looks for the names of the futexes that wanted tasks wait for.
    pub(super) fn learn(&mut self, cache: &CmdlineCache, wants: impl Fn(&Head, &TaskName) -> bool) {
        let begin = Instant::now();
        let mut asked: HashMap<Process, Vec<(Head, u64)>, FixedState> = HashMap::default();
        for ((tid, address), head) in self.open.drain() {
            let process = process(&head, cache);
            let known = self.spaces.get(&process).is_some_and(|space| {
                space.replaced.is_none() && space.names.contains_key(&address)
            });
            if !known && wants(&head, &cache.name_at(tid, head.cpu, head.stamp)) {
                asked.entry(process).or_default().push((head, address));
            }
        }
        for (process, futexes) in asked {
            let replaced = self.spaces.get(&process).and_then(|space| space.replaced);
            // What the new program waits for is looked for when the old one's names are gone.
            let is_later = |(head, _): &(Head, u64)| replaced.is_some_and(|at| head.stamp > at);
            let (later, now): (Vec<_>, Vec<_>) = futexes.into_iter().partition(is_later);
            let is_late = begin.elapsed() > MAX_LOOK;
            if replaced.is_none() && !is_late {
                self.look(process, now.into_iter().map(|(_, address)| address));
            } else if replaced.is_none() {
                self.given_up.put_off += 1;
                self.open
                    .extend(now.into_iter().map(|(head, address)| ((head.tid, address), head)));
            }
            self.open.extend(later.into_iter().map(|(head, address)| ((head.tid, address), head)));
        }
    }

    /// Forgets processes that are over. The names of their last waits have been asked for.
    pub(super) fn end_window(&mut self) {
        for process in self.over.drain(..) {
            self.held -= self.spaces.remove(&process).map_or(0, |space| space.names.len());
        }
    }

    /// The futex's name for a wait that began at that instant.
    pub(super) fn name(&self, process: Process, at: Stamp, address: u64) -> Option<LockName> {
        let space = self.spaces.get(&process)?;
        let is_its = space.replaced.is_none_or(|replaced| at < replaced);
        *space.names.get(&address).filter(|_| is_its)?
    }

    /// What could not be done so far.
    pub(super) fn given_up(&self) -> NamesGivenUp {
        self.given_up
    }

    fn look(&mut self, process: Process, addresses: impl Iterator<Item = u64>) {
        let (tgid, _) = process;
        let mapped = AddressSpace::read(tgid.0);
        self.given_up.unread += u64::from(mapped.is_none());
        if self.held >= MAX_NAMES {
            self.given_up.dropped += self.held as u64;
            self.spaces.retain(|_, space| space.replaced.is_some());
            self.held = self.spaces.values().map(|space| space.names.len()).sum();
        }
        for address in addresses {
            let found = mapped.as_ref().and_then(|space| self.symbols.find(space, address));
            let name = found.and_then(|found| self.kept(found));
            let names = &mut self.spaces.entry(process).or_default().names;
            self.held += usize::from(names.insert(address, name).is_none());
        }
    }

    fn kept(&mut self, found: Found) -> Option<LockName> {
        let (text, by) = match found {
            Found::Global(text) => (text, NamedBy::Global),
            Found::Mapping(text) => (text, NamedBy::Mapping),
        };
        let name = match self.texts.get(text.as_str()) {
            Some(&known) => known,
            None if self.text_bytes + text.len() > MAX_TEXT_BYTES => {
                self.given_up.dropped += 1;
                return None;
            }
            None => {
                self.text_bytes += text.len();
                // Names go to rows and to the stream, and last as long as the program.
                let kept: &'static str = Box::leak(text.into_boxed_str());
                self.texts.insert(kept);
                kept
            }
        };
        Some(LockName::User(UserName { name, by }))
    }
}

#[cfg(test)]
mod tests {
    use super::UserNames;
    use crate::cmdline_cache::CmdlineCache;
    use crate::event::{Comm, Context, Cpu, Head, Stamp, TaskEvent, Tid};

    static WAITED_FOR: u64 = 7;

    fn head(ts_ns: u64, tid: u32) -> Head {
        let stamp = Stamp::before(ts_ns);
        Head { stamp, ts_ns, cpu: Cpu(0), tid: Tid(tid), context: Context::Task }
    }

    fn name(names: &UserNames, process: (Tid, u32), at: u64) -> Option<&'static str> {
        let address = &raw const WAITED_FOR as u64;
        names.name(process, Stamp::before(at), address).map(|name| name.name())
    }

    #[test]
    fn a_futex_has_the_name_of_the_program_that_waited() {
        let own = std::process::id();
        let mut cache = CmdlineCache::new(9);
        let new = TaskEvent::New {
            tid: Tid(own),
            comm: Comm::new(b"a"),
            thread: false,
            own_cgroup: false,
        };
        cache.apply(&head(1, 1), &new);
        let process = super::process(&head(2, own), &cache);
        let mut names = UserNames::default();
        let look = |names: &mut UserNames, at| {
            names.note(&head(at, own), &raw const WAITED_FOR as u64);
            names.learn(&cache, |_, _| true);
        };
        look(&mut names, 10);
        names.end_window();
        assert!(name(&names, process, 10).unwrap().ends_with("tests::WAITED_FOR"));

        // Who waited before it became another program had the name; who waits after has none yet.
        names.replaced(process, Stamp::before(20));
        look(&mut names, 30);
        assert!(name(&names, process, 15).is_some() && name(&names, process, 30).is_none());
        names.end_window();
        names.learn(&cache, |_, _| true);
        assert!(name(&names, process, 30).is_some());

        names.ended(process);
        assert!(name(&names, process, 31).is_some());
        names.end_window();
        assert_eq!((name(&names, process, 31), names.held), (None, 0));
    }

    #[test]
    fn a_process_that_is_gone_or_not_asked_for_gives_no_names() {
        let mut names = UserNames::default();
        let (cache, nobody) = (CmdlineCache::new(9), u32::MAX);
        names.note(&head(1, nobody), 64);
        names.learn(&cache, |_, _| false);
        assert_eq!(names.given_up().unread, 0);
        names.note(&head(2, nobody), 64);
        names.learn(&cache, |_, _| true);
        names.note(&head(3, nobody), 64);
        names.learn(&cache, |_, _| true);
        assert_eq!((names.given_up().unread, names.held), (1, 1));
    }
}
