//! Locks of user space in saved traces: the processes are gone, and their names and owners are there.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use rustix::process::Signal;
use serde_json::Value;
use tempfile::TempDir;

use crate::support::{Recording, compiled, ftlock, live, of};
use crate::truth::compiled_rust;

/// A program of `tests/tools`, compiled, and how it is run for a part of a second.
fn program(name: &str, folder: &TempDir, arguments: &[&str]) -> Option<Vec<String>> {
    let program: PathBuf = match name.ends_with(".rs") {
        true => compiled_rust(name, folder.path())?,
        false => compiled(name, folder.path())?,
    };
    let log = folder.path().join("log");
    let log = |word: &&str| if *word == "LOG" { log.to_str().unwrap() } else { word }.to_owned();
    let arguments = arguments.iter().map(log);
    Some([program.to_str().unwrap().to_owned()].into_iter().chain(arguments).collect())
}

/// What the run printed with this view, and what a command prints of its file with the same.
fn record(folder: &TempDir, view: &[&str], command: &[String]) -> (PathBuf, Vec<u8>) {
    let trace = folder.path().join("t.dat");
    let mut record = ftlock(&["record", "--futex", "--save"]);
    let output = record.arg(&trace).args(view).arg("--").args(command).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    (trace, output.stdout)
}

fn printed(command: &[&str], file: &Path) -> Vec<u8> {
    let output = ftlock(command).arg(file).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    output.stdout
}

#[track_caller]
fn assert_same(of_run: &[u8], later: &[u8], view: &[&str]) {
    let text = |bytes| String::from_utf8_lossy(bytes).into_owned();
    assert!(of_run == later, "{view:?}:\n{}\n{}", text(of_run), text(later));
}

#[test]
fn a_report_has_the_names_of_the_runs_own_locks() {
    let Some(_alone) = live() else { return };
    let folder = tempfile::tempdir().unwrap();
    let table = ["--stream", "none"];
    let programs = [
        ("mutexes.c", "the_lock", &["LOG", "0.3"][..]),
        ("rust_mutex.rs", "rust_mutex::THE_LOCK", &["LOG", "0.3"]),
    ];
    let views: [&[&str]; 7] = [
        &["--by", "lock", "-v"],
        &["--by", "lock,comm", "--format", "json"],
        &["--stream", "json", "--by", "lock"],
        &["--stream", "json", "--sched"],
        &["--format", "folded", "--by", "lock,stack"],
        &["--format", "csv", "--by", "lock"],
        &["-L", "the_pi_lock,rust_mutex::THE_LOCK"],
    ];
    for (name, lock, arguments) in programs {
        let Some(command) = program(name, &folder, arguments) else { continue };
        for view in views {
            let streams = view.contains(&"--stream");
            let view = [if streams { &[][..] } else { &table[..] }, view].concat();
            let (trace, of_run) = record(&folder, &view, &command);
            let later = printed(&[&["report", "--futex"], &view[..]].concat(), &trace);
            assert_same(&of_run, &later, &view);
            let is_shown = String::from_utf8_lossy(&of_run).contains(lock);
            assert!(is_shown || view.contains(&"-L"), "{view:?}");
            if streams {
                let replay = ["record", "--futex", "--replay", trace.to_str().unwrap()];
                let replay = [&replay, &view[..], &["--speed"]].concat();
                assert_same(&of_run, &printed(&replay, Path::new("10")), &replay);
            }
        }
        let trace = folder.path().join("t.dat");
        let diff = ["diff", "--by", "lock", trace.to_str().unwrap()];
        let side_by_side = printed(&diff, &trace);
        assert!(String::from_utf8_lossy(&side_by_side).contains(lock), "{name}");
    }
}

/// Its names are those of the program that waited, and another one may come in its place.
#[test]
fn names_end_with_their_process_and_their_program() {
    let Some(_alone) = live() else { return };
    let folder = tempfile::tempdir().unwrap();
    for end in ["exit", "exec"] {
        let Some(waiter) = program("waiter.c", &folder, &[end]) else { return };
        let Some(mutexes) = program("mutexes.c", &folder, &["LOG", "0.2"]) else { return };
        let script = format!("{}; exec {}", waiter.join(" "), mutexes.join(" "));
        let command = ["sh", "-c", &script].map(str::to_owned);
        let view = ["--stream", "json", "--by", "lock"];
        let (trace, of_run) = record(&folder, &view, &command);
        let later = printed(&[&["report", "--futex"], &view[..]].concat(), &trace);
        assert_same(&of_run, &later, &view);
        let lines = String::from_utf8(of_run).unwrap();
        let records = lines.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
        let records: Vec<Value> = records.collect();
        let waiter = of(&records, "wait");
        let waiter = waiter.iter().find(|wait| wait["comm"] == "waiter-thread").unwrap();
        assert_eq!(waiter["lock_name"], "the_lock");
    }
}

/// Who has the locks stands in the memory of a process that is killed then.
#[test]
fn a_deadlock_is_named_in_the_report_too() {
    let Some(_alone) = live() else { return };
    let folder = tempfile::tempdir().unwrap();
    let Some(deadlock) = program("deadlock.c", &folder, &["LOG", "120"]) else { return };
    let trace = folder.path().join("t.dat");
    let view = ["--futex", "--by", "lock", "-a"];
    let mut recording =
        Recording::start(&[&view[..], &["--save", trace.to_str().unwrap()]].concat());
    let mut child = Command::new(&deadlock[0]).args(&deadlock[1..]).spawn().unwrap();
    let takes = |record: &Value| record["comm"].as_str().unwrap_or("").starts_with("taker-");
    recording.read_until("both waits last", |records| {
        of(records, "open").iter().filter(|open| takes(open)).count() == 2
    });
    let records = recording.stop();
    child.kill().unwrap();
    child.wait().unwrap();
    let later = printed(&[&["report", "--stream", "json"], &view[..]].concat(), &trace);
    let later = String::from_utf8(later).unwrap();
    let later: Vec<Value> =
        later.lines().skip(1).map(|line| serde_json::from_str(line).unwrap()).collect();
    let opens = of(&later, "open");
    assert!(opens.iter().filter(|open| takes(open)).all(|open| open["holder"]["by"] == "memory"));
    let summary = later.last().unwrap();
    assert_eq!(summary["cycles"].as_array().unwrap().len(), 1, "{summary}");
    assert_eq!(later, records);
}

/// Of a run that was killed all that was learned by then is there.
#[test]
fn a_killed_run_leaves_the_names_up_to_then() {
    let Some(_alone) = live() else { return };
    let folder = tempfile::tempdir().unwrap();
    let Some(command) = program("mutexes.c", &folder, &["LOG", "5"]) else { return };
    let trace = folder.path().join("t.dat");
    let save = ["--futex", "-a", "--save", trace.to_str().unwrap()];
    let mut recording = Recording::start(&save);
    let mut child = Command::new(&command[0]).args(&command[1..]).spawn().unwrap();
    let is_its = |wait: &&&Value| wait["lock_name"] == "the_lock";
    recording.read_until("its lock is told of", |records| {
        of(records, "wait").iter().filter(is_its).count() > 20
    });
    recording.signal(Signal::KILL);
    let told = recording.gone();
    child.wait().unwrap();
    let later = printed(&["report", "--futex", "--stream", "json"], &trace);
    let later = String::from_utf8(later).unwrap();
    let later: Vec<Value> = later.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let (told, later) = (of(&told, "wait"), of(&later, "wait"));
    assert_eq!(later[..told.len()], told[..]);
}

/// Tells when nothing was looked up: the names are not guessed.
#[test]
fn what_is_only_saved_has_no_names() {
    let Some(_alone) = live() else { return };
    let folder = tempfile::tempdir().unwrap();
    let Some(command) = program("mutexes.c", &folder, &["LOG", "0.2"]) else { return };
    let (trace, _) = record(&folder, &["--no-report"], &command);
    let lines = printed(&["report", "--futex", "--stream", "json"], &trace);
    let lines = String::from_utf8(lines).unwrap();
    let records: Vec<Value> =
        lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let waits = of(&records, "wait");
    let futexes: Vec<_> = waits.iter().filter(|wait| wait["kind"] == "futex").collect();
    assert!(futexes.len() > 20);
    assert!(futexes.iter().all(|wait| wait["lock_name"].is_null()));
    let log = fs::read_to_string(folder.path().join("log")).unwrap();
    assert!(log.contains("the_lock"));
}
