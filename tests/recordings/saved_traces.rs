//! `ftlock report` on other people's files: against the index, and a count by trace-cmd's text.

use std::collections::HashMap;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use regex::Regex;
use serde_json::Value;

use crate::fixtures;
use crate::trace_dat::in_place;

fn report(arguments: &[&str], file: &Path) -> std::process::Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_ftlock"));
    command.arg("report").args(arguments).arg(file).output().unwrap()
}

/// The waits that ended, by a begin and an end of one thread for one lock in trace-cmd's text.
fn waits_by_text(file: &Path) -> Option<u64> {
    let text = Command::new("trace-cmd").args(["report", "-i"]).arg(file).output().ok()?;
    let line = r"-(\d+) +\[\d+\].* contention_(begin|end): +(0x[0-9a-f]+) \(";
    let line = Regex::new(line).unwrap();
    let mut open: HashMap<(String, String), ()> = HashMap::new();
    let mut ended = 0;
    for found in
        String::from_utf8_lossy(&text.stdout).lines().filter_map(|text| line.captures(text))
    {
        let key = (found[1].to_owned(), found[3].to_owned());
        match &found[2] {
            // A mutex's later phase is the same wait.
            "begin" => _ = open.insert(key, ()),
            _ => ended += u64::from(open.remove(&key).is_some()),
        }
    }
    Some(ended)
}

#[test]
fn every_file_gives_its_events_and_its_waits() {
    let Some(traces) = fixtures::shared("traces") else { return };
    let index = fixtures::text(&traces.join("INDEX.tsv"));
    let mut lines = index.lines();
    let columns: Vec<_> = lines.next().unwrap().split('\t').collect();
    let place = |name| columns.iter().position(|column| *column == name).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let mut with_waits = 0;
    for line in lines {
        let fields: Vec<_> = line.split('\t').collect();
        let number = |name| fields[place(name)].parse::<u64>().unwrap();
        let file = in_place(&traces.join(fields[place("file")]), &folder);
        let events = report(&["--raw", "--stream", "json"], &file);
        let records = String::from_utf8(events.stdout).unwrap();
        let is_event = |line: &&str| line.contains(r#""record":"event""#);
        assert_eq!(records.lines().filter(is_event).count() as u64, number("events"), "{line}");
        let table = report(&["--format", "json"], &file);
        if number("contention_*") == 0 {
            let error = String::from_utf8(table.stderr).unwrap();
            assert_eq!(table.status.code(), Some(1), "{line}");
            assert!(
                error.contains("no lock:contention_begin") && error.contains("hint: "),
                "{error}"
            );
            continue;
        }
        let object: Value = serde_json::from_slice(&table.stdout).unwrap();
        let totals = |name: &str| object["totals"][name].as_u64().unwrap();
        let waits = totals("contended") + totals("failed") + totals("uncertain");
        assert_eq!(waits, waits_by_text(&file).unwrap_or(waits), "{line}");
        assert!(waits > 0, "{line}");
        with_waits += 1;
    }
    assert!(with_waits >= 10, "{with_waits}");
}

/// Nothing tells of these tasks but the file's own list of names.
#[test]
fn names_of_the_list_are_shown_and_unconfirmed() {
    let Some(traces) = fixtures::shared("traces") else { return };
    let lines = report(&["--stream", "json"], &traces.join("live/lost.v6.dat"));
    let lines = String::from_utf8(lines.stdout).unwrap();
    let records = lines.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let waits: Vec<Value> = records.filter(|record| record["record"] == "wait").collect();
    let text = Command::new("trace-cmd")
        .args(["report", "-i"])
        .arg(traces.join("live/lost.v6.dat"))
        .output();
    let Ok(text) = text else { return println!("skipped: no trace-cmd") };
    let text = String::from_utf8_lossy(&text.stdout).into_owned();
    assert_eq!(waits.len(), 100);
    for wait in waits {
        let task = format!(" {}-{} ", wait["comm"].as_str().unwrap(), wait["tid"]);
        assert!(text.contains(&task), "{task}");
        assert_eq!(wait["comm_confirmed"], false, "{wait}");
    }
}

/// The bundled recording, which lasts 314 ms.
#[test]
fn a_replay_gives_the_same_lines_in_its_own_time() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("assets/demo/trace.dat");
    let expected = report(&["--stream", "json"], &file).stdout;
    assert!(expected.iter().filter(|&&byte| byte == b'\n').count() > 2000);
    for (speed, least) in [("0", 0), ("2", 157), ("1", 314)] {
        let mut replay = Command::new(env!("CARGO_BIN_EXE_ftlock"));
        replay.args(["record", "--stream", "json", "--speed", speed, "--replay"]).arg(&file);
        let started = Instant::now();
        let output = replay.output().unwrap();
        assert!(started.elapsed() >= Duration::from_millis(least), "{speed}");
        assert!(output.status.success() && output.stdout == expected, "{speed}");
    }
}
