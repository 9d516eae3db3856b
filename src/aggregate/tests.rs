//! Conservation, the bound, and the sums, against plain arithmetic.

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::{Aggregate, Delta, Key, Sample, Stats};

impl Key for u32 {
    const BUCKETS: usize = 2;

    fn bucket(&self) -> usize {
        usize::from(self.is_multiple_of(2))
    }
}

fn flushed(bound: usize, waits: &[(u32, Sample)]) -> Aggregate<u32> {
    let aggregate = Aggregate::new(bound);
    let mut delta = Delta::default();
    waits.iter().for_each(|&(key, sample)| delta.add(key, sample, &aggregate));
    delta.flush(&aggregate);
    aggregate
}

#[test]
fn a_row_has_count_total_longest_shortest_and_the_rest_apart() {
    use Sample::{Acquired, Failed, Uncertain};
    let waits = [Acquired(5), Acquired(2), Failed(100), Uncertain(1_000), Acquired(8)];
    let row = flushed(1, &waits.map(|sample| (7, sample))).snapshot().rows[0].1;
    let expected = Stats {
        contended: 3,
        wait_total_ns: 15,
        wait_max_ns: 8,
        wait_min_ns: 2,
        failed: 1,
        failed_total_ns: 100,
        uncertain: 1,
        uncertain_total_ns: 1_000,
    };
    assert_eq!(row, expected);
    assert_eq!((row.avg_wait_ns(), row.waits()), (5, 5));
}

#[test]
fn the_shortest_wait_survives_a_merge_with_a_row_that_has_none() {
    let mut row = Stats::default();
    row.add(Sample::Acquired(9));
    let mut failed = Stats::default();
    failed.add(Sample::Failed(1));
    row.merge(&failed);
    failed.merge(&row);
    assert_eq!((row.wait_min_ns, failed.wait_min_ns), (9, 9));
}

#[test]
fn sums_saturate() {
    let mut row = Stats::default();
    row.add(Sample::Acquired(u64::MAX));
    row.add(Sample::Acquired(u64::MAX));
    assert_eq!(row.wait_total_ns, u64::MAX);
}

#[test]
fn a_full_map_refuses_new_keys_and_goes_on_with_old_ones() {
    let aggregate = flushed(1, &[(4, Sample::Acquired(1))]);
    let mut delta = Delta::default();
    delta.add(4, Sample::Acquired(2), &aggregate);
    delta.add(6, Sample::Acquired(30), &aggregate);
    delta.add(7, Sample::Acquired(40), &aggregate);
    delta.flush(&aggregate);
    let snapshot = aggregate.snapshot();
    assert_eq!(snapshot.rows.len(), 1);
    assert_eq!(snapshot.rows[0].1.wait_total_ns, 3);
    let overflow: Vec<_> = snapshot.overflow.iter().map(|row| row.wait_total_ns).collect();
    assert_eq!(overflow, [40, 30]);
    assert_eq!(snapshot.refused_flushes, 2);
}

proptest! {
    /// Four workers at once: rows and overflow add up, and no more rows than the bound.
    #[test]
    fn nothing_is_lost_whatever_the_bound(
        waits in prop::collection::vec((0u32..60, 0u64..1_000), 0..400),
        bound in 0usize..70,
    ) {
        let aggregate = Aggregate::new(bound);
        std::thread::scope(|scope| {
            for part in waits.chunks(waits.len().div_ceil(4).max(1)) {
                let aggregate = &aggregate;
                scope.spawn(move || {
                    let mut delta = Delta::default();
                    for window in part.chunks(7) {
                        window.iter().for_each(|&(key, ns)| {
                            delta.add(key, Sample::Acquired(ns), aggregate);
                        });
                        delta.flush(aggregate);
                    }
                });
            }
        });
        let snapshot = aggregate.snapshot();
        let mut expected: BTreeMap<u32, Stats> = BTreeMap::new();
        for &(key, ns) in &waits {
            expected.entry(key).or_default().add(Sample::Acquired(ns));
        }
        prop_assert!(snapshot.rows.len() <= bound);
        if bound >= 60 {
            prop_assert!(snapshot.rows.iter().copied().eq(expected));
        }
        let rows = snapshot.rows.iter().map(|(_, row)| row).chain(&snapshot.overflow);
        let (count, total) = rows.fold((0, 0), |(count, total), row| {
            (count + row.contended, total + row.wait_total_ns)
        });
        prop_assert_eq!(count, waits.len() as u64);
        prop_assert_eq!(total, waits.iter().map(|&(_, ns)| ns).sum::<u64>());
    }
}
