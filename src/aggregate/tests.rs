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
        delta.add(key, (sample, Split::default()), || place, &aggregate)
    });
    delta.flush(&aggregate);
    aggregate
}

/// Each wait in a window of its own.
fn flushed_each(bound: usize, waits: &[(u32, Sample)]) -> Aggregate<u32, usize> {
    let aggregate = Aggregate::new(bound);
    let mut delta = Delta::default();
    for &(key, sample) in waits {
        delta.add(key, (sample, Split::default()), || 0, &aggregate);
        delta.flush(&aggregate);
    }
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
        lacks_max_ns: 0,
    };
    assert_eq!(row, expected);
}

#[test]
fn the_longest_time_asleep_is_that_of_one_wait() {
    let asleep = |blocked_ns| Split { blocked_ns, ..Split::default() };
    let mut row = Stats::default();
    row.add(Sample::Acquired(9), asleep(3), || 'a');
    row.add(Sample::Acquired(5), asleep(4), || 'b');
    row.add(Sample::Uncertain(9), asleep(9), || 'c');
    let mut other = Stats::default();
    other.add(Sample::Acquired(8), asleep(2), || 'd');
    other.merge(&row);
    assert_eq!((other.blocked_max_ns, other.split.blocked_ns), (4, 9));
}

#[test]
fn a_merge_with_a_row_that_has_no_times_changes_none() {
    let mut row = Stats::default();
    row.add(Sample::Acquired(9), Split::default(), || 'b');
    let mut failed = Stats::default();
    failed.add(Sample::Failed(100), Split::default(), || 'a');
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
        row.add(Sample::Acquired(ns), Split::default(), || ());
        assert_eq!(row.quantile_ns(990), inside);
    }
}

#[test]
fn sums_saturate() {
    let mut row = Stats::default();
    row.add(Sample::Acquired(u64::MAX), Split::default(), || 0);
    row.add(Sample::Acquired(u64::MAX), Split::default(), || 1);
    assert_eq!((row.wait_total_ns, row.witness), (u64::MAX, Some(0)));
}

/// Two rows are kept for certain, four held: the fifth key makes room.
#[test]
fn a_full_map_gives_up_its_lightest_rows_and_a_late_heavy_key_gets_one() {
    let acquired = |&(key, ns): &(u32, u64)| (key, Sample::Acquired(ns));
    let waits = [(2, 10), (3, 40), (4, 20), (5, 30), (7, 500), (2, 25)];
    let aggregate = flushed_each(2, &waits.map(|wait| acquired(&wait)));
    let snapshot = aggregate.snapshot();
    let rows = snapshot.rows.iter().map(|(key, row)| (*key, row.wait_total_ns, row.lacks_max_ns));
    // 7 and 3 stayed when the floor rose to 30. Of 2 the row has 25, and may lack 30: it had 10.
    assert_eq!(rows.collect::<Vec<_>>(), [(2, 25, 30), (7, 500, 0)]);
    let overflow: Vec<_> = snapshot.overflow.iter().map(|row| row.wait_total_ns).collect();
    assert_eq!(overflow, [40 + 30, 10 + 20]);
    assert_eq!((snapshot.given_up, snapshot.floor_ns), (4, 40));
}

#[test]
fn a_map_for_no_rows_holds_everything_in_overflow_rows() {
    let aggregate = flushed(0, &[(4, Sample::Acquired(1)), (7, Sample::Acquired(2))]);
    let snapshot = aggregate.snapshot();
    assert!(snapshot.rows.is_empty());
    assert_eq!(snapshot.overflow.iter().map(Stats::waits).collect::<Vec<_>>(), [1, 1]);
}

/// Rows of one weight: as many as there is room for stay.
#[test]
fn equal_rows_are_not_all_given_up() {
    let waits: Vec<_> = (0..100).map(|key| (key, Sample::Acquired(5))).collect();
    assert_eq!(flushed_each(10, &waits).snapshot().rows.len(), 10);
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
                            delta.add(key, (Sample::Acquired(ns), Split::default()), || place, aggregate);
                        });
                        delta.flush(aggregate);
                    }
                });
            }
        });
        let snapshot = aggregate.snapshot();
        let mut expected: BTreeMap<u32, Stats<usize>> = BTreeMap::new();
        for &((key, ns), place) in &witnessed {
            expected.entry(key).or_default().add(Sample::Acquired(ns), Split::default(), || place);
        }
        prop_assert!(snapshot.rows.len() <= bound);
        // Each row has its key's time but for what it may lack, and so have those without a row.
        for (key, row) in &snapshot.rows {
            let whole = expected[key].wait_total_ns;
            prop_assert!((row.wait_total_ns..=row.wait_total_ns + row.lacks_max_ns).contains(&whole));
        }
        let all_ns: u64 = waits.iter().map(|&(_, ns)| ns).sum();
        let share_ns = all_ns / (bound as u64 + 1);
        for (key, whole) in &expected {
            let has_row = snapshot.rows.iter().any(|(with_row, _)| with_row == key);
            prop_assert!(bound == 0 || has_row || whole.wait_total_ns <= snapshot.floor_ns);
            prop_assert!(bound == 0 || has_row || whole.wait_total_ns <= share_ns);
        }
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
