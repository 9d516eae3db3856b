//! What an addition to the map costs: empty, filling, full, and with ever new keys; by one worker and
//! by two. `cargo bench --bench aggregate`
//!
//! Runs alternate, medians count. The keys are rows by task, as the profiler has them: 40,000 tasks in
//! 16,384 rows is the case that made other profilers' full maps slow.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::cast_possible_truncation,
    clippy::print_stdout,
    reason = "a benchmark may stop at whatever is not as it should be"
)]

use std::hint::black_box;
use std::time::Instant;

use ftlock::aggregate::{Aggregate, Delta, Sample, Split};
use ftlock::event::{Comm, Tid};
use ftlock::report::{Part, RowKey, Table};

const ROUNDS: usize = 7;
const BOUND: usize = 16_384;
const ADDITIONS: usize = 1_000_000;
/// Additions of a window, behind which a worker flushes.
const WINDOW: usize = 20_000;

/// (what it is, keys, rows)
const CASES: [(&str, u32, usize); 5] = [
    ("few keys, an empty map", 1_000, BOUND),
    ("keys that just fit", 16_384, BOUND),
    ("40,000 keys in a map with room", 40_000, 65_536),
    ("40,000 keys in 16,384 rows", 40_000, BOUND),
    ("10 million keys in 16,384 rows", 10_000_000, BOUND),
];

fn key(tid: u32) -> RowKey {
    let comm = Some(Comm::new(b"hackbench"));
    RowKey::of(Table::Locks, [Part::Task { tid: Tid(tid), incarnation: 0, comm }])
}

/// A key of which the first ones turn up more often than the others, as tasks do.
fn next(dice: &mut u64, keys: u32) -> u32 {
    *dice ^= *dice << 13;
    *dice ^= *dice >> 7;
    *dice ^= *dice << 17;
    let (a, b) = ((*dice >> 33) as u32 % keys, (*dice & 0xffff_ffff) as u32 % keys);
    if *dice & (1 << 32) == 0 { a.min(b) } else { a }
}

fn worker(seed: u64, keys: u32, additions: usize, aggregate: &Aggregate<RowKey, u64>) {
    let mut delta = Delta::default();
    let mut dice = seed;
    for addition in 0..additions {
        let tid = next(&mut dice, keys);
        let sample = (Sample::Acquired(u64::from(tid % 997) + 1000), Split::default());
        delta.add(key(tid), sample, || addition as u64, aggregate);
        if addition % WINDOW == WINDOW - 1 {
            delta.flush(aggregate);
        }
    }
    delta.flush(aggregate);
}

/// Nanoseconds an addition, of all workers together.
fn run(keys: u32, rows: usize, workers: usize) -> f64 {
    let aggregate = Aggregate::new(rows);
    let begin = Instant::now();
    std::thread::scope(|scope| {
        for number in 0..workers {
            let aggregate = &aggregate;
            let seed = 0x9e37_79b9_7f4a_7c15 + number as u64;
            scope.spawn(move || worker(seed, keys, ADDITIONS / workers, aggregate));
        }
    });
    let took = begin.elapsed();
    let snapshot = black_box(aggregate.snapshot());
    assert_eq!(snapshot.waits(), ADDITIONS as u64);
    took.as_nanos() as f64 / ADDITIONS as f64
}

fn main() {
    let mut took = vec![[Vec::new(), Vec::new()]; CASES.len()];
    for _ in 0..ROUNDS {
        for ((_, keys, rows), took) in CASES.iter().zip(&mut took) {
            for (workers, took) in (1..).zip(took) {
                took.push(run(*keys, *rows, workers));
            }
        }
    }
    println!("{:34} {:>14} {:>14} {:>7}", "", "1 worker, ns", "2 workers, ns", "times");
    for ((what, ..), took) in CASES.iter().zip(took) {
        let [one, two] = took.map(|mut took| {
            took.sort_by(f64::total_cmp);
            took[took.len() / 2]
        });
        println!("{what:34} {one:>14.1} {two:>14.1} {:>7.2}", one / two);
    }
}
