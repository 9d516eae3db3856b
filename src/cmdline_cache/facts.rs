//! What is known of a task beyond its name, where it is asked for.

#[cfg(test)]
mod tests;

use std::sync::Arc;

use foldhash::HashMap;

use super::cgroups::Cgroups;
use super::cmdlines::Cmdlines;
use super::event_texts::EventTexts;
use super::looks::{Look, Looks, Said};
use super::marks::Fact;
use super::proc::PidNamespace;
use super::proc_files;
use super::{CmdlineCache, TaskName};
use crate::event::{Stamp, TextId, Texts, Tid};

/// Tasks that are looked at in /proc for one window; the others stay open until they turn up again.
const MAX_LOOKS: usize = 4096;

/// What is kept for which tasks.
#[derive(Debug, Default)]
pub(super) struct Facts {
    pub(super) cgroups: Option<Cgroups>,
    pub(super) cmdlines: Option<Cmdlines>,
    /// Whether /proc knows tasks under the numbers that events carry.
    is_proc_ours: bool,
    /// Tasks of interest since the last look at /proc, each with its last instant.
    open: HashMap<Tid, Stamp>,
    /// Tasks that moved since: where a leader did, its threads are open.
    moved: Vec<Tid>,
    put_off: u64,
    pub(super) looks: Looks,
}

impl Facts {
    pub(super) fn born(&mut self, at: Stamp, birth: &Birth) {
        if let Some(cgroups) = &mut self.cgroups {
            cgroups.born(at, birth.child, birth.parent, birth.own_cgroup);
        }
        if let Some(cmdlines) = self.cmdlines.as_mut().filter(|_| !birth.thread) {
            let parent = birth.parents_tgid.unwrap_or(birth.parent);
            cmdlines.born(at, birth.child, parent);
        }
    }

    pub(super) fn exec(&mut self, at: Stamp, tid: Tid, old_tid: Tid, filename: Option<TextId>) {
        if let Some(cgroups) = self.cgroups.as_mut().filter(|_| tid != old_tid) {
            cgroups.exchanged(at, tid, old_tid);
        }
        if let Some(cmdlines) = &mut self.cmdlines {
            cmdlines.exec(at, tid, filename);
            self.open.insert(tid, at);
        }
    }

    pub(super) fn moved(&mut self, at: Stamp, tid: Tid, cgroup: Option<TextId>) {
        if let Some(cgroups) = &mut self.cgroups {
            cgroups.moved(at, tid, cgroup);
            self.moved.push(tid);
        }
    }
}

/// A birth, as far as it matters here.
#[derive(Debug, Clone, Copy)]
pub(super) struct Birth {
    pub(super) child: Tid,
    pub(super) parent: Tid,
    pub(super) parents_tgid: Option<Tid>,
    pub(super) thread: bool,
    pub(super) own_cgroup: bool,
}

impl CmdlineCache {
    /// Also keeps cgroups and command lines from now on, each if given.
    pub fn with_facts(
        self,
        cgroups: Option<Cgroups>,
        cmdlines: Option<Cmdlines>,
        namespace: PidNamespace,
    ) -> CmdlineCache {
        let is_proc_ours = namespace == PidNamespace::Initial;
        CmdlineCache { facts: Facts { cgroups, cmdlines, is_proc_ours, ..self.facts }, ..self }
    }

    /// Whether cgroups or command lines are kept.
    pub fn keeps_facts(&self) -> bool {
        self.facts.cgroups.is_some() || self.facts.cmdlines.is_some()
    }

    /// Where a task was at an instant; nothing where cgroups are not kept.
    pub fn cgroup_at(&self, tid: Tid, name: &TaskName, at: Stamp) -> Option<Fact> {
        let cgroups = self.facts.cgroups.as_ref()?;
        Some(cgroups.at(tid, name.tgid, at, &self.losses).fact)
    }

    /// What its process's command line was; nothing where they are not kept.
    pub fn cmdline_at(&self, tid: Tid, name: &TaskName, at: Stamp) -> Option<Fact> {
        let cmdlines = self.facts.cmdlines.as_ref()?;
        Some(cmdlines.at(name.tgid.unwrap_or(tid), at, &self.losses).fact)
    }

    /// The paths of cgroups, where they are kept.
    pub fn cgroup_paths(&self) -> Option<&Arc<Texts>> {
        self.facts.cgroups.as_ref().map(Cgroups::paths)
    }

    /// The command lines, where they are kept.
    pub fn cmdline_texts(&self) -> Option<&Arc<Texts>> {
        self.facts.cmdlines.as_ref().map(Cmdlines::texts)
    }

    /// Where decoders put the texts of events.
    pub fn event_texts(&self) -> EventTexts {
        let cgroups = self.facts.cgroups.as_ref().map(Cgroups::interner);
        EventTexts { cgroups, filenames: self.cmdline_texts().cloned() }
    }

    /// Something of interest happened to a task at an instant.
    pub fn take_note(&mut self, tid: Tid, at: Stamp) {
        let last = self.facts.open.entry(tid).or_insert(at);
        *last = at.max(*last);
    }

    /// Completes what the events so far tell, and looks into /proc for what they leave open of the
    /// tasks of interest. `now` is an instant at or just before this call, behind those events.
    pub fn learn(&mut self, now: Stamp) {
        let (tasks, losses) = (&self.tasks, &self.losses);
        if let Some(cgroups) = &mut self.facts.cgroups {
            let tgid_at = |tid: Tid, at| tasks.get(&tid)?.life_at(at)?.tgid;
            cgroups.settle(losses, tgid_at);
        }
        if let Some(cmdlines) = &mut self.facts.cmdlines {
            cmdlines.settle(losses);
        }
        for look in self.facts.looks.due(now) {
            self.answer(look);
        }
        self.note_threads_of_moved(now);
        let mut looks = 0;
        for (tid, at) in std::mem::take(&mut self.facts.open) {
            let Some(tgid) = self.tgid_at(tid, at).filter(|_| self.facts.is_proc_ours) else {
                continue;
            };
            match looks < MAX_LOOKS {
                true => looks += usize::from(self.look(tid, tgid, at, now)),
                false => self.facts.put_off += 1,
            }
        }
    }

    /// The threads of a process that moved may be gone by the time they wait.
    fn note_threads_of_moved(&mut self, now: Stamp) {
        for tid in std::mem::take(&mut self.facts.moved) {
            let is_leader = self.tgid_at(tid, now) == Some(tid);
            if is_leader && self.facts.is_proc_ours {
                proc_files::threads(tid).for_each(|thread| self.take_note(thread, now));
            }
        }
    }

    /// Reads a task's cgroup and its process's command line, whether or not they are known: after
    /// a seed.
    pub(super) fn look_anew(&mut self, tid: Tid, tgid: Tid, at: Stamp) {
        if !self.facts.is_proc_ours {
            return;
        }
        if self.facts.cgroups.is_some() {
            self.look_at_cgroup(tid, tgid, at);
        }
        if self.facts.cmdlines.is_some() && tid == tgid {
            self.look_at_cmdline(tid, tgid, at);
        }
    }

    /// Whether something was open of a task at an instant, and /proc was asked.
    fn look(&mut self, tid: Tid, tgid: Tid, at: Stamp, now: Stamp) -> bool {
        let (facts, losses) = (&self.facts, &self.losses);
        let cgroup = facts.cgroups.as_ref().map(|it| it.at(tid, Some(tgid), at, losses));
        let cmdline = facts.cmdlines.as_ref().map(|it| it.at(tgid, at, losses));
        let [cgroup, cmdline] = [cgroup, cmdline].map(|it| it.is_some_and(|it| it.askable));
        if cgroup {
            self.look_at_cgroup(tid, tgid, now);
        }
        if cmdline {
            self.look_at_cmdline(tid, tgid, now);
        }
        cgroup || cmdline
    }

    fn look_at_cgroup(&mut self, tid: Tid, tgid: Tid, at: Stamp) {
        let Some(cgroups) = &self.facts.cgroups else { return };
        let said = Said::Cgroup(proc_files::cgroup(tgid, tid, cgroups.hierarchy_id()));
        self.said(Look { at, tid, tgid, said });
    }

    fn look_at_cmdline(&mut self, tid: Tid, tgid: Tid, at: Stamp) {
        let said = Said::Cmdline(proc_files::cmdline(tgid, tid));
        self.said(Look { at, tid, tgid, said });
    }

    fn said(&mut self, look: Look) {
        self.facts.looks.keep(&look);
        self.answer(look);
    }

    pub(super) fn answer(&mut self, look: Look) {
        let Look { at, tid, tgid, said } = look;
        let losses = &self.losses;
        match (said, &mut self.facts) {
            (Said::Cgroup(path), Facts { cgroups: Some(cgroups), .. }) => {
                cgroups.answer(tid, Some(tgid), at, path.as_deref(), losses);
            }
            (Said::Cmdline(cmdline), Facts { cmdlines: Some(cmdlines), .. }) => {
                cmdlines.answer(tgid, at, cmdline.as_deref(), losses);
            }
            _ => {}
        }
    }

    /// What was given up of cgroups and command lines: tidings dropped for want of room, texts
    /// refused for want of room, and looks into /proc put off since there were too many at once.
    pub fn facts_given_up(&self) -> FactsGivenUp {
        let refused = |texts: Option<&Arc<Texts>>| texts.map_or(0, |texts| texts.refused());
        let Facts { cgroups, cmdlines, .. } = &self.facts;
        FactsGivenUp {
            evicted: cgroups.as_ref().map_or(0, Cgroups::evicted)
                + cmdlines.as_ref().map_or(0, Cmdlines::evicted),
            refused: refused(self.cgroup_paths()) + refused(self.cmdline_texts()),
            put_off: self.facts.put_off,
        }
    }

    pub(super) fn forget_facts(&mut self, horizon: Stamp) {
        let tasks = &self.tasks;
        let is_kept = |tid: Tid| tasks.contains_key(&tid);
        if let Some(cgroups) = &mut self.facts.cgroups {
            cgroups.forget_before(horizon, is_kept);
        }
        if let Some(cmdlines) = &mut self.facts.cmdlines {
            cmdlines.forget_before(horizon, is_kept);
        }
    }
}

/// See [`CmdlineCache::facts_given_up`].
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct FactsGivenUp {
    /// Tidings of a task, dropped.
    pub evicted: u64,
    /// Texts, refused.
    pub refused: u64,
    /// Looks, put off.
    pub put_off: u64,
}
