//! Waits that last: told of while they last, with who has the lock; and what no event tells of.

use std::process::{Command, Stdio};

use serde_json::Value;

use crate::support::{Recording, compiled, ftlock, live, of, until};
use crate::truth::{Record, read, run};

/// A wait of 2.5 s is told of while it lasts, with where it waits, and once only.
#[test]
fn a_wait_that_lasts_is_told_of_before_it_ends() {
    let Some(_alone) = live() else { return };
    let recording = Recording::start(&["-a", "--sched"]);
    let log = run("holders.c", &["inode", "LOG", "1", "3", "2500"]);
    let records = recording.stop();
    let Some(log) = log else { return };
    let sleepers = log.iter().filter_map(|record| match record {
        Record::Sleeper(sleeper) => Some(sleeper),
        _ => None,
    });
    let place = |record: &str, is_it: &dyn Fn(&Value) -> bool| {
        records.iter().position(|value| value["record"] == record && is_it(value))
    };
    for sleeper in sleepers {
        let told = place("open", &|open| open["tid"] == sleeper.tid).unwrap();
        let open = &records[told];
        let same = |wait: &Value| wait["tid"] == open["tid"] && wait["ts"] == open["ts"];
        assert!(told < place("wait", &same).unwrap(), "{sleeper:?}");
        assert_eq!(open["comm"], *sleeper.comm);
        assert_eq!((&open["kind"], &open["lock_name"]), (&"rwsem:W".into(), &"i_rwsem".into()));
        let age_ns = open["age_ns"].as_u64().unwrap();
        assert!((1_000_000_000..2_000_000_000).contains(&age_ns), "{open}");
        let begin_ns = open["ts"].as_u64().unwrap();
        assert!((sleeper.enter_ns..sleeper.leave_ns).contains(&begin_ns), "{sleeper:?} {open}");
        let stack = open["stack"].as_array().unwrap();
        assert!(stack.iter().any(|frame| frame.as_str().unwrap().contains("pwrite64")), "{open}");
        let again = of(&records, "open").iter().filter(|open| open["tid"] == sleeper.tid).count();
        assert_eq!(again, 1);
    }
}

/// Two threads that wait for each other: told of after a second, each held by the other, and as a
/// cycle at the end.
#[test]
fn a_deadlock_is_named() {
    let Some(_alone) = live() else { return };
    let dir = tempfile::tempdir().unwrap();
    let Some(program) = compiled("deadlock.c", dir.path()) else { return };
    let log = dir.path().join("log");
    let recording = Recording::start(&["-a", "--futex"]);
    let mut deadlock = Command::new(program).arg(&log).arg("120").spawn().unwrap();
    let mut recording = recording;
    let takes = |record: &Value| record["comm"].as_str().unwrap_or("").starts_with("taker-");
    recording.read_until("both waits last", |records| {
        of(records, "open").iter().filter(|open| takes(open)).count() == 2
    });
    let records = recording.stop();
    let opens: Vec<_> = of(&records, "open").into_iter().filter(|open| takes(open)).collect();
    for (open, other) in [(opens[0], opens[1]), (opens[1], opens[0])] {
        assert_eq!(open["kind"], "futex", "{open}");
        assert_eq!(open["holder"]["tid"], other["tid"], "{open} {other}");
        assert_eq!(
            (&open["holder"]["comm"], &open["holder"]["by"]),
            (&other["comm"], &"memory".into())
        );
    }
    let summary = records.last().unwrap();
    let cycle: Vec<usize> = serde_json::from_value(summary["cycles"][0].clone()).unwrap();
    let tids = cycle.iter().map(|&place| &summary["open"][place]["tid"]);
    let mut tids: Vec<u64> = tids.map(|tid| tid.as_u64().unwrap()).collect();
    let mut expected: Vec<u64> = opens.iter().map(|open| open["tid"].as_u64().unwrap()).collect();
    tids.sort_unstable();
    expected.sort_unstable();
    assert_eq!(tids, expected);
    deadlock.kill().unwrap();
    deadlock.wait().unwrap();
}

/// A task that was blocked before the trace began and is to its end raises no event at all.
#[test]
fn what_is_blocked_since_before_the_trace_is_shown() {
    let Some(_alone) = live() else { return };
    let dir = tempfile::tempdir().unwrap();
    let Some(program) = compiled("holders.c", dir.path()) else { return };
    let log = dir.path().join("log");
    let mut holders = Command::new(program)
        .args(["inode", log.to_str().unwrap(), "1", "3", "6000"])
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let sleepers = || {
        let tasks = std::fs::read_dir(format!("/proc/{}/task", holders.id())).ok()?;
        let stats = tasks
            .flatten()
            .filter_map(|task| std::fs::read_to_string(task.path().join("stat")).ok());
        Some(stats.filter(|stat| stat.contains("(sleeper-") && stat.contains(") D ")).count())
    };
    let mut ended = false;
    until("all sleepers are blocked", || {
        // Without userfaultfd it ends at once.
        ended = sleepers().is_none()
            || sleepers() == Some(0) && log.exists() && std::fs::metadata(&log).unwrap().len() > 0;
        ended || sleepers() == Some(3)
    });
    let output =
        ftlock(&["record", "-a", "--stream", "json", "--", "sleep", "1.5"]).output().unwrap();
    holders.wait().unwrap();
    if ended {
        println!("skipped: holders.c did not block anybody here");
        return;
    }
    let summary: Value =
        serde_json::from_str(String::from_utf8(output.stdout).unwrap().lines().last().unwrap())
            .unwrap();
    let blocked = summary["blocked"].as_array().unwrap();
    for sleeper in read(&log).iter().filter_map(|record| match record {
        Record::Sleeper(sleeper) => Some(sleeper),
        _ => None,
    }) {
        let found = blocked.iter().find(|task| task["tid"] == sleeper.tid);
        let found = found.unwrap_or_else(|| panic!("{sleeper:?} {blocked:?}"));
        assert_eq!(found["comm"], *sleeper.comm);
        assert!(!found["stack"].as_array().unwrap().is_empty());
    }
    let told = String::from_utf8(output.stderr).unwrap();
    assert!(told.contains("blocked since before the trace: sleeper-"), "{told}");
}
