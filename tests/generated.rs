//! Generated rings through all stages: every wait, under the name its task had, and nothing else.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::cast_possible_truncation,
    reason = "a test may stop at whatever is not as it should be"
)]

mod rings;

use ftlock::cmdline_cache::Certainty;
use ftlock::event::{Context, Cpu, Gap};
use ftlock::pipeline::{NamedWait, RawEvent, Results, Sink, Stacks, quality, replay};
use ftlock::report::{By, Table};
use ftlock::symbols::StackTable;
use proptest::prelude::*;
use rings::{Rings, SUB_BUFFER_BYTES, Spec, engine, generate};

#[derive(Default)]
struct Collected(Vec<NamedWait>);

impl Sink for Collected {
    fn wants_waits(&self) -> bool {
        true
    }

    fn wait(&mut self, wait: &NamedWait, _: &StackTable) {
        self.0.push(*wait);
    }

    fn event(&mut self, _: &RawEvent<'_>) {}

    fn gap(&mut self, _: Cpu, _: &Gap, _: u64) {}
}

fn run(rings: &Rings) -> (Vec<NamedWait>, Results) {
    let mut engine = engine(rings, By::Task, 1 << 16);
    let mut collected = Collected::default();
    let slices: Vec<&[u8]> = rings.rings.iter().map(Vec::as_slice).collect();
    replay(&mut engine, &slices, SUB_BUFFER_BYTES, &mut collected);
    (collected.0, engine.finish())
}

/// What a wait is told by: whose, its name, its context, from when to when, for what.
type Told = (u32, Vec<u8>, bool, u64, u64, u64);

fn truth(rings: &Rings) -> Vec<Told> {
    let told = rings.waits.iter().map(|wait| {
        let name = wait.comm.split(|byte| *byte == 0).next().unwrap().to_vec();
        (wait.tid, name, wait.in_softirq, wait.begin_ns, wait.end_ns, wait.lock)
    });
    sorted(told.collect())
}

fn found(waits: &[NamedWait]) -> Vec<Told> {
    let told = waits.iter().map(|NamedWait { wait, name, .. }| {
        let begin = &wait.begin;
        let in_softirq = begin.context == Context::Softirq;
        let name = name.comm.as_bytes().to_vec();
        (begin.tid.0, name, in_softirq, begin.ts_ns, wait.end_ns, wait.lock)
    });
    sorted(told.collect())
}

fn sorted(mut told: Vec<Told>) -> Vec<Told> {
    told.sort_unstable();
    told
}

fn any_spec() -> impl Strategy<Value = Spec> {
    (
        1u16..40,
        0usize..3000,
        2u32..300,
        1u64..200,
        0u32..100,
        0u32..100,
        0u32..300,
        0u32..1000,
        any::<u64>(),
    )
        .prop_map(|(cpus, waits, tasks, locks, forks, renames, nested, sleeping, seed)| Spec {
            cpus,
            waits,
            tasks,
            locks,
            forks_per_mille: forks,
            renames_per_mille: renames,
            nested_per_mille: nested,
            sleeping_per_mille: sleeping,
            lost_per_mille: 0,
            seed,
        })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn every_wait_is_found_under_its_name(spec in any_spec()) {
        let rings = generate(&spec);
        let (waits, results) = run(&rings);
        prop_assert_eq!(found(&waits), truth(&rings));
        prop_assert!(waits.iter().all(|named| named.name.certainty == Certainty::Known));
        let quality = quality(&results, &[], 0, Stacks::Unwanted);
        prop_assert!(quality.is_complete(), "{:?}", quality);
        prop_assert_eq!(results.totals(Table::Locks).waits(), rings.waits.len() as u64);
    }

    /// With losses a wait may be missing, but none is invented: each that is certain is a true one,
    /// under its true name if that is certain too, and every event is read or counted as lost.
    #[test]
    fn a_loss_invents_nothing(spec in any_spec(), lost_per_mille in 1u32..400) {
        let rings = generate(&Spec { lost_per_mille, ..spec });
        let (waits, results) = run(&rings);
        let truth = truth(&rings);
        let certain: Vec<_> = waits
            .iter()
            .filter(|named| !named.wait.uncertain && named.name.certainty == Certainty::Known)
            .copied()
            .collect();
        for told in found(&certain) {
            prop_assert!(truth.binary_search(&told).is_ok(), "{:?}", told);
        }
        let quality = quality(&results, &[], 0, Stacks::Unwanted);
        prop_assert!(quality.identities().iter().all(|identity| identity.holds()));
        let (read, missed) = quality.cpus.iter().fold((0, 0), |(read, missed), cpu| {
            (read + cpu.read, missed + cpu.overrun)
        });
        // What was lost behind a ring's last sub-buffer is not told by it.
        prop_assert!(read + rings.lost as u64 == rings.events as u64 && missed <= rings.lost as u64);
    }
}
