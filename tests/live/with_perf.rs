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
/// Those of process `but` are left out, as ftlock leaves out its own.
fn of_perf(script: &str, but: u32) -> Vec<Wait> {
    let mut open: BTreeMap<(i64, u64, u64), u64> = BTreeMap::new();
    let mut waits = Vec::new();
    for line in script.lines() {
        // PID/TID [CPU] SECONDS.NS: lock:contention_begin: 0xADDRESS (flags=..)
        let words: Vec<&str> = line.split_whitespace().collect();
        let Some(at) = words.iter().position(|word| word.starts_with("lock:contention_")) else {
            continue;
        };
        let (pid, tid) = words[at - 3].split_once('/').unwrap();
        if pid == but.to_string() {
            continue;
        }
        // A task that is all but gone has the number -1 there.
        let tid: i64 = tid.parse().unwrap();
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
    let own = recording.pid();
    assert!(load("500ms").status.success());
    let records = recording.stop();
    kill_process(Pid::from_child(&perf), Signal::INT).unwrap();
    let ended = perf.wait_with_output().unwrap();
    assert!(data.exists(), "{}", String::from_utf8_lossy(&ended.stderr));
    let script = Command::new("perf")
        .args(["script", "--ns", "-F", "pid,tid,cpu,time,event,trace", "-i"])
        .arg(&data)
        .output()
        .unwrap();
    let perfs = of_perf(&String::from_utf8_lossy(&script.stdout), own);
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
    assert!(count(&ours) > 50 && ours.len() > 3);
    let mut apart = Vec::new();
    for (lock, &(count, time_ns)) in &ours {
        // Waits at the edge of the common time are seen by one of the two; and perf's handler does
        // not see a wait that its own work makes.
        let &(perfs_count, perfs_ns) = perfs.get(lock).unwrap_or(&(0, 0));
        assert!(
            count.abs_diff(perfs_count) <= 2 + count / 20,
            "{lock:#x}: {count} waits, perf {perfs_count}"
        );
        let close_ns = 20_000 * count + time_ns / 100;
        if count == perfs_count && time_ns.abs_diff(perfs_ns) > close_ns {
            apart.push((*lock, time_ns, perfs_ns));
        }
    }
    // An interrupt, or the host, may come between the moments in which the two take the time.
    assert!(apart.len() * 5 <= ours.len(), "{apart:x?}");
    let time = |totals: &Totals| totals.values().map(|(_, ns)| ns).sum::<u64>();
    let (ours, perfs) = (time(&ours), time(&perfs));
    assert!(ours.abs_diff(perfs) <= ours / 20 + 1_000_000, "{ours} ns, perf {perfs} ns in all");
}
