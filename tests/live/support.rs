//! Running the program, and finding out whether this machine allows it.

use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Output, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

/// Longer than anything here takes, however loaded the machine.
const PATIENCE: Duration = Duration::from_secs(60);

/// One test at a time: they look at the machine's instances, and load it.
static ALONE: Mutex<()> = Mutex::new(());

/// Whether this machine allows live tests; says why not. Hold it while the test runs.
pub(crate) fn live() -> Option<MutexGuard<'static, ()>> {
    if !rustix::process::geteuid().is_root() {
        println!("skipped: not root");
        return None;
    }
    let alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let checked = ftlock(&["check"]).output().unwrap();
    if !checked.status.success() {
        println!("skipped: {}", String::from_utf8_lossy(&checked.stdout));
        return None;
    }
    Some(alone)
}

/// The program with arguments.
pub(crate) fn ftlock(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_ftlock"));
    command.args(arguments);
    command
}

/// tracefs, as the kernel lists it.
pub(crate) fn tracefs() -> PathBuf {
    let mounts = fs::read_to_string("/proc/mounts").unwrap();
    let mount = mounts.lines().find(|line| line.split(' ').nth(2) == Some("tracefs"));
    PathBuf::from(mount.unwrap().split(' ').nth(1).unwrap())
}

/// The instances of ftlock that there are now.
pub(crate) fn instances() -> Vec<String> {
    let entries = fs::read_dir(tracefs().join("instances")).unwrap();
    let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut ours: Vec<_> = names.filter(|name| name.starts_with("ftlock-")).collect();
    ours.sort();
    ours
}

/// Whether the process has an instance. Others may run ftlock at the same time.
pub(crate) fn has_instance(pid: u32) -> bool {
    let prefix = format!("ftlock-{pid}-");
    instances().iter().any(|name| name.starts_with(&prefix))
}

/// Every setting at tracefs's top level that a tracer could have touched.
pub(crate) fn top_level() -> Vec<(String, String)> {
    let mut files = vec![];
    for name in [
        "buffer_percent",
        "buffer_size_kb",
        "buffer_subbuf_size_kb",
        "current_tracer",
        "events/enable",
        "saved_cmdlines_size",
        "set_event",
        "set_event_notrace_pid",
        "set_event_pid",
        "trace_clock",
        "trace_options",
        "tracing_cpumask",
        "tracing_on",
        "tracing_thresh",
    ] {
        if let Ok(text) = fs::read_to_string(tracefs().join(name)) {
            files.push((name.to_owned(), text));
        }
    }
    assert!(files.len() > 8);
    files
}

/// Waits until something is so.
pub(crate) fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let begin = Instant::now();
    while !is_so() {
        assert!(begin.elapsed() < PATIENCE, "waited in vain until {what}");
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// A recording on its way, streaming JSON lines.
pub(crate) struct Recording {
    child: Child,
    lines: BufReader<ChildStdout>,
    /// What was read before the end.
    read: Vec<Value>,
}

impl Recording {
    /// Starts `ftlock record --stream json` with further arguments; returns once it traces.
    pub(crate) fn start(arguments: &[&str]) -> Recording {
        let mut command = ftlock(&["record", "--stream", "json"]);
        let mut child = command.args(arguments).stdout(Stdio::piped()).spawn().unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap());
        let mut header = String::new();
        lines.read_line(&mut header).unwrap();
        let header: Value = serde_json::from_str(&header).unwrap();
        assert_eq!(header["record"], "header");
        assert_eq!(header["schema"], 1);
        Recording { child, lines, read: Vec::new() }
    }

    /// Reads records until there is enough of something.
    pub(crate) fn read_until(&mut self, what: &str, mut enough: impl FnMut(&[Value]) -> bool) {
        let begin = Instant::now();
        while !enough(&self.read) {
            // To look at all of them behind each one would take ever longer, and never catch up.
            let next = self.read.len() + self.read.len() / 8;
            while {
                let mut line = String::new();
                let length = self.lines.read_line(&mut line).unwrap();
                assert!(length > 0 && begin.elapsed() < PATIENCE, "read in vain until {what}");
                self.read.push(serde_json::from_str(&line).unwrap());
                self.read.len() < next && self.has_more()
            } {}
        }
    }

    /// Whether there is more to read already.
    fn has_more(&self) -> bool {
        let mut pipe = [PollFd::new(self.lines.get_ref(), PollFlags::IN)];
        !self.lines.buffer().is_empty() || poll(&mut pipe, Some(&Timespec::default())).unwrap() > 0
    }

    /// Something about what was read so far.
    pub(crate) fn seen<T>(&self, what: impl Fn(&[Value]) -> T) -> T {
        what(&self.read)
    }

    /// Waits for one that was killed; gives what was read before.
    pub(crate) fn gone(mut self) -> Vec<Value> {
        self.child.wait().unwrap();
        self.read
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    pub(crate) fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).unwrap();
    }

    /// Ends it as Ctrl-C does; gives every record but the header.
    pub(crate) fn stop(self) -> Vec<Value> {
        self.signal(Signal::INT);
        let (records, status) = self.wait();
        assert_eq!(status, 0);
        records
    }

    /// Waits for its end; gives every record but the header, and the exit status.
    pub(crate) fn wait(mut self) -> (Vec<Value>, i32) {
        let mut text = String::new();
        self.lines.read_to_string(&mut text).unwrap();
        let status = self.child.wait().unwrap();
        let mut records = self.read;
        records.extend(text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap()));
        assert_eq!(records.last().unwrap()["record"], "summary");
        assert_sound(records.last().unwrap());
        (records, status.code().unwrap_or(-1))
    }
}

/// In every run: all identities hold, and every event the kernel wrote on a CPU was read or lost.
pub(crate) fn assert_sound(summary: &Value) {
    let identities = summary["identities"].as_array().unwrap();
    assert!(identities.len() >= 5, "{summary}");
    assert!(identities.iter().all(|identity| identity["holds"] == true), "{identities:#?}");
    for cpu in summary["quality"]["cpus"].as_array().unwrap() {
        let count = |name: &str| cpu[name].as_u64().unwrap();
        assert_eq!(count("read") + count("overrun") + count("dropped"), count("written"), "{cpu}");
    }
}

/// The records of one kind.
pub(crate) fn of<'a>(records: &'a [Value], kind: &str) -> Vec<&'a Value> {
    records.iter().filter(|record| record["record"] == kind).collect()
}

/// Makes waits: processes that fight over a directory, a pipe and an address space.
pub(crate) fn load(duration: &str) -> Output {
    ftlock(&["demo-workload", "--duration", duration]).output().unwrap()
}

/// A C program of `tests/tools`, compiled.
pub(crate) fn compiled(name: &str, into: &Path) -> Option<PathBuf> {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/tools").join(name);
    let program = into.join(name).with_extension("");
    let compiler =
        Command::new("cc").args(["-O2", "-pthread", "-w", "-o"]).args([&program, &source]).status();
    match compiler {
        Ok(status) if status.success() => Some(program),
        failed => {
            println!("skipped: cannot compile {name}: {failed:?}");
            None
        }
    }
}
