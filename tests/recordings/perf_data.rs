//! perf's recordings against perf's own words: what `perf script` prints of the same files.

use std::collections::BTreeMap;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::Command;

use ftlock::perf_data::{MomentWhat, PerfData};
use regex::Regex;
use serde_json::Value;

use crate::fixtures;

/// Those in `tests/data/perf_data`.
pub(crate) const OWN: [&str; 4] = ["pipe", "packed", "lost", "side"];

/// One line of `perf script`, with the addresses below it.
#[derive(Debug)]
struct Line {
    comm: String,
    tid: i64,
    cpu: u16,
    ts: u64,
    event: String,
    text: String,
    frames: Vec<u64>,
}

/// A recording, unpacked; it goes with the folder.
pub(crate) fn unpacked(name: &str, folder: &tempfile::TempDir) -> PathBuf {
    let path = folder.path().join(name);
    let stored = fixtures::own().join("perf_data").join(format!("{name}.data"));
    std::fs::write(&path, fixtures::read(&stored)).unwrap();
    path
}

/// What perf printed of it, in its order.
fn script(text: &str) -> Vec<Line> {
    let head = r"^ *(.*?) +(-?\d+)/(-?\d+) +\[(\d+)\] +(\d+)\.(\d+): +([^ ]+):? (.*)$";
    let head = Regex::new(head).unwrap();
    let mut lines: Vec<Line> = Vec::new();
    for text in text.lines().filter(|text| !text.trim().is_empty()) {
        match head.captures(text) {
            Some(found) => {
                let number = |place: usize| found[place].parse::<i64>().unwrap();
                lines.push(Line {
                    comm: found[1].to_owned(),
                    tid: number(3),
                    cpu: found[4].parse().unwrap(),
                    ts: (number(5) * 1_000_000_000 + number(6)).cast_unsigned(),
                    event: found[7].trim_end_matches(':').to_owned(),
                    text: found[8].to_owned(),
                    frames: Vec::new(),
                });
            }
            None => {
                let frame = u64::from_str_radix(text.split_whitespace().next().unwrap(), 16);
                lines.last_mut().unwrap().frames.push(frame.unwrap());
            }
        }
    }
    lines
}

fn own_script(name: &str) -> Vec<Line> {
    script(&fixtures::text(&fixtures::own().join("perf_data").join(format!("{name}.script"))))
}

fn is_lost(line: &&Line) -> bool {
    line.event == "PERF_RECORD_LOST"
}

/// User space's addresses are not in the kernel's stack.
fn kernels(frames: &[u64]) -> Vec<u64> {
    frames.iter().copied().filter(|frame| frame >> 47 == (1 << 17) - 1).collect()
}

fn report(arguments: &[&str], file: &Path) -> std::process::Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_ftlock"));
    command.arg("report").args(arguments).arg(file).output().unwrap()
}

fn records(arguments: &[&str], file: &Path) -> Vec<Value> {
    let output = report(arguments, file);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let lines = String::from_utf8(output.stdout).unwrap();
    lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn of<'a>(records: &'a [Value], kind: &str) -> Vec<&'a Value> {
    records.iter().filter(|record| record["record"] == kind).collect()
}

/// Time, CPU, kernel stack.
type Place = (u64, u16, Vec<u64>);

#[test]
fn every_event_is_where_and_when_perf_has_it_with_its_stack() {
    let folder = tempfile::tempdir().unwrap();
    for name in OWN {
        let path = unpacked(name, &folder);
        let file = PerfData::open(File::open(&path).unwrap(), &path).unwrap();
        let mut reader = file.reader().unwrap();
        let mut found: Vec<Place> = Vec::new();
        let mut lost = 0;
        let mut last_ns = 0;
        while reader.complete_up_to_ns() != u64::MAX {
            reader.read();
            for moment in reader.moments() {
                assert!(moment.at_ns >= last_ns, "{name}");
                last_ns = moment.at_ns;
                match moment.what {
                    MomentWhat::Event { frames, .. } => {
                        found.push((moment.at_ns, moment.cpu.0, frames.to_vec()));
                    }
                    MomentWhat::Lost { missed } => lost += missed.unwrap(),
                    MomentWhat::Task { .. } => {}
                }
            }
        }
        assert!(reader.fault().is_none() && reader.unread() == 0, "{name}");
        let lines = own_script(name);
        let expected = lines.iter().filter(|line| !is_lost(line));
        let expected = expected.map(|line| (line.ts, line.cpu, kernels(&line.frames)));
        let expected: Vec<Place> = expected.collect();
        assert!(expected.len() > 70, "{name}");
        assert_eq!(found.len(), expected.len(), "{name}");
        for (found, expected) in found.iter().zip(&expected) {
            assert_eq!(found, expected, "{name}");
        }
        let perfs = lines
            .iter()
            .filter(is_lost)
            .map(|line| line.text.trim_start_matches("lost ").trim().parse::<u64>().unwrap());
        assert!(lost >= perfs.sum::<u64>(), "{name}: {lost}");
    }
}

/// What tells the names are perf's own records, and in `side` the kernel's events too.
#[test]
fn every_event_has_the_name_that_perf_gives_its_task() {
    let folder = tempfile::tempdir().unwrap();
    for name in OWN {
        let records = records(&["--raw", "--stream", "json"], &unpacked(name, &folder));
        let events = of(&records, "event");
        let lines = own_script(name);
        let lines: Vec<&Line> = lines.iter().filter(|line| !is_lost(line)).collect();
        assert_eq!(events.len(), lines.len(), "{name}");
        let mut compared = 0;
        for (event, line) in events.iter().zip(lines) {
            let expected = line.event.split_once(':').unwrap().1;
            assert_eq!(
                (event["ts"].as_u64(), event["event"].as_str()),
                (Some(line.ts), Some(expected))
            );
            // perf loses sight of a task that is all but gone, and takes no other word for a name whose
            // record was lost.
            let is_known = !line.comm.starts_with(':');
            if line.tid > 0 && is_known {
                assert_eq!(event["tid"].as_i64(), Some(line.tid));
                assert_eq!(event["comm"], line.comm, "{name}: {line:?}");
                compared += 1;
            }
        }
        assert!(compared > 40, "{name}: {compared}");
    }
}

/// Of a thread and a lock: begin, end, what the end says.
type Wait = (u64, u64, String);

/// A begin, and the end of the same thread and lock, timed from the first begin, as perf does it.
fn waits(lines: &[Line]) -> Vec<Wait> {
    let mut open: BTreeMap<(i64, u16, String), u64> = BTreeMap::new();
    let mut waits = Vec::new();
    for line in lines.iter().filter(|line| line.event.starts_with("lock:contention_")) {
        let mut words = line.text.split_whitespace();
        let lock = words.next().unwrap().to_owned();
        let key = (line.tid, if line.tid == 0 { line.cpu } else { 0 }, lock.clone());
        match line.event.as_str() {
            "lock:contention_begin" => _ = open.entry(key).or_insert(line.ts),
            _ => waits.extend(open.remove(&key).map(|begin| (begin, line.ts, lock))),
        }
    }
    waits.sort();
    waits
}

#[test]
fn every_wait_is_the_one_that_perfs_text_tells() {
    let folder = tempfile::tempdir().unwrap();
    for name in OWN {
        let records = records(&["--stream", "json"], &unpacked(name, &folder));
        let number = |wait: &Value, field: &str| wait[field].as_u64().unwrap();
        let found = of(&records, "wait").into_iter().map(|wait| {
            let lock = wait["lock"].as_str().unwrap().to_owned();
            (number(wait, "ts"), number(wait, "end"), lock)
        });
        let mut found: Vec<Wait> = found.collect();
        found.sort();
        let expected = waits(&own_script(name));
        assert!(expected.len() >= 8, "{name}");
        assert_eq!(found, expected, "{name}");
    }
}

/// perf's own table of threads, of its own recording: to its hundredths of a unit.
#[test]
fn each_threads_waits_are_those_of_perfs_table() {
    let Some(traces) = fixtures::shared("traces") else { return };
    let records = records(&["--stream", "json"], &traces.join("live/dual.perf.data"));
    let mut threads: BTreeMap<String, (u64, u64, String)> = BTreeMap::new();
    for wait in of(&records, "wait") {
        let comm = wait["comm"].as_str().unwrap().to_owned();
        let thread = threads.entry(wait["tid"].to_string()).or_insert((0, 0, comm));
        thread.0 += 1;
        thread.1 += wait["wait_ns"].as_u64().unwrap();
    }
    let table = fixtures::text(&traces.join("live/dual.perf-lock-contention-threads.txt"));
    let row = r"^ +(\d+) +([\d.]+) (ms|us) .* (ms|us|ns) +(-?\d+)   (.*)$";
    let row = Regex::new(row).unwrap();
    let rows: Vec<_> = table.lines().filter_map(|line| row.captures(line)).collect();
    assert_eq!(rows.len(), threads.len());
    for found in rows {
        let (count, total_ns, comm) = &threads[&found[5]];
        let unit = if &found[3] == "ms" { 1e6 } else { 1e3 };
        let perfs: f64 = found[2].parse().unwrap();
        assert_eq!((count.to_string(), comm.as_str()), (found[1].to_owned(), &found[6]));
        assert!((*total_ns as f64 / unit - perfs).abs() <= 0.005001, "{found:?}: {total_ns}");
    }
}

#[test]
fn what_is_lost_is_told_and_what_is_not_in_the_file_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let lost = |name: &str| {
        let records = records(&["--stream", "json"], &unpacked(name, &folder));
        let cpus = records.last().unwrap()["quality"]["cpus"].as_array().unwrap().clone();
        cpus.iter().map(|cpu| cpu["overrun"].as_u64().unwrap()).sum::<u64>()
    };
    // As `perf report --stats` counts: records on the way, samples in the end.
    assert_eq!((lost("lost"), lost("side"), lost("pipe")), (24, 44, 0));
    let table = [
        (&["--sched"][..], "where the time of waits went was not recorded", "sched:sched_waking"),
        (&["--by", "cgroup"], "in which cgroups tasks were was not recorded", "ftlock record"),
        (&["--buffer", "a"], "only a trace.dat has several buffers", ""),
    ];
    for (arguments, expected, hint) in table {
        let output = report(arguments, &unpacked("pipe", &folder));
        let error = String::from_utf8(output.stderr).unwrap();
        assert!(!output.status.success(), "{error}");
        assert!(error.contains(expected) && error.contains(hint), "{error}");
    }
}

/// Where switches and wakings were recorded, all that is made of them is there.
#[test]
fn every_view_is_there_that_the_data_allows() {
    let folder = tempfile::tempdir().unwrap();
    let path = unpacked("packed", &folder);
    for arguments in [
        &["--sched", "--by", "owner", "--format", "json"][..],
        &["--sleep", "--format", "csv"],
        &["--format", "html"],
        &["--by", "lock,task", "-x", ","],
    ] {
        let output = report(arguments, &path);
        assert!(output.status.success() && output.stdout.len() > 100, "{arguments:?}: {output:?}");
    }
    let stream = report(&["--stream", "json"], &path).stdout;
    let mut replay = Command::new(env!("CARGO_BIN_EXE_ftlock"));
    replay.args(["record", "--stream", "json", "--speed", "8", "--replay"]).arg(&path);
    assert_eq!(replay.output().unwrap().stdout, stream);
    let mut diff = Command::new(env!("CARGO_BIN_EXE_ftlock"));
    let diff = diff.args(["diff", "--format", "json"]).args([&path, &path]).output().unwrap();
    assert!(diff.status.success(), "{diff:?}");
}
