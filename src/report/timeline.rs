//! How many tasks waited when.

use crate::event::WaitKind;
use std::collections::BTreeMap;

/// Most bins of time. With a longer run they grow.
const MAX_BINS: u64 = 2048;

/// The first length of a bin, in ns; it doubles from there.
const FIRST_BIN_NS: u64 = 1 << 10;

/// What is drawn as one line: waits of a kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Series {
    /// The waits keep nobody from going on.
    pub idle: bool,
    /// The kind of lock.
    pub kind: WaitKind,
}

impl Series {
    /// The kind's name, with a word behind it for idle waits.
    pub fn name(self) -> String {
        format!("{}{}", self.kind.name(), if self.idle { " (idle)" } else { "" })
    }
}

/// How much was waited in each bin of time, by kinds of waits. The time of all bins together is that of all
/// waits, to the nanosecond; memory is bounded, whatever the length of the run.
#[derive(Debug, Clone)]
pub struct Timeline {
    bin_ns: u64,
    /// The first and the last bin that any wait touches, from the clock's zero on.
    span: Option<(u64, u64)>,
    series: BTreeMap<Series, BTreeMap<u64, Change>>,
}

/// What changes with a bin. A wait changes two of them, however many it covers.
#[derive(Debug, Clone, Copy, Default)]
struct Change {
    /// In this bin alone, in ns.
    only_ns: i128,
    /// Waits that cover every bin from this one on in full.
    from_here: i64,
}

impl Default for Timeline {
    fn default() -> Timeline {
        Timeline { bin_ns: FIRST_BIN_NS, span: None, series: BTreeMap::new() }
    }
}

impl Timeline {
    /// Adds a wait, with its begin and end in ns of the trace clock.
    pub fn add(&mut self, series: Series, begin_ns: u64, end_ns: u64) {
        if end_ns <= begin_ns {
            return;
        }
        // The end itself is not waited in any more.
        let mut span = self.span_with(begin_ns, end_ns - 1);
        while span.1 - span.0 >= MAX_BINS {
            self.double();
            span = self.span_with(begin_ns, end_ns - 1);
        }
        self.span = Some(span);
        let bins = self.series.entry(series).or_default();
        let bin_ns = self.bin_ns;
        let mut edge = |at_ns: u64, sign: i8| {
            let (bin, inside_ns) = (at_ns / bin_ns, at_ns % bin_ns);
            let change = bins.entry(bin).or_default();
            change.only_ns -= i128::from(sign) * i128::from(inside_ns);
            change.from_here += i64::from(sign);
        };
        edge(begin_ns, 1);
        edge(end_ns, -1);
    }

    /// The length of a bin, in ns.
    pub fn bin_ns(&self) -> u64 {
        self.bin_ns
    }

    /// When the first bin begins, in ns of the trace clock, and how many bins there are.
    pub fn bins(&self) -> (u64, usize) {
        let Some((first, last)) = self.span else { return (0, 0) };
        (first * self.bin_ns, usize::try_from(last - first + 1).unwrap_or(0))
    }

    /// Each kind of waits with the time waited in each bin, in ns.
    pub fn series(&self) -> impl Iterator<Item = (Series, Vec<u64>)> {
        let (first, last) = self.span.unwrap_or((1, 0));
        let bin_ns = i128::from(self.bin_ns);
        self.series.iter().map(move |(series, bins)| {
            let mut covering = 0;
            let time = (first..=last).map(|bin| {
                let Change { only_ns, from_here } = bins.get(&bin).copied().unwrap_or_default();
                covering += from_here;
                u64::try_from(i128::from(covering) * bin_ns + only_ns).unwrap_or(0)
            });
            (*series, time.collect())
        })
    }

    fn span_with(&self, first_ns: u64, last_ns: u64) -> (u64, u64) {
        let (first, last) = (first_ns / self.bin_ns, last_ns / self.bin_ns);
        self.span.map_or((first, last), |(least, most)| (least.min(first), most.max(last)))
    }

    /// Makes one bin of every two.
    fn double(&mut self) {
        for bins in self.series.values_mut() {
            let mut doubled: BTreeMap<u64, Change> = BTreeMap::new();
            for (bin, change) in std::mem::take(bins) {
                let into = doubled.entry(bin / 2).or_default();
                into.only_ns += change.only_ns;
                into.from_here += change.from_here;
                if bin % 2 == 1 {
                    // The first half is not covered.
                    into.only_ns -= i128::from(change.from_here) * i128::from(self.bin_ns);
                }
            }
            *bins = doubled;
        }
        self.bin_ns *= 2;
        self.span = self.span.map(|(first, last)| (first / 2, last / 2));
    }
}

#[cfg(test)]
mod tests {
    use super::{MAX_BINS, Series, Timeline};
    use crate::event::WaitKind;
    use proptest::prelude::*;

    const MUTEX: Series = Series { idle: false, kind: WaitKind::Mutex };

    fn times(timeline: &Timeline) -> Vec<u64> {
        timeline.series().next().map(|(_, times)| times).unwrap_or_default()
    }

    #[test]
    fn a_wait_is_in_the_bins_that_it_covers() {
        let mut timeline = Timeline::default();
        timeline.add(MUTEX, 1024 + 1000, 3 * 1024 + 5);
        timeline.add(MUTEX, 3 * 1024, 4 * 1024);
        timeline.add(MUTEX, 7, 7);
        assert_eq!((timeline.bins(), timeline.bin_ns()), ((1024, 3), 1024));
        assert_eq!(times(&timeline), [24, 1024, 1024 + 5]);
    }

    #[test]
    fn bins_grow_with_the_run_and_nothing_gets_lost() {
        let mut timeline = Timeline::default();
        timeline.add(MUTEX, 5_000, 5_010);
        timeline.add(MUTEX, 5_000, 100_000_005_000);
        let (start_ns, bins) = timeline.bins();
        assert!(start_ns <= 5_000 && bins as u64 <= MAX_BINS && bins as u64 > MAX_BINS / 2 - 1);
        assert_eq!(times(&timeline).iter().sum::<u64>(), 100_000_000_010);
    }

    proptest! {
        /// Against every nanosecond counted by itself.
        #[test]
        fn every_bin_has_what_was_waited_in_it(
            waits in prop::collection::vec((0u64..6_000_000, 0u64..3_000_000), 1..12)
        ) {
            let mut timeline = Timeline::default();
            for (begin_ns, wait_ns) in &waits {
                timeline.add(MUTEX, *begin_ns, begin_ns + wait_ns);
            }
            let ((start_ns, bins), bin_ns) = (timeline.bins(), timeline.bin_ns());
            let of_bin = |bin: usize| -> u64 {
                let from = start_ns + bin as u64 * bin_ns;
                let overlap = waits.iter().map(|(begin, wait)| {
                    (begin + wait).min(from + bin_ns).saturating_sub((*begin).max(from))
                });
                overlap.sum()
            };
            let expected: Vec<u64> = (0..bins).map(of_bin).collect();
            prop_assert_eq!(times(&timeline), expected);
        }
    }
}
