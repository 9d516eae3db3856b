//! The names that are held, by process and address.

use std::collections::{HashMap, HashSet};

use foldhash::fast::FixedState;

use crate::contention::Process;
use crate::event::Stamp;
use crate::symbols::{LockName, NamedBy, UserName};

use super::news::Moment;

/// Futexes whose names are held; with more, all are dropped.
const MAX_NAMES: usize = 1 << 16;

/// Room for the names themselves, each kept once and for good.
const MAX_TEXT_BYTES: usize = 4 << 20;

/// Names by process and address.
#[derive(Debug, Default)]
pub(super) struct HeldNames {
    spaces: HashMap<Process, Space, FixedState>,
    pub(super) held: usize,
    texts: HashSet<&'static str, FixedState>,
    text_bytes: usize,
    /// Names that were dropped, or not kept, for want of room.
    pub(super) dropped: u64,
}

/// The futexes of a process.
#[derive(Debug, Default)]
pub(super) struct Space {
    /// No name where nothing was found.
    names: HashMap<u64, Option<LockName>, FixedState>,
    /// From here on the process runs another program.
    pub(super) replaced: Option<Stamp>,
    /// As whose its names were told first, if they were.
    pub(super) told_as: Option<Moment>,
}

impl HeldNames {
    pub(super) fn space(&self, process: Process) -> Option<&Space> {
        self.spaces.get(&process)
    }

    pub(super) fn space_mut(&mut self, process: Process) -> &mut Space {
        self.spaces.entry(process).or_default()
    }

    /// The futex's name for a wait that began at that instant.
    pub(super) fn name(&self, process: Process, at: Stamp, address: u64) -> Option<LockName> {
        let space = self.spaces.get(&process)?;
        let is_its = space.replaced.is_none_or(|replaced| at < replaced);
        *space.names.get(&address).filter(|_| is_its)?
    }

    /// Drops all names if they are too many; returns whether they were.
    pub(super) fn make_room(&mut self) -> bool {
        let is_full = self.held >= MAX_NAMES;
        if is_full {
            self.dropped += self.held as u64;
            self.drop_all();
        }
        is_full
    }

    /// Drops all names, but for those that go at the window's end.
    pub(super) fn drop_all(&mut self) {
        self.spaces.retain(|_, space| space.replaced.is_some());
        self.held = self.spaces.values().map(|space| space.names.len()).sum();
    }

    pub(super) fn insert(&mut self, process: Process, address: u64, name: Option<UserName>) {
        let name = name.map(LockName::User);
        let names = &mut self.spaces.entry(process).or_default().names;
        self.held += usize::from(names.insert(address, name).is_none());
    }

    /// Drops a process and its names.
    pub(super) fn remove(&mut self, process: Process) -> Option<Space> {
        let space = self.spaces.remove(&process)?;
        self.held -= space.names.len();
        Some(space)
    }

    /// A name that lasts as long as the program, as those in rows and in the stream must.
    pub(super) fn kept(&mut self, text: String, by: NamedBy) -> Option<UserName> {
        let name = match self.texts.get(text.as_str()) {
            Some(&known) => known,
            None if self.text_bytes + text.len() > MAX_TEXT_BYTES => {
                self.dropped += 1;
                return None;
            }
            None => {
                self.text_bytes += text.len();
                let kept: &'static str = Box::leak(text.into_boxed_str());
                self.texts.insert(kept);
                kept
            }
        };
        Some(UserName { name, by })
    }
}

impl Space {
    pub(super) fn knows(&self, address: u64) -> bool {
        self.names.contains_key(&address)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.names.is_empty()
    }
}
