//! Waits against the logs of programs that know how long they waited, and for what.

use serde_json::Value;

use crate::support::{Recording, live, of};
use crate::truth::{Record, Sleeper, run};

/// Runs holders.c or crowd.c beside a recording: the waits, and who slept for the lock.
fn beside(program: &str, arguments: &[&str]) -> Option<(Vec<Value>, Vec<Sleeper>)> {
    let recording = Recording::start(&["-a", "--no-stack"]);
    let log = run(program, arguments);
    let records = recording.stop();
    let sleepers = log?.into_iter().filter_map(|record| match record {
        Record::Sleeper(sleeper) => Some(sleeper),
        _ => None,
    });
    Some((records, sleepers.collect()))
}

/// The waits of a sleeper's system call for a sleeping lock.
fn waits_of<'a>(records: &'a [Value], sleeper: &Sleeper) -> Vec<&'a Value> {
    let number = |wait: &Value, field: &str| wait[field].as_u64().unwrap();
    let mut waits = of(records, "wait");
    waits.retain(|wait| {
        number(wait, "tid") == sleeper.tid
            && number(wait, "ts") >= sleeper.enter_ns
            && number(wait, "end") <= sleeper.leave_ns
            && wait["kind"] != "spinlock"
    });
    waits
}

/// The one wait of each sleeper: of its kind, and as long as its system call to 5 %.
#[track_caller]
fn assert_known(records: &[Value], sleepers: &[Sleeper], count: usize, kinds: &[(&str, &str)]) {
    assert_eq!(sleepers.len(), count);
    let (mut logged_ns, mut seen_ns) = (0, 0);
    for sleeper in sleepers {
        let waits = waits_of(records, sleeper);
        let [wait] = waits[..] else { panic!("{sleeper:?}: {waits:#?}") };
        let kind = kinds.iter().find(|(lock, _)| *lock == sleeper.lock).unwrap().1;
        assert_eq!(wait["kind"], kind, "{sleeper:?}");
        assert_eq!(wait["comm"], *sleeper.comm, "{sleeper:?}");
        logged_ns += sleeper.waited_ns();
        seen_ns += wait["wait_ns"].as_u64().unwrap();
    }
    assert!(seen_ns <= logged_ns && seen_ns * 100 >= logged_ns * 95, "{seen_ns} of {logged_ns}");
}

#[test]
fn sleepers_for_a_held_lock_waited_as_long_as_they_say() {
    let Some(_alone) = live() else { return };
    for (mode, sleepers_a_round, kinds) in [
        ("pipe", 3, &[("pipe", "mutex")][..]),
        ("inode", 3, &[("inode", "rwsem:W")]),
        ("chain", 4, &[("pipe", "mutex"), ("inode", "rwsem:W")]),
        ("mmap", 3, &[("mmap", "rwsem:R")]),
    ] {
        let Some((records, sleepers)) = beside("holders.c", &[mode, "LOG", "10"]) else { return };
        assert_known(&records, &sleepers, 10 * sleepers_a_round, kinds);
    }
}

#[test]
fn sleepers_on_a_crowded_cpu_waited_as_long_as_they_say() {
    let Some(_alone) = live() else { return };
    let Some((records, sleepers)) = beside("crowd.c", &["LOG", "20"]) else { return };
    assert_known(&records, &sleepers, 20 * 4, &[("inode", "rwsem:W")]);
    // The crowd is one: they were kept from the CPU for a good part of their waits.
    let [waited_ns, delay_ns] = [Sleeper::waited_ns, |sleeper: &Sleeper| sleeper.delay_ns]
        .map(|part| sleepers.iter().map(part).sum::<u64>());
    assert!(delay_ns * 20 > waited_ns, "{delay_ns} of {waited_ns}");
}
