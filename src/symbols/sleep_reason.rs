//! What a task sleeps for, from its stack; or, where there is none, from the state it sleeps in.

use super::lock_name::fits;
use super::sleep_rules::{LOCK, SLEEP_RULES, STOPPED, VAGUE_SLEEP_RULES, WITHOUT_WORK};
use crate::event::{LeftAs, Reason};

/// A reason to sleep, and the functions that do: see [`SLEEP_RULES`].
#[derive(Debug)]
pub(super) struct SleepRule {
    pub(super) reason: &'static str,
    pub(super) idle: bool,
    /// Patterns, with blanks between them.
    pub(super) functions: &'static str,
}

/// What a task sleeps for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SleepReason {
    /// What it is.
    pub reason: Reason,
    /// It waits for something to do.
    pub idle: bool,
}

/// The way into the scheduler, which says nothing of the reason. A `*` stands for any ending.
pub(super) const SCHEDULING: [&str; 12] = [
    "__schedule",
    "schedule",
    "schedule_*",
    "io_schedule*",
    "preempt_schedule*",
    "wait_for_completion*",
    "__wait_for_common",
    "wait_woken",
    "bit_wait*",
    "__wait_on_bit*",
    "out_of_line_wait_on_bit*",
    "do_wait_intr*",
];

impl SleepReason {
    /// It is a part of a wait for one of the kernel's locks, or all of it.
    pub fn is_lock(&self) -> bool {
        self.reason == Reason::Named(LOCK)
    }

    /// By state alone. Whether a sleeper that a signal would wake is idle is not known.
    pub fn of_state(state: LeftAs) -> SleepReason {
        let (name, idle) = match state {
            LeftAs::Idle => (WITHOUT_WORK, true),
            LeftAs::Stopped => (STOPPED, true),
            LeftAs::Uninterruptible => ("uninterruptible sleep", false),
            LeftAs::Interruptible | LeftAs::Runnable | LeftAs::Dead => {
                ("interruptible sleep", false)
            }
        };
        SleepReason { reason: Reason::Named(name), idle }
    }
}

/// The reason that a rule knows. `functions` are the stack's, innermost first, and `first` is the
/// place of the one that is not the scheduler's.
pub(super) fn derive(functions: &[&str], first: usize) -> Option<SleepReason> {
    let fits_at = |rule: &SleepRule, at: usize| {
        rule.functions.split_whitespace().any(|pattern| match pattern.strip_prefix('^') {
            Some(pattern) => at == first && is_called(pattern, functions, at),
            None => is_called(pattern, functions, at),
        })
    };
    let places = 0..functions.len();
    let decisive = places.clone().find_map(|at| SLEEP_RULES.iter().find(|rule| fits_at(rule, at)));
    let vague = || VAGUE_SLEEP_RULES.iter().find(|rule| places.clone().any(|at| fits_at(rule, at)));
    let SleepRule { reason, idle, .. } = decisive.or_else(vague)?;
    Some(SleepReason { reason: Reason::Named(reason), idle: *idle })
}

/// Whether the pattern's functions stand on the stack from this place on.
fn is_called(pattern: &str, functions: &[&str], at: usize) -> bool {
    let mut frames = functions.iter().skip(at);
    pattern.split('<').all(|function| frames.next().is_some_and(|frame| fits(function, frame)))
}

#[cfg(test)]
mod tests;
