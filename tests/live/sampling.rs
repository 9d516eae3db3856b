//! Stacks for a part of the time only, and a stream that nobody reads: totals are whole.

use std::fs::File;
use std::process::{Command, Stdio};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use crate::support::{Recording, assert_sound, ftlock, live, load, of};

const SAMPLED_OUT: &str = "(no stack: sampled out)";

fn number(value: &Value, name: &str) -> u64 {
    value[name].as_u64().unwrap_or_else(|| panic!("{name} of {value}"))
}

/// The demo's workload under a limit; gives what was streamed.
fn limited(limit: &str, further: &[&str]) -> Vec<Value> {
    let command = ["--", env!("CARGO_BIN_EXE_ftlock"), "demo-workload", "--duration", "4s"];
    let arguments = [&["--max-overhead", limit], further, &command].concat();
    let (records, status) = Recording::start(&arguments).wait();
    assert_eq!(status, 0);
    records
}

/// A limit that is far below what the first stack costs.
#[test]
fn stacks_are_as_rare_as_the_limit_asks_and_every_wait_is_counted() {
    let Some(_alone) = live() else { return };
    let folder = tempfile::tempdir().unwrap();
    let trace = folder.path().join("t.dat");
    let records = limited("0.001%", &["--by", "caller", "--save", trace.to_str().unwrap()]);
    let (waits, summary) = (of(&records, "wait"), records.last().unwrap());
    let without = waits.iter().filter(|wait| wait["caller"].is_null()).count();
    let quality = &summary["quality"];
    assert_eq!(number(quality, "stacks_sampled_out"), without as u64);
    assert_eq!(quality["stacks_missing"], 0);
    // Stacks are on until it is known what they cost.
    let sampling = &quality["stack_sampling"];
    assert!(sampling["on_percent"].as_f64().unwrap() < 50.0, "{sampling}");
    assert_eq!(sampling["max_percent"], 0.001);
    assert!(waits.len() > 50 && 2 * without > waits.len(), "{without} of {}", waits.len());
    assert!(without < waits.len());
    let rows = summary["rows"].as_array().unwrap();
    let of_rows: u64 = rows.iter().map(|row| number(row, "contended")).sum();
    assert_eq!(of_rows, number(&summary["totals"], "contended"));
    let total_ns: u64 = rows.iter().map(|row| number(row, "wait_total")).sum();
    assert_eq!(total_ns, number(&summary["totals"], "wait_total"));
    let sampled_out: u64 = rows
        .iter()
        .filter(|row| row["caller"] == SAMPLED_OUT)
        .map(|row| number(row, "contended") + number(row, "failed"))
        .sum();
    assert_eq!(sampled_out, without as u64);

    let again = ftlock(&["report", "--by", "caller", "--stream", "json"]).arg(&trace).output();
    let lines = String::from_utf8(again.unwrap().stdout).unwrap();
    let again: Value = serde_json::from_str(lines.lines().last().unwrap()).unwrap();
    assert_eq!(&again, summary);
}

#[test]
fn a_limit_that_is_not_reached_leaves_every_stack() {
    let Some(_alone) = live() else { return };
    let records = limited("100%", &[]);
    let quality = &records.last().unwrap()["quality"];
    assert_eq!(number(quality, "stacks_sampled_out"), 0);
    assert_eq!(number(quality, "stacks_missing"), 0);
    assert!(quality["stack_sampling"]["on_percent"].as_f64().unwrap() > 99.0, "{quality}");
    assert!(of(&records, "wait").iter().all(|wait| wait["caller"].is_string()));
}

#[test]
fn a_limit_without_what_it_limits_is_refused() {
    for further in [&["--no-stack"][..], &["--save", "/dev/null", "--no-report"]] {
        let arguments = [&["record", "--max-overhead", "1%"], further, &["--", "true"]].concat();
        let refused = ftlock(&arguments).output().unwrap();
        assert_eq!(refused.status.code(), Some(2), "{further:?} {refused:?}");
        assert!(String::from_utf8_lossy(&refused.stderr).contains("--max-overhead"));
    }
}

/// Whoever reads the stream is stopped: lines are dropped, and no ring is.
#[test]
fn a_reader_that_sleeps_costs_lines_and_no_events() {
    let Some(_alone) = live() else { return };
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("lines");
    let mut reader = Command::new("cat")
        .stdin(Stdio::piped())
        .stdout(File::create(&path).unwrap())
        .spawn()
        .unwrap();
    let pid = Pid::from_child(&reader);
    kill_process(pid, Signal::STOP).unwrap();
    let pipe = reader.stdin.take().unwrap();
    let arguments = ["record", "-a", "--sched", "--stream", "json", "--stream-buffer", "64K"];
    let mut recorder = ftlock(&arguments).stdout(pipe).spawn().unwrap();
    assert!(load("2s").status.success());
    kill_process(Pid::from_child(&recorder), Signal::INT).unwrap();
    // It ends when what waits is written.
    kill_process(pid, Signal::CONT).unwrap();
    assert!(recorder.wait().unwrap().success());
    assert!(reader.wait().unwrap().success());
    let text = std::fs::read_to_string(&path).unwrap();
    let records: Vec<Value> =
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let summary = records.last().unwrap();
    assert_sound(summary);
    let (quality, waits) = (&summary["quality"], of(&records, "wait"));
    let dropped = number(quality, "stream_dropped");
    assert!(dropped > 0, "{quality}");
    assert_eq!(waits.len() as u64 + dropped, number(summary, "waits"));
    let lost = |cpu: &Value| number(cpu, "overrun") + number(cpu, "dropped");
    assert_eq!(quality["cpus"].as_array().unwrap().iter().map(lost).sum::<u64>(), 0);
}
