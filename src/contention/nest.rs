//! The open waits of one owner - a task, or one context of a CPU -, innermost last.

use super::counts::Counts;
use super::wait::{OpenWait, Wait};
use crate::event::{Head, LockFlags, StackId};

/// Deeper nesting is not followed: a lock's inner lock inside a wait's wait is three deep, and no
/// legal sequence is known to go beyond five.
const MAX_DEPTH: usize = 8;

/// Open waits, innermost last. They close in the reverse order, or an event was lost.
#[derive(Debug, Default)]
pub(super) struct Nest {
    open: Vec<OpenWait>,
    overflowed: u64,
}

/// What an end met.
#[derive(Debug)]
pub(super) enum Matched {
    /// Its begin.
    Wait(Wait),
    /// Its begin, which lies later.
    Clock,
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

    pub(super) fn innermost(&mut self) -> Option<&mut OpenWait> {
        self.open.last_mut()
    }

    /// A begin: a further phase of a mutex's wait, or a new wait on top.
    pub(super) fn begin(&mut self, head: &Head, lock: u64, flags: LockFlags, counts: &mut Counts) {
        if let Some(at) = self.open.iter().rposition(|wait| wait.lock == lock) {
            let same_wait =
                self.open.get(at).is_some_and(|wait| wait.flags.is_mutex() && flags.is_mutex());
            self.lose_from(at + usize::from(same_wait), counts);
            if let Some(wait) = self.open.last_mut().filter(|_| same_wait) {
                wait.slept |= !flags.is_spin_phase();
                counts.phase_changes += 1;
                return;
            }
        }
        self.lose_uncertain(counts);
        if self.open.len() >= MAX_DEPTH {
            self.overflowed += 1;
            counts.overflow_depth += 1;
        } else {
            self.open.push(OpenWait::new(head, lock, flags));
        }
    }

    /// An end: the innermost wait for this lock is over, those above it lost their ends.
    pub(super) fn end(&mut self, head: &Head, lock: u64, ret: i32, counts: &mut Counts) -> Matched {
        let Some(at) = self.open.iter().rposition(|wait| wait.lock == lock) else {
            if self.overflowed == 0 {
                return Matched::Nothing;
            }
            self.overflowed -= 1;
            counts.overflow_end += 1;
            return Matched::Overflowed;
        };
        self.lose_from(at + 1, counts);
        match self.open.pop() {
            Some(open) => finish(&open, head, ret, counts),
            None => Matched::Nothing,
        }
    }

    /// Gives the newest wait its stack; a mutex's later phases leave the first one's.
    pub(super) fn stack(&mut self, stack: StackId) {
        if let Some(wait) = self.open.last_mut() {
            wait.stack.get_or_insert(stack);
        }
    }

    /// The owner went on without them: every open wait lost its end.
    pub(super) fn lose_all(&mut self, counts: &mut Counts) {
        self.lose_from(0, counts);
        self.overflowed = 0;
    }

    /// Their ends, and further begins, may be lost.
    pub(super) fn mark_uncertain(&mut self) {
        for wait in &mut self.open {
            wait.uncertain = true;
        }
    }

    fn lose_from(&mut self, at: usize, counts: &mut Counts) {
        for wait in self.open.drain(at.min(self.open.len())..) {
            lose(&wait, counts);
        }
    }

    /// A task that begins to wait again has left the waits whose end may be lost.
    fn lose_uncertain(&mut self, counts: &mut Counts) {
        self.open.retain(|wait| {
            if wait.uncertain {
                lose(wait, counts);
            }
            !wait.uncertain
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

pub(super) fn finish(open: &OpenWait, end: &Head, ret: i32, counts: &mut Counts) -> Matched {
    if let Some(back_ns) = open.begin.ts_ns.checked_sub(end.ts_ns).filter(|&ns| ns > 0) {
        counts.clock += 1;
        counts.clock_worst_ns = counts.clock_worst_ns.max(back_ns);
        return Matched::Clock;
    }
    match (open.uncertain, ret) {
        (true, _) => counts.uncertain += 1,
        (false, 0..) => counts.ok += 1,
        (false, _) => counts.failed += 1,
    }
    Matched::Wait(Wait {
        begin: open.begin,
        end_ns: end.ts_ns,
        lock: open.lock,
        flags: open.flags,
        ret,
        stack: open.stack,
        slept: open.slept,
        uncertain: open.uncertain,
        internal: false,
    })
}
