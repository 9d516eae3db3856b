//! Reported cases on the running kernel: names as bytes, renames by others, killed waiters, losses
//! in every form of the results. `tests/cases.md` says which case is which.

use std::collections::{BTreeMap, BTreeSet};
use std::env;
use std::ffi::CString;
use std::fs::{self, File};
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::sync::mpsc::channel;
use std::thread;
use std::time::{Duration, Instant};

use memmap2::MmapMut;
use serde_json::Value;

use crate::support::{Recording, ftlock, live, of};

/// Names that break whoever takes them for text, and what JSON shows for each.
const NAMES: [(&[u8], &str); 9] = [
    (b"<...>", "<...>"),
    (b"a-1 [000] b: c", "a-1 [000] b: c"),
    (b"tmux: server", "tmux: server"),
    (b"f) S 1 (h", "f) S 1 (h"),
    (b"x\ny", "x\ny"),
    (b"fifteen-bytes-1", "fifteen-bytes-1"),
    (b"same\xff", "same\\xff"),
    (b"same\xfe", "same\\xfe"),
    (b"", ""),
];

pub(crate) fn call_me(name: &[u8]) {
    rustix::thread::set_name(&CString::new(name).unwrap()).unwrap();
}

/// Fights over one directory for a while.
pub(crate) fn churn(folder: &Path, time: Duration) {
    let me = rustix::thread::gettid().as_raw_nonzero();
    let (from, to) = (folder.join(format!("a{me}")), folder.join(format!("b{me}")));
    let until = Instant::now() + time;
    while Instant::now() < until {
        File::create(&from).and_then(|_| fs::rename(&from, &to)).unwrap();
        fs::remove_file(&to).unwrap();
    }
}

pub(crate) fn arena() -> tempfile::TempDir {
    tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).unwrap()
}

/// Records while `run` runs, until what it gives is enough, at most some times: on a
/// loaded machine not everybody gets to wait in a short time.
fn recorded_until<T>(
    arguments: &[&str],
    mut run: impl FnMut() -> T,
    mut is_enough: impl FnMut(&[Value], T) -> bool,
) {
    for _ in 0..20 {
        let recording = Recording::start(arguments);
        let ran = run();
        if is_enough(&recording.stop(), ran) {
            return;
        }
    }
    panic!("never enough waits");
}

fn this_tid() -> u32 {
    rustix::thread::gettid().as_raw_nonzero().get().unsigned_abs()
}

/// Waits of `churn`, which come behind the thread's naming itself.
fn is_of_churn(wait: &Value) -> bool {
    wait["caller"].as_str().is_some_and(|caller| caller.contains("rename"))
}

#[test]
fn a_name_is_what_the_task_called_itself_byte_for_byte() {
    let Some(_alone) = live() else { return };
    let folder = arena();
    let folder = folder.path();
    // Two tasks of each name: they stay two.
    let fight = || -> BTreeMap<u64, &str> {
        thread::scope(|scope| {
            let start = |&(name, shown): &(&'static [u8], &'static str)| {
                scope.spawn(move || {
                    call_me(name);
                    churn(folder, Duration::from_millis(500));
                    (u64::from(this_tid()), shown)
                })
            };
            let threads: Vec<_> = NAMES.iter().chain(&NAMES).map(start).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect()
        })
    };
    let mut seen = BTreeSet::new();
    let own = std::process::id().to_string();
    recorded_until(&["-p", &own, "--by", "task"], fight, |records, names| {
        let mut tids = BTreeSet::new();
        for wait in of(records, "wait").into_iter().filter(|wait| is_of_churn(wait)) {
            let tid = wait["tid"].as_u64().unwrap();
            assert_eq!(wait["comm"], names[&tid], "{wait}");
            assert_eq!(wait["comm_confirmed"], true, "{wait}");
            seen.insert(names[&tid]);
            tids.insert((tid, names[&tid]));
        }
        let rows = records.last().unwrap()["rows"].as_array().unwrap();
        for (tid, name) in tids {
            let of_task = rows.iter().filter(|row| row["tid"] == tid && row["comm"] == name);
            assert_eq!(of_task.count(), 1, "{tid} {name}: {rows:#?}");
        }
        seen.len() == NAMES.len()
    });
}

/// The event of such a rename is the writer's; it concerns the task that it names.
#[test]
fn a_task_that_another_renames_has_each_name_in_its_time() {
    let Some(_alone) = live() else { return };
    let folder = arena();
    let folder = folder.path();
    // For each thread, between which instants it was renamed.
    let fight = || -> BTreeMap<u64, (u64, u64)> {
        thread::scope(|scope| {
            let start = || {
                let (tell, told) = channel();
                scope.spawn(move || {
                    call_me(b"by-itself");
                    tell.send(this_tid()).unwrap();
                    churn(folder, Duration::from_millis(600));
                });
                told.recv().unwrap()
            };
            let tids = [start(), start(), start()];
            thread::sleep(Duration::from_millis(300));
            tids.map(|tid| {
                let before = now_ns();
                fs::write(format!("/proc/self/task/{tid}/comm"), "by-another").unwrap();
                (u64::from(tid), (before, now_ns()))
            })
            .into()
        })
    };
    let mut seen = BTreeSet::new();
    let own = std::process::id().to_string();
    recorded_until(&["-p", &own], fight, |records, renamed| {
        for wait in of(records, "wait").into_iter().filter(|wait| is_of_churn(wait)) {
            let (before, after) = renamed[&wait["tid"].as_u64().unwrap()];
            let name = match wait["ts"].as_u64().unwrap() {
                ts if ts < before => "by-itself",
                ts if ts > after => "by-another",
                _ => continue,
            };
            assert_eq!(wait["comm"], name, "{wait}");
            seen.insert(name);
        }
        seen.len() == 2
    });
}

fn now_ns() -> u64 {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    u64::try_from(now.tv_sec * 1_000_000_000 + now.tv_nsec).unwrap()
}

/// A program's name is that of its file, whatever it is told it is called.
#[test]
fn a_name_given_in_the_arguments_is_no_name() {
    let Some(_alone) = live() else { return };
    let arguments =
        ["--raw", "-e", "sched:sched_switch", "--", "bash", "-c", "exec -a liar sleep 0.2"];
    let (records, status) = Recording::start(&arguments).wait();
    assert_eq!(status, 0);
    let events = of(&records, "event");
    let comms: BTreeSet<&str> = events.iter().filter_map(|event| event["comm"].as_str()).collect();
    assert!(comms.contains("sleep") && !comms.contains("liar"), "{comms:?}");
}

const MAPPER: &str = "FTLOCK_TEST_MAPPER";

/// Runs itself again as the process to kill, whose threads map and unmap without an end.
#[test]
fn a_killed_waiter_did_not_get_the_lock() {
    if env::var(MAPPER).is_ok() {
        thread::scope(|scope| {
            for _ in 0..6 {
                scope.spawn(|| {
                    loop {
                        MmapMut::map_anon(4 << 20).unwrap().fill(1);
                    }
                });
            }
        });
    }
    let Some(_alone) = live() else { return };
    let kill_some = || {
        for _ in 0..8 {
            let mut mapper = Command::new(env::current_exe().unwrap())
                .args(["--exact", "cases::a_killed_waiter_did_not_get_the_lock"])
                .env(MAPPER, "1")
                .stdout(Stdio::null())
                .spawn()
                .unwrap();
            thread::sleep(Duration::from_millis(80));
            mapper.kill().unwrap();
            mapper.wait().unwrap();
        }
    };
    recorded_until(&["-a", "--by", "type"], kill_some, |records, ()| {
        let waits = of(records, "wait");
        let (got, failed): (Vec<&Value>, Vec<&Value>) =
            waits.into_iter().partition(|wait| wait["ret"] == 0);
        let certain = got.iter().filter(|wait| wait["uncertain"] == false);
        let got_ns: u64 = certain.map(|wait| wait["wait_ns"].as_u64().unwrap()).sum();
        let totals = &records.last().unwrap()["totals"];
        assert_eq!(totals["failed"], failed.len());
        assert_eq!(totals["wait_total"], got_ns);
        failed.iter().any(|wait| wait["ret"] == -4 && wait["kind"] == "rwsem:W")
    });
}

/// More renames than the ring has room for, while the reader stands still.
const OVERFLOW: &str = "kill -STOP $PPID; i=0; \
    while [ $i -lt 20000 ]; do echo name$i > /proc/$$/comm; i=$((i+1)); done; kill -CONT $PPID";

#[test]
fn losses_show_in_every_form_and_strict_makes_them_a_failure() {
    let Some(_alone) = live() else { return };
    let run = |form: &[&str]| -> Output {
        let lossy = ["record", "-m", "16K", "--strict"];
        ftlock(&[&lossy, form, &["--", "sh", "-c", OVERFLOW]].concat()).output().unwrap()
    };
    let forms: [&[&str]; 4] = [
        &["--stream", "text"],
        &["--stream", "none", "-q"],
        &["--stream", "none", "-v"],
        &["--stream", "json"],
    ];
    for form in forms {
        let run = run(form);
        let text = String::from_utf8(run.stdout).unwrap();
        let said = String::from_utf8_lossy(&run.stderr);
        assert_eq!(run.status.code(), Some(5), "{form:?}: {said}{text}");
        let lost = match form[1] {
            "json" => {
                let summary: Value = serde_json::from_str(text.lines().last().unwrap()).unwrap();
                let cpus = summary["quality"]["cpus"].as_array().unwrap();
                cpus.iter().map(|cpu| cpu["overrun"].as_u64().unwrap()).sum()
            }
            _ => {
                let footer = text.lines().find_map(|line| line.split_once(" lost, ")).unwrap();
                let number = footer.0.rsplit(' ').next().unwrap().replace(',', "");
                number.parse::<u64>().unwrap()
            }
        };
        assert!(lost > 0, "{form:?}: {text}");
    }
}

/// A list of symbols whose addresses are all zero names nothing, and that is said.
#[test]
fn hidden_symbols_give_addresses_and_a_note() {
    let Some(_alone) = live() else { return };
    let folder = tempfile::tempdir().unwrap();
    let list = folder.path().join("kallsyms");
    fs::write(&list, "0000000000000000 T _stext\n0000000000000000 t do_renameat2\n").unwrap();
    let own = env!("CARGO_BIN_EXE_ftlock");
    let run = ftlock(&["record", "--stream", "none", "--kallsyms", list.to_str().unwrap()])
        .args(["--", own, "demo-workload", "--duration", "200ms"])
        .output()
        .unwrap();
    let (stdout, stderr) =
        (String::from_utf8_lossy(&run.stdout), String::from_utf8_lossy(&run.stderr));
    assert!(stdout.contains(" 0xffff") && !stdout.contains("+0x"), "{stdout}");
    assert_eq!(stderr.matches("callers are shown by address").count(), 1, "{stderr}");
}
