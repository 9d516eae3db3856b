//! The same waits as `perf lock record` sees, by lock, with a load that both watch.

use std::collections::BTreeMap;
use std::process::{Command, Stdio};

use rustix::process::{Pid, Signal, kill_process};

use crate::support::{Recording, live, load, of, until};

/// A lock's waits: how many, and their time in ns.
type Totals = BTreeMap<u64, (u64, u64)>;

/// Where a wait lies, in ns: begin, end; its lock.
type Wait = (u64, u64, u64);

fn totals(waits: &[Wait], from: u64, to: u64) -> Totals {
    let mut totals = Totals::new();
    for &(begin, end, lock) in waits.iter().filter(|wait| from <= wait.0 && wait.1 <= to) {
        let (count, time_ns) = totals.entry(lock).or_default();
        *count += 1;
        *time_ns += end - begin;
    }
    totals
}

/// perf's waits: a begin and the end of the same thread and lock, timed from the first begin, as
/// `perf lock contention` does it (tools/perf/builtin-lock.c, 6.1).
fn of_perf(script: &str) -> Vec<Wait> {
    let mut open: BTreeMap<(u64, u64, u64), u64> = BTreeMap::new();
    let mut waits = Vec::new();
    for line in script.lines() {
        // TID [CPU] SECONDS.NS: lock:contention_begin: 0xADDRESS (flags=..)
        let words: Vec<&str> = line.split_whitespace().collect();
        let Some(at) = words.iter().position(|word| word.starts_with("lock:contention_")) else {
            continue;
        };
        let tid: u64 = words[at - 3].parse().unwrap();
        let cpu: u64 = words[at - 2].trim_matches(['[', ']']).parse().unwrap();
        let (seconds, ns) = words[at - 1].trim_end_matches(':').split_once('.').unwrap();
        let ts = seconds.parse::<u64>().unwrap() * 1_000_000_000 + ns.parse::<u64>().unwrap();
        let lock = u64::from_str_radix(words[at + 1].trim_start_matches("0x"), 16).unwrap();
        let key = (tid, if tid == 0 { cpu } else { 0 }, lock);
        match words[at] {
            "lock:contention_begin:" => _ = open.entry(key).or_insert(ts),
            _ => waits.extend(open.remove(&key).map(|begin| (begin, ts, lock))),
        }
    }
    waits
}

#[test]
fn perf_sees_the_same_waits_for_the_same_locks() {
    let Some(_alone) = live() else { return };
    let dir = tempfile::tempdir().unwrap();
    let data = dir.path().join("perf.data");
    let perf = Command::new("perf")
        .args(["lock", "record", "-a", "-k", "CLOCK_MONOTONIC", "-o"])
        .arg(&data)
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn();
    let Ok(mut perf) = perf else {
        println!("skipped: no perf here");
        return;
    };
    until("perf records", || data.exists() || perf.try_wait().unwrap().is_some());
    let recording = Recording::start(&["-a", "--no-stack"]);
    assert!(load("500ms").status.success());
    let records = recording.stop();
    kill_process(Pid::from_child(&perf), Signal::INT).unwrap();
    let ended = perf.wait_with_output().unwrap();
    assert!(data.exists(), "{}", String::from_utf8_lossy(&ended.stderr));
    let script = Command::new("perf")
        .args(["script", "--ns", "-F", "tid,cpu,time,event,trace", "-i"])
        .arg(&data)
        .output()
        .unwrap();
    let perfs = of_perf(&String::from_utf8_lossy(&script.stdout));
    let number = |wait: &serde_json::Value, field: &str| wait[field].as_u64().unwrap();
    let ours: Vec<Wait> = of(&records, "wait")
        .into_iter()
        .map(|wait| {
            let lock = wait["lock"].as_str().unwrap().trim_start_matches("0x");
            (number(wait, "ts"), number(wait, "end"), u64::from_str_radix(lock, 16).unwrap())
        })
        .collect();
    // The time in which both were on, less a moment: each tracer takes its own time of an event.
    let first = |waits: &[Wait]| waits.iter().map(|wait| wait.0).min().unwrap();
    let last = |waits: &[Wait]| waits.iter().map(|wait| wait.1).max().unwrap();
    let (from, to) = (first(&ours).max(first(&perfs)), last(&ours).min(last(&perfs)));
    let (ours, perfs) = (totals(&ours, from, to), totals(&perfs, from, to));
    let count = |totals: &Totals| totals.values().map(|(count, _)| count).sum::<u64>();
    println!("{} waits for {} locks in both", count(&ours), ours.len());
    assert!(count(&ours) > 1000 && ours.len() > 20);
    for (lock, &(count, time_ns)) in &ours {
        // Waits at the very edge of the common time are seen by one of the two.
        let &(perfs_count, perfs_ns) = perfs.get(lock).unwrap_or(&(0, 0));
        assert!(count.abs_diff(perfs_count) <= 2, "{lock:#x}: {count} waits, perf {perfs_count}");
        if count == perfs_count {
            let close_ns = 20_000 * count + time_ns / 100;
            assert!(
                time_ns.abs_diff(perfs_ns) <= close_ns,
                "{lock:#x}: {time_ns} ns, perf {perfs_ns}"
            );
        }
    }
}
