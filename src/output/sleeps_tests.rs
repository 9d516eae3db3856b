//! Sleeps in each form that a report and a stream have.

use super::samples::{
    assert_described, futex_names, lock_names, pipe_wait, stacks, symbols, written,
};
use super::{Section, StreamHolder, StreamWait, Summary, csv, json, perf_csv, table, text};
use crate::event::{Comm, LeftAs, Reason, Tid, WaitKind};
use crate::report::{
    By, Cause, Chains, Column, Counts, Evidence, OffCpu, Part, Quality, Row, RowKey, RowStats,
    Split, Table,
};
use serde_json::{Value, json};

fn stats(contended: u64, blocked_ns: u64, runnable_ns: u64) -> RowStats {
    let split = Split { blocked_ns, runnable_ns, preempted_ns: 0 };
    RowStats { contended, wait_total_ns: blocked_ns + runnable_ns, split, ..RowStats::default() }
}

/// One lock, one sleep for a named reason and one in a function that no rule knows, one idle.
fn with<T>(read: impl FnOnce(&Summary<'_>) -> T) -> T {
    let columns = |ids: &[&str]| -> Vec<&'static Column> {
        ids.iter().map(|id| Column::find(id).unwrap()).collect()
    };
    let row = |table, part, stats| Row { key: RowKey::of(table, [part]), stats };
    let reason = Part::Reason;
    let (lock, held, idle) = (stats(1, 0, 0), stats(3, 6_000, 1_000), stats(1, 9_000, 0));
    let sleeps = columns(&["contended", "wait_total", "blocked", "runnable"]);
    let section = |table, rows, totals| {
        let by = vec![By::Reason];
        Section { table, by, rows, totals, columns: &sleeps }
    };
    let held_rows = vec![
        row(Table::Sleeps, reason(Reason::Named("disk read")), stats(2, 4_000, 1_000)),
        row(Table::Sleeps, reason(Reason::Function(0x5000)), stats(1, 2_000, 0)),
    ];
    let timer = reason(Reason::Named("timer"));
    let idle_rows = vec![row(Table::IdleSleeps, timer, idle.clone())];
    read(&Summary {
        table: Table::Locks,
        split: false,
        holders: false,
        further: &[
            section(Table::Sleeps, held_rows, &held),
            section(Table::IdleSleeps, idle_rows, &idle),
        ],
        by: &[By::Type],
        columns: &columns(&["contended", "wait_total"]),
        rows: &[row(Table::Locks, Part::Type(WaitKind::Mutex), lock.clone())],
        totals: &lock,
        open: &[],
        blocked: &[],
        chains: &Chains::new(0),
        quality: &Quality {
            sleeps: Counts { begins_read: 4, ends_read: 4, ok: 4, ..Counts::default() },
            kept: 5,
            in_rows: 5,
            pairing: Counts { begins_read: 1, ends_read: 1, ok: 1, ..Counts::default() },
            ..Quality::default()
        },
        duration_ns: 1_000,
        symbols: &symbols(),
        stacks: &stacks(),
        lock_names: &lock_names(),
        futex_names: &futex_names(),
        cgroups: None,
    })
}

#[test]
fn tables_of_sleeps_have_headings_and_columns_of_their_own() {
    let expected = " contended   total wait         type

         1         0 ns        mutex

 sleeps:

    sleeps   total wait      blocked     runnable   reason

         2      5.00 us      4.00 us      1.00 us   disk read
         1      2.00 us      2.00 us         0 ns   nfs_lookup [nfs]

 idle sleeps:

    sleeps   total wait      blocked     runnable   reason

         1      9.00 us      9.00 us         0 ns   timer

 1 wait in 1.00 us on 0 CPUs: 1 got the lock, 0 failed, 0 still open, 0 began before; 0 lost, 0 uncertain
 3 sleeps of 7.00 us together, and 1 idle of 9.00 us; 0 uncertain
";
    let text = with(|summary| written(|out| table::write(summary, table::View::default(), out)));
    assert_eq!(text, expected);
}

/// What a table does not have is empty.
#[test]
fn csv_has_the_columns_of_all_tables() {
    let expected = "\
table,type,reason,contended,wait_total,blocked,runnable,overflow
locks,mutex,,1,0,,,false
sleeps,,disk read,2,5000,4000,1000,false
sleeps,,nfs_lookup [nfs],1,2000,2000,0,false
idle_sleeps,,timer,1,9000,9000,0,false
";
    assert_eq!(with(|summary| written(|out| csv::write(summary, out))), expected);
}

#[test]
fn perfs_csv_has_a_header_for_each_table() {
    let expected = "\
# output: contended, total wait, type
1, 0, mutex
# table: sleeps
# output: contended, total wait, blocked, runnable, reason
2, 5000, 4000, 1000, disk read
1, 2000, 2000, 0, nfs_lookup [nfs]
";
    let detail = table::Detail::Notable;
    let text = with(|summary| written(|out| perf_csv::write(summary, ",", detail, out)));
    assert!(text.starts_with(expected), "{text}");
}

#[test]
fn json_tables_say_where_the_time_went() {
    let text = with(|summary| written(|out| json::summary(summary, out)));
    let value: Value = serde_json::from_str(&text).unwrap();
    let tables = value["tables"].as_array().unwrap();
    let names: Vec<_> = tables.iter().map(|table| &table["table"]).collect();
    assert_eq!(names, [&json!("sleeps"), &json!("idle_sleeps")]);
    let row = &tables[0]["rows"][0];
    let figures = ["reason", "contended", "blocked", "runnable"].map(|id| row[id].clone());
    assert_eq!(figures, [json!("disk read"), json!(2), json!(4_000), json!(1_000)]);
    assert_eq!(tables[0]["totals"]["blocked"], json!(6_000));
    assert!(value["totals"].get("blocked").is_none(), "locks were not split");
    assert!(value["identities"].as_array().unwrap().iter().all(|law| law["holds"] == true));
    assert_described(include_str!("../../docs/stream.md"), &value);
}

fn sleep(comm: &Comm) -> StreamWait<'_> {
    StreamWait {
        lock: 0,
        lock_name: None,
        table: Table::Sleeps,
        cause: Cause::Sleep(LeftAs::Uninterruptible),
        reason: Some(Reason::Named("disk read")),
        off_cpu: Some(OffCpu { blocked_ns: 1_000_000, runnable_ns: 200_000, preempted_ns: 0 }),
        holder: Some(Some(StreamHolder {
            ts_ns: 7,
            tid: Tid(3),
            comm: Some(Comm::new(b"kworker/0:1")),
            evidence: Evidence::Waking,
            caller: None,
            held_ns: None,
        })),
        ..pipe_wait(comm)
    }
}

#[test]
fn a_streamed_sleep_has_its_reason_and_its_waker() {
    let comm = Comm::new(b"dd");
    let held = sleep(&comm);
    let idle = StreamWait {
        table: Table::IdleSleeps,
        reason: Some(Reason::Named("timer")),
        holder: Some(None),
        ..held
    };
    let lines = written(|out| {
        text::wait(&held, &symbols(), out)?;
        text::wait(&idle, &symbols(), out)
    });
    let expected =
        "   12.345678    1  dd-4711                sleep      1.20 ms  disk read  <- kworker/0:1-3
   12.345678    1  dd-4711                idle       1.20 ms  timer
";
    assert_eq!(lines, expected);
    let value: Value =
        serde_json::from_str(&written(|out| json::wait(&held, &symbols(), out))).unwrap();
    let fields = ["kind", "idle", "reason", "blocked_ns", "runnable_ns", "flags"];
    let expected = [json!("sleep"), json!(false), json!("disk read"), json!(1_000_000)];
    let expected = [&expected[..], &[json!(200_000), Value::Null]].concat();
    assert_eq!(fields.map(|field| value[field].clone()).to_vec(), expected);
    assert_eq!((&value["spin_ns"], &value["holder"]["tid"]), (&json!(0), &json!(3)));
    assert_described(include_str!("../../docs/stream.md"), &value);
}
