//! Conservation, the bound, and the sums, against plain arithmetic.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use proptest::prelude::*;

use super::{Aggregate, Delta, Key, Sample, Split, Stats};

impl Key for u32 {
    const BUCKETS: usize = 2;

    fn bucket(&self) -> usize {
        usize::from(self.is_multiple_of(2))
    }
}

/// Each wait's witness is its place.
fn flushed(bound: usize, waits: &[(u32, Sample)]) -> Aggregate<u32, usize> {
    let aggregate = Aggregate::new(bound);
    let mut delta = Delta::default();
    let waits = waits.iter().enumerate();
    waits.for_each(|(place, &(key, sample))| {
        delta.add(key, (sample, Split::default()), place, &aggregate)
    });
    delta.flush(&aggregate);
    aggregate
}

#[test]
fn a_row_has_count_total_longest_shortest_and_the_rest_apart() {
    use Sample::{Acquired, Failed, Uncertain};
    let waits = [Failed(100), Acquired(5), Acquired(2), Uncertain(1_000), Acquired(8), Acquired(8)];
    let row = flushed(1, &waits.map(|sample| (7, sample))).snapshot().rows.remove(0).1;
    assert_eq!((row.avg_wait_ns(), row.waits()), (5, 6));
    assert_eq!([250, 500, 750, 1000].map(|per_mille| row.quantile_ns(per_mille)), [2, 5, 8, 8]);
    let expected = Stats {
        contended: 4,
        wait_total_ns: 23,
        wait_max_ns: 8,
        wait_min_ns: 2,
        split: Split::default(),
        blocked_max_ns: 0,
        histogram: row.histogram.clone(),
        witness: Some(4),
        failed: 1,
        failed_total_ns: 100,
        uncertain: 1,
        uncertain_total_ns: 1_000,
    };
    assert_eq!(row, expected);
}

#[test]
fn the_longest_time_asleep_is_that_of_one_wait() {
    let asleep = |blocked_ns| Split { blocked_ns, ..Split::default() };
    let mut row = Stats::default();
    row.add(Sample::Acquired(9), asleep(3), 'a');
    row.add(Sample::Acquired(5), asleep(4), 'b');
    row.add(Sample::Uncertain(9), asleep(9), 'c');
    let mut other = Stats::default();
    other.add(Sample::Acquired(8), asleep(2), 'd');
    other.merge(&row);
    assert_eq!((other.blocked_max_ns, other.split.blocked_ns), (4, 9));
}

#[test]
fn a_merge_with_a_row_that_has_no_times_changes_none() {
    let mut row = Stats::default();
    row.add(Sample::Acquired(9), Split::default(), 'b');
    let mut failed = Stats::default();
    failed.add(Sample::Failed(100), Split::default(), 'a');
    assert_eq!((failed.witness, failed.quantile_ns(500)), (None, 0));
    row.merge(&failed);
    failed.merge(&row);
    for row in [row, failed] {
        assert_eq!((row.wait_min_ns, row.wait_max_ns, row.witness), (9, 9, Some('b')));
    }
}

/// The middle of the histogram's part from 992 to 1007 is 1000.
#[test]
fn no_quantile_lies_outside_of_what_was_seen() {
    for (ns, inside) in [(992, 992), (1007, 1007)] {
        let mut row = Stats::default();
        row.add(Sample::Acquired(ns), Split::default(), ());
        assert_eq!(row.quantile_ns(990), inside);
    }
}

#[test]
fn sums_saturate() {
    let mut row = Stats::default();
    row.add(Sample::Acquired(u64::MAX), Split::default(), 0);
    row.add(Sample::Acquired(u64::MAX), Split::default(), 1);
    assert_eq!((row.wait_total_ns, row.witness), (u64::MAX, Some(0)));
}

#[test]
fn a_full_map_refuses_new_keys_and_goes_on_with_old_ones() {
    let aggregate = flushed(1, &[(4, Sample::Acquired(1))]);
    let mut delta = Delta::default();
    delta.add(4, (Sample::Acquired(2), Split::default()), 0, &aggregate);
    delta.add(6, (Sample::Acquired(30), Split::default()), 0, &aggregate);
    delta.add(7, (Sample::Acquired(40), Split::default()), 0, &aggregate);
    delta.flush(&aggregate);
    let snapshot = aggregate.snapshot();
    assert_eq!(snapshot.rows.len(), 1);
    assert_eq!(snapshot.rows[0].1.wait_total_ns, 3);
    let overflow: Vec<_> = snapshot.overflow.iter().map(|row| row.wait_total_ns).collect();
    assert_eq!(overflow, [40, 30]);
    assert_eq!(snapshot.refused_flushes, 2);
}

proptest! {
    /// Four workers at once: rows and overflow add up, and no more rows than the bound; with room
    /// for all, each row is as if one had added its waits, histogram and witness too.
    #[test]
    fn nothing_is_lost_whatever_the_bound(
        waits in prop::collection::vec((0u32..60, 0u64..1_000), 0..400),
        bound in 0usize..70,
    ) {
        let aggregate = Aggregate::new(bound);
        let witnessed: Vec<_> = waits.iter().copied().zip(0usize..).collect();
        std::thread::scope(|scope| {
            for part in witnessed.chunks(waits.len().div_ceil(4).max(1)) {
                let aggregate = &aggregate;
                scope.spawn(move || {
                    let mut delta = Delta::default();
                    for window in part.chunks(7) {
                        window.iter().for_each(|&((key, ns), place)| {
                            delta.add(key, (Sample::Acquired(ns), Split::default()), place, aggregate);
                        });
                        delta.flush(aggregate);
                    }
                });
            }
        });
        let snapshot = aggregate.snapshot();
        let mut expected: BTreeMap<u32, Stats<usize>> = BTreeMap::new();
        for &((key, ns), place) in &witnessed {
            expected.entry(key).or_default().add(Sample::Acquired(ns), Split::default(), place);
        }
        prop_assert!(snapshot.rows.len() <= bound);
        if bound >= 60 {
            prop_assert!(snapshot.rows.iter().cloned().eq(expected));
        }
        let mut all = Stats::default();
        snapshot.rows.iter().map(|(_, row)| row).chain(&snapshot.overflow).for_each(|row| all.merge(row));
        let longest = witnessed.iter().max_by_key(|((_, ns), place)| (*ns, Reverse(*place)));
        prop_assert_eq!(all.contended, waits.len() as u64);
        prop_assert_eq!(all.wait_total_ns, waits.iter().map(|&(_, ns)| ns).sum::<u64>());
        prop_assert_eq!(all.witness, longest.map(|(_, place)| *place));
    }
}
