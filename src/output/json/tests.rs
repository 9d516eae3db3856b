use super::super::samples::{
    ClosedPipe, FUTEX, LOCK, MMAP_LOCK, THE_LOCK, UNKNOWN_LOCK, assert_described, futex_names,
    lock_names, pipe_wait, stacks, symbols, witness, written,
};
use super::super::{
    FieldValue, RawEvent, RunInfo, Section, StreamLoss, StreamOpen, StreamWait, Summary,
};
use super::{event, header, loss, summary, wait};
use crate::event::{Comm, Context, Cpu, FutexCall, FutexOp, LockFlags, Texts, Tid, WaitKind};
use crate::report::{
    By, Cause, Chains, Counts, CpuEvents, Part, Quality, Row, RowKey, RowStats, Sample, Split,
    Table,
};
use serde_json::{Value, json};
use std::io;

const CALL: FutexCall =
    FutexCall { op: FutexOp::Wait, address: FUTEX.1, value: 2, shared: true, timed: false };

/// One line, strictly one JSON value.
fn parsed(line: &str) -> Value {
    assert_eq!(line.find('\n'), Some(line.len() - 1), "{line:?}");
    serde_json::from_str(line).unwrap()
}

#[test]
fn a_wait_is_one_line() {
    let comm = Comm::new(b"hackbench");
    let line = written(|out| wait(&pipe_wait(&comm), &symbols(), out));
    assert_eq!(
        line,
        "{\"record\":\"wait\",\"ts\":12345678400,\"end\":12346878400,\"wait_ns\":1200000,\
         \"tid\":4711,\"pid\":4700,\"comm\":\"hackbench\",\"comm_confirmed\":true,\"cpu\":1,\"lock\":\"0xffff888133445566\",\
         \"lock_name\":\"pipe_mutex\",\"lock_name_by\":\"rule\",\"kind\":\"mutex\",\"flags\":\"SPIN|MUTEX\",\"context\":\"task\",\"ret\":0,\
         \"caller\":\"anon_pipe_write+0x43\",\"uncertain\":false}\n",
    );
}

#[test]
fn what_is_not_known_is_null() {
    let comm = Comm::new(b"");
    let unknown = StreamWait {
        pid: None,
        comm: None,
        caller: None,
        lock_name: None,
        cause: Cause::Lock(LockFlags(0x40)),
        context: Context::Hardirq,
        ret: -35,
        uncertain: true,
        begin_ns: 9_007_199_254_740_993,
        ..pipe_wait(&comm)
    };
    let value = parsed(&written(|out| wait(&unknown, &symbols(), out)));
    for field in ["pid", "comm", "caller", "lock_name", "lock_name_by"] {
        assert_eq!(value[field], Value::Null, "{field}");
    }
    assert_eq!(value["ts"], json!(9_007_199_254_740_993_u64));
    assert_eq!(
        (&value["kind"], &value["flags"], &value["context"], &value["ret"], &value["uncertain"]),
        (&json!("unknown"), &json!("0x40"), &json!("hardirq"), &json!(-35), &json!(true)),
    );
}

#[test]
fn what_is_asked_for_of_a_task_stands_behind_the_caller_known_or_not() {
    let comm = Comm::new(b"a");
    let cgroup = Some(Some(b"/a\xff".as_slice()));
    let asked = StreamWait { cgroup, cmdline: Some(None), ..pipe_wait(&comm) };
    let line = written(|out| wait(&asked, &symbols(), out));
    let end = "\"caller\":\"anon_pipe_write+0x43\",\"cgroup\":\"/a\\\\xff\",\"cmdline\":null,\"uncertain\":false}\n";
    assert!(line.ends_with(end), "{line}");
}

#[test]
fn no_name_spoils_a_line() {
    let table: [(&[u8], &str); 6] = [
        (b"q\"u\\o", "q\"u\\o"),
        (b"\x01\x1f\x7f", "\x01\x1f\x7f"),
        (b"x\ny", "x\ny"),
        (b"a\xffb", "a\\xffb"),
        (b"a\\xffb", "a\\\\xffb"),
        ("\u{2028}é".as_bytes(), "\u{2028}é"),
    ];
    for (name, expected) in table {
        let comm = Comm::new(name);
        let value = parsed(&written(|out| wait(&pipe_wait(&comm), &symbols(), out)));
        assert_eq!(value["comm"], json!(expected), "{}", name.escape_ascii());
    }
}

#[test]
fn fields_keep_every_digit() {
    let comm = Comm::new(b"a");
    let raw = RawEvent {
        ts_ns: 5,
        cpu: Cpu(2),
        tid: Tid(3),
        comm: Some(&comm),
        flags: 0,
        preempt_count: 0,
        event: "contention_begin",
    };
    let fields = [
        ("lock_addr", FieldValue::Address(LOCK)),
        ("exact", FieldValue::Unsigned(1 << 53)),
        ("large", FieldValue::Unsigned(u64::MAX)),
        ("small", FieldValue::Signed(i64::MIN)),
        ("ret", FieldValue::Signed(-4)),
        ("na\"me", FieldValue::Text(b"\"\xff")),
        ("list", FieldValue::List(vec![FieldValue::Unsigned(1), FieldValue::Fault])),
    ];
    let value = parsed(&written(|out| event(&raw, fields.iter().cloned(), out)));
    let expected = json!({
        "record": "event", "ts": 5, "cpu": 2, "tid": 3, "comm": "a", "event": "contention_begin",
        "fields": {
            "lock_addr": "0xffff888133445566", "exact": 9_007_199_254_740_992_u64,
            "large": "18446744073709551615", "small": "-9223372036854775808", "ret": -4,
            "na\"me": "\"\\xff", "list": [1, null],
        },
    });
    assert_eq!(value, expected);
}

#[test]
fn header_and_loss_say_what_they_know() {
    let run = RunInfo {
        clock: "mono",
        kernel: "6.18.44",
        cpus: 2,
        command: &[b"sh", b"-c", b"echo \xff"],
    };
    let value = parsed(&written(|out| header(&run, out)));
    assert_eq!(
        value,
        json!({
            "record": "header", "schema": 1, "ftlock": env!("CARGO_PKG_VERSION"), "clock": "mono",
            "kernel": "6.18.44", "cpus": 2, "command": ["sh", "-c", "echo \\xff"],
        }),
    );
    let gap = StreamLoss { cpu: Cpu(1), missed: None, after_ns: 1, before_ns: 2 };
    assert_eq!(
        written(|out| loss(&gap, out)),
        "{\"record\":\"loss\",\"cpu\":1,\"missed\":null,\"after\":1,\"before\":2}\n",
    );
}

#[test]
fn the_summary_has_rows_counters_and_identities() {
    let mut stats = RowStats::default();
    (1..=4).for_each(|ns| stats.add(Sample::Acquired(ns), Split::default(), witness));
    let totals = RowStats { wait_total_ns: 30, ..stats.clone() };
    let kind = WaitKind::Mutex;
    let comm = Some(Comm::new(b"x\ny"));
    let task = Part::Task { incarnation: 0, tid: Tid(7), comm };
    let process = Part::Process { incarnation: 0, pid: Some(Tid(6)), comm };
    let paths = Texts::new(1 << 10);
    let path = format!("/docker/{}", "0f".repeat(32));
    let cgroup = paths.intern(path.as_bytes());
    let cases = [
        (
            vec![By::Cgroup],
            RowKey::of(Table::Locks, [Part::Cgroup(cgroup)]),
            json!({"cgroup": path}),
        ),
        (vec![By::Cgroup], RowKey::of(Table::Locks, [Part::Cgroup(None)]), json!({"cgroup": null})),
        (
            vec![By::Caller],
            RowKey::of(Table::Locks, [Part::Caller(Some(0x1043), kind)]),
            json!({"caller": "anon_pipe_write+0x43", "type": "mutex"}),
        ),
        (
            vec![By::Caller],
            RowKey::of(Table::Locks, [Part::Caller(None, kind)]),
            json!({"caller": null, "type": "mutex"}),
        ),
        (
            vec![By::Lock],
            RowKey::of(Table::Locks, [Part::Lock(0x9000, kind)]),
            json!({"lock": "0x9000", "lock_name": "tasklist_lock", "lock_name_by": "symbol", "type": "mutex"}),
        ),
        (
            vec![By::Lock],
            RowKey::of(Table::Locks, [Part::Lock(LOCK, kind)]),
            json!({"lock": "0xffff888133445566", "lock_name": "pipe_mutex", "lock_name_by": "rule", "type": "mutex"}),
        ),
        (
            vec![By::Lock],
            RowKey::of(Table::Locks, [Part::Lock(MMAP_LOCK, kind)]),
            json!({"lock": "0xffff88810000a000", "lock_name": "mmap_lock", "lock_name_by": "mmap_lock", "type": "mutex"}),
        ),
        (
            vec![By::Lock],
            RowKey::of(Table::Locks, [Part::Lock(UNKNOWN_LOCK, kind)]),
            json!({"lock": "0xffff88810000b000", "lock_name": null, "lock_name_by": null, "type": "mutex"}),
        ),
        (vec![By::Task], RowKey::of(Table::Locks, [task]), json!({"tid": 7, "comm": "x\ny"})),
        (
            vec![By::Task],
            RowKey::of(Table::Locks, [Part::Interrupt(Context::Nmi)]),
            json!({"tid": null, "comm": "[nmi]"}),
        ),
        (
            vec![By::Process],
            RowKey::of(Table::Locks, [process]),
            json!({"pid": 6, "process": "x\ny"}),
        ),
        (
            vec![By::Cpu, By::Context, By::Type],
            RowKey::of(
                Table::Locks,
                [Part::Cpu(Cpu(3)), Part::Context(Context::Nmi), Part::Type(kind)],
            ),
            json!({"cpu": 3, "context": "nmi", "type": "mutex"}),
        ),
        (
            vec![By::Comm, By::Type],
            RowKey::Overflow(Table::Locks, Some(kind)),
            json!({"overflow": true, "comm": null, "type": "mutex"}),
        ),
    ];
    let cpu = CpuEvents { cpu: 0, read: 1, overrun: 2, dropped: 0, written: 3 };
    let mut quality = Quality {
        pairing: Counts { begins_read: 1, ..Counts::default() },
        cpus: vec![cpu],
        ..Quality::default()
    };
    quality.page_faults.insert("short page".to_owned(), 1);
    let figures = json!({
        "contended": 4, "wait_total": 10, "wait_max": 4, "wait_min": 1, "avg_wait": 2,
        "p50": 2, "p95": 4, "p99": 4, "share": 33.3, "failed": 0, "uncertain": 0,
        "witness": {
            "ts": 12_345_678_400_u64, "tid": 4711, "comm": "hackbench", "cpu": 1,
            "context": "softirq", "stack": ["anon_pipe_write+0x43", "nfs_lookup+0x10 [nfs]", "0x77"],
        },
    });
    let mut value = Value::Null;
    for (by, key, mut expected) in cases {
        let run = Summary {
            table: Table::Locks,
            split: false,
            holders: false,
            further: &[],
            by: &by,
            columns: &[],
            rows: &[Row { key, stats: stats.clone() }],
            totals: &totals,
            open: &[],
            quality: &quality,
            duration_ns: 5,
            blocked: &[],
            chains: &Chains::new(0),
            lock_names: &lock_names(),
            futex_names: &futex_names(),
            symbols: &symbols(),
            stacks: &stacks(),
            cgroups: Some(&paths),
        };
        value = parsed(&written(|out| summary(&run, out)));
        expected.as_object_mut().unwrap().extend(figures.as_object().unwrap().clone());
        assert_eq!(value["rows"], json!([expected]));
    }
    assert_eq!(value["by"], json!(["comm", "type"]));
    for (column, expected) in [("wait_total", json!(30)), ("share", json!(100.0))] {
        assert_eq!(value["totals"][column], expected);
    }
    assert_eq!(value["quality"]["page_faults"], json!({"short page": 1}));
    assert_eq!(
        value["quality"]["cpus"],
        json!([{"cpu": 0, "read": 1, "overrun": 2, "dropped": 0, "written": 3}]),
    );
    let holds: Vec<_> =
        value["identities"].as_array().unwrap().iter().map(|i| &i["holds"]).collect();
    assert_eq!(holds, [&json!(false), &json!(true), &json!(true), &json!(true), &json!(true)]);
}

/// Every field that is written is described.
#[test]
fn the_description_names_every_field() {
    let page = include_str!("../../../docs/stream.md");
    let comm = Comm::new(b"a");
    let symbols = symbols();
    let quality = Quality { cpus: vec![CpuEvents::default()], ..Quality::default() };
    let run = RunInfo { clock: "", kernel: "", cpus: 1, command: &[] };
    let gap = StreamLoss { cpu: Cpu(1), missed: None, after_ns: 1, before_ns: 2 };
    let keys = [
        RowKey::of(Table::Locks, [Part::Lock(1, WaitKind::Mutex)]),
        RowKey::Overflow(Table::Locks, Some(WaitKind::Mutex)),
    ];
    let mut stats = RowStats::default();
    stats.add(Sample::Acquired(1), Split::default(), witness);
    let rows = keys.map(|key| Row { key, stats: stats.clone() });
    let raw = RawEvent {
        ts_ns: 5,
        cpu: Cpu(2),
        tid: Tid(3),
        comm: None,
        flags: 0,
        preempt_count: 0,
        event: "contention_begin",
    };
    let open = StreamOpen {
        begin_ns: 1,
        age_ns: 2,
        tid: Tid(3),
        comm: None,
        cpu: Cpu(0),
        lock: 4,
        cause: Cause::Lock(LockFlags(33)),
        lock_name: None,
        stack: None,
        holder: None,
        reason: None,
        context: Context::Task,
        caller: None,
    };
    let futex = Part::Futex {
        pid: Some(FUTEX.0.0),
        incarnation: FUTEX.0.1,
        address: FUTEX.1,
        shared: true,
        kind: WaitKind::Futex,
    };
    let further = [Section {
        table: Table::Futexes,
        by: vec![By::Lock],
        rows: vec![Row { key: RowKey::of(Table::Futexes, [futex]), stats: stats.clone() }],
        totals: &stats,
        columns: &[],
    }];
    let end = Summary {
        table: Table::Locks,
        split: false,
        holders: false,
        further: &further,
        open: &[open],
        by: &[By::Lock, By::Task, By::Process, By::Context],
        columns: &[],
        rows: &rows,
        totals: &RowStats::default(),
        quality: &quality,
        duration_ns: 5,
        blocked: &[],
        chains: &Chains::new(0),
        lock_names: &lock_names(),
        futex_names: &futex_names(),
        symbols: &symbols,
        stacks: &stacks(),
        cgroups: None,
    };
    let lines = written(|out| {
        header(&run, out)?;
        let (cgroup, cmdline) = (Some(None), Some(None));
        wait(&StreamWait { cgroup, cmdline, ..pipe_wait(&comm) }, &symbols, out)?;
        wait(&StreamWait { cause: Cause::Futex(CALL), ..pipe_wait(&comm) }, &symbols, out)?;
        event(&raw, std::iter::empty(), out)?;
        loss(&gap, out)?;
        summary(&end, out)
    });
    for line in lines.lines() {
        assert_described(page, &serde_json::from_str(line).unwrap());
    }
}

#[test]
fn a_futexs_wait_says_whether_it_is_shared_and_idle() {
    let comm = Comm::new(b"a");
    for (table, idle) in [(Table::Futexes, false), (Table::IdleFutexes, true)] {
        let (cause, lock_name) = (Cause::Futex(CALL), Some(THE_LOCK));
        // Whatever the kernel has there is not what the process has.
        let futex = StreamWait { table, cause, lock: 0x9000, lock_name, ..pipe_wait(&comm) };
        let value = parsed(&written(|out| wait(&futex, &symbols(), out)));
        let found = ["kind", "flags", "shared", "idle"].map(|name| value[name].clone());
        assert_eq!(found, [json!("futex"), Value::Null, json!(true), json!(idle)]);
        let named = ["lock_name", "lock_name_by"].map(|name| value[name].clone());
        assert_eq!(named, [json!("the_lock"), json!("global")]);
        let nameless = StreamWait { lock_name: None, ..futex };
        let value = parsed(&written(|out| wait(&nameless, &symbols(), out)));
        assert_eq!(value["lock_name"], Value::Null);
    }
    let lock = parsed(&written(|out| wait(&pipe_wait(&comm), &symbols(), out)));
    assert!(lock.get("shared").is_none() && lock.get("idle").is_none(), "{lock}");
}

#[test]
fn a_closed_pipe_is_told_as_such() {
    let comm = Comm::new(b"a");
    let error = wait(&pipe_wait(&comm), &symbols(), &mut ClosedPipe).unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::BrokenPipe);
}
