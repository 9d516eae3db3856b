//! How good the data is: what was read, what became of it, what was lost.

use super::identity::Identity;
use super::sampling::StackSampling;
use crate::contention::Counts;
use serde::Serialize;
use std::collections::BTreeMap;

/// How many waiters' holders are known, of the waits that slept and got the lock.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Holders {
    /// Such waits.
    pub slept: u64,
    /// Their time, in ns.
    pub slept_ns: u64,
    /// Of those: the kernel told who let the lock go.
    pub by_release: u64,
    /// Of those: known by the waking.
    pub by_waking: u64,
    /// The time of the waits with a known holder, in ns.
    pub known_ns: u64,
}

impl Holders {
    /// Adds another part of the same run.
    pub fn add(&mut self, other: &Holders) {
        self.slept += other.slept;
        self.slept_ns = self.slept_ns.saturating_add(other.slept_ns);
        self.by_release += other.by_release;
        self.by_waking += other.by_waking;
        self.known_ns = self.known_ns.saturating_add(other.known_ns);
    }
}

/// Every counter of a run. Nothing is lost without one of them rising.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Quality {
    /// Where every begin and every end went.
    #[serde(flatten)]
    pub pairing: Counts,
    /// The same of futex calls.
    pub futexes: Counts,
    /// The same of sleeps, which begin when a task leaves its CPU.
    pub sleeps: Counts,
    /// Of the kept waits for the kernel's locks: those that slept, and what is known of who had the
    /// lock.
    pub holders: Holders,
    /// Locks whose holders were forgotten for want of room.
    pub holders_forgotten: u64,
    /// Futexes whose earlier waits were forgotten for want of room.
    pub words_forgotten: u64,
    /// Chains of waits that found no room.
    pub chains_refused: u64,
    /// Tasks whose waits were forgotten for want of room, so that chains may lack their ends.
    pub chains_forgotten: u64,
    /// Switches between tasks that were not recorded although no event was lost. What the task did
    /// that came so is known from its next event on.
    pub switches_missing: u64,
    /// Of the kept waits: for a lock's own inner lock.
    pub internal: u64,
    /// The time of those, in ns, which is in the outer wait's too.
    pub internal_total_ns: u64,
    /// Finished waits that were asked for.
    pub kept: u64,
    /// Those that the rows and the overflow rows hold together.
    pub in_rows: u64,
    /// Of those: in the overflow rows.
    pub in_overflow: u64,
    /// Finished waits left out: our own.
    pub own: u64,
    /// Finished waits left out: of tasks or CPUs that were not asked for.
    pub not_asked: u64,
    /// Finished waits left out: shorter than asked for.
    pub short: u64,
    /// Events of each CPU.
    pub cpus: Vec<CpuEvents>,
    /// Stretches of lost events, as marked in the rings.
    pub gaps: u64,
    /// Events that came behind their window.
    pub late_events: u64,
    /// Events with a time before that of the one before, on one CPU.
    pub clock_backward: u64,
    /// Malformed pages, by what was wrong.
    pub page_faults: BTreeMap<String, u64>,
    /// Records of an event id no format is known for.
    pub unknown_ids: u64,
    /// Records that lack a field of their format.
    pub malformed_events: u64,
    /// Records or lines of a saved trace that could not be read, each by itself.
    pub unread_records: u64,
    /// Waits of tasks whose name was never learned.
    pub names_unknown: u64,
    /// Waits of tasks whose name may have changed in a loss.
    pub names_unconfirmed: u64,
    /// Names that two sources disagree on though no event is known to be missing.
    pub names_contradicted: u64,
    /// Names dropped to make room though something might still ask for them.
    pub names_evicted: u64,
    /// Waits of tasks whose cgroup was never learned.
    pub cgroups_unknown: u64,
    /// Waits of tasks whose cgroup is only likely.
    pub cgroups_unconfirmed: u64,
    /// Waits of processes whose command line could not be read in time.
    pub cmdlines_unread: u64,
    /// What is known of tasks beyond their names: dropped to make room.
    pub facts_evicted: u64,
    /// Paths of cgroups and command lines that found no room.
    pub texts_refused: u64,
    /// Looks into /proc that were put off since there were too many at once.
    pub looks_put_off: u64,
    /// Names of futexes dropped, or not kept, for want of room.
    pub user_names_dropped: u64,
    /// Processes that had gone before it was known what lies at their futexes' addresses.
    pub user_spaces_unread: u64,
    /// Stacks that found no room.
    pub stacks_refused: u64,
    /// Waits that came without a stack although one was asked for.
    pub stacks_missing: u64,
    /// Waits that came without one since stacks were recorded for a part of the time only.
    pub stacks_sampled_out: u64,
    /// Rows that were given up for heavier ones: what they held is in the overflow rows.
    pub map_given_up: u64,
    /// What a row can have had before it was given up at most, in ns: no row lacks more than that.
    pub map_floor_ns: u64,
    /// Lines the stream's reader was too slow for.
    pub stream_dropped: u64,
    /// How full a ring was at most when it was read, in percent; none where that was not seen.
    pub ring_peak_percent: Option<u64>,
    /// How often one was so full that rings were read more often from then on.
    pub hurried: u64,
    /// For how much of the time there are stacks, where their cost was limited.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stack_sampling: Option<StackSampling>,
    /// CPU time that we took ourselves while we traced, in ns; none where it was not measured.
    pub own_cpu_ns: Option<u64>,
}

/// The events of one CPU's ring.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct CpuEvents {
    /// The CPU.
    pub cpu: u16,
    /// Read by us.
    pub read: u64,
    /// Overwritten before they were read.
    pub overrun: u64,
    /// Refused by the kernel since the ring was full.
    pub dropped: u64,
    /// Written by the kernel in all.
    pub written: u64,
}

impl CpuEvents {
    /// Events that were written and not read.
    pub fn lost(&self) -> u64 {
        self.overrun.saturating_add(self.dropped)
    }
}

impl Quality {
    /// Whether every wait was asked for.
    pub fn is_all(&self) -> bool {
        self.not_asked == 0 && self.short == 0
    }

    /// Events lost on all CPUs.
    pub fn events_lost(&self) -> u64 {
        sum(self.cpus.iter().map(CpuEvents::lost))
    }

    /// Whether anything is missing or may be wrong, which `--strict` makes an error.
    pub fn is_complete(&self) -> bool {
        self.events_lost() == 0
            && self.faults().iter().all(|(_, count)| *count == 0)
            && self.pairing.uncertain == 0
            && self.futexes.uncertain == 0
            && self.sleeps.uncertain == 0
            && self.page_faults.values().all(|count| *count == 0)
            && self.identities().iter().all(Identity::holds)
    }

    /// The counters that ought to be 0, each with the words to show it under.
    pub fn faults(&self) -> [(&'static str, u64); 33] {
        [
            ("waits whose end was lost", self.pairing.lost_end),
            ("waits that end before they begin", self.pairing.clock),
            ("ends without a begin", self.pairing.orphan_end),
            ("futex waits whose end was lost", self.futexes.lost_end),
            ("futex waits that end before they begin", self.futexes.clock),
            ("futex words forgotten for want of room", self.words_forgotten),
            ("futex waits not followed, too many at once", self.futexes.overflow_depth),
            ("sleeps whose end was lost", self.sleeps.lost_end),
            ("sleeps that end before they begin", self.sleeps.clock),
            ("sleeps not followed, too many tasks", self.sleeps.overflow_depth),
            ("locks whose holders were forgotten for want of room", self.holders_forgotten),
            ("chains of waits refused, table full", self.chains_refused),
            ("tasks whose waits were forgotten, chains may be cut", self.chains_forgotten),
            ("begins nested too deep", self.pairing.overflow_depth),
            ("ends of begins nested too deep", self.pairing.overflow_end),
            ("events behind their window", self.late_events),
            ("events with a time before the one before", self.clock_backward),
            ("records of unknown events", self.unknown_ids),
            ("records without a field of their event", self.malformed_events),
            ("records or lines of the file that could not be read", self.unread_records),
            ("waits of tasks without a known name", self.names_unknown),
            ("waits whose task's name is unconfirmed", self.names_unconfirmed),
            ("names that two sources disagree on", self.names_contradicted),
            ("names dropped for want of room", self.names_evicted),
            ("waits of tasks without a known cgroup", self.cgroups_unknown),
            ("waits whose task's cgroup is unconfirmed", self.cgroups_unconfirmed),
            ("cgroups and command lines of tasks dropped for want of room", self.facts_evicted),
            ("texts refused, table full", self.texts_refused),
            ("names of futexes dropped for want of room", self.user_names_dropped),
            ("stacks refused, table full", self.stacks_refused),
            ("waits without a stack", self.stacks_missing),
            ("rows given up, map full (see -M)", self.map_given_up),
            ("stream lines dropped", self.stream_dropped),
        ]
    }

    /// The counters that only describe the run.
    pub fn facts(&self) -> [(&'static str, u64); 17] {
        [
            ("percent of a ring filled at most", self.ring_peak_percent.unwrap_or(0)),
            ("times that rings were read more often, being half full", self.hurried),
            ("waits without a stack, which was sampled out", self.stacks_sampled_out),
            ("begins read", self.pairing.begins_read),
            ("ends read", self.pairing.ends_read),
            ("phase changes of mutex waits", self.pairing.phase_changes),
            ("ends of filtered begins", self.pairing.filtered_end),
            ("switches that the kernel did not record", self.switches_missing),
            ("waits for a lock's inner lock", self.internal),
            ("waits whose command line could not be read in time", self.cmdlines_unread),
            ("looks into /proc put off", self.looks_put_off),
            ("processes gone before their futexes were named", self.user_spaces_unread),
            ("sleeps whose begin the kernel did not tell", self.sleeps.orphan_end),
            ("sleeps whose end the kernel did not tell", self.sleeps.inferred_end),
            ("waits left out: of ftlock itself", self.own),
            ("waits left out: of tasks or CPUs not asked for", self.not_asked),
            ("waits left out: shorter than asked for", self.short),
        ]
    }
}

pub(super) fn sum(counts: impl IntoIterator<Item = u64>) -> u64 {
    counts.into_iter().fold(0, u64::saturating_add)
}

#[cfg(test)]
mod tests {
    use super::{Counts, CpuEvents, Identity, Quality};

    fn run() -> Quality {
        let cpu = CpuEvents { cpu: 1, read: 90, overrun: 7, dropped: 3, written: 100 };
        Quality {
            pairing: Counts {
                begins_read: 1 + 2 + 4 + 8 + 16 + 32 + 64 + 128,
                ok: 1,
                failed: 2,
                uncertain: 4,
                clock: 8,
                lost_end: 16,
                open: 32,
                phase_changes: 64,
                overflow_depth: 128,
                ends_read: 15 + 100 + 1000 + 10_000 + 100_000,
                orphan_end: 100,
                began_before_start: 1000,
                filtered_end: 10_000,
                overflow_end: 100_000,
                ..Counts::default()
            },
            kept: 3,
            in_rows: 3,
            own: 4,
            cpus: vec![cpu],
            ..Quality::default()
        }
    }

    #[test]
    fn the_identities_hold_where_every_event_is_accounted_for() {
        let quality = run();
        let sides: Vec<_> = quality.identities().iter().map(|i| (i.cpu, i.left, i.right)).collect();
        let expected = [
            (None, 255, 255),
            (None, 111_115, 111_115),
            (None, 7, 7),
            (None, 3, 3),
            (Some(1), 100, 100),
        ];
        assert_eq!(sides, expected);
        assert!(quality.identities().iter().all(Identity::holds));
    }

    #[test]
    fn one_forgotten_event_breaks_its_identity() {
        let mut quality = run();
        quality.pairing.begins_read += 1;
        assert!(!quality.begins_identity().holds() && quality.ends_identity().holds());
        quality.pairing.orphan_end -= 1;
        assert!(!quality.ends_identity().holds());
        quality.in_rows -= 1;
        assert!(!quality.rows_identity().holds());
    }

    #[test]
    fn a_run_is_complete_only_if_nothing_is_missing() {
        assert!(
            Quality {
                pairing: Counts { ok: 2, begins_read: 2, ends_read: 2, ..Counts::default() },
                own: 2,
                ..Quality::default()
            }
            .is_complete()
        );
        assert!(
            !Quality {
                pairing: Counts { begins_read: 1, ..Counts::default() },
                ..Quality::default()
            }
            .is_complete()
        );
        assert!(!Quality { stream_dropped: 1, ..Quality::default() }.is_complete());
        let lossy = CpuEvents { overrun: 1, written: 1, ..CpuEvents::default() };
        assert!(!Quality { cpus: vec![lossy], ..Quality::default() }.is_complete());
        assert_eq!(run().events_lost(), 10);
    }
}
