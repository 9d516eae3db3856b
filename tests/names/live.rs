//! This machine: its /proc, its pid namespaces, its kernel's word on a load of our own.

use std::env;
use std::ffi::CString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;

use ftlock::cmdline_cache::proc::{self, PidNamespace};
use ftlock::cmdline_cache::{CmdlineCache, SeededTask};
use ftlock::event::{Comm, Stamp};

use super::compare::{apply_all, compare, stamp, switched};
use super::text::records;

/// A trace instance of our own, gone at the end.
struct Instance(PathBuf);

impl Instance {
    fn new(purpose: &str) -> Option<Instance> {
        let name = format!("ftlock-test-{purpose}-{}", std::process::id());
        let path = Path::new("/sys/kernel/tracing/instances").join(name);
        match fs::create_dir(&path) {
            Ok(()) => Some(Instance(path)),
            Err(error) => {
                println!("skipped: cannot make {}: {error}", path.display());
                None
            }
        }
    }

    fn write(&self, file: &str, value: &str) {
        fs::write(self.0.join(file), value).unwrap();
    }
}

impl Drop for Instance {
    fn drop(&mut self) {
        // Nothing can be done where it fails: the name says whose it was.
        fs::remove_dir(&self.0).ok();
    }
}

fn rename_this_thread(name: &[u8]) {
    rustix::thread::set_name(&CString::new(name).unwrap()).unwrap();
}

/// Processes that run other programs, and threads with odd names that rename themselves.
fn load() {
    let names: [&[u8]; 6] = [b"kworker/0:1-x", b"swapper/0", b"<...>", b"x: y", b") S 1 (", b""];
    thread::scope(|scope| {
        for turn in 0..8 {
            scope.spawn(move || {
                for name in names.iter().cycle().skip(turn).take(40) {
                    rename_this_thread(name);
                    thread::yield_now();
                }
            });
        }
        let script = "for i in 1 2 3 4 5 6 7 8 9 10; do /bin/true; (exec env true) & done; wait";
        scope.spawn(move || Command::new("sh").args(["-c", script]).status());
    });
}

#[test]
fn every_switch_of_a_live_load_bears_the_name_we_give() {
    let Some(instance) = Instance::new("names") else { return };
    instance.write("tracing_on", "0");
    instance.write("buffer_size_kb", "16384");
    instance.write("trace_clock", "mono");
    for event in [
        "task/task_newtask",
        "task/task_rename",
        "sched/sched_process_fork",
        "sched/sched_process_exec",
        "sched/sched_process_exit",
        "sched/sched_switch",
    ] {
        instance.write(&format!("events/{event}/enable"), "1");
    }
    instance.write("tracing_on", "1");
    instance.write("trace_marker", "proc is read from here on\n");
    let mut tasks: Vec<SeededTask> = Vec::new();
    let walk = proc::walk(|| Stamp::MIN, |task, _| tasks.push(*task)).unwrap();
    instance.write("trace_marker", "proc is read\n");
    load();
    instance.write("tracing_on", "0");

    let records = records(&fs::read(instance.0.join("trace")).unwrap());
    let mut markers =
        (0..).zip(&records).filter(|(_, record)| record.event == "tracing_mark_write");
    let (marker, _) = markers.next().unwrap();
    // A task that ended while /proc was read may have been gone before it was its turn.
    let (all_read, _) = markers.next().unwrap();
    let mut cache = CmdlineCache::new(100_000);
    for task in &tasks {
        cache.seed(task, stamp(marker));
    }
    apply_all(&mut cache, &records);
    let tally = compare(&cache, &records, all_read);
    println!("{walk:?}; {tally}; {:?}", cache.counters());
    assert_eq!(walk.read, tasks.len() as u64);
    assert_eq!(walk.unreadable, 0);
    assert_eq!(tally.wrong, [""; 0]);
    assert_eq!((tally.unconfirmed, tally.unknown), (0, 0));
    assert!(tally.known > 100, "{tally}");
    let is_worker = |comm: &Comm| comm.as_bytes().starts_with(b"kworker/");
    let switches = records.iter().filter_map(switched).flatten();
    assert!(switches.filter(|(_, comm)| is_worker(comm)).count() > 0, "no kworker ran");
}

#[test]
fn a_walk_over_proc_gives_names_as_bytes() {
    let names: [&[u8]; 6] = [b"x\ny", b"f) S 1 (h", b"\xff\xfe bad", b"", b"back\\slash", b"end\n"];
    for name in names {
        let found = thread::spawn(move || {
            rename_this_thread(name);
            let tid = rustix::thread::gettid().as_raw_nonzero().get().unsigned_abs();
            let mut found = None;
            let each =
                |task: &SeededTask, _| found = found.or((task.tid.0 == tid).then_some(*task));
            proc::walk(|| Stamp::MIN, each).unwrap();
            found.unwrap()
        });
        let found = found.join().unwrap();
        assert_eq!(found.comm, Comm::new(name));
        assert_eq!((found.tgid.0, found.kernel_thread), (std::process::id(), false));
    }
}

const EXPECTED: &str = "FTLOCK_TEST_PID_NAMESPACE";

/// Runs itself again in a pid namespace of its own: with that namespace's /proc nothing can be
/// named, with the initial one's still everything.
#[test]
fn a_nested_pid_namespace_is_told_from_the_initial_one() {
    if let Ok(expected) = env::var(EXPECTED) {
        assert_eq!(format!("{:?}", proc::pid_namespace().unwrap()), expected);
        return;
    }
    if fs::read("/proc/2/comm").ok().as_deref() != Some(b"kthreadd\n") {
        assert_eq!(proc::pid_namespace().unwrap(), PidNamespace::Nested);
        println!("skipped: this is a nested pid namespace already");
        return;
    }
    assert_eq!(proc::pid_namespace().unwrap(), PidNamespace::Initial);
    for (options, expected) in [(&["-pf", "--mount-proc"][..], "Nested"), (&["-pf"], "Initial")] {
        if !Command::new("unshare").args(options).arg("true").status().is_ok_and(|s| s.success()) {
            println!("skipped: unshare {options:?} is refused");
            continue;
        }
        let status = Command::new("unshare")
            .args(options)
            .arg(env::current_exe().unwrap())
            .args(["--exact", "live::a_nested_pid_namespace_is_told_from_the_initial_one"])
            .env(EXPECTED, expected)
            .status();
        assert!(status.unwrap().success(), "{options:?}");
    }
}
