//! What /proc says of tasks beyond their names: kept for who reads a recording later, and told there.

use std::collections::VecDeque;

use crate::event::{Stamp, Tid};

/// Looks that are kept until they are taken; those behind are dropped.
const MOST: usize = 1 << 17;

/// A look at a task in /proc.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Look {
    /// An instant at or just before it.
    pub at: Stamp,
    /// The thread.
    pub tid: Tid,
    /// Its process.
    pub tgid: Tid,
    /// What was found.
    pub said: Said,
}

/// What /proc said; none inside: the task was gone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Said {
    /// The path of the thread's cgroup.
    Cgroup(Option<Vec<u8>>),
    /// The process's command line.
    Cmdline(Option<Vec<u8>>),
}

/// Looks on their way to or from a recording.
#[derive(Debug, Default)]
pub(super) struct Looks {
    /// Those since they were last taken, where they are kept.
    kept: Option<Vec<Look>>,
    /// Of a recording: those still to come, in the order of time.
    told: VecDeque<Look>,
}

impl Looks {
    pub(super) fn keep(&mut self, look: &Look) {
        if let Some(kept) = self.kept.as_mut().filter(|kept| kept.len() < MOST) {
            kept.push(look.clone());
        }
    }

    /// Those told whose time has come.
    pub(super) fn due(&mut self, now: Stamp) -> Vec<Look> {
        let due = self.told.partition_point(|look| look.at <= now);
        self.told.drain(..due).collect()
    }
}

impl super::CmdlineCache {
    /// Remembers from now on what /proc says beyond names.
    pub fn keep_looks(&mut self) {
        self.facts.looks.kept.get_or_insert_default();
    }

    /// What /proc said since this was last asked.
    pub fn take_looks(&mut self) -> Vec<Look> {
        self.facts.looks.kept.as_mut().map(std::mem::take).unwrap_or_default()
    }

    /// What /proc once said, in the order of time. What was learned behind a window's events is taken in
    /// when [`CmdlineCache::learn`](super::CmdlineCache::learn) gets there, and what was learned with a
    /// seed at once: heirs of the next window have it.
    pub fn tell(&mut self, looks: impl IntoIterator<Item = Look>) {
        for look in looks {
            match look.at == Stamp::behind(look.at.ts_ns) {
                true => self.facts.looks.told.push_back(look),
                false => self.answer(look),
            }
        }
    }
}
