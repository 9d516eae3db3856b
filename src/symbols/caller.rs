//! The caller of a kernel stack: the first function that is not the lock's own.

use super::kallsyms::{Kallsyms, section};
use super::lock_name::{self, DerivedName, FRAMES_BEYOND_CALLER};
use super::sleep_reason::{self, SCHEDULING, SleepReason};
use crate::event::{Reason, WaitKind};
use std::ops::Range;
use std::sync::Arc;

/// Names of the tracer's own frames, which some architectures leave on top of the stack.
/// A `*` stands for any ending.
const TRACER_FRAMES: [&str; 14] = [
    "trace_event_*",
    "__traceiter_*",
    "__probestub_*",
    "__bpf_trace_*",
    "perf_trace_*",
    "perf_tp_event*",
    "trace_contention_begin",
    "__trace_contention_begin",
    "event_triggers_post_call",
    "stacktrace_trigger",
    "stacktrace_count_trigger",
    "__ftrace_trace_stack",
    "__trace_stack",
    "stack_trace_save*",
];

/// Functions that only take or release a lock for whoever called them and that stand outside
/// the lock sections on some kernel. Add to it what shows up as a caller and is none.
const LOCK_WRAPPERS: [&str; 64] = [
    // Spinning locks.
    "native_queued_spin_lock_slowpath",
    "__pv_queued_spin_lock_slowpath",
    "queued_spin_lock_slowpath",
    "queued_read_lock_slowpath",
    "queued_write_lock_slowpath",
    "resilient_queued_spin_lock_slowpath",
    "resilient_tas_spin_lock",
    "queued_spin_lock",
    "queued_read_lock",
    "queued_write_lock",
    "virt_spin_lock",
    "arch_spin_lock_wait*",
    "arch_read_lock_wait",
    "arch_write_lock_wait",
    "do_raw_spin_*",
    "do_raw_read_*",
    "do_raw_write_*",
    "_raw_spin_*",
    "_raw_read_*",
    "_raw_write_*",
    "__raw_spin_*",
    "__raw_callee_save___pv_*",
    // Sleeping locks.
    "mutex_*",
    "__mutex*",
    "ww_mutex_*",
    "__ww_mutex*",
    "atomic_dec_and_mutex_lock",
    "refcount_dec_and_mutex_lock",
    "rwsem_*",
    "__rwsem*",
    "down_*",
    "down",
    "__down*",
    "up",
    "up_*",
    "__up*",
    "downgrade_write",
    "percpu_down_*",
    "__percpu_down_*",
    "percpu_up_*",
    "percpu_rwsem_*",
    // PREEMPT_RT.
    "rt_mutex*",
    "__rt_mutex*",
    "rtlock_*",
    "rt_spin_*",
    "rt_read_*",
    "rt_write_*",
    "rwbase_*",
    "__rwbase_*",
    "try_to_take_rt_mutex",
    "task_blocks_on_rt_mutex*",
    // Locks of other parts of the kernel.
    "raw_spin_rq_lock_nested",
    "task_rq_lock",
    "__task_rq_lock",
    "double_rq_lock",
    "lock_timer_base",
    "lockref_*",
    "folio_lruvec_lock*",
    "folio_lruvec_relock*",
    "__pte_offset_map_lock",
    "lock_sock_nested",
    "_atomic_dec_and_lock*",
    "_atomic_dec_and_raw_lock*",
    "refcount_dec_and_lock*",
];

/// How the lock is waited for, which decides what counts as the lock's own code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Waiter {
    /// Spinning: the scheduler itself may be the caller.
    Spinning,
    /// Sleeping: the scheduler's frames are the way to sleep, not the caller.
    Sleeping,
    /// Asleep, for a lock or anything else: nor is what waits for anybody, such as a completion.
    Asleep,
    /// The other side: who wakes a waiter. The waking itself is not the caller either.
    Waker,
}

/// The way from letting a lock go to waking who waits for it.
const WAKING: [&str; 12] = [
    "try_to_wake_up",
    "wake_up_process",
    "wake_up_state",
    "wake_up_q",
    "__wake_up*",
    "default_wake_function",
    "autoremove_wake_function",
    "woken_wake_function",
    "swake_up_*",
    "complete*",
    "ttwu_*",
    "rt_mutex_*wake*",
];

/// What no kernel has outside of its scheduler's section.
const SCHEDULER_ITSELF: [&str; 4] = ["__schedule", "schedule", "schedule_*", "io_schedule*"];

/// Finds callers in kernel stacks.
#[derive(Debug)]
pub struct CallerFinder {
    symbols: Arc<Kallsyms>,
    spinlock_text: Range<u64>,
    sched_text: Range<u64>,
}

impl Waiter {
    /// How one waits for that.
    pub fn of(kind: WaitKind) -> Waiter {
        match kind {
            WaitKind::Sleep => Waiter::Asleep,
            kind if kind.is_spinning() => Waiter::Spinning,
            _ => Waiter::Sleeping,
        }
    }
}

impl CallerFinder {
    /// With the running kernel's symbols. Without addresses in them the top frame that is not
    /// known to be the tracer's is the caller.
    pub fn new(symbols: Arc<Kallsyms>) -> CallerFinder {
        CallerFinder {
            spinlock_text: section(&symbols, "__lock_text_start", "__lock_text_end"),
            sched_text: section(&symbols, "__sched_text_start", "__sched_text_end"),
            symbols,
        }
    }

    /// The code address that wanted the lock; `frames` are return addresses, innermost first.
    ///
    /// If every frame is the lock's own, the outermost; none only for an empty stack.
    /// Frames are told by section and name, never by count: their number differs by
    /// architecture, kernel and inlining.
    pub fn caller(&self, frames: &[u64], waiter: Waiter) -> Option<u64> {
        frames.get(self.callers_place(frames, waiter)?).copied()
    }

    /// The name of the lock of this kind that the stack waits for, where a rule knows it.
    pub(super) fn lock_name(&self, frames: &[u64], kind: WaitKind) -> Option<DerivedName> {
        let caller = self.callers_place(frames, Waiter::of(kind))?;
        let near = frames.iter().take(caller + 1 + FRAMES_BEYOND_CALLER);
        let functions: Vec<&str> =
            near.map(|&frame| self.function(frame).unwrap_or_default()).collect();
        lock_name::derive(kind, &functions, caller)
    }

    /// What a task with that stack sleeps for: as a rule says, or else the first function that is
    /// neither the scheduler's nor a lock's own. None only for an empty stack.
    pub(super) fn sleep_reason(&self, frames: &[u64]) -> Option<SleepReason> {
        let traced = self.without_tracer(frames);
        let is_scheduling =
            |&frame: &u64| self.sched_text.contains(&frame) || self.is_named(frame, &SCHEDULING);
        let first = traced.iter().position(|frame| !is_scheduling(frame));
        let functions: Vec<&str> =
            traced.iter().map(|&frame| self.function(frame).unwrap_or_default()).collect();
        let known = sleep_reason::derive(&functions, first.unwrap_or(0));
        known.or_else(|| {
            let caller = self.caller(frames, Waiter::Asleep)?;
            let offset = self.symbols.resolve(caller).map_or(0, |symbol| symbol.offset);
            Some(SleepReason { reason: Reason::Function(caller - offset), idle: false })
        })
    }

    /// The frames that are not the scheduler's own.
    pub(super) fn outside_scheduler(&self, frames: &[u64]) -> Vec<u64> {
        let is_scheduler = |frame: &&u64| {
            self.sched_text.contains(*frame) || self.is_named(**frame, &SCHEDULER_ITSELF)
        };
        frames.iter().filter(|frame| !is_scheduler(frame)).copied().collect()
    }

    fn callers_place(&self, frames: &[u64], waiter: Waiter) -> Option<usize> {
        let traced = self.without_tracer(frames);
        let top = frames.len() - traced.len();
        let behind = traced.iter().position(|&frame| !self.is_lock_code(frame, waiter));
        behind.map(|place| top + place).or(frames.len().checked_sub(1))
    }

    /// The frames below the tracer's own.
    pub(super) fn without_tracer<'a>(&self, frames: &'a [u64]) -> &'a [u64] {
        let is_tracer = |&&frame: &&u64| self.is_named(frame, &TRACER_FRAMES);
        let own = frames.iter().take_while(is_tracer).count();
        frames.get(own..).unwrap_or(&[])
    }

    fn is_lock_code(&self, frame: u64, waiter: Waiter) -> bool {
        self.spinlock_text.contains(&frame)
            || waiter != Waiter::Spinning && self.sched_text.contains(&frame)
            || waiter == Waiter::Waker && self.is_named(frame, &WAKING)
            || waiter == Waiter::Asleep && self.is_named(frame, &SCHEDULING)
            || self.is_named(frame, &LOCK_WRAPPERS)
    }

    fn is_named(&self, frame: u64, patterns: &[&str]) -> bool {
        let function = self.function(frame);
        function.is_some_and(|name| patterns.iter().any(|pattern| lock_name::fits(pattern, name)))
    }

    /// The function's name, without the suffix that marks the compiler's clones of it:
    /// `.constprop.0`, `.isra.0`, `.cold`.
    fn function(&self, frame: u64) -> Option<&str> {
        self.symbols.resolve(frame)?.name.split('.').next()
    }
}

#[cfg(test)]
mod tests;
