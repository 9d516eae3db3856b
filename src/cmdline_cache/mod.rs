//! Who was a thread id at an instant.
//!
//! A name belongs to a thread id *and* to an interval of time. The cache keeps, for each id, its
//! incarnations and in each of them the instants at which a name was told: births and renames
//! from the task events, and what /proc said. A look-up takes the telling before its instant or
//! the one behind it, so it does not matter in which order they came in; between the two a name
//! is certain as long as no event can be missing.
//!
//! Filling needs `&mut`, looking up does not: a window's task events are applied first, then
//! any number of threads may ask.

mod bound;
mod cgroups;
mod cmdlines;
mod event_texts;
mod facts;
mod hierarchy;
mod history;
mod life;
mod looks;
mod losses;
mod marks;
mod memo;
pub mod proc;
mod proc_files;
mod side_band;
mod timelines;

#[cfg(test)]
mod tests;

use foldhash::{HashMap, HashMapExt};

pub use cgroups::Cgroups;
pub use cmdlines::Cmdlines;
pub use event_texts::EventTexts;
pub use facts::FactsGivenUp;
pub use hierarchy::{Hierarchy, HierarchyError, NoCgroup, is_within};
pub use looks::{Look, Said};
pub use marks::Fact;
pub use memo::NameMemo;

use crate::event::{Comm, Cpu, Head, Stamp, TaskEvent, Tid};
use facts::{Birth, Facts};
use history::{Agreement, History};
use life::{Incarnations, Kind, Life, Mark};
use losses::Losses;
use memo::Changes;
pub use proc::SeededTask;

/// Who a thread id was at an instant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TaskName {
    /// Its name; `?<tid>` where nothing is known.
    pub comm: Comm,
    /// Its process; `None` where only its thread id is known.
    pub tgid: Option<Tid>,
    /// Tells the tasks apart that bore one id in turn: (tid, incarnation) is one task for as long
    /// as the cache lives. For the idle tasks it is the CPU's number; 0 for an unknown task.
    pub incarnation: u32,
    /// How far the name is to be trusted.
    pub certainty: Certainty,
}

/// How far a name is to be trusted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Certainty {
    /// No event that could change it is missing.
    Known,
    /// An event that changes it may have been lost, or two tasks were swapping their ids.
    Unconfirmed,
    /// Nothing was ever told about the id at that time.
    Unknown,
}

/// What went through the cache, and what it had to give up.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct CacheCounters {
    /// Tasks entered from /proc.
    pub seeded: u64,
    /// Births, those only told by `sched_process_fork` included.
    pub births: u64,
    /// Births without their `task_newtask`, told by `sched_process_fork`.
    pub births_by_fork: u64,
    /// `task_rename` events.
    pub renames: u64,
    /// `sched_process_exec` events.
    pub execs: u64,
    /// Those among them in which a thread took its leader's id.
    pub execs_by_thread: u64,
    /// `sched_process_exit` events.
    pub exits: u64,
    /// Names from /proc that a rename proved to have been read after it.
    pub seeds_corrected: u64,
    /// Tellings that disagree though no event is known to be missing.
    pub contradictions: u64,
    /// Stretches of lost events.
    pub losses: u64,
    /// Stretches that were joined for want of room: names between them count as unconfirmed.
    pub losses_joined: u64,
    /// Names dropped since their task had left before the horizon, to make room.
    pub forgotten: u64,
    /// Names dropped to make room though something might still ask for them.
    pub evicted: u64,
}

/// The names of all tasks over time, bounded.
#[derive(Debug)]
pub struct CmdlineCache {
    tasks: HashMap<Tid, History>,
    losses: Losses,
    /// Names held: one for each birth, rename and seed.
    names: usize,
    bound: usize,
    /// How many names may have been superseded since the last sweep.
    superseded: usize,
    horizon: Stamp,
    incarnations: Incarnations,
    counters: CacheCounters,
    facts: Facts,
    /// What tasks are called of which nothing was told.
    hearsay: HashMap<Tid, Comm>,
    changes: Changes,
}

impl CmdlineCache {
    /// A cache that holds at most `bound_names` names: one for each task (about 400 bytes), one
    /// more for each rename that is not yet behind the horizon (80 bytes).
    pub fn new(bound_names: usize) -> CmdlineCache {
        CmdlineCache {
            tasks: HashMap::new(),
            losses: Losses::default(),
            names: 0,
            bound: bound_names.max(1),
            superseded: 0,
            horizon: Stamp::MIN,
            incarnations: Incarnations::default(),
            counters: CacheCounters::default(),
            facts: Facts::default(),
            hearsay: HashMap::new(),
            changes: Changes::default(),
        }
    }

    /// With names that tasks had at some time or other: those of which nothing else is told bear them,
    /// unconfirmed.
    pub fn with_hearsay(self, names: impl IntoIterator<Item = (Tid, Comm)>) -> CmdlineCache {
        CmdlineCache { hearsay: names.into_iter().take(self.bound).collect(), ..self }
    }

    /// Enters a task as /proc showed it. `at` is the time of the trace clock just before the
    /// read; the task events must have been on by then. Events win wherever they overlap with it.
    ///
    /// After a loss, seeding anew settles the names again.
    pub fn seed(&mut self, task: &SeededTask, at: Stamp) {
        self.changes.note(task.tid);
        let mark = Mark::seeded(at, task.comm, task.start_time);
        let history = self.tasks.entry(task.tid).or_default();
        if history.seed(mark, task.tgid, &mut self.incarnations, &self.losses) {
            self.counters.contradictions += 1;
        }
        self.counters.seeded += 1;
        self.added();
        self.look_anew(task.tid, task.tgid, at);
    }

    /// Applies a task event. Each may come late: the name at every instant is the same in the end.
    pub fn apply(&mut self, head: &Head, event: &TaskEvent) {
        let at = head.stamp;
        match *event {
            // The idle tasks are made at boot and when a CPU comes up, all under the id 0.
            TaskEvent::New { tid: Tid(0), .. }
            | TaskEvent::Heir { tid: Tid(0), .. }
            | TaskEvent::Named { tid: Tid(0), .. }
            | TaskEvent::Rename { tid: Tid(0), .. } => {}
            TaskEvent::Heir { tid, tgid, parent } => self.bear_heir(at, tid, tgid, parent),
            TaskEvent::Named { tid, tgid, comm } => self.name(at, tid, tgid, comm),
            TaskEvent::New { tid, comm, thread, own_cgroup } => {
                let (parent, parents_tgid) = (head.tid, self.tgid_at(head.tid, at));
                let tgid = if thread { parents_tgid } else { Some(tid) };
                self.facts
                    .born(at, &Birth { child: tid, parent, parents_tgid, thread, own_cgroup });
                self.bear(at, tid, comm, head.tid, tgid);
            }
            TaskEvent::Fork { parent, child, child_comm } => {
                if !self.is_newborn(child, parent, at) {
                    self.counters.births_by_fork += 1;
                    let parents_tgid = self.tgid_at(parent, at);
                    let (thread, own_cgroup) = (false, false);
                    let birth = Birth { child, parent, parents_tgid, thread, own_cgroup };
                    self.facts.born(at, &birth);
                    self.bear(at, child, child_comm, parent, None);
                }
            }
            TaskEvent::Rename { tid, old, new } => {
                self.counters.renames += 1;
                self.changes.note(tid);
                let mark = Mark::renamed(at, old, new);
                let history = self.tasks.entry(tid).or_default();
                match history.rename(mark, &mut self.incarnations, &self.losses) {
                    Agreement::Agrees => {}
                    Agreement::Corrects => self.counters.seeds_corrected += 1,
                    Agreement::Contradicts => self.counters.contradictions += 1,
                }
                self.added();
            }
            TaskEvent::Exec { tid, old_tid, filename } => {
                self.counters.execs += 1;
                self.facts.exec(at, tid, old_tid, filename);
                if tid != old_tid {
                    self.counters.execs_by_thread += 1;
                    self.changes.note_all();
                    self.exchange(tid, old_tid, at);
                }
            }
            TaskEvent::Moved { tid, cgroup } => self.facts.moved(at, tid, cgroup),
            TaskEvent::Exit { tid } => {
                self.counters.exits += 1;
                self.changes.note(tid);
                if let Some(history) = self.tasks.get_mut(&tid) {
                    history.exit(at);
                }
            }
        }
    }

    /// Events between the two instants may be missing, on whichever CPU: names told before are
    /// unconfirmed from there on, until an event or a seed tells them again.
    pub fn mark_loss(&mut self, after: Stamp, until: Stamp) {
        self.counters.losses += 1;
        self.changes.note_all();
        if self.losses.add(after, until) {
            self.counters.losses_joined += 1;
        }
    }

    /// Who `tid` was at an instant; for the idle task, whose id all CPUs share, the CPU says which.
    pub fn name_at(&self, tid: Tid, cpu: Cpu, at: Stamp) -> TaskName {
        if tid == Tid(0) {
            return TaskName {
                comm: Comm::idle(cpu),
                tgid: Some(tid),
                incarnation: u32::from(cpu.0),
                certainty: Certainty::Known,
            };
        }
        let known = self.tasks.get(&tid).and_then(|history| history.name_at(at, &self.losses));
        known.unwrap_or_else(|| {
            let (comm, certainty) = self.untold(tid);
            TaskName { comm, tgid: None, incarnation: 0, certainty }
        })
    }

    /// The last name of a task, and the instant behind which it is certain: of a task whose past is in doubt,
    /// nothing.
    fn settled(&self, tid: Tid) -> Option<(Stamp, TaskName)> {
        // An idle task's name is its CPU's.
        if tid == Tid(0) || !self.losses.is_empty() {
            return None;
        }
        let last = self.tasks.get(&tid)?.lives.last()?;
        let since = last.marks.last()?.at;
        let name = last.name_at(Stamp::behind(u64::MAX), false, &self.losses)?;
        (name.certainty == Certainty::Known).then_some((since, name))
    }

    /// What a task is called of which nothing was told.
    fn untold(&self, tid: Tid) -> (Comm, Certainty) {
        match self.hearsay.get(&tid) {
            Some(&comm) => (comm, Certainty::Unconfirmed),
            None => (Comm::new(format!("?{tid}").as_bytes()), Certainty::Unknown),
        }
    }

    /// What went through so far.
    pub fn counters(&self) -> CacheCounters {
        self.counters
    }

    /// How many names are held.
    pub fn names_held(&self) -> usize {
        self.names
    }

    fn bear(&mut self, at: Stamp, tid: Tid, comm: Comm, parent: Tid, tgid: Option<Tid>) {
        self.bear_with(Mark::born(at, comm), tid, parent, tgid);
    }

    fn bear_with(&mut self, mark: Mark, tid: Tid, parent: Tid, tgid: Option<Tid>) {
        self.counters.births += 1;
        self.changes.note(tid);
        let seen = Life::seen(self.incarnations.next(), mark);
        let newborn = Life { born: Some(mark.at), parent: Some(parent), tgid, ..seen };
        self.tasks.entry(tid).or_default().bear(newborn);
        self.added();
    }

    /// Whether `task_newtask` told of this fork: nothing happened to the child since, for it is
    /// not woken before the fork event (kernel/fork.c, `kernel_clone`, 6.1 to 6.18).
    fn is_newborn(&self, child: Tid, parent: Tid, at: Stamp) -> bool {
        self.tasks.get(&child).and_then(|history| history.life_at(at)).is_some_and(|life| {
            life.parent == Some(parent)
                && life.exited.is_none_or(|exited| at < exited)
                && life.marks.iter().all(|m| at < m.at || m.kind != Kind::Renamed)
        })
    }

    fn tgid_at(&self, tid: Tid, at: Stamp) -> Option<Tid> {
        self.tasks.get(&tid)?.life_at(at)?.tgid
    }

    /// A thread that was not the leader ran exec: when all the others had left, it and the dead
    /// leader swapped their ids, then came the rename under the leader's id, and then this event.
    fn exchange(&mut self, leader: Tid, old_tid: Tid, at: Stamp) {
        let leaders = self.tasks.get(&leader).and_then(|history| history.life_at(at));
        let Some((renamed, exited)) = leaders.and_then(|life| life.taken_over_before(at)) else {
            return;
        };
        let since = self.last_exit(leader, old_tid, renamed.at).unwrap_or(exited).max(exited);
        let swapped = Kind::Exchanged { since };
        let mut leaders_comm = None;
        if let Some(life) = self.tasks.get_mut(&leader).and_then(|h| h.life_at_mut(at)) {
            leaders_comm = life.comm_before(renamed.at);
            life.exited.take_if(|exited| *exited < renamed.at);
            life.marks
                .iter_mut()
                .filter(|mark| mark.at == renamed.at)
                .for_each(|mark| mark.kind = swapped);
        }
        let threads = self.tasks.get_mut(&old_tid).and_then(|h| h.life_at_mut(renamed.at));
        if let (Some(life), Some(after)) = (threads, leaders_comm) {
            life.exited = Some(renamed.at);
            life.insert(Mark { kind: swapped, after, ..renamed });
            self.added();
        }
    }

    /// When the last of a process's threads but one left, as far as it did before an instant.
    fn last_exit(&self, tgid: Tid, but: Tid, before: Stamp) -> Option<Stamp> {
        let others = self.tasks.iter().filter(|&(&tid, _)| tid != but);
        let lives = others.flat_map(|(_, history)| &history.lives);
        lives
            .filter(|life| life.tgid == Some(tgid))
            .filter_map(|life| life.exited.filter(|&exited| exited < before))
            .max()
    }
}
