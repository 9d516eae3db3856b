//! Whose waits are shown.

use std::collections::HashSet;
use std::process::{Command, Stdio};

use serde_json::Value;

use crate::support::{Recording, ftlock, live, load, of};

fn comms(records: &[Value]) -> HashSet<String> {
    of(records, "wait").iter().map(|wait| wait["comm"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn a_commands_descendants_are_followed_and_nobody_else() {
    let Some(_alone) = live() else { return };
    let own = env!("CARGO_BIN_EXE_ftlock");
    // The workload forks, execs under other names, and starts threads, below a shell that waits.
    let script = format!("{own} demo-workload --duration 1s; true");
    let recording = Recording::start(&["--", "sh", "-c", &script]);
    assert!(load("300ms").status.success());
    let pid = recording.pid();
    let (records, status) = recording.wait();
    assert_eq!(status, 0);
    let found = comms(&records);
    // A thread's names, those of programs that were exec'd, and one they gave themselves.
    let has = |names: &[&str]| names.iter().filter(|name| found.contains(**name)).count();
    assert!(has(&["demo-early", "demo-late"]) > 0, "{found:?}");
    assert!(has(&["demo-baker", "demo-miller", "demo-weaver", "demo-potter"]) > 1, "{found:?}");
    assert!(has(&["demo-apprentice", "demo-master"]) > 0, "{found:?}");
    // Processes of the other workload fought as well, at the same time.
    let quality = &records.last().unwrap()["quality"];
    assert!(quality["not_asked"].as_u64().unwrap() > 20, "{quality}");
    assert!(of(&records, "wait").iter().all(|wait| wait["pid"] != pid));
}

#[test]
fn a_process_is_followed_until_it_ends() {
    let Some(_alone) = live() else { return };
    let mut workload = ftlock(&["demo-workload", "--duration", "4s"]).spawn().unwrap();
    let pid = workload.id();
    let recording = Recording::start(&["-p", &pid.to_string()]);
    workload.wait().unwrap();
    let (records, status) = recording.wait();
    assert_eq!(status, 0);
    let waits = of(&records, "wait");
    assert!(waits.len() > 20);
    // Threads, but not the children.
    assert!(waits.iter().all(|wait| wait["pid"] == pid));
    let tids: HashSet<u64> = waits.iter().map(|wait| wait["tid"].as_u64().unwrap()).collect();
    assert!(tids.len() > 3, "{tids:?}");
}

#[test]
fn a_thread_is_followed_alone() {
    let Some(_alone) = live() else { return };
    let mut workload = ftlock(&["demo-workload", "--duration", "4s"]).spawn().unwrap();
    let tasks = format!("/proc/{}/task", workload.id());
    let mut tid = String::new();
    crate::support::until("the workload has threads", || {
        let threads = std::fs::read_dir(&tasks).unwrap();
        let mut names = threads.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        let comm = |tid: &String| std::fs::read_to_string(format!("{tasks}/{tid}/comm"));
        let found = names.find(|tid| comm(tid).is_ok_and(|comm| comm == "demo-early\n"));
        tid = found.clone().unwrap_or_default();
        found.is_some()
    });
    let recording = Recording::start(&["--tid", &tid]);
    workload.wait().unwrap();
    let (records, status) = recording.wait();
    assert_eq!(status, 0);
    let waits = of(&records, "wait");
    assert!(!waits.is_empty());
    let number: u64 = tid.parse().unwrap();
    assert!(waits.iter().all(|wait| wait["tid"] == number));
    assert!(comms(&records).contains("demo-late"));
}

/// Each filter keeps what it asks for, and the rest is counted as left out.
#[test]
fn filters_keep_what_they_ask_for() {
    let Some(_alone) = live() else { return };
    type Is = fn(&Value) -> bool;
    let cases: [(&[&str], Is); 6] = [
        (&["-Y", "rwsem:W,mutex"], |wait| wait["kind"] == "rwsem:W" || wait["kind"] == "mutex"),
        (&["-Y", "rwsem"], |wait| wait["flags"] == "READ" || wait["flags"] == "WRITE"),
        (&["--comm", "^demo-(late|early)$"], |wait| {
            wait["comm"] == "demo-late" || wait["comm"] == "demo-early"
        }),
        (&["--caller", "^do_renameat2"], |wait| {
            wait["caller"].as_str().unwrap().starts_with("do_renameat2+0x")
        }),
        (&["--context", "task"], |wait| wait["context"] == "task"),
        (&["-S", "sys_rename"], |wait| wait["caller"].is_string()),
    ];
    for (arguments, is) in cases {
        let recording = Recording::start(&[&["-a"], arguments].concat());
        assert!(load("300ms").status.success());
        let records = recording.stop();
        let waits = of(&records, "wait");
        assert!(!waits.is_empty(), "{arguments:?}");
        for wait in waits {
            assert!(is(wait), "{arguments:?}: {wait}");
        }
        let quality = &records.last().unwrap()["quality"];
        let left_out = quality["not_asked"].as_u64().unwrap();
        // A filter on types works in the kernel: what it hides shows in its ends.
        let hidden = quality["filtered_end"].as_u64().unwrap();
        assert!(left_out + hidden > 0, "{arguments:?}: {quality}");
        assert_eq!(hidden > 0, arguments[0] == "-Y", "{arguments:?}: {quality}");
    }
}

#[test]
fn nobody_and_nonsense_are_refused_at_once() {
    let Some(_alone) = live() else { return };
    let mut sleeper = Command::new("sleep").arg("1000").stdin(Stdio::null()).spawn().unwrap();
    let dead = sleeper.id().to_string();
    sleeper.kill().unwrap();
    sleeper.wait().unwrap();
    let cases: [(&[&str], i32, &str); 14] = [
        (&["-p", "4194305"], 1, "no process 4194305"),
        (&["-p", &dead], 1, "no process"),
        (&["--tid", "4194305"], 1, "no thread 4194305"),
        (&["-C", "9-3"], 2, "-C: "),
        (&["-C", "0,8000"], 2, "-C 8000: this machine has no such CPU"),
        (&["-Y", "mutexes"], 2, "-Y mutexes: no such type of lock"),
        (&["-L", "no_such_lock"], 2, "-L no_such_lock: "),
        (&["-S", "no_such_function"], 2, "-S no_such_function: no function's name contains it"),
        (&["--by", "comm,caller,comm"], 2, "--by: each key once"),
        (&["-m", "0"], 2, "-m 0"),
        (&["--clock", "sundial"], 2, "no such clock"),
        (&["--clock", "counter"], 2, "--clock counter"),
        (&["--raw", "-e", "nonsense"], 2, "SYSTEM:EVENT"),
        (&["--raw", "-e", "no:such"], 3, "this kernel has no event no:such"),
    ];
    for (arguments, status, told) in cases {
        let run = ftlock(&[&["record"], arguments].concat()).output().unwrap();
        let stderr = String::from_utf8(run.stderr).unwrap();
        assert_eq!(run.status.code(), Some(status), "{arguments:?}: {stderr}");
        assert!(stderr.starts_with("ftlock: ") && stderr.contains(told), "{stderr}");
    }
}
