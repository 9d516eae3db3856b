//! Where every begin and every end went.

use serde::Serialize;

use super::wait::Cause;

/// Counts of the pairing. Each begin and each end read is in exactly one term.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Counts {
    /// `contention_begin` events read.
    pub begins_read: u64,
    /// `contention_end` events read.
    pub ends_read: u64,
    /// Waits that got the lock.
    pub ok: u64,
    /// Waits that ended without the lock (signal, timeout, deadlock avoidance).
    pub failed: u64,
    /// Waits with begin and end that overlap a loss.
    pub uncertain: u64,
    /// Waits whose end lies before their begin.
    pub clock: u64,
    /// The largest such step back, in ns.
    pub clock_worst_ns: u64,
    /// Begins whose end was not seen although the waiter went on.
    pub lost_end: u64,
    /// Begins still without an end when tracing stopped.
    pub open: u64,
    /// Further begins of a mutex's wait: spinning turned to sleep, or back.
    pub phase_changes: u64,
    /// Begins not followed because too many waits were open at once.
    pub overflow_depth: u64,
    /// Ends of such begins.
    pub overflow_end: u64,
    /// Ends without a begin.
    pub orphan_end: u64,
    /// Ends of waits that began before the trace did.
    pub began_before_start: u64,
    /// Ends whose begin a kernel-side filter rejected. Of futex calls: ends of calls that cannot wait,
    /// and of those that began before the trace or in a loss.
    pub filtered_end: u64,
    /// Of the ended sleeps: no event told that the task has a CPU again. Its own next event did,
    /// on a CPU that had been idle until it was woken.
    pub inferred_end: u64,
    /// Futex calls that returned at once, since the value was not the expected one: no waits.
    pub not_waited: u64,
}

/// The counts of each cause that begins and ends by itself.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct CauseCounts {
    /// Of the kernel's locks.
    pub locks: Counts,
    /// Of futex calls.
    pub futexes: Counts,
    /// Of sleeps: a task that leaves its CPU begins one, and ends it when it has a CPU again.
    pub sleeps: Counts,
}

impl CauseCounts {
    /// Those of this cause.
    pub(super) fn of(&mut self, cause: Cause) -> &mut Counts {
        match cause {
            Cause::Futex(_) => &mut self.futexes,
            Cause::Lock(_) => &mut self.locks,
            Cause::Sleep(_) => &mut self.sleeps,
        }
    }

    /// Adds another part of the same trace.
    pub fn add(&mut self, other: &CauseCounts) {
        self.locks.add(&other.locks);
        self.futexes.add(&other.futexes);
        self.sleeps.add(&other.sleeps);
    }
}

impl Counts {
    /// Where the begins went: a finished wait, an open one, a phase, or a counted loss. Together
    /// [`Counts::begins_read`].
    pub fn begins_accounted(&self) -> u64 {
        self.paired() + self.lost_end + self.open + self.phase_changes + self.overflow_depth
    }

    /// Where the ends went: a finished wait, or the reason why there is none. Together
    /// [`Counts::ends_read`].
    pub fn ends_accounted(&self) -> u64 {
        let unmatched = self.orphan_end + self.began_before_start;
        self.paired() + unmatched + self.filtered_end + self.overflow_end
    }

    /// Finished waits.
    pub fn finished(&self) -> u64 {
        self.ok + self.failed + self.uncertain
    }

    fn paired(&self) -> u64 {
        self.finished() + self.clock + self.not_waited
    }

    /// Adds another part of the same trace.
    pub fn add(&mut self, other: &Counts) {
        self.begins_read += other.begins_read;
        self.ends_read += other.ends_read;
        self.ok += other.ok;
        self.failed += other.failed;
        self.uncertain += other.uncertain;
        self.clock += other.clock;
        self.clock_worst_ns = self.clock_worst_ns.max(other.clock_worst_ns);
        self.lost_end += other.lost_end;
        self.open += other.open;
        self.phase_changes += other.phase_changes;
        self.overflow_depth += other.overflow_depth;
        self.overflow_end += other.overflow_end;
        self.orphan_end += other.orphan_end;
        self.began_before_start += other.began_before_start;
        self.filtered_end += other.filtered_end;
        self.inferred_end += other.inferred_end;
        self.not_waited += other.not_waited;
    }
}
