//! Every way out: the report printed, the instance gone, nothing at the top level touched.

use std::fs::{self, File};
use std::io::{BufRead, BufReader, Read};
use std::process::Stdio;
use std::thread;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};

use crate::support::{
    Recording, ftlock, has_instance, instances, live, load, of, top_level, until,
};

/// A fixed sequence that looks random: the moments differ, and are the same in every run.
struct Moments(u64);

impl Moments {
    fn next_ms(&mut self, below: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.0 >> 33) % below
    }
}

#[test]
fn a_hundred_signals_at_any_moment_leave_nothing_behind() {
    let Some(_alone) = live() else { return };
    let top_before = top_level();
    let mut moments = Moments(2818);
    for round in 0..100 {
        let signal = [Signal::INT, Signal::TERM, Signal::HUP, Signal::QUIT][round % 4];
        let mut child =
            ftlock(&["record", "-a"]).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        thread::sleep(Duration::from_millis(moments.next_ms(300)));
        kill_process(Pid::from_child(&child), signal).unwrap();
        child.wait().unwrap();
        assert!(!has_instance(child.id()), "round {round}, {signal:?}");
    }
    assert_eq!(top_level(), top_before);
}

#[test]
fn what_a_killed_run_leaves_the_next_one_removes_and_a_living_ones_stays() {
    let Some(_alone) = live() else { return };
    let killed = Recording::start(&["-a"]);
    let killed_run = killed.pid();
    killed.signal(Signal::KILL);
    until("the killed run's instance is an orphan", || {
        fs::read_to_string(format!("/proc/{}/stat", killed.pid()))
            .is_ok_and(|stat| stat.contains(") Z "))
    });
    assert!(has_instance(killed_run));
    let living = Recording::start(&["-a"]);
    let living_run = living.pid();
    assert!(!has_instance(killed_run));
    Recording::start(&["-a"]).stop();
    assert!(has_instance(living_run));
    living.stop();
    assert!(!has_instance(living_run));
}

#[test]
fn two_runs_at_once_both_see_all_waits() {
    let Some(_alone) = live() else { return };
    // Whoever else loads the machine meanwhile: nothing is lost.
    let runs = [Recording::start(&["-a", "-m", "64M"]), Recording::start(&["-a", "-m", "64M"])];
    assert!(load("300ms").status.success());
    let [first, second] = runs.map(Recording::stop);
    // The lock, the task, and the name: each instance stamps an event with its own time.
    let waits = |records: &[serde_json::Value]| -> Vec<String> {
        let waits = of(records, "wait").into_iter();
        let demo =
            waits.filter(|wait| wait["comm"].as_str().is_some_and(|c| c.starts_with("demo-")));
        let mut keys: Vec<_> =
            demo.map(|wait| format!("{} {} {}", wait["tid"], wait["comm"], wait["lock"])).collect();
        keys.sort();
        keys
    };
    let (first, second) = (waits(&first), waits(&second));
    assert!(first.len() > 20);
    let only_first: Vec<_> = first.iter().filter(|wait| !second.contains(wait)).collect();
    let only_second: Vec<_> = second.iter().filter(|wait| !first.contains(wait)).collect();
    assert_eq!((only_first, only_second, first.len()), (vec![], vec![], second.len()));
}

#[test]
fn the_commands_status_is_ours() {
    let Some(_alone) = live() else { return };
    let cases: [(&[&str], i32); 6] = [
        (&["true"], 0),
        (&["false"], 1),
        (&["sh", "-c", "exit 42"], 42),
        (&["sh", "-c", "kill -9 $$"], 137),
        (&["/nonexistent/command"], 127),
        (&["/etc/passwd"], 126),
    ];
    for (command, expected) in cases {
        let run = ftlock(&[&["record", "--"], command].concat())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let pid = run.id();
        let run = run.wait_with_output().unwrap();
        assert_eq!(run.status.code(), Some(expected), "{command:?}");
        let text = String::from_utf8(run.stdout).unwrap();
        assert_eq!(text.contains("got the lock"), !(126..=127).contains(&expected), "{text}");
        assert!(!has_instance(pid));
    }
}

#[test]
fn the_commands_streams_are_its_own() {
    let Some(_alone) = live() else { return };
    let mut child =
        ftlock(&["record", "--stream", "none", "--", "sh", "-c", "cat; echo aside >&2"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
    std::io::Write::write_all(&mut child.stdin.take().unwrap(), b"through\n").unwrap();
    let run = child.wait_with_output().unwrap();
    assert!(run.stdout.starts_with(b"through\n"));
    assert_eq!(run.stderr, b"aside\n");
}

#[test]
fn a_signal_for_us_reaches_the_command_and_its_report_comes_all_the_same() {
    let Some(_alone) = live() else { return };
    for (signal, status) in [(Signal::INT, 130), (Signal::TERM, 143)] {
        let recording = Recording::start(&["--", "sleep", "1000"]);
        recording.signal(signal);
        let (_, code) = recording.wait();
        assert_eq!(code, status);
    }
}

#[test]
fn whoever_stops_reading_ends_the_run_quietly() {
    let Some(_alone) = live() else { return };
    let mut child =
        ftlock(&["record", "-a"]).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut stdout = BufReader::new(child.stdout.take().unwrap());
    let mut line = String::new();
    stdout.read_line(&mut line).unwrap();
    assert!(line.contains("CALLER"));
    drop(stdout);
    let mut stderr = String::new();
    child.stderr.take().unwrap().read_to_string(&mut stderr).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(0));
    assert!(stderr.contains(" in ") && !stderr.contains("ftlock:"), "{stderr}");
    assert!(!has_instance(child.id()));
}

#[test]
fn a_full_disk_is_an_error_and_the_table_goes_to_stderr() {
    let Some(_alone) = live() else { return };
    let full = File::options().write(true).open("/dev/full").unwrap();
    let run = ftlock(&["record", "-a"]).stdout(full).stderr(Stdio::piped()).spawn().unwrap();
    let pid = run.id();
    let run = run.wait_with_output().unwrap();
    let stderr = String::from_utf8(run.stderr).unwrap();
    assert_eq!(run.status.code(), Some(1));
    assert!(stderr.contains("No space left on device"), "{stderr}");
    assert!(stderr.contains("got the lock"), "{stderr}");
    assert!(!has_instance(pid));
}

/// Someone else meddles with our instance: said, and the status is not 0.
#[test]
fn whoever_disturbs_the_trace_is_told_on() {
    let Some(_alone) = live() else { return };
    type Meddle = fn(&std::path::Path);
    let cases: [(&str, Meddle); 3] = [
        ("changed tracing_on from 1 to 0", |instance| {
            fs::write(instance.join("tracing_on"), "0").unwrap();
        }),
        ("changed buffer_size_kb", |instance| {
            fs::write(instance.join("buffer_size_kb"), "512").unwrap();
        }),
        ("events from the ring of cpu", |instance| {
            assert!(load("100ms").status.success());
            for cpu in 0..2 {
                let ring = instance.join(format!("per_cpu/cpu{cpu}/trace_pipe_raw"));
                let mut bytes = vec![0; 64 << 10];
                File::open(ring).and_then(|mut ring| ring.read(&mut bytes)).ok();
            }
        }),
    ];
    for (told, meddle) in cases {
        // A tick so long that another reader comes first.
        let mut child = ftlock(&["record", "-a", "--stream", "json", "--tick", "2s"])
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut stdout = BufReader::new(child.stdout.take().unwrap());
        stdout.read_line(&mut String::new()).unwrap();
        let prefix = format!("ftlock-{}-", child.id());
        let name = instances().into_iter().find(|name| name.starts_with(&prefix)).unwrap();
        meddle(&crate::support::tracefs().join("instances").join(name));
        kill_process(Pid::from_child(&child), Signal::INT).unwrap();
        stdout.read_to_string(&mut String::new()).unwrap();
        let mut stderr = String::new();
        child.stderr.take().unwrap().read_to_string(&mut stderr).unwrap();
        assert_eq!(child.wait().unwrap().code(), Some(1), "{told}: {stderr}");
        assert!(stderr.contains("someone else") && stderr.contains(told), "{stderr}");
    }
}
