//! Waits against the logs of programs that know how long they waited, and for what.

use serde_json::Value;

use crate::support::{Recording, live, of};
use crate::truth::{Record, Sleeper, run};

/// Runs holders.c or crowd.c beside a recording: the waits, and who slept for the lock.
fn beside(program: &str, arguments: &[&str]) -> Option<(Vec<Value>, Vec<Sleeper>)> {
    let recording = Recording::start(&["-a", "--no-stack", "--sched"]);
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

/// The sums of a part of the waits, as logged and as seen, agree to 5 % of what was waited in all.
#[track_caller]
fn assert_near(what: &str, logged_ns: u64, seen_ns: u64, all_ns: u64) {
    assert!(
        logged_ns.abs_diff(seen_ns) * 20 <= all_ns,
        "{what}: {seen_ns} of {logged_ns}, {all_ns}"
    );
}

/// The parts of each wait add up to it, and those of all are what the sleepers know.
#[track_caller]
fn assert_split(waits: &[(&Value, &Sleeper)]) {
    let mut seen = [0; 4];
    for (wait, sleeper) in waits {
        let part = |field: &str| wait[field].as_u64().unwrap();
        let parts = ["spin_ns", "blocked_ns", "runnable_ns", "preempted_ns"].map(part);
        assert_eq!(parts.iter().sum::<u64>(), part("wait_ns"), "{sleeper:?}");
        seen.iter_mut().zip(parts).for_each(|(sum, part)| *sum += part);
    }
    let logged = |part: fn(&Sleeper) -> u64| waits.iter().map(|(_, sleeper)| part(sleeper)).sum();
    let [spin_ns, blocked_ns, runnable_ns, preempted_ns] = seen;
    let all_ns = logged(Sleeper::waited_ns);
    assert_near("blocked", logged(Sleeper::blocked_ns), blocked_ns, all_ns);
    let delayed_ns = runnable_ns + preempted_ns;
    assert_near("runnable or preempted", logged(|one| one.delay_ns), delayed_ns, all_ns);
    assert_near("on a CPU", logged(|one| one.cpu_ns), spin_ns, all_ns);
}

/// The holder is the task that had the lock last, under its name, in 99 of 100 waits.
#[track_caller]
fn assert_holders(waits: &[(&Value, &Sleeper)]) {
    let is_right = |(wait, sleeper): &&(&Value, &Sleeper)| {
        let holder = &wait["holder"];
        holder["tid"] == sleeper.holder_tid && holder["comm"] == *sleeper.holder_comm
    };
    let wrong: Vec<_> = waits.iter().filter(|wait| !is_right(wait)).collect();
    assert!(wrong.len() * 100 <= waits.len(), "{} of {}: {wrong:#?}", wrong.len(), waits.len());
}

/// The one wait of each sleeper: of its kind, as long as its system call to 5 %, its parts and its
/// holder those that it knows.
#[track_caller]
fn assert_known(records: &[Value], sleepers: &[Sleeper], count: usize, kinds: &[(&str, &str)]) {
    assert_eq!(sleepers.len(), count);
    let (mut logged_ns, mut seen_ns) = (0, 0);
    let mut known = Vec::new();
    for sleeper in sleepers {
        let waits = waits_of(records, sleeper);
        let [wait] = waits[..] else { panic!("{sleeper:?}: {waits:#?}") };
        let kind = kinds.iter().find(|(lock, _)| *lock == sleeper.lock).unwrap().1;
        assert_eq!(wait["kind"], kind, "{sleeper:?}");
        assert_eq!(wait["comm"], *sleeper.comm, "{sleeper:?}");
        logged_ns += sleeper.waited_ns();
        seen_ns += wait["wait_ns"].as_u64().unwrap();
        known.push((wait, sleeper));
    }
    assert_split(&known);
    assert_holders(&known);
    assert!(seen_ns <= logged_ns && seen_ns * 100 >= logged_ns * 95, "{seen_ns} of {logged_ns}");
}

#[test]
fn sleepers_for_a_held_lock_waited_as_they_say() {
    let Some(_alone) = live() else { return };
    for (mode, sleepers_a_round, kinds) in [
        ("pipe", 3, &[("pipe", "mutex")][..]),
        ("inode", 3, &[("inode", "rwsem:W")]),
        ("chain", 4, &[("pipe", "mutex"), ("inode", "rwsem:W")]),
        ("mmap", 3, &[("mmap", "rwsem:R")]),
    ] {
        let Some((records, sleepers)) = beside("holders.c", &[mode, "LOG", "10"]) else { return };
        assert_known(&records, &sleepers, 10 * sleepers_a_round, kinds);
        let chains = chains(&records);
        match mode {
            // Of each round the first sleeper waits for the splicer, which waits for the holder.
            "chain" => assert!(chains.iter().any(|(count, chain)| {
                *count == 10
                    && chain.starts_with("sleeper-")
                    && chain.contains(" (mutex -) <- splicer (rwsem:W -) <- holder")
            })),
            _ => assert_eq!(chains, [], "{mode}"),
        }
    }
}

/// The chains of this program's tasks, each with how often it was met.
fn chains(records: &[Value]) -> Vec<(u64, String)> {
    let tables = records.last().unwrap()["tables"].as_array();
    let chains = tables.iter().flat_map(|tables| tables.iter());
    let chains = chains.filter(|table| table["table"] == "chains");
    let rows = chains.flat_map(|table| table["rows"].as_array().unwrap());
    let rows = rows
        .map(|row| (row["contended"].as_u64().unwrap(), row["chain"].as_str().unwrap().to_owned()));
    rows.filter(|(_, chain)| chain.starts_with("sleeper-")).collect()
}

#[test]
fn sleepers_on_a_crowded_cpu_waited_as_they_say() {
    let Some(_alone) = live() else { return };
    let Some((records, sleepers)) = beside("crowd.c", &["LOG", "20"]) else { return };
    assert_known(&records, &sleepers, 20 * 4, &[("inode", "rwsem:W")]);
    // The crowd is one: they were kept from the CPU for a good part of their waits.
    let [waited_ns, delay_ns] = [Sleeper::waited_ns, |sleeper: &Sleeper| sleeper.delay_ns]
        .map(|part| sleepers.iter().map(part).sum::<u64>());
    assert!(delay_ns * 20 > waited_ns, "{delay_ns} of {waited_ns}");
}
