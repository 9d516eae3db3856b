//! How many events a second the stages take, from sub-buffers to rows, on generated rings of machines
//! with few and many CPUs. `cargo bench --bench pipeline [CPUS..]`; with `taskset -c 0` in one thread.
//!
//! Each size is run several times in turn with the others; the median counts.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::cast_possible_truncation,
    clippy::print_stdout,
    reason = "a benchmark may stop at whatever is not as it should be"
)]

#[path = "../tests/rings/mod.rs"]
mod rings;

use std::time::Instant;

use ftlock::event::{Cpu, Gap};
use ftlock::pipeline::{Chunk, NamedWait, RawEvent, Sink};
use ftlock::report::By;
use ftlock::symbols::StackTable;
use rings::{Rings, SUB_BUFFER_BYTES, Spec, engine, generate};

const ROUNDS: usize = 7;
/// Waits of a machine, over all its CPUs.
const WAITS: usize = 2_000_000;
/// Events of a window: 50 ms of a very busy machine.
const WINDOW_EVENTS: usize = 100_000;

struct Nowhere;

impl Sink for Nowhere {
    fn wants_waits(&self) -> bool {
        false
    }

    fn wait(&mut self, _: &NamedWait, _: &StackTable) {}

    fn event(&mut self, _: &RawEvent<'_>) {}

    fn gap(&mut self, _: Cpu, _: &Gap, _: u64) {}
}

/// Nanoseconds an event, of all windows.
fn run(rings: &Rings) -> f64 {
    let mut engine = engine(rings, By::Lock, 16_384);
    let windows = rings.events.div_ceil(WINDOW_EVENTS);
    let begin = Instant::now();
    for window in 0..windows {
        let part = |ring: &Vec<u8>, at: usize| ring.len() / SUB_BUFFER_BYTES * at / windows;
        let chunks = rings.rings.iter().map(|ring| {
            let range =
                part(ring, window) * SUB_BUFFER_BYTES..part(ring, window + 1) * SUB_BUFFER_BYTES;
            let sub_buffers = ring[range].chunks(SUB_BUFFER_BYTES);
            sub_buffers
                .map(|sub_buffer| Chunk {
                    sub_buffer,
                    resumes: false,
                    is_behind_gap: false,
                    read_up_to_ns: 0,
                })
                .collect()
        });
        engine.decode(chunks.collect());
        let read_up_to = (0..rings.rings.len()).map(|cpu| engine.last_ns(cpu)).min().unwrap();
        let watermark = if window + 1 == windows { u64::MAX } else { read_up_to };
        engine.window(watermark, &mut Nowhere);
        engine.forget_names(0);
    }
    let took = begin.elapsed();
    let results = engine.finish();
    assert_eq!(results.counts.locks.ok, rings.waits.len() as u64);
    took.as_nanos() as f64 / rings.events as f64
}

fn main() {
    let asked: Vec<u16> = std::env::args().filter_map(|word| word.parse().ok()).collect();
    let sizes = if asked.is_empty() { vec![2, 16, 128, 512] } else { asked };
    let kinds = [("spinning", 0), ("one in five sleeping", 200)];
    let machines: Vec<(u16, &str, Rings)> = sizes
        .iter()
        .flat_map(|&cpus| {
            kinds.map(|(kind, sleeping_per_mille)| {
                let (waits, tasks) = (WAITS, 1000);
                let spec = Spec { cpus, waits, tasks, sleeping_per_mille, ..Spec::default() };
                (cpus, kind, generate(&spec))
            })
        })
        .collect();
    let mut took = vec![Vec::new(); machines.len()];
    for _ in 0..ROUNDS {
        for ((.., rings), took) in machines.iter().zip(&mut took) {
            took.push(run(rings));
        }
    }
    println!("{:>5}  {:22} {:>9} {:>16}", "CPUs", "waits", "ns/event", "million events/s");
    for ((cpus, kind, _), took) in machines.iter().zip(&mut took) {
        took.sort_by(f64::total_cmp);
        let median = took[took.len() / 2];
        println!("{cpus:>5}  {kind:22} {median:>9.1} {:>16.1}", 1000.0 / median);
    }
}
