//! Every task's sleeps: from the switch that takes it off its CPU to the one that brings it back.

mod task;

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use foldhash::fast::FixedState;

use super::counts::CauseCounts;
use super::nest::{Matched, finish};
use super::wait::{Cause, OpenWait, Wait};
use crate::event::{Body, Context, Cpu, Event, Head, LeftAs, StackId, TaskEvent, Tid};

use task::{Place, Task, Woken};

/// Tasks that are followed at once; the sleep of a further one counts as overflow.
const MAX_TASKS: usize = 1 << 17;

/// Finds the sleeps of tasks. Feed it what [`super::Spinners`] forward, merged.
#[derive(Debug, Default)]
pub struct Sleeps {
    tasks: HashMap<Tid, Task, FixedState>,
    /// Who runs on each CPU, and since when, as the last switch there told.
    running: HashMap<Cpu, (Tid, u64), FixedState>,
    gaps_open: u32,
    any_gap: bool,
    /// Where every begin and end of a sleep went.
    pub counts: CauseCounts,
}

impl Sleeps {
    /// Takes the next event of all CPUs in the order of time; the sleeps that it ends go to `waits`.
    pub fn take(&mut self, event: &Event, waits: &mut Vec<Wait>) {
        let head = &event.head;
        match event.body {
            Body::GapBegin => self.lose(head.cpu),
            Body::GapEnd(_) => self.gaps_open = self.gaps_open.saturating_sub(1),
            Body::SleepStack(stack) => self.stack(head, stack),
            Body::WakerStack { tid, stack } => self.waker_stack(head, tid, stack),
            Body::Switch { prev, left_as, next } => {
                self.shows_up(&Head { tid: prev, ..*head }, waits);
                self.leaves(&Head { tid: prev, ..*head }, left_as);
                self.running.insert(head.cpu, (next, head.ts_ns));
                waits.extend(self.comes_back(&Head { tid: next, ..*head }));
            }
            body => {
                self.shows_up(head, waits);
                self.forget_early_waking(head);
                match body {
                    Body::Waking { tid } => self.is_woken(head, tid),
                    Body::Task(task) => self.lives(head, task),
                    _ => {}
                }
            }
        }
    }

    /// The earliest begin of a sleep whose task has another name by now.
    pub fn oldest_renamed(&self) -> Option<&Head> {
        let renamed = self.tasks.values().filter(|task| task.renamed);
        let begins = renamed.filter_map(|task| match &task.place {
            Place::Asleep(open) => Some(&open.begin),
            _ => None,
        });
        begins.min_by_key(|head| head.stamp)
    }

    /// The sleeps that go on when tracing stops; counts them as such.
    pub fn finish(&mut self) -> Vec<OpenWait> {
        let open = self.tasks.drain().filter_map(|(_, task)| match task.place {
            Place::Asleep(open) => Some(open),
            _ => None,
        });
        let open: Vec<_> = open.collect();
        self.counts.sleeps.open += open.len() as u64;
        open
    }

    /// A task leaves its CPU: to sleep, for a moment, or for ever.
    fn leaves(&mut self, head: &Head, left_as: LeftAs) {
        if head.tid == Tid(0) {
            return;
        }
        if left_as == LeftAs::Dead {
            return self.forget(head.tid);
        }
        self.counts.sleeps.begins_read += u64::from(left_as.is_blocked());
        let uncertain = self.gaps_open > 0;
        let Some(task) = self.entry(head.tid) else {
            self.counts.sleeps.overflow_depth += u64::from(left_as.is_blocked());
            return;
        };
        let woken_early = task.woken.take();
        // Whoever still sleeps here does so since later: this event came late.
        let is_late = matches!(task.place, Place::Asleep(_));
        match left_as.is_blocked() {
            true if is_late => self.counts.sleeps.lost_end += 1,
            false if is_late => {}
            true => {
                let open = OpenWait::new(head, 0, Cause::Sleep(left_as));
                let place = Place::Asleep(OpenWait { uncertain, ..open });
                *task = Task { place, woken_early, ..Task::default() };
            }
            false => task.place = Place::Runnable,
        }
    }

    /// A task has a CPU again.
    fn comes_back(&mut self, head: &Head) -> Option<Wait> {
        if head.tid == Tid(0) {
            return None;
        }
        let any_gap = self.any_gap;
        let task = self.entry(head.tid)?;
        match &task.place {
            Place::Asleep(open) if open.begin.stamp < head.stamp => {
                return self.wakes_up(head.tid, head);
            }
            Place::Asleep(_) => return None,
            place @ (Place::Unknown | Place::Running) if task.woken.is_some() => {
                // It slept, or nobody would have woken it; its leaving was not seen.
                let before_start = matches!(place, Place::Unknown) && !any_gap;
                (task.place, task.woken) = (Place::Running, None);
                let counts = &mut self.counts.sleeps;
                counts.ends_read += 1;
                match before_start {
                    true => counts.began_before_start += 1,
                    false => counts.orphan_end += 1,
                }
            }
            _ => (task.place, task.woken) = (Place::Running, None),
        }
        None
    }

    /// A task acts. If it was taken for asleep, its switch is missing: some kernels do not raise the
    /// event for every switch. From an idle CPU it had one as soon as it was woken; else it is not
    /// known when it came back.
    fn shows_up(&mut self, head: &Head, waits: &mut Vec<Wait>) {
        if head.context != Context::Task || head.tid == Tid(0) {
            return;
        }
        let idle_since_ns = self.running.get(&head.cpu).filter(|(tid, _)| *tid == Tid(0));
        let Some(task) = self.tasks.get_mut(&head.tid) else { return };
        let woken = task.woken.or(task.woken_early);
        let Place::Asleep(open) = &mut task.place else { return };
        if open.begin.stamp >= head.stamp {
            return;
        }
        let ts_ns = match (idle_since_ns, woken) {
            (Some((_, idle_since_ns)), Some(woken)) => {
                self.counts.sleeps.inferred_end += 1;
                woken.ns.max(*idle_since_ns).clamp(open.begin.ts_ns.min(head.ts_ns), head.ts_ns)
            }
            _ => {
                open.uncertain = true;
                head.ts_ns
            }
        };
        waits.extend(self.wakes_up(head.tid, &Head { ts_ns, ..*head }));
    }

    /// The end of a sleep.
    fn wakes_up(&mut self, tid: Tid, end: &Head) -> Option<Wait> {
        let open = self.tasks.get_mut(&tid)?.wakes_up(end)?;
        self.counts.sleeps.ends_read += 1;
        match finish(&open, end, 0, &mut self.counts) {
            Matched::Wait(wait) => Some(wait),
            _ => None,
        }
    }

    /// Somebody, or an interrupt on top of somebody, wakes a task. Behind the first waking it can run.
    fn is_woken(&mut self, head: &Head, tid: Tid) {
        if let Some(task) = self.entry(tid) {
            let asleep = matches!(task.place, Place::Asleep(_));
            task.woken = task.woken.filter(|_| asleep).or(Some(Woken::by(head, tid)));
        }
    }

    /// Who goes on after a waking was not on its way to sleep.
    fn forget_early_waking(&mut self, head: &Head) {
        if head.context == Context::Task
            && let Some(task) = self.tasks.get_mut(&head.tid)
            && matches!(task.place, Place::Running)
        {
            task.woken = None;
        }
    }

    fn stack(&mut self, head: &Head, stack: StackId) {
        if let Some(Task { place: Place::Asleep(open), .. }) = self.tasks.get_mut(&head.tid) {
            open.stack.get_or_insert(stack);
        }
    }

    /// The stack of the waking just before.
    fn waker_stack(&mut self, head: &Head, tid: Tid, stack: StackId) {
        let woken = self.tasks.get_mut(&tid).and_then(|task| task.woken.as_mut());
        let by = woken.and_then(Woken::waker);
        if let Some(by) = by.filter(|by| by.head.tid == head.tid) {
            by.stack.get_or_insert(stack);
        }
    }

    fn lives(&mut self, head: &Head, task: TaskEvent) {
        match task {
            // A new task of this number: whatever was open belonged to the one before.
            TaskEvent::New { tid, .. }
            | TaskEvent::Heir { tid, .. }
            | TaskEvent::Fork { child: tid, .. } => self.forget(tid),
            TaskEvent::Exec { tid, old_tid, .. } if tid != old_tid => {
                self.forget(tid);
                self.forget(old_tid);
            }
            TaskEvent::Rename { tid, .. } | TaskEvent::Named { tid, .. } if tid != head.tid => {
                if let Some(task) = self.tasks.get_mut(&tid) {
                    task.renamed = true;
                }
            }
            TaskEvent::Exec { .. }
            | TaskEvent::Rename { .. }
            | TaskEvent::Named { .. }
            | TaskEvent::Exit { .. }
            | TaskEvent::Moved { .. } => {}
        }
    }

    fn forget(&mut self, tid: Tid) {
        if let Some(Task { place: Place::Asleep(_), .. }) = self.tasks.remove(&tid) {
            self.counts.sleeps.lost_end += 1;
        }
    }

    /// Anybody may have left or come back meanwhile.
    fn lose(&mut self, cpu: Cpu) {
        self.gaps_open += 1;
        self.any_gap = true;
        self.running.remove(&cpu);
        self.tasks.retain(|_, task| match &mut task.place {
            Place::Asleep(open) => {
                open.uncertain = true;
                true
            }
            _ => false,
        });
    }

    /// What is known of a task; nothing if it is one too many.
    fn entry(&mut self, tid: Tid) -> Option<&mut Task> {
        let room = self.tasks.len() < MAX_TASKS;
        match self.tasks.entry(tid) {
            Entry::Occupied(known) => Some(known.into_mut()),
            Entry::Vacant(new) => room.then(|| new.insert(Task::default())),
        }
    }
}

#[cfg(test)]
mod tests;
