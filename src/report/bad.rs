//! perf's debug footer: how much went wrong, and why.

use super::Quality;
use super::quality::sum;
use serde::Serialize;

/// Waits something went wrong with, under the four reasons that `perf lock contention -b` has
/// (tools/perf/builtin-lock.c, 6.2 to 7.3).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Bad {
    /// Waits not followed for want of room: they are in no row.
    pub task: u64,
    /// Waits without the stack that was asked for. They are in a row without a caller.
    pub stack: u64,
    /// Waits whose end lies before their begin: they are in no row.
    pub time: u64,
    /// Waits whose row found no room in the map: they are in the overflow rows.
    pub data: u64,
}

impl Bad {
    /// The reasons, as perf names and orders them.
    pub fn reasons(&self) -> [(&'static str, u64); 4] {
        [("task", self.task), ("stack", self.stack), ("time", self.time), ("data", self.data)]
    }

    /// All together. A wait without its stack and without a row of its own counts for both.
    pub fn count(&self) -> u64 {
        sum(self.reasons().map(|(_, count)| count))
    }
}

impl Quality {
    /// What went wrong.
    pub fn bad(&self) -> Bad {
        Bad {
            task: self.pairing.overflow_depth,
            stack: self.stacks_missing,
            time: self.pairing.clock,
            data: self.in_overflow,
        }
    }

    /// perf's `total`: the finished waits that were asked for, and those that became none.
    pub fn total(&self) -> u64 {
        sum([self.kept, self.pairing.overflow_depth, self.pairing.clock])
    }
}

#[cfg(test)]
mod tests {
    use super::{Bad, Quality};
    use crate::report::Counts;

    #[test]
    fn each_reason_counts_what_perfs_does() {
        let quality = Quality {
            pairing: Counts { overflow_depth: 1, clock: 4, lost_end: 16, ..Counts::default() },
            kept: 100,
            stacks_missing: 2,
            in_overflow: 8,
            ..Quality::default()
        };
        let bad = quality.bad();
        assert_eq!(bad, Bad { task: 1, stack: 2, time: 4, data: 8 });
        assert_eq!(bad.reasons(), [("task", 1), ("stack", 2), ("time", 4), ("data", 8)]);
        assert_eq!((bad.count(), quality.total()), (15, 105));
    }
}
