//! What happens to a run: each with an end that is told. Further ones are in `endings.rs` (signals, streams,
//! other readers), `saved.rs` (full disks), `places.rs` (where tracing is not to be had).

use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::thread;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use crate::support::{
    Recording, assert_sound, ftlock, has_instance, instances, live, load, of, tracefs,
};

/// A run that streams, and its instance.
struct Traced {
    child: Child,
    stdout: BufReader<ChildStdout>,
    instance: PathBuf,
}

impl Traced {
    fn start(arguments: &[&str]) -> Traced {
        let mut command = ftlock(&[&["record", "-a", "--stream", "json"], arguments].concat());
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut stdout = BufReader::new(child.stdout.take().unwrap());
        stdout.read_line(&mut String::new()).unwrap();
        let prefix = format!("ftlock-{}-", child.id());
        let name = instances().into_iter().find(|name| name.starts_with(&prefix)).unwrap();
        Traced { child, stdout, instance: tracefs().join("instances").join(name) }
    }

    /// Ends it; gives its status, its last line and what it said.
    fn stop(mut self) -> (i32, Value, String) {
        kill_process(Pid::from_child(&self.child), Signal::INT).unwrap();
        let mut text = String::new();
        self.stdout.read_to_string(&mut text).unwrap();
        let mut stderr = String::new();
        self.child.stderr.take().unwrap().read_to_string(&mut stderr).unwrap();
        let status = self.child.wait().unwrap().code().unwrap();
        assert!(!has_instance(self.child.id()));
        let last = serde_json::from_str(text.lines().last().unwrap()).unwrap();
        (status, last, stderr)
    }
}

/// Whoever meddles is told on: that is tested in `endings.rs`; these are further ways to meddle.
#[test]
fn a_changed_clock_and_events_that_are_switched_off_are_told() {
    let Some(_alone) = live() else { return };
    for (file, text, told) in [
        ("trace_clock", "boot", "someone else changed trace_clock from mono to boot"),
        (
            "events/lock/enable",
            "0",
            "someone else changed events/lock/contention_begin/enable from 1 to 0",
        ),
        ("set_event", "", "someone else changed events/task/task_rename/enable from 1 to 0"),
    ] {
        let run = Traced::start(&[]);
        let path = run.instance.join(file);
        if !path.exists() {
            println!("skipped: this kernel has no {file}");
            run.stop();
            continue;
        }
        let meddle = match text {
            // As a shell's `>` does.
            "" => fs::OpenOptions::new().write(true).truncate(true).open(path).map(drop),
            text => fs::write(path, text),
        };
        meddle.unwrap();
        let (status, _, stderr) = run.stop();
        assert_eq!(status, 1, "{file}: {stderr}");
        assert!(stderr.contains(told), "{file}: {stderr}");
    }
}

#[test]
fn nobody_can_remove_the_instance_of_a_run_that_lasts() {
    let Some(_alone) = live() else { return };
    let run = Traced::start(&[]);
    let refused = fs::remove_dir(&run.instance).unwrap_err();
    assert_eq!(refused.kind(), std::io::ErrorKind::ResourceBusy, "{refused}");
    assert!(load("100ms").status.success());
    let (status, summary, stderr) = run.stop();
    assert_eq!((status, stderr.contains("someone else")), (0, false), "{stderr}");
    assert_sound(&summary);
    assert!(summary["totals"]["contended"].as_u64().unwrap() > 0, "{summary}");
}

/// A CPU that is given back when the test is over.
struct Offline(PathBuf);

impl Offline {
    fn cpu1() -> Option<Offline> {
        let path = Path::new("/sys/devices/system/cpu/cpu1/online").to_owned();
        match fs::write(&path, "0") {
            Ok(()) => Some(Offline(path)),
            Err(error) => {
                println!("skipped: cpu1 cannot be taken offline here: {error}");
                None
            }
        }
    }
}

impl Drop for Offline {
    fn drop(&mut self) {
        fs::write(&self.0, "1").unwrap();
    }
}

#[test]
fn a_cpu_that_goes_and_comes_back_is_read_all_the_way() {
    let Some(_alone) = live() else { return };
    for arguments in [&[][..], &["--sched", "--sleep"]] {
        let recording = Recording::start(&[&["-a"], arguments].concat());
        assert!(load("200ms").status.success());
        let Some(offline) = Offline::cpu1() else {
            recording.stop();
            return;
        };
        assert!(load("200ms").status.success());
        drop(offline);
        assert!(load("300ms").status.success());
        let records = recording.stop();
        let summary = records.last().unwrap();
        // That nothing is missing is checked of every run; here of a CPU that was away.
        let cpus = summary["quality"]["cpus"].as_array().unwrap();
        let cpu1 = cpus.iter().find(|cpu| cpu["cpu"] == 1).unwrap();
        assert!(cpu1["read"].as_u64().unwrap() > 0, "{cpu1}");
        let waits = of(&records, "wait");
        assert!(waits.iter().any(|wait| wait["cpu"] == 1), "{}", waits.len());
    }
}

#[test]
fn a_cpu_that_was_offline_from_the_start_is_picked_up() {
    let Some(_alone) = live() else { return };
    let Some(offline) = Offline::cpu1() else { return };
    let recording = Recording::start(&["-a"]);
    drop(offline);
    assert!(load("500ms").status.success());
    let records = recording.stop();
    let cpus = records.last().unwrap()["quality"]["cpus"].as_array().unwrap().clone();
    let cpu1 = cpus.iter().find(|cpu| cpu["cpu"] == 1).unwrap();
    assert!(cpu1["read"].as_u64().unwrap() > 0, "{cpu1}");
}

#[test]
fn too_few_open_files_are_told_with_the_command_that_allows_more() {
    let Some(_alone) = live() else { return };
    for (limit, told) in
        [(16, "the hard limit is 16\nhint: sudo prlimit --nofile="), (6, "(os error 24)")]
    {
        let script = format!("ulimit -n {limit}; exec \"$0\" record --stream none -- true");
        let run = Command::new("sh")
            .args(["-c", &script, env!("CARGO_BIN_EXE_ftlock")])
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let pid = run.id();
        let run = run.wait_with_output().unwrap();
        let stderr = String::from_utf8(run.stderr).unwrap();
        assert!(matches!(run.status.code(), Some(1 | 3)), "{limit}: {:?} {stderr}", run.status);
        assert!(stderr.starts_with("ftlock: ") && stderr.contains(told), "{limit}: {stderr}");
        assert!(!has_instance(pid));
    }
}

/// Whoever reads the stream falls asleep. That lines are dropped when too many wait is tested in
/// `src/pipeline/queue.rs`: it takes 128 MB of them.
#[test]
fn a_reader_that_sleeps_costs_no_events() {
    let Some(_alone) = live() else { return };
    let run = Traced::start(&["--raw", "-e", "sched:sched_switch", "-m", "64M"]);
    // A pipe holds 64 KiB.
    assert!(load("1s").status.success());
    let (status, summary, stderr) = run.stop();
    assert_eq!(status, 0, "{stderr}");
    assert_sound(&summary);
    let count = |name: &str| -> u64 {
        let cpus = summary["quality"]["cpus"].as_array().unwrap().iter();
        cpus.map(|cpu| cpu[name].as_u64().unwrap()).sum()
    };
    assert!(count("read") > 1000 && count("overrun") == 0, "{summary}");
    assert_eq!(summary["quality"]["stream_dropped"], 0);
}

/// The rings are other ones then: nothing can be read of them as before.
#[test]
fn another_size_of_sub_buffers_ends_the_run_with_what_it_has() {
    let Some(_alone) = live() else { return };
    let mut run = Traced::start(&[]);
    let path = run.instance.join("buffer_subbuf_size_kb");
    if !path.exists() {
        println!("skipped: this kernel has no {}", path.display());
        run.stop();
        return;
    }
    fs::write(path, "8").unwrap();
    let status = run.child.wait().unwrap();
    let mut stderr = String::new();
    run.child.stderr.take().unwrap().read_to_string(&mut stderr).unwrap();
    assert_eq!(status.code(), Some(3), "{stderr}");
    assert!(stderr.contains("not whole sub-buffers of"), "{stderr}");
    assert!(stderr.contains("another tracer works on this instance"), "{stderr}");
    let mut text = String::new();
    run.stdout.read_to_string(&mut text).unwrap();
    let last: Value = serde_json::from_str(text.lines().last().unwrap()).unwrap();
    assert_eq!(last["record"], "summary");
    assert!(!has_instance(run.child.id()));
}

/// Whatever reads is killed, not closed.
#[test]
fn a_reader_that_is_killed_ends_the_run() {
    let Some(_alone) = live() else { return };
    let script = "\"$0\" record -a --stream json & echo $! >&2";
    let mut pipeline = Command::new("sh")
        .args(["-c", &format!("{{ {script}; }} | cat"), env!("CARGO_BIN_EXE_ftlock")])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stderr = BufReader::new(pipeline.stderr.take().unwrap());
    let mut pid = String::new();
    stderr.read_line(&mut pid).unwrap();
    let pid: u32 = pid.trim().parse().unwrap();
    let mut stdout = BufReader::new(pipeline.stdout.take().unwrap());
    stdout.read_line(&mut String::new()).unwrap();
    assert!(has_instance(pid));
    let children = fs::read_to_string(format!("/proc/{0}/task/{0}/children", pipeline.id()));
    let cat = children.unwrap().split_whitespace().map(str::to_owned).find(|child| {
        fs::read_to_string(format!("/proc/{child}/comm")).is_ok_and(|comm| comm == "cat\n")
    });
    let cat = Pid::from_raw(cat.unwrap().parse().unwrap()).unwrap();
    kill_process(cat, Signal::KILL).unwrap();
    crate::support::until("the run has ended", || {
        // A line finds out that nobody reads.
        thread::sleep(Duration::from_millis(20));
        !has_instance(pid)
    });
    pipeline.wait().unwrap();
}
