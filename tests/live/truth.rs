//! The logs of the programs of known truth in `tests/tools`.

#![allow(dead_code, reason = "a test reads of a log what it is about")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde::Deserialize;

use crate::support::compiled;

/// A line of a log. Times are ns of `CLOCK_MONOTONIC`; the files of `tests/tools` say which program
/// writes which.
#[derive(Debug, Deserialize)]
#[serde(tag = "record", rename_all = "snake_case")]
pub(crate) enum Record {
    /// Who kept a kernel lock.
    Holder(Holder),
    /// Who slept for it.
    Sleeper(Sleeper),
    /// Where a user-space lock is.
    Lock(Lock),
    /// A time that a user-space lock was not free.
    Wait(UserWait),
    /// A wait for something to do.
    Idle(Idle),
    /// A thread that slept for one reason only.
    Sleep(Sleep),
}

/// It took the lock in `enter_ns..=held_ns` and let it go in `free_ns..=leave_ns`.
#[derive(Debug, Deserialize)]
pub(crate) struct Holder {
    pub(crate) round: u32,
    pub(crate) lock: String,
    pub(crate) tid: u64,
    pub(crate) comm: String,
    pub(crate) enter_ns: u64,
    pub(crate) held_ns: u64,
    pub(crate) free_ns: u64,
    pub(crate) leave_ns: u64,
}

/// A system call that was nearly all one wait, and who had the lock last before it was through.
#[derive(Debug, Deserialize)]
pub(crate) struct Sleeper {
    pub(crate) round: u32,
    pub(crate) lock: String,
    pub(crate) tid: u64,
    pub(crate) comm: String,
    pub(crate) enter_ns: u64,
    pub(crate) leave_ns: u64,
    /// How long it ran in this time.
    pub(crate) cpu_ns: u64,
    /// How long it could have run, but had no CPU: runnable or preempted.
    pub(crate) delay_ns: u64,
    /// The how-manieth of its round that got the lock; all 0 where they got it together.
    pub(crate) order: u32,
    pub(crate) holder_tid: u64,
    pub(crate) holder_comm: String,
}

/// A lock of a process; a symbol of the program's unless it is shared.
#[derive(Debug, Deserialize)]
pub(crate) struct Lock {
    pub(crate) name: String,
    pub(crate) pid: u64,
    pub(crate) address: u64,
}

/// A wait for a user-space lock, and who had it last before.
#[derive(Debug, Deserialize)]
pub(crate) struct UserWait {
    pub(crate) lock: String,
    pub(crate) tid: u64,
    pub(crate) comm: String,
    pub(crate) enter_ns: u64,
    pub(crate) leave_ns: u64,
    pub(crate) holder_tid: u64,
}

/// A wait that no lock is the reason of.
#[derive(Debug, Deserialize)]
pub(crate) struct Idle {
    pub(crate) what: String,
    pub(crate) tid: u64,
    pub(crate) comm: String,
    pub(crate) enter_ns: u64,
    pub(crate) leave_ns: u64,
}

/// All of a thread's life but its start and end.
#[derive(Debug, Deserialize)]
pub(crate) struct Sleep {
    pub(crate) what: String,
    pub(crate) tid: u64,
    pub(crate) comm: String,
    pub(crate) enter_ns: u64,
    pub(crate) leave_ns: u64,
    pub(crate) calls: u64,
    pub(crate) cpu_ns: u64,
    pub(crate) delay_ns: u64,
}

impl Sleeper {
    /// How long it waited, at most some microseconds too long.
    pub(crate) fn waited_ns(&self) -> u64 {
        self.leave_ns - self.enter_ns
    }

    /// How long it was blocked: neither running nor waiting for a CPU.
    pub(crate) fn blocked_ns(&self) -> u64 {
        self.waited_ns().saturating_sub(self.cpu_ns + self.delay_ns)
    }
}

impl Sleep {
    /// How long it slept.
    pub(crate) fn slept_ns(&self) -> u64 {
        (self.leave_ns - self.enter_ns).saturating_sub(self.cpu_ns + self.delay_ns)
    }
}

/// The lines of a log.
pub(crate) fn read(log: &Path) -> Vec<Record> {
    let text = fs::read_to_string(log).unwrap();
    text.lines().map(|line| serde_json::from_str(line).expect(line)).collect()
}

/// A Rust program of `tests/tools`, compiled.
pub(crate) fn compiled_rust(name: &str, into: &Path) -> Option<PathBuf> {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/tools").join(name);
    let program = into.join(name).with_extension("");
    let compiler = Command::new("rustc")
        .args(["-O", "--edition", "2024", "-o"])
        .args([&program, &source])
        .status();
    match compiler {
        Ok(status) if status.success() => Some(program),
        failed => {
            println!("skipped: cannot compile {name}: {failed:?}");
            None
        }
    }
}

/// Runs a program of `tests/tools` to its end, with the path of its log for the argument `LOG`; gives
/// the log. None where it cannot be compiled, or this machine has no userfaultfd for it.
pub(crate) fn run(name: &str, arguments: &[&str]) -> Option<Vec<Record>> {
    let dir = tempfile::tempdir().unwrap();
    let log = dir.path().join("log");
    let program = if name.ends_with(".rs") {
        compiled_rust(name, dir.path())?
    } else {
        compiled(name, dir.path())?
    };
    let path = log.to_str().unwrap();
    let arguments = arguments.iter().map(|word| if *word == "LOG" { path } else { word });
    let ended = Command::new(program).args(arguments).output().unwrap();
    let complaint = String::from_utf8_lossy(&ended.stderr);
    if complaint.starts_with("userfaultfd:") {
        println!("skipped: {name}: {complaint}");
        return None;
    }
    assert!(ended.status.success(), "{name}: {complaint}");
    Some(read(&log))
}
