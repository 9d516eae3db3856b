//! Locks of user space against programs that log their own waits.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use crate::support::{Recording, compiled, live, of};
use crate::truth::{Lock, Record, UserWait, compiled_rust, read};

/// A program of `tests/tools` under the recorder for half a second.
struct Traced {
    log: Vec<Record>,
    records: Vec<Value>,
}

impl Traced {
    fn run(name: &str) -> Option<Traced> {
        let dir = tempfile::tempdir().unwrap();
        let program: PathBuf = match name.ends_with(".rs") {
            true => compiled_rust(name, dir.path())?,
            false => compiled(name, dir.path())?,
        };
        let log = dir.path().join("log");
        let (program, path) = (program.to_str().unwrap(), log.to_str().unwrap());
        let arguments = ["--futex", "--by", "lock", "--", program, path, "0.5"];
        let (records, status) = Recording::start(&arguments).wait();
        assert_eq!(status, 0);
        Some(Traced { log: read(&log), records })
    }

    fn locks(&self) -> impl Iterator<Item = &Lock> {
        self.log.iter().filter_map(|record| match record {
            Record::Lock(lock) => Some(lock),
            _ => None,
        })
    }

    /// The program's own waits for one of its locks.
    fn logged(&self, lock: &str) -> Vec<&UserWait> {
        let waits = self.log.iter().filter_map(|record| match record {
            Record::Wait(wait) => Some(wait),
            _ => None,
        });
        waits.filter(|wait| wait.lock == lock).collect()
    }

    /// The rows of a table.
    fn rows(&self, table: &str) -> &[Value] {
        let tables = of(&self.records, "summary")[0]["tables"].as_array();
        let found = tables.into_iter().flatten().find(|found| found["table"] == table);
        found.map_or(&[], |found| found["rows"].as_array().unwrap())
    }

    /// The row of a lock in a process.
    fn row(&self, lock: &Lock) -> &Value {
        let address = format!("{:#x}", lock.address);
        let is_its = |row: &&Value| row["lock"] == address && row["pid"] == lock.pid;
        self.rows("futexes").iter().find(is_its).unwrap_or_else(|| panic!("no row of {lock:?}"))
    }

    /// The futex waits of the stream.
    fn waits(&self) -> impl Iterator<Item = &Value> {
        of(&self.records, "wait").into_iter().filter(|wait| wait.get("shared").is_some())
    }
}

/// The sums of a lock's rows and of the program's log agree to 5 %.
#[track_caller]
fn assert_total(rows: &[&Value], logged: &[&UserWait]) {
    let seen_ns: u64 = rows.iter().map(|row| row["wait_total"].as_u64().unwrap()).sum();
    let logged_ns: u64 = logged.iter().map(|wait| wait.leave_ns - wait.enter_ns).sum();
    assert!(logged.len() > 20, "{}", logged.len());
    assert!(seen_ns.abs_diff(logged_ns) * 20 < logged_ns, "{seen_ns} of {logged_ns}");
}

/// Of the waits that the program logged as one, who woke is who had the lock before.
#[track_caller]
fn assert_holders(traced: &Traced, lock: &str, logged: &[&UserWait]) {
    let (mut right, mut all) = (0, 0);
    for wait in traced.waits().filter(|wait| wait["lock_name"] == lock && wait["ret"] == 0) {
        let number = |field: &str| wait[field].as_u64().unwrap();
        let its = logged.iter().find(|logged| {
            logged.tid == number("tid")
                && (logged.enter_ns..logged.leave_ns).contains(&number("ts"))
        });
        // One that was woken and came too late waits again; the last of these had it.
        let Some(its) = its.filter(|its| its.leave_ns - number("end") < 1_000_000) else {
            continue;
        };
        all += 1;
        right += u64::from(wait["holder"]["tid"] == its.holder_tid);
    }
    assert!(all > 20 && right * 100 >= all * 99, "{right} of {all}");
}

#[test]
fn mutexes_are_found_by_their_names() {
    let Some(_alone) = live() else { return };
    let Some(traced) = Traced::run("mutexes.c") else { return };
    for lock in traced.locks().filter(|lock| lock.name != "shared") {
        let row = traced.row(lock);
        assert_eq!(row["lock_name"], *lock.name);
        assert_eq!((&row["lock_name_by"], &row["shared"]), (&"global".into(), &false.into()));
        let kind = if lock.name == "the_pi_lock" { "futex:pi" } else { "futex" };
        assert_eq!(row["type"], kind);
        let logged = traced.logged(&lock.name);
        assert_total(&[row], &logged);
        assert_holders(&traced, &lock.name, &logged);
    }
}

/// Each process has it at an address of its own, and the same place behind it.
#[test]
fn a_mutex_of_several_processes_is_marked_in_each() {
    let Some(_alone) = live() else { return };
    let Some(traced) = Traced::run("mutexes.c") else { return };
    let locks: Vec<&Lock> = traced.locks().filter(|lock| lock.name == "shared").collect();
    let rows: Vec<&Value> = locks.iter().map(|lock| traced.row(lock)).collect();
    assert_eq!(rows.len(), 2);
    assert_ne!(rows[0]["pid"], rows[1]["pid"]);
    assert!(rows.iter().all(|row| row["shared"] == true && row["lock_name_by"] == "mapping"));
    assert_eq!(rows[0]["lock_name"], rows[1]["lock_name"]);
    assert!(rows[0]["lock_name"].as_str().unwrap().starts_with("[shared:"), "{}", rows[0]);
    assert_total(&rows, &traced.logged("shared"));
}

#[test]
fn a_rust_mutex_is_found_by_its_name() {
    let Some(_alone) = live() else { return };
    let Some(traced) = Traced::run("rust_mutex.rs") else { return };
    let lock = traced.locks().next().unwrap();
    let is_its = |row: &&Value| {
        row["lock_name"]
            .as_str()
            .is_some_and(|name| name.split('+').next() == Some("rust_mutex::THE_LOCK"))
    };
    let rows: Vec<&Value> = traced.rows("futexes").iter().filter(is_its).collect();
    assert_eq!(rows.len(), 1);
    assert_eq!(rows[0]["pid"], lock.pid);
    assert_total(&rows, &traced.logged("THE_LOCK"));
}

/// Conditions, semaphores, parked threads, receivers and joins: none is contention.
#[test]
fn an_idle_pool_is_no_contention() {
    // Conditions, a semaphore.
    const IDLE: [&str; 4] = ["work_ready", "never", "items", "rust_idle::WORK_READY"];
    let Some(_alone) = live() else { return };
    for program in ["idle_pool.c", "rust_idle.rs"] {
        let Some(traced) = Traced::run(program) else { continue };
        let idle = traced.log.iter().filter_map(|record| match record {
            Record::Idle(idle) => Some(idle),
            _ => None,
        });
        let (mut all, mut seen_ns, mut logged_ns, mut met_ns) = (0, 0, 0, 0);
        for idle in idle {
            let waits = traced.waits().filter(|wait| {
                let begin_ns = wait["ts"].as_u64().unwrap();
                wait["tid"] == idle.tid && (idle.enter_ns..idle.leave_ns).contains(&begin_ns)
            });
            for wait in waits {
                let wait_ns = wait["wait_ns"].as_u64().unwrap();
                all += 1;
                if wait["idle"] == true {
                    seen_ns += wait_ns;
                    continue;
                }
                // Whoever is woken may meet the waker in the mutex behind it.
                let name = wait["lock_name"].as_str().unwrap_or("");
                let is_idle = |what: &&str| name.split('+').next() == Some(what);
                assert!(!IDLE.iter().any(is_idle), "{program} {idle:?}: {wait}");
                met_ns += wait_ns;
            }
            logged_ns += idle.leave_ns - idle.enter_ns;
        }
        assert!(met_ns * 20 < seen_ns, "{program}: {met_ns} of {seen_ns}");
        assert!(all > 20 && !traced.rows("idle_futexes").is_empty(), "{program}: {all}");
        assert!(
            seen_ns.abs_diff(logged_ns) * 20 < logged_ns,
            "{program}: {seen_ns} of {logged_ns}"
        );
    }
}

/// What a program of its own makes of a shell's text.
fn shell(text: &str, directory: &Path) -> Vec<Value> {
    let directory = directory.to_str().unwrap();
    let run = format!("cd {directory} && {text}");
    let (records, status) =
        Recording::start(&["--futex", "--by", "lock", "--", "sh", "-c", &run]).wait();
    assert_eq!(status, 0);
    records
}

/// A thread that waits while another one exits the process, or runs another program in its place:
/// its wait ends without the lock, and nothing is left open.
#[test]
fn a_wait_ends_with_its_process_and_its_program() {
    let Some(_alone) = live() else { return };
    let dir = tempfile::tempdir().unwrap();
    for end in ["exit", "exec"] {
        let Some(program) = compiled("waiter.c", dir.path()) else { return };
        let program = program.file_name().unwrap().to_str().unwrap();
        let records = shell(&format!("./{program} {end}"), dir.path());
        let waits: Vec<_> = of(&records, "wait")
            .into_iter()
            .filter(|wait| wait["comm"] == "waiter-thread" && wait["kind"] == "futex")
            .collect();
        assert_eq!(waits.len(), 1, "{end}: {waits:?}");
        assert_eq!((&waits[0]["ret"], &waits[0]["idle"]), (&(-512).into(), &false.into()));
        assert_eq!(waits[0]["lock_name"], "the_lock");
        assert!(waits[0]["holder"].is_null());
        let summary = of(&records, "summary")[0];
        assert_eq!(summary["open"].as_array().unwrap().len(), 0, "{end}");
        assert_eq!(summary["quality"]["futexes"]["lost_end"], 0, "{end}");
    }
}

#[test]
fn locks_of_user_space_can_be_asked_for_by_name() {
    let Some(_alone) = live() else { return };
    let dir = tempfile::tempdir().unwrap();
    let Some(program) = compiled("mutexes.c", dir.path()) else { return };
    let log = dir.path().join("log");
    let arguments = ["--futex", "-L", "the_pi_lock", "--", program.to_str().unwrap()];
    let run = [&arguments[..], &[log.to_str().unwrap(), "0.3"]].concat();
    let (records, _) = Recording::start(&run).wait();
    let waits = of(&records, "wait");
    assert!(waits.len() > 20);
    assert!(waits.iter().all(|wait| wait["lock_name"] == "the_pi_lock"));
    // Without --futex there is no such lock.
    let refused = Command::new(env!("CARGO_BIN_EXE_ftlock"))
        .args(["record", "-L", "the_pi_lock", "--", "true"])
        .output()
        .unwrap();
    assert_eq!(refused.status.code(), Some(2));
}
