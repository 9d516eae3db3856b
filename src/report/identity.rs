//! The equations that hold if nothing is lost without being counted.

use super::quality::{CpuEvents, Quality, sum};
use crate::contention::Counts;

/// An equation that holds if every event is accounted for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Identity {
    /// The equation in words.
    pub law: &'static str,
    /// The CPU it is about; none for all of them together.
    pub cpu: Option<u16>,
    /// The left side's value.
    pub left: u64,
    /// The right side's value.
    pub right: u64,
}

impl Identity {
    /// Whether both sides are equal.
    pub fn holds(&self) -> bool {
        self.left == self.right
    }
}

impl CpuEvents {
    /// Every event written was read or counted as lost.
    pub fn identity(&self) -> Identity {
        Identity {
            law: "events read + overrun + dropped = written",
            cpu: Some(self.cpu),
            left: self.read.saturating_add(self.lost()),
            right: self.written,
        }
    }
}

impl Quality {
    /// Every begin became something.
    pub fn begins_identity(&self) -> Identity {
        begins(
            "begins read = ok + failed + uncertain + clock + lost_end + open + phase_changes + overflow_depth",
            &self.pairing,
        )
    }

    /// Every end became something.
    pub fn ends_identity(&self) -> Identity {
        ends(
            "ends read = ok + failed + uncertain + clock + orphan_end + began_before_start + filtered_end + overflow_end",
            &self.pairing,
        )
    }

    /// The same of futex calls and of sleeps, as far as they were traced.
    fn other_identities(&self) -> impl Iterator<Item = Identity> {
        let futexes = [
            begins(
                "futex waits begun = ok + failed + uncertain + clock + not_waited + lost_end + open + overflow_depth",
                &self.futexes,
            ),
            ends(
                "futex calls ended = ok + failed + uncertain + clock + not_waited + filtered_end",
                &self.futexes,
            ),
        ];
        let sleeps = [
            begins(
                "sleeps begun = ok + uncertain + clock + lost_end + open + overflow_depth",
                &self.sleeps,
            ),
            ends(
                "sleeps ended = ok + uncertain + clock + orphan_end + began_before_start",
                &self.sleeps,
            ),
        ];
        let traced = |identity: &Identity| identity.left > 0 || identity.right > 0;
        futexes.into_iter().chain(sleeps).filter(traced)
    }

    /// Every finished wait was kept, or left out for a reason.
    pub fn kept_identity(&self) -> Identity {
        Identity {
            law: "ok + failed + uncertain = kept + own + not_asked + short",
            cpu: None,
            left: sum([&self.pairing, &self.futexes, &self.sleeps].map(Counts::finished)),
            right: sum([self.kept, self.own, self.not_asked, self.short]),
        }
    }

    /// No wait is lost in the map, however full.
    pub fn rows_identity(&self) -> Identity {
        Identity {
            law: "kept = in rows and overflow rows",
            cpu: None,
            left: self.kept,
            right: self.in_rows,
        }
    }

    /// All of them, each CPU's included.
    pub fn identities(&self) -> Vec<Identity> {
        let own = [
            self.begins_identity(),
            self.ends_identity(),
            self.kept_identity(),
            self.rows_identity(),
        ];
        let own = own.into_iter().chain(self.other_identities());
        own.chain(self.cpus.iter().map(CpuEvents::identity)).collect()
    }
}

fn begins(law: &'static str, counts: &Counts) -> Identity {
    Identity { law, cpu: None, left: counts.begins_read, right: counts.begins_accounted() }
}

fn ends(law: &'static str, counts: &Counts) -> Identity {
    Identity { law, cpu: None, left: counts.ends_read, right: counts.ends_accounted() }
}
