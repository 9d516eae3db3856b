//! Cgroups and command lines against what the machine says of them.

use std::fs;
use std::path::PathBuf;
use std::process::{Child, Command, id};
use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};
use serde_json::Value;

use crate::support::{Recording, ftlock, live, of, until};

/// A cgroup of version 2 of our own; gone when dropped, with those below.
struct Cgroup {
    directory: PathBuf,
    path: String,
}

impl Cgroup {
    /// Says why where there can be none, or where rows would go by another hierarchy.
    fn new(name: &str) -> Option<Cgroup> {
        let groups = fs::read_to_string("/proc/self/cgroup").unwrap();
        let mounts = fs::read_to_string("/proc/mounts").unwrap();
        let mount = mounts.lines().find(|line| line.split(' ').nth(2) == Some("cgroup2"));
        let Some(mount) = mount.filter(|_| !groups.contains("perf_event")) else {
            println!("skipped: cgroup version 2 is not mounted, or goes behind perf_event");
            return None;
        };
        let path = format!("/ftlock-test-{}-{name}", id());
        let directory = PathBuf::from(mount.split(' ').nth(1).unwrap()).join(&path[1..]);
        match fs::create_dir(&directory) {
            Ok(()) => Some(Cgroup { directory, path }),
            Err(error) => {
                println!("skipped: cannot make {}: {error}", directory.display());
                None
            }
        }
    }

    fn put(&self, pid: u32) {
        fs::write(self.directory.join("cgroup.procs"), pid.to_string()).unwrap();
    }
}

impl Drop for Cgroup {
    fn drop(&mut self) {
        // The kernel takes a moment to empty a cgroup whose last task has just ended.
        until("the cgroup is empty", || {
            let below = fs::read_dir(&self.directory).unwrap().map(|entry| entry.unwrap().path());
            below.filter(|path| path.is_dir()).for_each(|path| drop(fs::remove_dir(path)));
            fs::remove_dir(&self.directory).is_ok()
        });
    }
}

/// A workload that goes on until it is dropped.
struct Workload(Child);

impl Workload {
    fn start(mut command: Command, arguments: &[&str]) -> Workload {
        let workload = Workload(command.args(arguments).spawn().unwrap());
        until("the workload works", || workload.threads("demo-writer-2").len() == 1);
        workload
    }

    /// Put into a cgroup before it begins.
    fn within(cgroup: &Cgroup) -> Workload {
        let procs = cgroup.directory.join("cgroup.procs");
        let script = format!("echo $$ > {}; exec \"$0\" \"$@\"", procs.display());
        let mut shell = Command::new("sh");
        shell.args(["-c", &script, env!("CARGO_BIN_EXE_ftlock")]);
        Workload::start(shell, &["demo-workload", "--duration", "90s"])
    }

    /// Put nowhere, told from others by its command line.
    fn called(duration: &str) -> Workload {
        Workload::start(ftlock(&["demo-workload"]), &["--duration", duration])
    }

    fn pid(&self) -> u32 {
        self.0.id()
    }

    /// The threads that bear a name.
    fn threads(&self, name: &str) -> Vec<u64> {
        let listed = fs::read_dir(format!("/proc/{}/task", self.pid())).unwrap();
        let is_called = |task: &PathBuf| {
            fs::read_to_string(task.join("comm")).is_ok_and(|comm| comm.trim_end() == name)
        };
        let tid = |task: PathBuf| task.file_name().unwrap().to_str().unwrap().parse().unwrap();
        listed.map(|entry| entry.unwrap().path()).filter(is_called).map(tid).collect()
    }
}

impl Drop for Workload {
    fn drop(&mut self) {
        self.0.kill().unwrap();
        self.0.wait().unwrap();
        // It had no chance to, and its children still work there.
        for parent in [PathBuf::from("/dev/shm"), std::env::temp_dir()] {
            let arena = parent.join(format!("ftlock-demo-{}", self.pid()));
            until("its directory is gone", || {
                drop(fs::remove_dir_all(&arena));
                !arena.exists()
            });
        }
    }
}

/// How many waits are like that.
fn count(records: &[Value], is: impl Fn(&Value) -> bool) -> usize {
    of(records, "wait").into_iter().filter(|wait| is(wait)).count()
}

/// A name that only children of the workload bear.
fn is_child(wait: &Value) -> bool {
    let names = ["baker", "miller", "weaver", "potter", "apprentice", "master"];
    let name = wait["comm"].as_str().and_then(|comm| comm.strip_prefix("demo-"));
    name.is_some_and(|name| names.contains(&name))
}

fn now_ns() -> u64 {
    let now = Duration::try_from(clock_gettime(ClockId::Monotonic)).unwrap();
    u64::try_from(now.as_nanos()).unwrap()
}

/// Does something; gives the instants before and behind.
fn timed(act: impl FnOnce()) -> (u64, u64) {
    let before = now_ns();
    act();
    (before, now_ns())
}

fn ts(wait: &Value) -> u64 {
    wait["ts"].as_u64().unwrap()
}

#[test]
fn a_process_that_moves_waits_in_the_one_cgroup_and_then_in_the_other() {
    let Some(_alone) = live() else { return };
    let (Some(from), Some(to)) = (Cgroup::new("from"), Cgroup::new("to")) else { return };
    let workload = Workload::within(&from);
    let pid = workload.pid();
    let mut recording = Recording::start(&["--by", "cgroup", "-a"]);
    let own = |wait: &Value| wait["pid"] == pid;
    recording.read_until("it waited", |records| count(records, own) > 20);
    let (before, behind) = timed(|| to.put(pid));
    recording.read_until("it waited elsewhere", |records| {
        count(records, |wait| own(wait) && ts(wait) > behind) > 20
            // The children too, which live a fraction of a second: each is where it was born.
            && count(records, |wait| is_child(wait) && wait["cgroup"] == *to.path) > 0
    });
    let records = recording.stop();
    drop(workload);
    let waits = of(&records, "wait");
    for wait in waits.iter().filter(|wait| own(wait)) {
        if ts(wait) < before {
            assert_eq!(wait["cgroup"], from.path, "{wait}, before {before}");
        } else if ts(wait) > behind {
            assert_eq!(wait["cgroup"], to.path, "{wait}, behind {behind}");
        }
    }
    let is_early = |wait: &Value| wait["cgroup"] == *to.path && ts(wait) < before;
    assert_eq!(count(&records, is_early), 0);
    // The rows hold what was streamed.
    let summary = records.last().unwrap();
    for cgroup in [&from.path, &to.path] {
        let row = summary["rows"].as_array().unwrap().iter().find(|row| row["cgroup"] == **cgroup);
        let row = row.unwrap_or_else(|| panic!("no row {cgroup}"));
        let streamed = count(&records, |wait| {
            wait["cgroup"] == **cgroup && wait["ret"] == 0 && wait["uncertain"] == false
        });
        assert_eq!(row["contended"], streamed, "{cgroup}");
    }
    assert_eq!(summary["quality"]["cgroups_unknown"], 0, "{}", summary["quality"]);
}

/// The events are the same as if the whole process moved.
#[test]
fn threads_of_a_leader_that_moves_alone_stay_and_one_that_moves_is_followed() {
    let Some(_alone) = live() else { return };
    let Some(domain) = Cgroup::new("domain") else { return };
    let threads = domain.directory.join("threads");
    fs::create_dir(&threads).unwrap();
    if let Err(error) = fs::write(threads.join("cgroup.type"), "threaded") {
        println!("skipped: no threaded cgroups: {error}");
        return;
    }
    let workload = Workload::within(&domain);
    let pid = workload.pid();
    let mut mover = 0;
    until("the mapper has its name", || {
        mover = workload.threads("demo-mapper-0").first().copied().unwrap_or_default();
        mover != 0
    });
    let mut recording = Recording::start(&["--by", "cgroup", "-p", &pid.to_string()]);
    let put = |tid: u64| fs::write(threads.join("cgroup.threads"), tid.to_string()).unwrap();
    put(pid.into());
    let leader_moved = now_ns();
    recording.read_until("its threads waited", |records| {
        count(records, |wait| ts(wait) > leader_moved) > 20
    });
    let (before, behind) = timed(|| put(mover));
    recording.read_until("the thread waited elsewhere", |records| {
        count(records, |wait| wait["tid"] == mover && ts(wait) > behind) > 2
    });
    let records = recording.stop();
    drop(workload);
    let inner = format!("{}/threads", domain.path);
    for wait in of(&records, "wait") {
        match wait["tid"].as_u64().unwrap() {
            tid if tid == u64::from(pid) => {}
            tid if tid != mover => assert_eq!(wait["cgroup"], domain.path, "{wait}"),
            _ if ts(wait) < before => assert_eq!(wait["cgroup"], domain.path, "{wait}"),
            _ if ts(wait) > behind => assert_eq!(wait["cgroup"], inner, "{wait}"),
            _ => {}
        }
    }
}

#[test]
fn a_cgroup_is_asked_for_with_all_below_it_and_nobody_else() {
    let Some(_alone) = live() else { return };
    let Some(asked) = Cgroup::new("asked") else { return };
    let below =
        Cgroup { directory: asked.directory.join("below"), path: format!("{}/below", asked.path) };
    fs::create_dir(&below.directory).unwrap();
    let mut recording = Recording::start(&["-a", "-G", &asked.path]);
    let outside = Workload::called("89s");
    let (inside, deeper) = (Workload::within(&asked), Workload::within(&below));
    recording.read_until("both waited, and children", |records| {
        let of_pid = |pid: u32| count(records, |wait| wait["pid"] == pid);
        of_pid(inside.pid()) > 5 && of_pid(deeper.pid()) > 5 && count(records, is_child) > 0
    });
    let records = recording.stop();
    for wait in of(&records, "wait") {
        assert_ne!(wait["pid"], outside.pid());
        for (workload, cgroup) in [(&inside, &asked), (&deeper, &below)] {
            let elsewhere = wait["pid"] == workload.pid() && wait["cgroup"] != *cgroup.path;
            assert!(!elsewhere, "{wait}, but {}", cgroup.path);
        }
        let known = ["demo-", "ftlock", "sh"];
        let name = wait["comm"].as_str().unwrap();
        assert!(known.iter().any(|prefix| name.starts_with(prefix)), "{wait}");
    }
    assert!(records.last().unwrap()["quality"]["not_asked"].as_u64().unwrap() > 5);
}

#[test]
fn a_process_is_asked_for_by_its_command_line() {
    let Some(_alone) = live() else { return };
    let mut recording =
        Recording::start(&["-a", "--cmdline", "demo-workload --(worker|duration 88s)"]);
    let (asked, other) = (Workload::called("88s"), Workload::called("87s"));
    let own = |wait: &Value| wait["pid"] == asked.pid();
    // They call themselves so after exec; other runs of the workload have them too. Most are gone
    // before they can be asked for their command line.
    let worker = |wait: &Value| wait["comm"] == "demo-apprentice" || wait["comm"] == "demo-master";
    recording.read_until("it waited", |records| count(records, own) > 10);
    let records = recording.stop();
    let expected = format!("{} demo-workload --duration 88s", env!("CARGO_BIN_EXE_ftlock"));
    for wait in of(&records, "wait") {
        let cmdline = wait["cmdline"].as_str().unwrap_or_default();
        assert_ne!(wait["pid"], other.pid(), "{wait}");
        assert!(!own(wait) || cmdline == expected, "{wait}");
        assert!(!worker(wait) || cmdline.contains("demo-workload --worker /"), "{wait}");
    }
}

#[test]
fn a_cgroup_that_is_not_there_is_told_with_where_it_was_looked_for() {
    let Some(_alone) = live() else { return };
    let Some(here) = Cgroup::new("here") else { return };
    let absent = format!("{}/no such", here.path);
    let run = ftlock(&["record", "-G", &absent, "--", "true"]).output().unwrap();
    let stderr = String::from_utf8(run.stderr).unwrap();
    assert_eq!(run.status.code(), Some(2), "{stderr}");
    let looked_for = here.directory.join("no such");
    assert!(stderr.contains("no such cgroup, looked for as"), "{stderr}");
    assert!(stderr.contains(looked_for.to_str().unwrap()), "{stderr}");
}
