//! The sums of one row.

/// One wait as it is summed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sample {
    /// The lock was taken after this many ns.
    Acquired(u64),
    /// The waiter gave up after this many ns.
    Failed(u64),
    /// A loss overlaps the wait: at most this many ns.
    Uncertain(u64),
}

/// Sums over waits. Failed and uncertain ones are kept apart; all sums saturate.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Stats {
    /// Waits that got the lock.
    pub contended: u64,
    /// Their time together.
    pub wait_total_ns: u64,
    /// The longest.
    pub wait_max_ns: u64,
    /// The shortest; 0 where there is none.
    pub wait_min_ns: u64,
    /// Waits that ended without the lock.
    pub failed: u64,
    /// Their time together.
    pub failed_total_ns: u64,
    /// Waits that overlap a loss.
    pub uncertain: u64,
    /// Their time together, at most.
    pub uncertain_total_ns: u64,
}

impl Stats {
    /// Adds one wait.
    pub fn add(&mut self, sample: Sample) {
        let one = match sample {
            Sample::Acquired(ns) => Stats {
                contended: 1,
                wait_total_ns: ns,
                wait_max_ns: ns,
                wait_min_ns: ns,
                ..Stats::default()
            },
            Sample::Failed(ns) => Stats { failed: 1, failed_total_ns: ns, ..Stats::default() },
            Sample::Uncertain(ns) => {
                Stats { uncertain: 1, uncertain_total_ns: ns, ..Stats::default() }
            }
        };
        self.merge(&one);
    }

    /// Adds another row's waits.
    pub fn merge(&mut self, other: &Stats) {
        self.wait_min_ns = match (self.contended, other.contended) {
            (0, _) => other.wait_min_ns,
            (_, 0) => self.wait_min_ns,
            _ => self.wait_min_ns.min(other.wait_min_ns),
        };
        self.wait_max_ns = self.wait_max_ns.max(other.wait_max_ns);
        let sums = [
            (&mut self.contended, other.contended),
            (&mut self.wait_total_ns, other.wait_total_ns),
            (&mut self.failed, other.failed),
            (&mut self.failed_total_ns, other.failed_total_ns),
            (&mut self.uncertain, other.uncertain),
            (&mut self.uncertain_total_ns, other.uncertain_total_ns),
        ];
        for (sum, more) in sums {
            *sum = sum.saturating_add(more);
        }
    }

    /// The mean time of the waits that got the lock, in ns; 0 where there is none.
    pub fn avg_wait_ns(&self) -> u64 {
        self.wait_total_ns.checked_div(self.contended).unwrap_or(0)
    }

    /// All waits: those that got the lock, those that did not, and the uncertain.
    pub fn waits(&self) -> u64 {
        self.contended.saturating_add(self.failed).saturating_add(self.uncertain)
    }
}
