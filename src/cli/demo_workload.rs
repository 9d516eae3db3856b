//! What `ftlock demo` records: threads and processes that fight over a directory, a pipe and one
//! address space, under names that change.

use std::ffi::CString;
use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{self, Child, Command};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::Context;
use memmap2::MmapMut;

use super::args::DemoWorkloadArgs;

/// Programs that the processes exec: one file under several names, each a name to wait under.
const PROGRAMS: [&str; 4] = ["demo-baker", "demo-miller", "demo-weaver", "demo-potter"];

/// How long a process of the fight lives.
const PROCESS_LIFE: Duration = Duration::from_millis(60);

/// Runs the workload, or one process of it.
pub(super) fn run(args: &DemoWorkloadArgs) -> anyhow::Result<()> {
    if let Some(dir) = &args.worker {
        return worker(dir);
    }
    let arena = Arena::new()?;
    let until = Instant::now() + args.duration;
    let (mut reader, writer) = io::pipe().context("cannot make a pipe")?;
    let writers = [writer.try_clone()?, writer.try_clone()?, writer];
    thread::scope(|scope| {
        for (number, writer) in writers.into_iter().enumerate() {
            scope.spawn(move || write_pipe(number, writer, until));
            scope.spawn(move || map_memory(number, until));
            let dir = arena.dir.as_path();
            scope.spawn(move || rename_files(dir, "demo-early", "demo-late", until));
        }
        scope.spawn(move || drain_pipe(&mut reader));
        beget_processes(&arena.dir, until)
    })
}

/// The directory that is fought over; gone when dropped.
struct Arena {
    dir: PathBuf,
}

impl Arena {
    /// In memory where possible: a disk's file system would do other work under its locks.
    fn new() -> anyhow::Result<Arena> {
        let shm = Path::new("/dev/shm");
        let parent = if shm.is_dir() { shm.to_owned() } else { std::env::temp_dir() };
        let dir = parent.join(format!("ftlock-demo-{}", process::id()));
        fs::create_dir(&dir).with_context(|| format!("cannot make {}", dir.display()))?;
        let arena = Arena { dir };
        let program = std::env::current_exe().context("cannot find the own program")?;
        for name in PROGRAMS {
            let link = arena.dir.join(name);
            symlink(&program, &link).with_context(|| format!("cannot make {}", link.display()))?;
        }
        Ok(arena)
    }
}

impl Drop for Arena {
    fn drop(&mut self) {
        // Nothing can be done about a directory that cannot be removed; it is small.
        let _ = fs::remove_dir_all(&self.dir).is_ok();
    }
}

fn worker(dir: &Path) -> anyhow::Result<()> {
    let half = Instant::now() + PROCESS_LIFE / 2;
    churn(dir, half);
    rename_files(dir, "demo-apprentice", "demo-master", half + PROCESS_LIFE / 2);
    Ok(())
}

/// Two names, one after the other, for the same work.
fn rename_files(dir: &Path, first: &str, second: &str, until: Instant) {
    let half = Instant::now() + until.saturating_duration_since(Instant::now()) / 2;
    call_me(first);
    churn(dir, half);
    call_me(second);
    churn(dir, until);
}

/// Creating, renaming and removing files takes the directory's lock for writing.
fn churn(dir: &Path, until: Instant) {
    let me = rustix::thread::gettid().as_raw_nonzero();
    let (from, to) = (dir.join(format!("a{me}")), dir.join(format!("b{me}")));
    while Instant::now() < until {
        // The directory is removed under late children: they are done then.
        let fought = File::create(&from).and_then(|_| fs::rename(&from, &to));
        if fought.and_then(|()| fs::remove_file(&to)).is_err() {
            return;
        }
    }
}

/// Writers of one pipe take turns at its mutex.
fn write_pipe(number: usize, mut writer: impl Write, until: Instant) {
    call_me(&format!("demo-writer-{number}"));
    while Instant::now() < until && writer.write_all(&[b'x'; 512]).is_ok() {}
}

fn drain_pipe(reader: &mut impl Read) {
    call_me("demo-reader");
    let mut bytes = [0; 4096];
    while reader.read(&mut bytes).is_ok_and(|count| count > 0) {}
}

/// Mapping takes the address space's lock for writing, the page fault for reading.
fn map_memory(number: usize, until: Instant) {
    call_me(&format!("demo-mapper-{number}"));
    while Instant::now() < until {
        let Ok(mut map) = MmapMut::map_anon(1 << 16) else { return };
        if let Some(byte) = map.first_mut() {
            *byte = 1;
        }
    }
}

fn beget_processes(dir: &Path, until: Instant) -> anyhow::Result<()> {
    let mut programs = PROGRAMS.iter().cycle();
    while Instant::now() < until {
        let pair = [programs.next(), programs.next()];
        let children: Vec<Child> = pair
            .into_iter()
            .flatten()
            .map(|name| {
                Command::new(dir.join(name)).args(["demo-workload", "--worker"]).arg(dir).spawn()
            })
            .collect::<io::Result<_>>()
            .context("cannot start a process of the demo")?;
        for mut child in children {
            child.wait().context("cannot wait for a process of the demo")?;
        }
    }
    Ok(())
}

fn call_me(name: &str) {
    if let Ok(name) = CString::new(name) {
        // A name is decoration: the fight goes on without it.
        let _ = rustix::thread::set_name(&name).is_ok();
    }
}
