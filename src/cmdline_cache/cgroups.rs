//! Which cgroup a task was in at an instant.
//!
//! Told by births (a child is where its parent is), by moves, and by /proc at the start and where
//! the events leave it open: whether a process's threads moved with their leader, and where a
//! task was put that was born into a cgroup of its own choice.

use std::sync::Arc;

use super::hierarchy::Hierarchy;
use super::losses::Losses;
use super::marks::{Fact, Found, Inherits};
use super::timelines::Timelines;
use crate::event::{Stamp, TextId, Texts, Tid};

/// The cgroups of all tasks over time, bounded.
#[derive(Debug)]
pub struct Cgroups {
    hierarchy: Hierarchy,
    paths: Arc<Texts>,
    timelines: Timelines,
}

impl Cgroups {
    /// Those of one hierarchy, at most `bound` tidings (40 bytes each) at a time.
    pub fn new(hierarchy: Hierarchy, paths: Arc<Texts>, bound: usize) -> Cgroups {
        Cgroups { hierarchy, paths, timelines: Timelines::new(bound) }
    }

    /// The paths that are known.
    pub(super) fn paths(&self) -> &Arc<Texts> {
        &self.paths
    }

    /// The id of the path in an event; none of an event of another hierarchy. A path as seen from
    /// outside means nothing in a cgroup namespace of our own: /proc has to tell.
    pub(super) fn interner(&self) -> (u32, Option<Arc<Texts>>) {
        let paths = (!self.hierarchy.is_nested()).then(|| Arc::clone(&self.paths));
        (self.hierarchy.id(), paths)
    }

    pub(super) fn born(&mut self, at: Stamp, child: Tid, parent: Tid, own_cgroup: bool) {
        match own_cgroup {
            true => self.timelines.tell(at, child, None, false),
            false => self.timelines.inherit(at, child, parent, Inherits::Same),
        }
    }

    /// A thread took its leader's id: the cgroup is the task's, whatever its number.
    pub(super) fn exchanged(&mut self, at: Stamp, leader: Tid, old_tid: Tid) {
        self.timelines.inherit(at, leader, old_tid, Inherits::Same);
    }

    pub(super) fn moved(&mut self, at: Stamp, tid: Tid, cgroup: Option<TextId>) {
        self.timelines.tell(at, tid, cgroup, true);
    }

    pub(super) fn settle(&mut self, losses: &Losses, tgid_at: impl Fn(Tid, Stamp) -> Option<Tid>) {
        self.timelines.settle(|timelines, parent, at| {
            timelines.find(parent, tgid_at(parent, at), at, losses).fact
        });
    }

    /// Where a task was at an instant. The idle tasks never leave the root.
    pub(super) fn at(&self, tid: Tid, tgid: Option<Tid>, at: Stamp, losses: &Losses) -> Found {
        if tid == Tid(0) {
            return Found { fact: Fact::known(self.paths.intern(b"/")), askable: false };
        }
        self.timelines.find(tid, tgid, at, losses)
    }

    pub(super) fn hierarchy_id(&self) -> u32 {
        self.hierarchy.id()
    }

    /// /proc said where a task is; `at` is an instant just before.
    pub(super) fn answer(
        &mut self,
        tid: Tid,
        tgid: Option<Tid>,
        at: Stamp,
        path: Option<&[u8]>,
        losses: &Losses,
    ) {
        let likely = self.at(tid, tgid, at, losses).fact.text;
        let read = path.and_then(|path| self.paths.intern(path));
        self.timelines.read(at, tid, read, likely);
    }

    pub(super) fn forget_before(&mut self, horizon: Stamp, is_kept: impl Fn(Tid) -> bool) {
        self.timelines.forget_before(horizon, is_kept);
    }

    pub(super) fn evicted(&self) -> u64 {
        self.timelines.evicted()
    }
}
