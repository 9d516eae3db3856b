//! The open waits of one owner - a task, or one context of a CPU -, innermost last.

use super::counts::{CauseCounts, Counts};
use super::off_cpu::Presence;
use super::wait::{Cause, OpenWait, Wait};
use crate::event::{Head, LeftAs, LockFlags, StackId};

/// Deeper nesting is not followed: a lock's inner lock inside a wait's wait is three deep, and no
/// legal sequence is known to go beyond five.
const MAX_DEPTH: usize = 8;

/// `-EAGAIN`: a futex's value was not the expected one, and the call did not wait.
const EAGAIN: i32 = -11;

/// Open waits, innermost last. They close in the reverse order, or an event was lost.
#[derive(Debug, Default)]
pub(super) struct Nest {
    open: Vec<OpenWait>,
    overflowed: u64,
    presence: Presence,
}

/// What an end met.
#[derive(Debug)]
pub(super) enum Matched {
    /// Its begin.
    Wait(Wait),
    /// Its begin, and what lies between is no wait, or cannot be one.
    NoWait,
    /// The end of a begin that was one too many.
    Overflowed,
    /// No begin.
    Nothing,
}

impl Nest {
    pub(super) fn is_empty(&self) -> bool {
        self.open.is_empty() && self.overflowed == 0
    }

    pub(super) fn open(&self) -> &[OpenWait] {
        &self.open
    }

    pub(super) fn open_mut(&mut self) -> &mut [OpenWait] {
        &mut self.open
    }

    pub(super) fn innermost(&mut self) -> Option<&mut OpenWait> {
        self.open.last_mut()
    }

    /// A begin: a further phase of a mutex's wait, or a new wait on top. A task is in one futex call at
    /// a time.
    #[inline]
    pub(super) fn begin(&mut self, head: &Head, lock: u64, cause: Cause, counts: &mut CauseCounts) {
        if self.open.is_empty() {
            return self.open.push(OpenWait::new(head, lock, cause));
        }
        if let Some(at) = self.place_of(lock, cause) {
            let same_wait =
                cause.is_mutex() && self.open.get(at).is_some_and(|wait| wait.cause.is_mutex());
            self.lose_from(at + usize::from(same_wait), counts);
            if let Some(wait) = self.open.last_mut().filter(|_| same_wait) {
                wait.slept |= !cause.flags().is_some_and(LockFlags::is_spin_phase);
                counts.locks.phase_changes += 1;
                return;
            }
        }
        self.lose_uncertain(cause, counts);
        if self.open.len() >= MAX_DEPTH {
            self.overflowed += 1;
            counts.of(cause).overflow_depth += 1;
        } else {
            self.open.push(OpenWait::new(head, lock, cause));
        }
    }

    /// The end of a wait for a lock: the innermost one for it is over, those above it lost their
    /// ends.
    #[inline]
    pub(super) fn end(
        &mut self,
        head: &Head,
        lock: u64,
        ret: i32,
        counts: &mut CauseCounts,
    ) -> Matched {
        if let [only] = &self.open[..]
            && only.lock == lock
            && only.cause.flags().is_some()
        {
            let matched = finish(only, head, ret, counts);
            self.open.clear();
            return matched;
        }
        if let Some(at) = self.place_of(lock, Cause::Lock(LockFlags(0))) {
            return self.end_at(at, head, ret, counts);
        }
        if self.overflowed == 0 {
            return Matched::Nothing;
        }
        self.overflowed -= 1;
        counts.locks.overflow_end += 1;
        Matched::Overflowed
    }

    /// The end of a futex call, which carries no address.
    pub(super) fn end_futex(&mut self, head: &Head, ret: i32, counts: &mut CauseCounts) -> Matched {
        match self.open.iter().rposition(|wait| wait.cause.flags().is_none()) {
            Some(at) => self.end_at(at, head, ret, counts),
            None => Matched::Nothing,
        }
    }

    /// Gives the newest wait its stack; a mutex's later phases leave the first one's.
    pub(super) fn stack(&mut self, stack: StackId) {
        if let Some(wait) = self.open.last_mut() {
            wait.stack.get_or_insert(stack);
        }
    }

    /// The task leaves its CPU. If it had none as far as is known, its coming was not recorded.
    pub(super) fn leaves(&mut self, ns: u64, left_as: LeftAs) {
        self.comes_back(ns);
        self.presence.leaves(ns, left_as);
        if left_as.is_blocked() {
            self.open.iter_mut().for_each(|wait| wait.slept = true);
        }
    }

    /// The task is woken.
    pub(super) fn is_woken(&mut self, ns: u64) {
        self.presence.is_woken(ns);
    }

    /// The task has a CPU, if it had none up to now. Whatever it waits for, it was away.
    pub(super) fn comes_back(&mut self, ns: u64) {
        if !self.presence.is_away() {
            return;
        }
        let away = self.presence.comes_back(ns);
        self.open.iter_mut().for_each(|wait| wait.off_cpu.add(&away));
    }

    /// The owner went on without them: every open wait lost its end.
    pub(super) fn lose_all(&mut self, counts: &mut CauseCounts) {
        self.lose_from(0, counts);
        self.overflowed = 0;
        self.presence = Presence::default();
    }

    /// Their ends, and further begins, may be lost; so may be what the task did meanwhile.
    pub(super) fn mark_uncertain(&mut self) {
        for wait in &mut self.open {
            wait.uncertain = true;
        }
        self.presence = Presence::default();
    }

    /// The innermost wait for the same lock, or the futex call that the task is in.
    fn place_of(&self, lock: u64, cause: Cause) -> Option<usize> {
        self.open.iter().rposition(|wait| match (wait.cause, cause) {
            (Cause::Lock(_), Cause::Lock(_)) => wait.lock == lock,
            (Cause::Lock(_), _) | (_, Cause::Lock(_)) => false,
            (_, _) => true,
        })
    }

    fn end_at(&mut self, at: usize, head: &Head, ret: i32, counts: &mut CauseCounts) -> Matched {
        self.lose_from(at + 1, counts);
        match self.open.pop() {
            Some(open) => finish(&open, head, ret, counts),
            None => Matched::Nothing,
        }
    }

    fn lose_from(&mut self, at: usize, counts: &mut CauseCounts) {
        for wait in self.open.drain(at.min(self.open.len())..) {
            lose(&wait, counts.of(wait.cause));
        }
    }

    /// A task that begins to wait again has left the waits whose end may be lost. Inside of a futex
    /// call it may wait for locks, though.
    fn lose_uncertain(&mut self, cause: Cause, counts: &mut CauseCounts) {
        let inside_call = cause.flags().is_some();
        self.open.retain(|wait| {
            let stays = !wait.uncertain || inside_call && wait.cause.flags().is_none();
            if !stays {
                lose(wait, counts.of(wait.cause));
            }
            stays
        });
    }
}

/// A begin that gets no end. If a suspect end stands before it, it was this one's, and the clocks
/// of two CPUs disagree.
fn lose(wait: &OpenWait, counts: &mut Counts) {
    if !suspect_is_its_end(wait, counts) {
        counts.lost_end += 1;
    }
}

/// Takes a suspect end for the wait's own, as a clock anomaly.
pub(super) fn suspect_is_its_end(wait: &OpenWait, counts: &mut Counts) -> bool {
    let Some(end) = wait.suspect else { return false };
    end.uncount(counts);
    counts.clock += 1;
    counts.clock_worst_ns =
        counts.clock_worst_ns.max(wait.begin.ts_ns.saturating_sub(end.head.ts_ns));
    true
}

#[inline]
pub(super) fn finish(open: &OpenWait, end: &Head, ret: i32, counts: &mut CauseCounts) -> Matched {
    let counts = counts.of(open.cause);
    if let Some(back_ns) = open.begin.ts_ns.checked_sub(end.ts_ns).filter(|&ns| ns > 0) {
        counts.clock += 1;
        counts.clock_worst_ns = counts.clock_worst_ns.max(back_ns);
        return Matched::NoWait;
    }
    match (open.uncertain, ret) {
        (false, EAGAIN) if open.cause.is_futex() => {
            counts.not_waited += 1;
            return Matched::NoWait;
        }
        (true, _) => counts.uncertain += 1,
        (false, 0..) => counts.ok += 1,
        (false, _) => counts.failed += 1,
    }
    Matched::Wait(Wait {
        begin: open.begin,
        end_ns: end.ts_ns,
        lock: open.lock,
        cause: open.cause,
        ret,
        stack: open.stack,
        slept: open.slept,
        off_cpu: open.off_cpu.within(end.ts_ns - open.begin.ts_ns),
        holder: open.holder,
        uncertain: open.uncertain,
        internal: false,
        idle: false,
    })
}
