//! The sums of one row.

use std::cmp::Ordering;

use super::Histogram;

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

/// Of a wait's time, what its task spent off its CPU, in ns, by what it did there.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Split {
    /// Asleep.
    pub blocked_ns: u64,
    /// Woken, and without a CPU.
    pub runnable_ns: u64,
    /// Robbed of its CPU.
    pub preempted_ns: u64,
}

impl Split {
    fn add(&mut self, other: Split) {
        self.blocked_ns = self.blocked_ns.saturating_add(other.blocked_ns);
        self.runnable_ns = self.runnable_ns.saturating_add(other.runnable_ns);
        self.preempted_ns = self.preempted_ns.saturating_add(other.preempted_ns);
    }
}

/// Sums over waits. Failed and uncertain ones are kept apart; all sums saturate.
///
/// `W` is whatever bears witness to a wait. What most waits change comes first, so that they touch few
/// cache lines.
#[derive(Debug, Clone, PartialEq, Eq)]
#[repr(C)]
pub struct Stats<W> {
    /// Waits that got the lock.
    pub contended: u64,
    /// Their time together.
    pub wait_total_ns: u64,
    /// The longest.
    pub wait_max_ns: u64,
    /// The shortest; 0 where there is none.
    pub wait_min_ns: u64,
    /// How they are spread, by their time in ns.
    pub histogram: Histogram,
    /// Waits that ended without the lock.
    pub failed: u64,
    /// Their time together.
    pub failed_total_ns: u64,
    /// Waits that overlap a loss.
    pub uncertain: u64,
    /// Their time together, at most.
    pub uncertain_total_ns: u64,
    /// What the row may lack at most, in ns: time of its key in waits before it had the row.
    pub lacks_max_ns: u64,
    /// What of their time was spent off the CPU.
    pub split: Split,
    /// The longest time that one of them was asleep, in ns.
    pub blocked_max_ns: u64,
    /// The witness of the longest; the least of several.
    pub witness: Option<W>,
}

impl<W> Default for Stats<W> {
    fn default() -> Self {
        Stats {
            contended: 0,
            wait_total_ns: 0,
            wait_max_ns: 0,
            wait_min_ns: 0,
            split: Split::default(),
            blocked_max_ns: 0,
            histogram: Histogram::default(),
            witness: None,
            failed: 0,
            failed_total_ns: 0,
            uncertain: 0,
            uncertain_total_ns: 0,
            lacks_max_ns: 0,
        }
    }
}

impl<W: Copy + Ord> Stats<W> {
    /// Adds one wait, of which `split` was off the CPU; `witness` is asked for if it may be the longest.
    #[inline]
    pub fn add(&mut self, sample: Sample, split: Split, witness: impl FnOnce() -> W) {
        let (count, total_ns, ns) = match sample {
            Sample::Acquired(ns) => {
                self.add_split(split, split.blocked_ns);
                self.stretch(ns, ns, || Some(witness()));
                self.histogram.add(ns);
                (&mut self.contended, &mut self.wait_total_ns, ns)
            }
            Sample::Failed(ns) => (&mut self.failed, &mut self.failed_total_ns, ns),
            Sample::Uncertain(ns) => (&mut self.uncertain, &mut self.uncertain_total_ns, ns),
        };
        *count = count.saturating_add(1);
        *total_ns = total_ns.saturating_add(ns);
    }

    /// Adds another row's waits.
    pub fn merge(&mut self, other: &Stats<W>) {
        if other.contended > 0 {
            self.stretch(other.wait_min_ns, other.wait_max_ns, || other.witness);
            self.add_split(other.split, other.blocked_max_ns);
            self.histogram.merge(&other.histogram);
        }
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

    fn add_split(&mut self, split: Split, blocked_max_ns: u64) {
        if split != Split::default() {
            self.split.add(split);
            self.blocked_max_ns = self.blocked_max_ns.max(blocked_max_ns);
        }
    }

    /// Makes room between shortest and longest for waits that are not counted yet.
    fn stretch(&mut self, min_ns: u64, max_ns: u64, witness: impl FnOnce() -> Option<W>) {
        if self.contended == 0 {
            (self.wait_min_ns, self.wait_max_ns, self.witness) = (min_ns, max_ns, witness());
            return;
        }
        self.wait_min_ns = self.wait_min_ns.min(min_ns);
        match max_ns.cmp(&self.wait_max_ns) {
            Ordering::Less => {}
            Ordering::Equal => self.witness = self.witness.min(witness()),
            Ordering::Greater => (self.wait_max_ns, self.witness) = (max_ns, witness()),
        }
    }
}

impl<W> Stats<W> {
    /// The mean time of the waits that got the lock, in ns; 0 where there is none.
    pub fn avg_wait_ns(&self) -> u64 {
        self.wait_total_ns.checked_div(self.contended).unwrap_or(0)
    }

    /// What of their time the waiters were on a CPU, in ns.
    pub fn spin_ns(&self) -> u64 {
        let Split { blocked_ns, runnable_ns, preempted_ns } = self.split;
        let off = blocked_ns.saturating_add(runnable_ns).saturating_add(preempted_ns);
        self.wait_total_ns.saturating_sub(off)
    }

    /// The time in ns that `per_mille` thousandths of the waits that got the lock did not exceed,
    /// off by less than 3.2 %; 0 where there is none.
    pub fn quantile_ns(&self, per_mille: u64) -> u64 {
        let quantile_ns = self.histogram.quantile(per_mille);
        // The middle of a part of the histogram may lie outside of all that was seen.
        quantile_ns.map_or(0, |ns| ns.max(self.wait_min_ns).min(self.wait_max_ns))
    }

    /// What counts when rows have to be given up: all its time, in ns.
    pub(super) fn weight_ns(&self) -> u64 {
        let known = self.wait_total_ns.saturating_add(self.failed_total_ns);
        known.saturating_add(self.uncertain_total_ns)
    }

    pub(super) fn lacking(self, lacks_max_ns: u64) -> Stats<W> {
        Stats { lacks_max_ns, ..self }
    }

    /// All waits: those that got the lock, those that did not, and the uncertain.
    pub fn waits(&self) -> u64 {
        self.contended.saturating_add(self.failed).saturating_add(self.uncertain)
    }
}
