//! The equations that hold if nothing is lost without being counted.

use super::quality::{CpuEvents, Quality, sum};

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
        Identity {
            law: "begins read = ok + failed + uncertain + clock + lost_end + open + phase_changes + overflow_depth",
            cpu: None,
            left: self.pairing.begins_read,
            right: self.pairing.begins_accounted(),
        }
    }

    /// Every end became something.
    pub fn ends_identity(&self) -> Identity {
        Identity {
            law: "ends read = ok + failed + uncertain + clock + orphan_end + began_before_start + filtered_end + overflow_end",
            cpu: None,
            left: self.pairing.ends_read,
            right: self.pairing.ends_accounted(),
        }
    }

    /// Every finished wait was kept, or left out for a reason.
    pub fn kept_identity(&self) -> Identity {
        Identity {
            law: "ok + failed + uncertain = kept + own + not_asked + short",
            cpu: None,
            left: sum([self.pairing.ok, self.pairing.failed, self.pairing.uncertain]),
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
        own.into_iter().chain(self.cpus.iter().map(CpuEvents::identity)).collect()
    }
}
