//! Every task's sleeping waits, in the order of time over all CPUs.

mod around;
mod futexes;
mod scheduling;

use std::collections::{HashMap, HashSet};

use foldhash::fast::FixedState;

pub use around::Around;

use super::Begins;
use super::counts::{CauseCounts, Counts};
use super::holders::{Evidence, Holders};
use super::nest::{Matched, Nest, finish, suspect_is_its_end};
use super::wait::{Cause, OpenWait, Wait};
use crate::event::{Body, Event, Head, TaskEvent, Tid};

/// Tasks with an open wait that are followed at once; a begin beyond counts as overflow.
const MAX_WAITERS: usize = 1 << 16;

/// Tasks remembered as seen waiting. Beyond, an end without a begin is no longer excused.
const MAX_SEEN: usize = 1 << 17;

/// Ends without a begin that are remembered, for a begin that comes late.
const MAX_UNMATCHED: usize = 1 << 10;

/// An end at most this long before its begin is taken for a clock difference between CPUs.
const MAX_SKEW_NS: u64 = 1_000_000;

/// Pairs the waits that belong to tasks. Feed it what [`super::Spinners`] forward, merged.
#[derive(Debug)]
pub struct Sleepers {
    waiters: HashMap<Tid, Nest, FixedState>,
    /// Emptied nests, kept for their memory.
    spare: Vec<Nest>,
    seen: HashSet<Tid, FixedState>,
    unmatched: HashMap<Tid, Unmatched, FixedState>,
    holders: Holders,
    begins: Begins,
    gaps_open: u32,
    any_gap: bool,
    /// A switch was seen: who waits may be off its CPU.
    any_switch: bool,
    /// Where every begin and end taken here went.
    pub counts: CauseCounts,
}

/// An end without a begin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Unmatched {
    pub(super) head: Head,
    lock: u64,
    ret: i32,
    as_before_start: bool,
}

impl Unmatched {
    /// Its begin turned up: takes it back out of the unmatched.
    pub(super) fn uncount(&self, counts: &mut Counts) {
        match self.as_before_start {
            true => counts.began_before_start -= 1,
            false => counts.orphan_end -= 1,
        }
    }
}

impl Sleepers {
    /// Without any open wait.
    pub fn new(begins: Begins) -> Sleepers {
        Sleepers {
            waiters: HashMap::default(),
            spare: Vec::new(),
            seen: HashSet::default(),
            unmatched: HashMap::default(),
            holders: Holders::default(),
            begins,
            gaps_open: 0,
            any_gap: false,
            any_switch: false,
            counts: CauseCounts::default(),
        }
    }

    /// Takes the next event of all CPUs in the order of time; gives the wait it finishes.
    pub fn take(&mut self, event: &Event) -> Option<Wait> {
        let head = &event.head;
        if self.any_switch {
            self.runs(event);
        }
        match event.body {
            Body::LockBegin { lock, flags } => {
                return self.begin(head, lock, Cause::Lock(flags));
            }
            Body::LockEnd { lock, ret } => return self.end(head, lock, ret),
            Body::Stack(stack) => {
                if let Some(nest) = self.waiters.get_mut(&head.tid) {
                    nest.stack(stack);
                }
            }
            Body::GapBegin => {
                self.gaps_open += 1;
                self.any_gap = true;
                self.waiters.values_mut().for_each(Nest::mark_uncertain);
            }
            Body::GapEnd(_) => self.gaps_open = self.gaps_open.saturating_sub(1),
            Body::Task(task) => self.task(task),
            Body::Switch { prev, left_as, next } => self.switch(head.ts_ns, prev, left_as, next),
            Body::Waking { tid } => self.waking(head, tid),
            Body::WakerStack { tid, stack } => self.waker_stack(head, tid, stack),
            Body::Released { lock } => {
                self.holders.lets_go(lock, head, Evidence::Release);
            }
            Body::FutexEnter(call) => {
                return self.begin(head, call.address, Cause::Futex(call));
            }
            Body::FutexExit { ret } => return self.exit_call(head, ret),
            Body::SleepStack(_) | Body::MmapLock { .. } | Body::Other => {}
        }
        None
    }

    /// How many tasks wait now.
    pub fn waiting(&self) -> usize {
        self.waiters.len()
    }

    /// The earliest begin of the waits that are open now.
    pub fn oldest(&self) -> Option<&Head> {
        let open = self.waiters.values().flat_map(Nest::open);
        open.map(|wait| &wait.begin).min_by_key(|head| head.stamp)
    }

    /// The open waits that began before `since_ns`, each told of once, with who probably has the lock.
    pub fn lasting(&mut self, since_ns: u64) -> Vec<OpenWait> {
        let mut lasting = Vec::new();
        for wait in self.waiters.values_mut().flat_map(Nest::open_mut) {
            if wait.begin.ts_ns < since_ns && !wait.uncertain && !wait.told {
                wait.told = true;
                lasting.push(*wait);
            }
        }
        lasting.sort_by_key(|wait| wait.begin.stamp);
        lasting.into_iter().map(|wait| self.with_likely_holder(wait)).collect()
    }

    /// The task's wait that began then and is open, with who probably has the lock.
    pub fn open_wait(&self, tid: Tid, begin_ns: u64) -> Option<OpenWait> {
        let open = self.waiters.get(&tid).map_or(&[][..], Nest::open);
        let found = open.iter().find(|wait| wait.begin.ts_ns == begin_ns);
        found.map(|wait| self.with_likely_holder(*wait))
    }

    /// The waits that are open when tracing stops; counts them as such.
    pub fn finish(&mut self) -> Vec<OpenWait> {
        let counts = &mut self.counts;
        let open = self.waiters.values().flat_map(Nest::open).copied();
        let open: Vec<_> =
            open.filter(|wait| !suspect_is_its_end(wait, counts.of(wait.cause))).collect();
        open.iter().for_each(|wait| counts.of(wait.cause).open += 1);
        self.waiters.clear();
        open.into_iter().map(|wait| self.with_likely_holder(wait)).collect()
    }

    fn begin(&mut self, head: &Head, lock: u64, cause: Cause) -> Option<Wait> {
        self.counts.of(cause).begins_read += 1;
        if self.seen.len() < MAX_SEEN {
            self.seen.insert(head.tid);
        }
        let is_lock = cause.flags().is_some();
        let earlier_end = self.unmatched.remove(&head.tid);
        let earlier_end = earlier_end.filter(|end| is_lock && end.lock == lock);
        if let Some(end) = earlier_end.filter(|end| end.head.stamp > head.stamp) {
            return self.late_begin(head, lock, cause, &end);
        }
        if self.waiters.len() >= MAX_WAITERS && !self.waiters.contains_key(&head.tid) {
            self.counts.of(cause).overflow_depth += 1;
            return None;
        }
        let spare = &mut self.spare;
        let nest = self.waiters.entry(head.tid).or_insert_with(|| spare.pop().unwrap_or_default());
        nest.begin(head, lock, cause, &mut self.counts);
        if let Some(wait) = nest.innermost().filter(|wait| wait.begin.stamp == head.stamp) {
            wait.uncertain = self.gaps_open > 0;
            wait.suspect = earlier_end.filter(|end| {
                end.head.cpu != head.cpu
                    && head.ts_ns - end.head.ts_ns.min(head.ts_ns) <= MAX_SKEW_NS
            });
        }
        None
    }

    /// A begin that was read only after its end: nothing but the order of reading was wrong.
    fn late_begin(
        &mut self,
        head: &Head,
        lock: u64,
        cause: Cause,
        end: &Unmatched,
    ) -> Option<Wait> {
        end.uncount(&mut self.counts.locks);
        let mut open = OpenWait::new(head, lock, cause);
        open.uncertain = self.gaps_open > 0;
        match finish(&open, &end.head, end.ret, &mut self.counts) {
            Matched::Wait(wait) => Some(wait),
            _ => None,
        }
    }

    fn end(&mut self, head: &Head, lock: u64, ret: i32) -> Option<Wait> {
        self.counts.locks.ends_read += 1;
        let (matched, is_empty) = match self.waiters.get_mut(&head.tid) {
            Some(nest) => (nest.end(head, lock, ret, &mut self.counts), nest.is_empty()),
            None => (Matched::Nothing, false),
        };
        if is_empty {
            self.spare.extend(self.waiters.remove(&head.tid));
        }
        match matched {
            Matched::Wait(wait) => return Some(self.finished(wait, head)),
            Matched::NoWait | Matched::Overflowed => {}
            Matched::Nothing => self.unmatched_end(head, lock, ret),
        }
        None
    }

    fn unmatched_end(&mut self, head: &Head, lock: u64, ret: i32) {
        if self.begins == Begins::Filtered {
            self.counts.locks.filtered_end += 1;
            return;
        }
        let excused = !self.any_gap && self.seen.len() < MAX_SEEN && !self.seen.contains(&head.tid);
        match excused {
            true => self.counts.locks.began_before_start += 1,
            false => self.counts.locks.orphan_end += 1,
        }
        if self.unmatched.len() >= MAX_UNMATCHED {
            self.unmatched.clear();
        }
        let end = Unmatched { head: *head, lock, ret, as_before_start: excused };
        self.unmatched.insert(head.tid, end);
    }

    fn task(&mut self, task: TaskEvent) {
        match task {
            // A new task of this number: whatever was open belonged to the one before.
            TaskEvent::New { tid, .. }
            | TaskEvent::Heir { tid, .. }
            | TaskEvent::Fork { child: tid, .. } => {
                self.lose_all(tid);
                if self.seen.len() < MAX_SEEN {
                    self.seen.insert(tid);
                }
            }
            // Who begins to leave is not waiting.
            TaskEvent::Exit { tid } => self.lose_all(tid),
            TaskEvent::Exec { tid, old_tid, .. } if tid != old_tid => {
                self.lose_all(old_tid);
                self.lose_all(tid);
            }
            TaskEvent::Exec { .. }
            | TaskEvent::Named { .. }
            | TaskEvent::Rename { .. }
            | TaskEvent::Moved { .. } => {}
        }
    }

    fn lose_all(&mut self, tid: Tid) {
        self.unmatched.remove(&tid);
        if let Some(nest) = self.waiters.get_mut(&tid) {
            nest.lose_all(&mut self.counts);
            self.drop_if_empty(tid);
        }
    }

    fn drop_if_empty(&mut self, tid: Tid) {
        if self.waiters.get(&tid).is_some_and(Nest::is_empty)
            && let Some(nest) = self.waiters.remove(&tid)
        {
            self.spare.push(nest);
        }
    }
}
