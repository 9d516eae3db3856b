//! Sleeps against programs that know what they sleep for, and against perf.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::Value;

use crate::support::{Recording, compiled, ftlock, live, of};
use crate::truth::{Record, Sleep, read};

/// What each thread of sleeper.c sleeps for. Where its file lies on no disk, or on one that
/// something else caches, nothing has to be read.
const REASONS: [(&str, &str, bool); 11] = [
    ("nanosleep", "timer", true),
    ("poll", "poll", true),
    ("select", "select", true),
    ("epoll", "epoll", true),
    ("wait_child", "wait for child", true),
    ("pipe_read", "pipe read", false),
    ("unix_read", "socket read", false),
    ("tcp_read", "socket read", false),
    ("direct_read", "direct I/O", false),
    ("page_fault", "page fault", false),
    ("fsync", "fsync", false),
];

fn number(value: &Value, name: &str) -> u64 {
    value[name].as_u64().unwrap_or_else(|| panic!("no {name} in {value}"))
}

fn is_sleep(wait: &Value) -> bool {
    wait["kind"] == "sleep"
}

/// Runs sleeper.c on CPU 0, on which no kernel was seen to hide switches, as the child of `through`;
/// gives its log.
fn sleeper(folder: &Path, through: &[&str]) -> Option<(Vec<Value>, Vec<Sleep>)> {
    let program = compiled("sleeper.c", folder)?;
    let [log, scratch] = ["log", "scratch"].map(|name| folder.join(name));
    let paths = [&program, &log, &scratch].map(|path| path.to_str().unwrap());
    // A ring that does not overflow while others have the CPUs.
    let command = [&["-m", "64M"], through, &["taskset", "-c", "0"], &paths, &["2"]].concat();
    let recording = Recording::start(&command);
    let (records, status) = recording.wait();
    assert_eq!(status, 0);
    let log = read(&log).into_iter().filter_map(|record| match record {
        Record::Sleep(sleep) => Some(sleep),
        _ => None,
    });
    Some((records, log.collect()))
}

fn can_pin() -> bool {
    let pinned = Command::new("taskset").args(["-c", "0", "true"]).output();
    let can = pinned.is_ok_and(|output| output.status.success());
    if !can {
        println!("skipped: taskset cannot pin to CPU 0 here");
    }
    can
}

#[test]
fn sleepers_sleep_for_what_they_say_and_as_long() {
    let Some(_alone) = live() else { return };
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    if !can_pin() {
        return;
    }
    let Some((records, log)) = sleeper(folder.path(), &["--sleep", "--"]) else { return };
    let mut waits = of(&records, "wait");
    waits.retain(|wait| is_sleep(wait));
    for sleep in &log {
        let (_, reason, idle) = REASONS.iter().find(|(what, ..)| *what == sleep.what).unwrap();
        let own = waits
            .iter()
            .filter(|wait| wait["tid"] == sleep.tid && number(wait, "ts") >= sleep.enter_ns);
        let own = own.filter(|wait| number(wait, "end") <= sleep.leave_ns);
        let (unsure, own): (Vec<&&Value>, Vec<&&Value>) =
            own.partition(|wait| wait["uncertain"] == true);
        let unsure: u64 = unsure.iter().map(|wait| number(wait, "wait_ns")).sum();
        let all: u64 = own.iter().map(|wait| number(wait, "blocked_ns")).sum();
        let right = own.iter().filter(|wait| {
            wait["reason"] == *reason && wait["idle"] == *idle && wait["comm"] == *sleep.comm
        });
        let right: u64 = right.map(|wait| number(wait, "blocked_ns")).sum();
        let on_disk = ["direct_read", "page_fault", "fsync"].contains(&&*sleep.what);
        if on_disk && all < 100_000_000 {
            println!("skipped: {} hardly sleeps on this disk", sleep.what);
            continue;
        }
        // On the way to the disk they get into each other's way.
        let percent = if on_disk { 80 } else { 98 };
        let mut reasons: BTreeMap<String, u64> = BTreeMap::new();
        for wait in &own {
            *reasons.entry(wait["reason"].to_string()).or_default() += number(wait, "blocked_ns");
        }
        assert!(right * 100 >= all * percent, "{sleep:?}: {reasons:?}");
        // A switch is in no sum of the log's: short sleeps are too many to compare.
        let logged = sleep.slept_ns();
        let is_near = all.abs_diff(logged) <= logged / 50 + unsure;
        assert!(on_disk || is_near, "{sleep:?}: {all} and at most {unsure} of {logged}");
    }
    let quality = &records.last().unwrap()["quality"];
    assert!(number(&quality["sleeps"], "ok") > 2000, "{quality}");
}

/// The time of each thread's sleeps as `perf sched timehist` has it: of each line's wait time the line
/// before says in what state it began.
fn by_perf(data: &Path) -> BTreeMap<u64, u64> {
    let run = Command::new("perf").args(["sched", "timehist", "--state", "-i"]).arg(data).output();
    let run = run.unwrap();
    assert!(run.status.success(), "{run:?}");
    let (mut left_as, mut slept_ns) = (BTreeMap::new(), BTreeMap::new());
    for line in String::from_utf8_lossy(&run.stdout).lines() {
        // Time, CPU, name[tid/pid], wait time, delay, run time in ms, state.
        let mut fields = line.split_whitespace().rev();
        let (Some(state), Some(wait_ms)) = (fields.next(), fields.nth(2)) else { continue };
        let task = fields.next().and_then(|task| task.strip_suffix(']')?.rsplit_once('['));
        let tid = task.and_then(|(_, ids)| ids.split('/').next()?.parse::<u64>().ok());
        // Three decimals, always.
        let wait_us = wait_ms.replace('.', "").parse::<u64>();
        let (Some(tid), Ok(wait_us)) = (tid, wait_us) else { continue };
        let wait_ns = 1000 * wait_us;
        if let Some("S" | "D") = left_as.insert(tid, state.to_owned()).as_deref() {
            *slept_ns.entry(tid).or_default() += wait_ns;
        }
    }
    slept_ns
}

#[test]
fn totals_are_those_of_perf_sched_timehist() {
    let Some(_alone) = live() else { return };
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let data = folder.path().join("perf.data");
    let perf = Command::new("perf").arg("--version").stdout(Stdio::null()).status();
    if !perf.is_ok_and(|status| status.success()) || !can_pin() {
        println!("skipped: no perf here");
        return;
    }
    // Without stacks: between the two tracers' clock readings at the begin of a sleep lies the stack's
    // recording, a hundredth of a sleep for a disk.
    let sched = ["switch", "waking", "wakeup", "wakeup_new", "process_fork", "migrate_task"];
    let events = sched.map(|event| format!("sched:sched_{event}")).join(",");
    let record =
        ["perf", "record", "-q", "-k", "CLOCK_MONOTONIC", "-m", "4096", "-a", "-c", "1", "-e"];
    let record = [&record[..], &[&events, "-o", data.to_str().unwrap(), "--"]].concat();
    let through = [&["--sleep", "--no-stack", "--by", "task", "--"], &record[..]].concat();
    let Some((records, log)) = sleeper(folder.path(), &through) else { return };
    let by_perf = by_perf(&data);
    let sleeps: Vec<_> = of(&records, "wait").into_iter().filter(|wait| is_sleep(wait)).collect();
    for sleep in &log {
        let own: Vec<_> = sleeps.iter().filter(|wait| wait["tid"] == sleep.tid).collect();
        let sum = |uncertain: bool| {
            let waits = own.iter().filter(|wait| wait["uncertain"] == uncertain);
            waits.map(|wait| number(wait, "wait_ns")).sum::<u64>()
        };
        // Where the kernel hides the switch to a task, neither knows when it came.
        let (certain, upper_bounds, perfs) = (sum(false), sum(true), by_perf[&sleep.tid]);
        let is_near = certain.abs_diff(perfs) <= perfs / 100 + upper_bounds;
        assert!(is_near, "{sleep:?}: {certain} and at most {upper_bounds}, perf: {perfs}");
        let uncertain = own.iter().filter(|wait| wait["uncertain"] == true).count();
        assert!(uncertain * 100 <= own.len(), "{sleep:?}: {uncertain} of {}", own.len());
        // The tables have a row for each of the names of a thread and each of its states.
        let tables = records.last().unwrap()["tables"].as_array().unwrap();
        let rows = tables.iter().flat_map(|table| table["rows"].as_array().unwrap());
        let rows = rows.filter(|row| row["tid"] == sleep.tid && row["reason"] != Value::Null);
        let total: u64 = rows.map(|row| number(row, "wait_total")).sum();
        assert_eq!(total, certain, "{sleep:?}");
    }
    assert_eq!(log.len(), REASONS.len());
}

/// `sleep`, a reader of a pipe, `dd` that syncs, each under its own name.
#[test]
fn commands_sleep_for_what_they_do() {
    let Some(_alone) = live() else { return };
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let file = folder.path().join("file").display().to_string();
    let script = format!(
        "sleep 0.5; (sleep 0.3; echo) | cat >{file}.text;
         for i in 1 2 3 4 5 6 7 8; do dd if=/dev/zero of={file} bs=64k count=4 conv=fsync 2>/dev/null; done"
    );
    let recording = Recording::start(&["--sleep", "--", "sh", "-c", &script]);
    let (records, status) = recording.wait();
    assert_eq!(status, 0);
    let slept_ms = |comm: &str, reason: &str, idle: bool| {
        let waits = of(&records, "wait").into_iter().filter(|wait| {
            let is = |name: &str, value: &str| wait[name] == value;
            is_sleep(wait) && is("comm", comm) && is("reason", reason) && wait["idle"] == idle
        });
        waits.map(|wait| number(wait, "wait_ns")).sum::<u64>() / 1_000_000
    };
    assert!((800..2000).contains(&slept_ms("sleep", "timer", true)), "{records:#?}");
    assert!((250..2000).contains(&slept_ms("cat", "pipe read", false)), "{records:#?}");
    assert!(slept_ms("sh", "wait for child", true) >= 800, "{records:#?}");
    let syncs = of(&records, "wait").into_iter().filter(|wait| wait["reason"] == "fsync");
    let syncs: Vec<_> = syncs.filter(|wait| wait["comm"] == "dd").collect();
    if syncs.is_empty() {
        println!("skipped: a sync does not sleep on this disk");
    }
    // Who ended the pipe's reader's sleep is who wrote.
    let read = of(&records, "wait")
        .into_iter()
        .find(|wait| wait["reason"] == "pipe read" && wait["comm"] == "cat");
    assert_eq!(read.unwrap()["holder"]["comm"], "sh", "{read:?}");
}

#[test]
fn latency_stats_are_lines_of_numbers_and_functions() {
    let Some(_alone) = live() else { return };
    let arguments = ["record", "-q", "--format", "latency_stats", "--", "sh", "-c"];
    let run = ftlock(&arguments).arg("(sleep 0.3; echo) | cat >/dev/null").output().unwrap();
    let text = String::from_utf8(run.stdout).unwrap();
    let mut lines = text.lines();
    assert_eq!(lines.next(), Some("Latency Top version : v0.1"));
    let mut pipe_us = 0;
    for line in lines {
        let mut words = line.split(' ');
        let [count, total, max] = [(); 3].map(|()| words.next().unwrap().parse::<u64>().unwrap());
        assert!(count > 0 && max <= total && total <= count * max.max(1), "{line}");
        let functions: Vec<&str> = words.collect();
        assert!((1..=12).contains(&functions.len()), "{line}");
        assert!(!functions.contains(&"schedule") && !line.contains("+0x"), "{line}");
        assert!(!functions.contains(&"do_nanosleep"), "idle: {line}");
        pipe_us += if functions[0].contains("pipe_read") { max } else { 0 };
    }
    assert!((250_000..2_000_000).contains(&pipe_us), "{text}");
}
