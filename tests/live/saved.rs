//! Saved traces: what `report` says of a file is what the run itself said.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use regex::Regex;
use rustix::process::Signal;
use serde_json::Value;
use tempfile::TempDir;

use crate::decoder::decode;
use crate::support::{self, Recording, compiled, ftlock, live};

/// The report of a file.
fn report(file: &Path, arguments: &[&str]) -> Output {
    ftlock(&["report"]).args(arguments).arg(file).output().unwrap()
}

fn json(file: &Path) -> Value {
    let output = report(file, &["--format", "json"]);
    assert!(output.status.success(), "{output:?}");
    serde_json::from_slice(&output.stdout).unwrap()
}

/// The events that a report counts.
fn events_read(object: &Value) -> u64 {
    let cpus = object["quality"]["cpus"].as_array().unwrap();
    cpus.iter().map(|cpu| cpu["read"].as_u64().unwrap()).sum()
}

/// The events that trace-cmd prints.
fn events_by_trace_cmd(file: &Path) -> Option<u64> {
    let Ok(report) = Command::new("trace-cmd").args(["report", "-R", "-i"]).arg(file).output()
    else {
        println!("skipped: no trace-cmd");
        return None;
    };
    assert!(report.status.success(), "{}", String::from_utf8_lossy(&report.stderr));
    let line = Regex::new(r"(?m)^ .*\[\d{3}\] +\d+\.\d+: ").unwrap();
    Some(line.find_iter(&String::from_utf8_lossy(&report.stdout)).count() as u64)
}

/// Records into `folder`, with the table in a file; returns the trace and the table.
fn record(folder: &TempDir, how: &[&str], view: &[&str], command: &[&str]) -> (PathBuf, Vec<u8>) {
    let (trace, table) = (folder.path().join("t.dat"), folder.path().join("table"));
    let mut record = ftlock(&["record", "--stream", "none", "--save"]);
    record.arg(&trace).arg("--output").arg(&table).args(how).args(view).arg("--").args(command);
    let output = record.output().unwrap();
    assert!(output.status.success(), "{output:?}");
    (trace, fs::read(table).unwrap())
}

fn workload(duration: &str) -> Vec<&str> {
    vec![env!("CARGO_BIN_EXE_ftlock"), "demo-workload", "--duration", duration]
}

#[test]
fn a_report_is_the_runs_own_table_in_every_view() {
    let Some(_alone) = live() else { return };
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("log");
    let crowd = compiled("crowd.c", folder.path());
    let crowd = crowd.as_ref().map(|crowd| crowd.to_str().unwrap());
    let views: [&[&str]; 12] = [
        &["-v", "--hist"],
        &["--by", "stack,type", "-F", "p50,p99,contended,share", "-k", "p99"],
        &["--by", "lock", "-E", "3"],
        &["--by", "task", "-v"],
        &["--by", "cgroup,comm"],
        &["--sched", "--by", "owner", "-v"],
        &["--cmdline", "demo-workload", "--by", "process"],
        &["-Y", "rwsem,mutex", "--min-wait", "1ms"],
        &["--format", "json", "--holder-stack", "-F", "holder,holder_caller,contended"],
        &["-x", ",", "--comm", "ftlock"],
        &["--format", "folded"],
        &["--format", "html", "--sched", "--by", "comm,lock"],
    ];
    for (number, view) in views.iter().enumerate() {
        let how: &[&str] = if number % 2 == 0 { &[] } else { &["--file-version", "6"] };
        let command = match crowd {
            Some(crowd) if number == 3 => vec![crowd, log.to_str().unwrap(), "50"],
            _ => workload("300ms"),
        };
        let (trace, table) = record(&folder, how, view, &command);
        let again = folder.path().join("again");
        let output = report(&trace, &[&["--output", again.to_str().unwrap()], *view].concat());
        assert!(output.status.success(), "{view:?}: {output:?}");
        let again = fs::read(again).unwrap();
        assert!(again == table, "{view:?}:\n{}", String::from_utf8_lossy(&table));
        assert!(table.len() > 100, "{view:?}");
        if let Some(events) = events_by_trace_cmd(&trace) {
            assert_eq!(events_read(&json(&trace)), events, "{view:?}");
        }
    }
}

/// Windows differ, and so does what is told first; slices, arrows and counters are the same.
#[test]
fn a_trace_for_perfetto_made_later_is_the_one_of_the_run() {
    let Some(_alone) = live() else { return };
    let folder = tempfile::tempdir().unwrap();
    let view = ["--format", "perfetto", "--sched"];
    let (trace, of_run) = record(&folder, &[], &view, &workload("300ms"));
    let later = report(&trace, &view).stdout;
    let shown = |bytes: &[u8]| {
        let decoded = decode(bytes);
        let slices = decoded.slices.iter().map(|slice| {
            (slice.begin, slice.end, slice.name.clone(), slice.depth, slice.arguments.clone())
        });
        let mut slices: Vec<_> = slices.collect();
        slices.sort();
        (slices, decoded.arrows.len(), decoded.counters, decoded.processes)
    };
    let (of_run, later) = (shown(&of_run), shown(&later));
    assert!(of_run.0.len() > 10 && of_run.1 > 0);
    assert!(of_run == later, "{of_run:#?}\n{later:#?}");
}

/// Two programs that do little but wait for each other.
fn switches(bytes: &str) {
    let pipe = format!("yes | head -c {bytes} | tr y n | wc -c");
    let output = Command::new("sh").args(["-c", &pipe]).output().unwrap();
    assert!(output.status.success(), "{output:?}");
}

/// The reader stands still while small rings are overwritten again and again.
#[test]
fn losses_are_where_the_run_had_them() {
    let Some(_alone) = live() else { return };
    let folder = tempfile::tempdir().unwrap();
    let trace = folder.path().join("t.dat");
    let save = ["-a", "--sched", "-m", "64k", "--save", trace.to_str().unwrap()];
    let mut recording = Recording::start(&save);
    for _ in 0..3 {
        recording.signal(Signal::STOP);
        switches("20000000");
        recording.signal(Signal::CONT);
        let waits = |records: &[Value]| support::of(records, "loss").len();
        let before = recording.seen(waits);
        recording.read_until("a loss is told", |records| waits(records) > before);
    }
    let records = recording.stop();
    let summary = records.last().unwrap();
    let lines = report(&trace, &["--stream", "json"]);
    let lines = String::from_utf8(lines.stdout).unwrap();
    let again: Vec<Value> = lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let (_header, again) = again.split_first().unwrap();
    for kind in ["loss", "wait"] {
        let sorted = |records: &[Value]| {
            let mut lines: Vec<_> =
                support::of(records, kind).iter().map(ToString::to_string).collect();
            lines.sort();
            lines
        };
        assert!(!support::of(&records, kind).is_empty());
        assert_eq!(sorted(again), sorted(&records), "{kind}");
    }
    assert_eq!(again.last().unwrap(), summary);
    if let Some(events) = events_by_trace_cmd(&trace) {
        let cpus = summary["quality"]["cpus"].as_array().unwrap();
        assert_eq!(cpus.iter().map(|cpu| cpu["read"].as_u64().unwrap()).sum::<u64>(), events);
    }
}

#[test]
fn a_killed_run_leaves_all_up_to_then() {
    let Some(_alone) = live() else { return };
    let folder = tempfile::tempdir().unwrap();
    for version in ["6", "7"] {
        let trace = folder.path().join(version);
        let save = ["-a", "--file-version", version, "--save", trace.to_str().unwrap()];
        let mut recording = Recording::start(&save);
        support::load("200ms");
        recording.read_until("waits are told", |records| support::of(records, "wait").len() > 100);
        recording.signal(Signal::KILL);
        let told = recording.gone();
        let last = support::of(&told, "wait").last().unwrap()["end"].clone();
        assert!(last.is_u64());
        let output = report(&trace, &["--stream", "json"]);
        assert!(output.status.success(), "{output:?}");
        assert!(String::from_utf8_lossy(&output.stderr).contains("was killed"), "{output:?}");
        // Whatever was told before is in the file.
        let lines = String::from_utf8(output.stdout).unwrap();
        let found = lines.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
        assert!(found.filter(|line| line["record"] == "wait").any(|wait| wait["end"] == last));
        if let Some(events) = events_by_trace_cmd(&trace) {
            assert_eq!(events_read(&json(&trace)), events);
        }
    }
}

/// A small file system of its own, gone with the value.
struct Disk(TempDir);

impl Disk {
    fn of(size: &str) -> Option<Disk> {
        let folder = tempfile::tempdir().unwrap();
        let mut mount = Command::new("mount");
        mount
            .args(["-t", "tmpfs", "-o", &format!("size={size}"), "ftlock-test"])
            .arg(folder.path());
        match mount.status() {
            Ok(status) if status.success() => Some(Disk(folder)),
            failed => {
                println!("skipped: cannot mount: {failed:?}");
                None
            }
        }
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        drop(Command::new("umount").arg(self.0.path()).status());
    }
}

#[test]
fn a_full_disk_ends_saving_and_not_the_run() {
    let Some(_alone) = live() else { return };
    let Some(disk) = Disk::of("12m") else { return };
    let trace = disk.0.path().join("t.dat");
    // Much more than that: every switch of two tasks that do nothing else.
    let mut record = ftlock(&["record", "-a", "--stream", "none", "--sched", "--save"]);
    let pipe = "yes | head -c 400000000 | tr y n | wc -c";
    let output = record.arg(&trace).args(["--", "sh", "-c", pipe]).output().unwrap();
    let told = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{told}");
    assert!(told.contains(&format!("cannot write {}", trace.display())), "{told}");
    assert!(told.contains(&format!("hint: df -h {}", trace.display())), "{told}");
    assert!(String::from_utf8_lossy(&output.stdout).contains(" waits in "), "{output:?}");
    let object = json(&trace);
    assert!(events_read(&object) > 1000, "{object}");
    assert!(object["identities"].as_array().unwrap().iter().all(|one| one["holds"] == true));
    if let Some(events) = events_by_trace_cmd(&trace) {
        assert_eq!(events_read(&object), events);
    }
}

#[test]
fn saving_alone_costs_no_report_and_gives_the_same_one_later() {
    let Some(_alone) = live() else { return };
    let folder = tempfile::tempdir().unwrap();
    let trace = folder.path().join("t.dat");
    let mut record = ftlock(&["record", "--no-report", "--by", "cgroup", "--save"]);
    let output = record.arg(&trace).arg("--").args(workload("300ms")).output().unwrap();
    assert!(output.status.success() && output.stdout.is_empty(), "{output:?}");
    let told = String::from_utf8_lossy(&output.stderr).into_owned();
    let saved =
        Regex::new(r"(\d+) events saved, 0 lost").unwrap().captures(&told).unwrap()[1].to_owned();
    let object = json(&trace);
    assert_eq!(events_read(&object).to_string(), saved);
    assert!(object["totals"]["contended"].as_u64().unwrap() > 20, "{object}");
    assert!(object["identities"].as_array().unwrap().iter().all(|one| one["holds"] == true));
    let by_cgroup = String::from_utf8(report(&trace, &["--by", "cgroup"]).stdout).unwrap();
    let own = fs::read_to_string("/proc/self/cgroup").unwrap();
    let own = own.lines().find_map(|line| line.strip_prefix("0::")).unwrap_or("/").to_owned();
    assert!(by_cgroup.lines().any(|line| line.ends_with(&own)), "{by_cgroup}");
}

#[test]
fn a_bound_on_the_size_is_kept() {
    let Some(_alone) = live() else { return };
    let folder = tempfile::tempdir().unwrap();
    let trace = folder.path().join("t.dat");
    let mut record =
        ftlock(&["record", "-a", "--stream", "none", "--sched", "--max-size", "256k", "--save"]);
    let output = record.arg(&trace).arg("--").args(workload("1s")).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(told.contains("as large as --max-size allows"), "{told}");
    let object = json(&trace);
    let told = report(&trace, &[]);
    assert!(String::from_utf8_lossy(&told.stderr).contains("saving stopped before the run ended"));
    if let Some(events) = events_by_trace_cmd(&trace) {
        assert_eq!(events_read(&object), events);
    }
    // An event takes some 30 bytes.
    assert!((1000..16_000).contains(&events_read(&object)), "{}", events_read(&object));
}

/// What the file does not tell is no guess: the run has to record it.
#[test]
fn what_was_not_recorded_is_refused() {
    let Some(_alone) = live() else { return };
    let folder = tempfile::tempdir().unwrap();
    let (trace, _) = record(&folder, &[], &[], &workload("50ms"));
    for (asked, option) in [
        (&["--sched"][..], "--sched"),
        (&["--by", "owner"], "--sched"),
        (&["--by", "cgroup"], "--by cgroup"),
        (&["--cmdline", "x"], "--cmdline"),
    ] {
        let output = report(&trace, asked);
        let told = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(1), "{asked:?}: {told}");
        assert!(
            told.contains("not recorded") && told.contains(&format!("FILE {option}")),
            "{told}"
        );
    }
}

/// All records but the header, of a report's stream.
fn stream(file: &Path) -> Vec<Value> {
    let output = report(file, &["--stream", "json"]);
    assert!(output.status.success(), "{output:?}");
    let lines = String::from_utf8(output.stdout).unwrap();
    lines.lines().skip(1).map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn a_ring_keeps_the_last_part_under_the_same_names() {
    let Some(_alone) = live() else { return };
    let folder = tempfile::tempdir().unwrap();
    let trace = folder.path().join("t.dat");
    let save = ["-a", "--sched", "--ring", "512k", "--save", trace.to_str().unwrap()];
    let mut recording = Recording::start(&save);
    switches("30000000");
    support::load("200ms");
    let waits = |records: &[Value]| support::of(records, "wait").len();
    recording.read_until("waits are told", |records| waits(records) > 20);
    let records = recording.stop();
    let kept = stream(&trace);
    let summary = kept.last().unwrap();
    // 512 KiB of some 60 bytes, or one sub-buffer of each CPU.
    let cpus = summary["quality"]["cpus"].as_array().unwrap();
    let events: u64 = cpus.iter().map(|cpu| cpu["read"].as_u64().unwrap()).sum();
    assert!((1000..40_000).contains(&events), "{events}");
    if let Some(by_trace_cmd) = events_by_trace_cmd(&trace) {
        assert_eq!(events, by_trace_cmd);
    }
    support::assert_sound(summary);
    let told = support::of(&records, "wait");
    let of_file = support::of(&kept, "wait");
    assert!(!of_file.is_empty() && of_file.len() < told.len(), "{} {}", of_file.len(), told.len());
    // Of a thread whose birth was given up it is not known whether it is ours.
    let confirmed = of_file.iter().filter(|wait| wait["comm_confirmed"] == true);
    let confirmed: Vec<_> = confirmed.filter(|wait| wait["uncertain"] == false).collect();
    assert!(!confirmed.is_empty(), "{of_file:?}");
    for wait in confirmed {
        let keys = ["ts", "end", "cpu", "tid", "lock"];
        let same = told.iter().find(|told| keys.iter().all(|key| told[key] == wait[key]));
        let same = same.unwrap_or_else(|| panic!("nobody saw {wait}"));
        assert_eq!(same["comm"], wait["comm"], "{wait}");
    }
}

#[test]
fn a_long_wait_is_in_the_file_and_the_rest_of_the_run_is_not() {
    let Some(_alone) = live() else { return };
    let folder = tempfile::tempdir().unwrap();
    let trace = folder.path().join("t.dat");
    // All tasks: of one whose birth was given up the file does not know whether it is the command's.
    let save = ["-a", "--sched", "--ring", "1m", "--when-wait", "2ms", "--save"];
    let save = [&save[..], &[trace.to_str().unwrap()]].concat();
    let then = "yes | head -c 60000000 | tr y n | wc -c";
    let command = format!("{} && {then}", workload("400ms").join(" "));
    let mut record = ftlock(&["record", "--stream", "json"]);
    let output = record.args(save).args(["--", "sh", "-c", &command]).output().unwrap();
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(told.contains("what surrounds it is saved"), "{told}");
    let lines = String::from_utf8_lossy(&output.stdout).into_owned();
    let lines: Vec<Value> =
        lines.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
    let long = |records: &[Value]| {
        let waits = support::of(records, "wait").into_iter();
        waits
            .filter(|wait| wait["wait_ns"].as_u64().unwrap() > 2_000_000)
            .cloned()
            .collect::<Vec<_>>()
    };
    let (of_run, kept) = (long(&lines), stream(&trace));
    let first = of_run.first().unwrap();
    assert!(long(&kept).iter().any(|wait| wait["end"] == first["end"]), "{first}");
    let events = |summary: &Value| {
        let cpus = summary["quality"]["cpus"].as_array().unwrap();
        cpus.iter().map(|cpu| cpu["read"].as_u64().unwrap()).sum::<u64>()
    };
    assert!(2 * events(kept.last().unwrap()) < events(lines.last().unwrap()));
}
