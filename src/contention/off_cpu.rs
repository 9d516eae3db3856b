//! What a waiter does while it does not have a CPU.

use crate::event::LeftAs;

/// The time of a wait in which its task was not on a CPU, in ns. What is left of the wait it spent
/// on a CPU: spinning, or on its way to sleep and back.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct OffCpu {
    /// Asleep, until somebody woke it.
    pub blocked_ns: u64,
    /// Woken, and without a CPU yet.
    pub runnable_ns: u64,
    /// Able to run, and another task had its CPU.
    pub preempted_ns: u64,
}

impl OffCpu {
    /// All of it.
    pub fn total_ns(&self) -> u64 {
        self.blocked_ns.saturating_add(self.runnable_ns).saturating_add(self.preempted_ns)
    }

    /// The same, and not more than a wait's whole time: clocks of CPUs may differ.
    pub(super) fn within(self, wait_ns: u64) -> OffCpu {
        let blocked_ns = self.blocked_ns.min(wait_ns);
        let runnable_ns = self.runnable_ns.min(wait_ns - blocked_ns);
        let preempted_ns = self.preempted_ns.min(wait_ns - blocked_ns - runnable_ns);
        OffCpu { blocked_ns, runnable_ns, preempted_ns }
    }

    pub(super) fn add(&mut self, other: &OffCpu) {
        self.blocked_ns = self.blocked_ns.saturating_add(other.blocked_ns);
        self.runnable_ns = self.runnable_ns.saturating_add(other.runnable_ns);
        self.preempted_ns = self.preempted_ns.saturating_add(other.preempted_ns);
    }
}

/// Where one task is: on a CPU, or since when not and why.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Presence {
    off: Option<Off>,
    /// It was woken while it still ran: on its way to sleep, on another CPU's clock.
    woken_early: bool,
}

#[derive(Debug, Clone, Copy)]
struct Off {
    since_ns: u64,
    left_as: LeftAs,
    woken_ns: Option<u64>,
}

impl Presence {
    /// It has no CPU.
    pub(super) fn is_away(&self) -> bool {
        self.off.is_some()
    }

    /// It leaves its CPU.
    pub(super) fn leaves(&mut self, ns: u64, left_as: LeftAs) {
        self.off = Some(Off { since_ns: ns, left_as, woken_ns: None });
    }

    /// It is woken. The kernel wakes a sleeper once: behind that it can run.
    pub(super) fn is_woken(&mut self, ns: u64) {
        match &mut self.off {
            Some(off) => off.woken_ns = off.woken_ns.or(Some(ns)),
            None => self.woken_early = true,
        }
    }

    /// It has a CPU again; gives what it did since it left one.
    pub(super) fn comes_back(&mut self, ns: u64) -> OffCpu {
        let early = std::mem::take(&mut self.woken_early);
        let Some(off) = self.off.take() else { return OffCpu::default() };
        let away_ns = ns.saturating_sub(off.since_ns);
        if !off.left_as.is_blocked() {
            return OffCpu { preempted_ns: away_ns, ..OffCpu::default() };
        }
        // The waker's event may bear an earlier time than the switch that it raced with.
        let woken_ns = off.woken_ns.or(early.then_some(off.since_ns)).unwrap_or(ns);
        let blocked_ns = woken_ns.saturating_sub(off.since_ns).min(away_ns);
        OffCpu { blocked_ns, runnable_ns: away_ns - blocked_ns, preempted_ns: 0 }
    }
}

#[cfg(test)]
mod tests {
    use super::{OffCpu, Presence};
    use crate::event::LeftAs;

    fn off(blocked_ns: u64, runnable_ns: u64, preempted_ns: u64) -> OffCpu {
        OffCpu { blocked_ns, runnable_ns, preempted_ns }
    }

    /// (woken before it left, left as, woken behind, what it did from 100 to 200)
    #[test]
    fn time_off_the_cpu_is_divided_at_the_waking() {
        let table = [
            (false, LeftAs::Uninterruptible, Some(130), off(30, 70, 0)),
            (false, LeftAs::Runnable, None, off(0, 0, 100)),
            (false, LeftAs::Runnable, Some(130), off(0, 0, 100)),
            (true, LeftAs::Interruptible, None, off(0, 100, 0)),
            (true, LeftAs::Interruptible, Some(130), off(30, 70, 0)),
            (false, LeftAs::Idle, None, off(100, 0, 0)),
            (false, LeftAs::Uninterruptible, Some(90), off(0, 100, 0)),
            (false, LeftAs::Uninterruptible, Some(900), off(100, 0, 0)),
        ];
        for (early, left_as, woken, expected) in table {
            let mut presence = Presence::default();
            if early {
                presence.is_woken(99);
            }
            presence.leaves(100, left_as);
            woken.into_iter().for_each(|ns| presence.is_woken(ns));
            assert_eq!(presence.comes_back(200), expected, "{early} {left_as:?} {woken:?}");
            assert_eq!(presence.comes_back(300), off(0, 0, 0));
        }
    }
}
