//! What perf records of this machine, read by both.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use serde_json::Value;

use crate::support::{ftlock, live, of};

/// perf with a load to record; nothing where there is no perf.
fn perf(arguments: &[&str], file: &Path) -> Option<Output> {
    let load = [env!("CARGO_BIN_EXE_ftlock"), "demo-workload", "--duration", "500ms"];
    let mut command = Command::new("perf");
    command.args(arguments).arg("-o").arg(file).arg("--").args(load).stdout(Stdio::null());
    match command.output() {
        Ok(output) => Some(output),
        Err(_) => {
            println!("skipped: no perf here");
            None
        }
    }
}

fn records(file: &Path) -> Vec<Value> {
    let output = ftlock(&["report", "--stream", "json"]).arg(file).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let lines = String::from_utf8(output.stdout).unwrap();
    lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// Each thread's waits, and their time in ns.
fn by_thread(records: &[Value]) -> BTreeMap<u64, (u64, u64)> {
    let mut threads: BTreeMap<u64, (u64, u64)> = BTreeMap::new();
    for wait in of(records, "wait") {
        let thread = threads.entry(wait["tid"].as_u64().unwrap()).or_default();
        thread.0 += 1;
        thread.1 += wait["wait_ns"].as_u64().unwrap();
    }
    threads
}

/// The same of perf's table: the time as far as it is printed, and how far that is.
fn perfs_table(file: &Path) -> BTreeMap<u64, (u64, f64, f64)> {
    let table = Command::new("perf").args(["lock", "contention", "-t", "-i"]).arg(file).output();
    let table = String::from_utf8_lossy(&table.unwrap().stderr).into_owned();
    let rows = table.lines().filter_map(|line| {
        // Count, three times with their units, thread.
        let words: Vec<&str> = line.split_whitespace().collect();
        let unit_ns = match *words.get(2)? {
            "s" => 1e9,
            "ms" => 1e6,
            "us" => 1e3,
            "ns" => 1.0,
            _ => return None,
        };
        let total: f64 = words[1].parse().ok()?;
        Some((words[7].parse().ok()?, (words[0].parse().ok()?, total * unit_ns, 0.006 * unit_ns)))
    });
    rows.collect()
}

/// perf keeps one wait of a thread at a time, so that of nested ones it has fewer; and where its
/// records were lost it sees what is left.
#[test]
fn each_threads_waits_are_those_of_perf_lock_contention() {
    let Some(_alone) = live() else { return };
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("perf.data");
    let Some(output) = perf(&["lock", "record", "-a", "-m", "8M"], &file) else { return };
    assert!(output.status.success(), "{output:?}");
    let records = records(&file);
    let (ours, perfs) = (by_thread(&records), perfs_table(&file));
    let waits: u64 = ours.values().map(|thread| thread.0).sum();
    println!("{waits} waits of {} threads", ours.len());
    assert!(waits > 50 && ours.len() > 3);
    let mut apart = Vec::new();
    // A thread that is all but gone has no number for perf, and the idle tasks have one together.
    for (tid, &(count, total_ns)) in ours.iter().filter(|(tid, _)| **tid > 0) {
        let &(perfs_count, perfs_ns, unit_ns) = perfs.get(tid).unwrap_or(&(0, 0.0, 0.0));
        if count != perfs_count || (total_ns as f64 - perfs_ns).abs() > unit_ns {
            apart.push((tid, count, perfs_count, total_ns, perfs_ns));
        }
    }
    assert!(apart.len() * 10 <= ours.len(), "{apart:?}");
    // The kernel that runs is the one that was recorded: its symbols are used.
    let named = of(&records, "wait")
        .into_iter()
        .filter(|wait| wait["caller"].as_str().is_some_and(|caller| !caller.starts_with("0x")));
    assert_eq!(named.count() as u64, waits);
    let known = of(&records, "wait").into_iter().filter(|wait| wait["comm"].is_string());
    assert!(known.count() as u64 * 100 >= 99 * waits);
}

/// Packed, and by another clock, with what tells where the time went.
#[test]
fn what_perf_packs_is_unpacked_and_all_of_it() {
    let Some(_alone) = live() else { return };
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("perf.data");
    let events = [
        ["-e", "lock:contention_begin"],
        ["-e", "lock:contention_end"],
        ["-e", "sched:sched_switch"],
        ["-e", "sched:sched_waking"],
    ];
    let arguments =
        [&["record", "-a", "-z", "-m", "8M", "-k", "CLOCK_MONOTONIC"], events.as_flattened()];
    let Some(output) = perf(&arguments.concat(), &file) else { return };
    if !output.status.success() {
        println!("skipped: {}", String::from_utf8_lossy(&output.stderr));
        return;
    }
    let script = Command::new("perf").args(["script", "-F", "event", "-i"]).arg(&file).output();
    let script = String::from_utf8_lossy(&script.unwrap().stdout).into_owned();
    let raw = ftlock(&["report", "--raw", "--stream", "json"]).arg(&file).output().unwrap();
    let raw = String::from_utf8(raw.stdout).unwrap();
    let events = raw.lines().filter(|line| line.contains(r#""record":"event""#)).count();
    assert_eq!(events, script.lines().filter(|line| line.contains(':')).count());
    assert!(
        raw.starts_with(r#"{"record":"header","schema":1,"#) && raw.contains(r#""clock":"mono""#)
    );
    let split = ftlock(&["report", "--sched", "--format", "json"]).arg(&file).output().unwrap();
    let split: Value = serde_json::from_slice(&split.stdout).unwrap();
    assert!(split["totals"]["blocked"].as_u64().unwrap() > 0, "{}", split["totals"]);
}
