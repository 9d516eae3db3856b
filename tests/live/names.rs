//! Names against a log of the truth: which task had which name between which two instants.

use std::collections::HashMap;
use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::Value;

use crate::support::{Recording, compiled, live, of};

/// Intervals of one thread id: begin and end in ns, and the name between them.
type Truth = HashMap<u64, Vec<(u64, u64, String)>>;

fn truth(log: &Path) -> Truth {
    let mut truth = Truth::new();
    for line in fs::read_to_string(log).unwrap().lines() {
        let mut parts = line.splitn(4, ' ');
        let mut number = || parts.next().unwrap().parse().unwrap();
        let (tid, begin, end) = (number(), number(), number());
        truth.entry(tid).or_default().push((begin, end, parts.next().unwrap().to_owned()));
    }
    truth
}

/// How many records of a kind lie in a logged interval; each must have the logged name.
fn right(records: &[Value], kind: &str, truth: &Truth) -> usize {
    let mut right = 0;
    for record in of(records, kind) {
        let (ts, tid) = (record["ts"].as_u64().unwrap(), record["tid"].as_u64().unwrap());
        let intervals = truth.get(&tid).map_or(&[][..], Vec::as_slice);
        if let Some((.., name)) = intervals.iter().find(|(a, b, _)| (*a..=*b).contains(&ts)) {
            assert_eq!(record["comm"], **name, "{record}");
            right += 1;
        }
    }
    right
}

/// Runs the truth generator beside a recording; gives the records and the truth.
fn beside_truth(arguments: &[&str], generations: &str) -> Option<(Vec<Value>, Truth)> {
    let dir = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).unwrap();
    let arena = dir.path().join("arena");
    let log = dir.path().join("log");
    fs::create_dir(&arena).unwrap();
    let program = compiled("truthgen.c", dir.path())?;
    let recording = Recording::start(&[&["-a"], arguments].concat());
    let status =
        Command::new(program).args([&arena, &log]).args([generations, "8", "2"]).status().unwrap();
    assert!(status.success());
    Some((recording.stop(), truth(&log)))
}

/// Waits that a run must be right about. How many a round makes is up to the machine's other work.
const ENOUGH: usize = 2000;

/// Rounds of the truth generator until enough waits met the truth.
fn waits_meet_the_truth(mut look_at: impl FnMut(&Truth)) {
    let mut met = 0;
    for _ in 0..10 {
        let Some((records, truth)) = beside_truth(&[], "2000") else { return };
        look_at(&truth);
        met += right(&records, "wait", &truth);
        if met >= ENOUGH {
            return;
        }
    }
    panic!("only {met} waits met the truth");
}

#[test]
fn every_wait_bears_the_name_its_task_had_when_it_began() {
    let Some(_alone) = live() else { return };
    waits_meet_the_truth(|_| {});
}

#[test]
fn every_event_bears_the_name_its_task_had() {
    let Some(_alone) = live() else { return };
    let arguments = ["--raw", "-e", "sched:sched_switch", "--no-stack"];
    let Some((records, truth)) = beside_truth(&arguments, "2000") else { return };
    let right = right(&records, "event", &truth);
    assert!(right >= 2000, "only {right} events met the truth");
    // The kernel's own names, in the very same events.
    let switches =
        of(&records, "event").into_iter().filter(|event| event["event"] == "sched_switch");
    let mut compared = 0;
    for switch in switches.filter(|switch| switch["tid"] != 0) {
        assert_eq!(switch["comm"], switch["fields"]["prev_comm"], "{switch}");
        compared += 1;
    }
    assert!(compared >= 2000, "only {compared} switches");
}

/// Sets `kernel.pid_max`, and back when dropped.
struct PidMax(String);

impl PidMax {
    const FILE: &str = "/proc/sys/kernel/pid_max";

    fn set(to: &str) -> Option<PidMax> {
        let before = fs::read_to_string(PidMax::FILE).unwrap();
        match fs::write(PidMax::FILE, to) {
            Ok(()) => Some(PidMax(before)),
            Err(error) => {
                println!("skipped: cannot write {}: {error}", PidMax::FILE);
                None
            }
        }
    }
}

impl Drop for PidMax {
    fn drop(&mut self) {
        fs::write(PidMax::FILE, &self.0).unwrap();
    }
}

#[test]
fn a_pid_that_is_used_again_takes_no_name_over() {
    let Some(_alone) = live() else { return };
    let Some(_few) = PidMax::set("1000") else { return };
    let names = |intervals: &Vec<(u64, u64, String)>| {
        intervals.iter().filter(|(.., name)| name.starts_with("r ")).count()
    };
    waits_meet_the_truth(|truth| {
        assert!(truth.values().any(|intervals| names(intervals) > 4), "no pid was used again");
    });
}
