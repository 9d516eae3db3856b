//! The Parquet file against the JSON lines of the same run, and of waits that are made up.

use std::fs;
use std::time::{Duration, SystemTime};

use ftlock::event::{Comm, Context, Cpu, FutexCall, FutexOp, LeftAs, LockFlags, Tid};
use ftlock::output::parquet::WaitFile;
use ftlock::output::{ReportInfo, RunInfo, StreamHolder, StreamWait, json};
use ftlock::report::{Cause, Evidence, OffCpu, Reason, Table};
use ftlock::symbols::{Kallsyms, LockName, NamedBy, UserName};
use serde_json::Value;

use crate::rows::{Told, about, as_row, rows, without_run};
use crate::support::demo;

#[test]
fn every_wait_is_a_row_with_what_the_json_lines_say_of_it() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("waits.parquet");
    let name = file.to_str().unwrap();
    let run = demo(&["--format", "parquet", "--stream", "json", "--output", name]);
    let lines = String::from_utf8(run.stdout).unwrap();
    let records: Vec<Value> =
        lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let waits = records.iter().filter(|record| record["record"] == "wait");
    let expected: Vec<Told> = waits.map(as_row).collect();
    let (rows, _) = rows(&file);
    assert!(expected.len() > 2000);
    assert_eq!(rows.len(), expected.len());
    for (row, expected) in rows.iter().zip(&expected) {
        assert_eq!(&without_run(row), expected);
        assert_eq!((&row["host"], &row["table"]), (&"demo".into(), &"locks".into()));
        assert_eq!(row["kernel"], records[0]["kernel"]);
        // The recording does not know its date.
        assert!(!row.contains_key("time") && !row.contains_key("run_start"));
    }
    let sum = |rows: &[&Told]| rows.iter().map(|row| row["wait_ns"].as_u64().unwrap()).sum::<u64>();
    let acquired: Vec<&Told> =
        rows.iter().filter(|row| row["ret"] == 0 && row["uncertain"] == false).collect();
    let totals = &records.last().unwrap()["totals"];
    assert_eq!(Some(acquired.len() as u64), totals["contended"].as_u64());
    assert_eq!(Some(sum(&acquired)), totals["wait_total"].as_u64());
    let about = about(&file);
    assert_eq!((&*about["ftlock.schema"], &*about["ftlock.clock"]), ("1", "mono"));
    assert_eq!((&*about["ftlock.cpus"], &*about["ftlock.command"]), ("2", "[]"));
    // On stdout it is the same.
    assert_eq!(demo(&["--format", "parquet"]).stdout, fs::read(&file).unwrap());
}

const HOSTILE: &[u8] = b"\xff\x01\n\"\\x41\xe2\x82";

/// The date at 1000 ns of the clock.
const START_US: i64 = 1_700_000_000_000_000;

fn info<'a>(command: &'a [&'a [u8]]) -> ReportInfo<'a> {
    let run = RunInfo { clock: "boot", kernel: "6.18", cpus: 2, command };
    let date = SystemTime::UNIX_EPOCH + Duration::from_micros(START_US.cast_unsigned());
    ReportInfo { run, host: None, date: Some(date), start_ns: Some(1000), end_ns: None }
}

fn plain(begin_ns: u64) -> StreamWait<'static> {
    StreamWait {
        begin_ns,
        end_ns: begin_ns + 5,
        wait_ns: 5,
        cpu: Cpu(1),
        tid: Tid(7),
        pid: None,
        comm: None,
        comm_confirmed: false,
        lock: 0,
        lock_name: None,
        table: Table::Locks,
        cause: Cause::Lock(LockFlags(32)),
        reason: None,
        off_cpu: None,
        holder: None,
        context: Context::Softirq,
        ret: -4,
        caller: None,
        cgroup: None,
        cmdline: None,
        uncertain: true,
    }
}

/// What the file says, what the JSON lines say, and how many rows the groups have.
struct Written {
    rows: Vec<Told>,
    lines: Vec<Told>,
    groups: Vec<i64>,
}

fn written(waits: &[StreamWait<'_>]) -> Written {
    let symbols = Kallsyms::parse(b"1000 t anon_pipe_write\n2000 D some_lock\n3000 D after\n");
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("waits.parquet");
    let mut file = WaitFile::new(&info(&[])).unwrap();
    let mut bytes = Vec::new();
    let mut lines = Vec::new();
    for wait in waits {
        file.wait(wait, &symbols);
        json::wait(wait, &symbols, &mut lines).unwrap();
        if file.is_full() {
            let (group, _) = file.take_group().unwrap();
            assert!(group.len() < WaitFile::MAX_GROUP_BYTES);
            bytes.extend(group);
        }
    }
    bytes.extend(file.take_group().unwrap().0);
    bytes.extend(file.finish().unwrap());
    fs::write(&path, bytes).unwrap();
    let lines = String::from_utf8(lines).unwrap();
    let lines = lines.lines().map(|line| as_row(&serde_json::from_str(line).unwrap())).collect();
    let (rows, groups) = rows(&path);
    Written { rows, lines, groups }
}

#[test]
fn whatever_there_is_to_tell_is_in_the_columns() {
    let comm = Comm::new(HOSTILE);
    let futex =
        FutexCall { op: FutexOp::Wait, address: 0x7f00, value: 2, shared: true, timed: false };
    let user = UserName { name: "queue [libx.so]", by: NamedBy::Global };
    let holder = StreamHolder {
        ts_ns: 2000,
        tid: Tid(u32::MAX),
        comm: Some(comm),
        evidence: Evidence::Waking,
        caller: Some(0x1010),
        held_ns: Some(77),
    };
    let off_cpu = Some(OffCpu { blocked_ns: 1, runnable_ns: 2, preempted_ns: 1 });
    let waits = [
        plain(0),
        StreamWait { comm: Some(&comm), lock: 0x2008, caller: Some(0x1043), ..plain(3999) },
        StreamWait { holder: Some(Some(holder)), off_cpu, pid: Some(Tid(4)), ..plain(2000) },
        StreamWait { holder: Some(None), lock: u64::MAX, cgroup: Some(None), ..plain(2000) },
        StreamWait {
            cause: Cause::Futex(futex),
            table: Table::IdleFutexes,
            lock_name: Some(LockName::User(user)),
            cgroup: Some(Some(b"/slice/\xfe")),
            cmdline: Some(Some(HOSTILE)),
            ..plain(2000)
        },
        StreamWait {
            cause: Cause::Sleep(LeftAs::Interruptible),
            table: Table::Sleeps,
            reason: Some(Reason::Named("disk read")),
            ..plain(2000)
        },
    ];
    let Written { rows, lines, .. } = written(&waits);
    let told: Vec<Told> = rows.iter().map(without_run).collect();
    assert_eq!(told, lines);

    let after_start: Vec<i64> =
        rows.iter().map(|row| row["time"].as_i64().unwrap() - START_US).collect();
    assert_eq!(after_start, [-1, 2, 1, 1, 1, 1]);
    assert!(rows.iter().all(|row| row["run_start"] == START_US && !row.contains_key("host")));
    let tables: Vec<&str> = rows.iter().map(|row| row["table"].as_str().unwrap()).collect();
    assert_eq!(tables, ["locks", "locks", "locks", "locks", "idle_futexes", "sleeps"]);
    // By hand, since the lines come from the same place.
    assert_eq!(rows[1]["comm"], "\\xff\x01\n\"\\\\x41\\xe2\\x82");
    assert_eq!(
        (&rows[1]["lock"], &rows[1]["lock_name"]),
        (&0x2008.into(), &"some_lock+0x8".into())
    );
    assert_eq!((&rows[2]["spin_ns"], &rows[2]["holder_tid"]), (&1.into(), &u32::MAX.into()));
    assert_eq!(rows[2]["holder_caller"], "anon_pipe_write+0x10");
    assert_eq!(rows[3]["lock"], u64::MAX);
}

/// What no clock ever shows is as near as can be.
#[test]
fn instants_beyond_63_bits_are_the_last_one() {
    let wait = StreamWait { end_ns: u64::MAX, wait_ns: u64::MAX - 6, ..plain(6) };
    let Written { rows, .. } = written(&[wait, plain(0), wait]);
    let ends: Vec<i64> = rows.iter().map(|row| row["end"].as_i64().unwrap()).collect();
    assert_eq!(ends, [i64::MAX, 5, i64::MAX]);
}

/// Groups of 2^16 rows, or less where every row has texts of its own.
#[test]
fn groups_are_bounded_and_nothing_is_lost_between_them() {
    let Written { rows, groups, .. } = written(&(0..150_000).map(plain).collect::<Vec<_>>());
    assert_eq!(groups, [65_536, 65_536, 150_000 - 2 * 65_536]);
    assert!(rows.iter().zip(0..).all(|(row, n)| row["ts"] == n));

    let lines: Vec<String> = (0..10_000).map(|n| format!("{n} {}", "x".repeat(1000))).collect();
    let waits = lines
        .iter()
        .zip(0..)
        .map(|(line, n)| StreamWait { cmdline: Some(Some(line.as_bytes())), ..plain(n) });
    let Written { rows, groups, .. } = written(&waits.collect::<Vec<_>>());
    assert_eq!(rows.len(), 10_000);
    assert!(rows.iter().zip(&lines).all(|(row, line)| row["cmdline"] == **line));
    // A thousand bytes each and 2 MiB: 2097 at most.
    assert!(groups.len() > 4 && groups.iter().all(|&rows| rows < 2098), "{groups:?}");
}

/// A file without any wait is a file, and says what ran.
#[test]
fn a_run_without_waits_leaves_columns_and_no_row() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("waits.parquet");
    let mut file = WaitFile::new(&info(&[b"./a\xffb", b"two words"])).unwrap();
    let (mut bytes, waits) = file.take_group().unwrap();
    assert_eq!(waits, 0);
    bytes.extend(file.finish().unwrap());
    fs::write(&path, bytes).unwrap();
    assert_eq!(rows(&path), (vec![], vec![]));
    assert_eq!(about(&path)["ftlock.command"], r#"["./a\\xffb","two words"]"#);
}
