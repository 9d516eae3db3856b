//! Which command line a process had at an instant.
//!
//! It belongs to a process from one exec to the next. Nothing but /proc has it: it is read once
//! the exec is seen, at the start, and when a child is first of interest, which has its parent's until
//! it gives itself another. A process that is gone by then has its program's file, or its parent's.

use std::collections::HashSet;
use std::sync::Arc;

use super::losses::Losses;
use super::marks::{Found, Inherits};
use super::timelines::Timelines;
use crate::event::{Stamp, TextId, Texts, Tid};

/// The command lines of all processes over time, bounded.
#[derive(Debug)]
pub struct Cmdlines {
    texts: Arc<Texts>,
    timelines: Timelines,
}

impl Cmdlines {
    /// At most `bound` tidings (40 bytes each) at a time.
    pub fn new(texts: Arc<Texts>, bound: usize) -> Cmdlines {
        Cmdlines { texts, timelines: Timelines::new(bound) }
    }

    /// The command lines that are known.
    pub(super) fn texts(&self) -> &Arc<Texts> {
        &self.texts
    }

    pub(super) fn born(&mut self, at: Stamp, process: Tid, parent: Tid) {
        self.timelines.inherit(at, process, parent, Inherits::Likely);
    }

    pub(super) fn exec(&mut self, at: Stamp, process: Tid, filename: Option<TextId>) {
        self.timelines.tell(at, process, filename, false);
    }

    pub(super) fn settle(&mut self, losses: &Losses) {
        self.timelines
            .settle(|timelines, parent, at| timelines.find(parent, None, at, losses).fact);
    }

    pub(super) fn at(&self, process: Tid, at: Stamp, losses: &Losses) -> Found {
        self.timelines.find(process, None, at, losses)
    }

    /// /proc said what a process has; `at` is an instant just before.
    pub(super) fn answer(
        &mut self,
        process: Tid,
        at: Stamp,
        cmdline: Option<&[u8]>,
        losses: &Losses,
    ) {
        let likely = self.at(process, at, losses).fact.text;
        let read = cmdline.and_then(|cmdline| self.texts.intern(cmdline));
        self.timelines.read(at, process, read, likely);
    }

    /// Also drops the texts that nobody has any more.
    pub(super) fn forget_before(&mut self, horizon: Stamp, is_kept: impl Fn(Tid) -> bool) {
        self.timelines.forget_before(horizon, is_kept);
        if self.texts.is_filling() {
            let needed: HashSet<TextId> = self.timelines.texts().collect();
            self.texts.retain(|id| needed.contains(&id));
        }
    }

    pub(super) fn evicted(&self) -> u64 {
        self.timelines.evicted()
    }
}
