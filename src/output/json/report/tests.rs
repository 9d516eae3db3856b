use super::super::super::samples::{
    LOCK, PIPE_WRITE, assert_described, futex_names, lock_names, stacks, symbols, witness, written,
};
use super::super::super::{ReportInfo, RunInfo, StreamOpen, Summary};
use super::report;
use crate::event::{Comm, Context, Cpu, LockFlags, Tid, WaitKind};
use crate::report::{
    By, Cause, Chains, Counts, CpuEvents, Part, Quality, Row, RowKey, RowStats, Table,
};
use serde_json::{Value, json};
use std::time::{Duration, SystemTime};

fn info<'a>(command: &'a [&'a [u8]]) -> ReportInfo<'a> {
    ReportInfo {
        run: RunInfo { clock: "mono", kernel: "6.18.44", cpus: 2, command },
        host: Some("lab"),
        date: Some(SystemTime::UNIX_EPOCH + Duration::from_millis(1_700_000_000_250)),
        start_ns: Some(9_007_199_254_740_993),
        end_ns: Some(9_007_199_254_750_000),
    }
}

fn quality() -> Quality {
    Quality {
        pairing: Counts { ok: 7, ..Counts::default() },
        kept: 7,
        in_rows: 7,
        in_overflow: 3,
        gaps: 1,
        own_cpu_ns: Some(1_500_000),
        cpus: [(0, 4, 1), (1, 0, 0)]
            .map(|(cpu, overrun, dropped)| CpuEvents {
                cpu,
                read: 10,
                overrun,
                dropped,
                written: 10 + overrun + dropped,
            })
            .into(),
        ..Quality::default()
    }
}

fn parsed(info: &ReportInfo<'_>, by: &[By], keys: &[RowKey], quality: &Quality) -> Value {
    let stats = RowStats {
        contended: 3,
        wait_total_ns: 12,
        wait_max_ns: 7,
        witness: Some(witness()),
        ..RowStats::default()
    };
    let rows: Vec<Row> = keys.iter().map(|&key| Row { key, stats: stats.clone() }).collect();
    let open = StreamOpen {
        begin_ns: 1,
        age_ns: 2,
        tid: Tid(3),
        comm: None,
        cpu: Cpu(0),
        lock: LOCK,
        cause: Cause::Lock(LockFlags(33)),
        lock_name: None,
        stack: None,
        holder: None,
        reason: None,
        context: Context::Task,
        caller: None,
    };
    let summary = Summary {
        table: Table::Locks,
        split: false,
        holders: false,
        further: &[],
        by,
        columns: &[],
        rows: &rows,
        totals: &RowStats { contended: 6, wait_total_ns: 24, failed: 1, ..stats },
        open: &[open],
        quality,
        duration_ns: 500_000_000,
        symbols: &symbols(),
        stacks: &stacks(),
        blocked: &[],
        chains: &Chains::new(0),
        lock_names: &lock_names(),
        futex_names: &futex_names(),
        cgroups: None,
    };
    let text = written(|out| report(info, &summary, out));
    assert_eq!(text.find('\n'), Some(text.len() - 1), "{text:?}");
    serde_json::from_str(&text).unwrap()
}

#[test]
fn one_object_has_it_all() {
    let kind = WaitKind::Mutex;
    let comm = Part::Comm(Some(Comm::new(b"x\n\"\xff")));
    let keys = [
        RowKey::of(Table::Locks, [comm, Part::Caller(Some(PIPE_WRITE), kind)]),
        RowKey::Overflow(Table::Locks, Some(WaitKind::Spinlock)),
    ];
    let value = parsed(&info(&[b"sh", b"\xff"]), &[By::Comm, By::Caller], &keys, &quality());
    let figures = json!({
        "contended": 3, "wait_total": 12, "wait_max": 7, "wait_min": 0, "avg_wait": 4,
        "p50": 0, "p95": 0, "p99": 0, "share": 50.0, "failed": 0, "uncertain": 0,
        "witness": {
            "ts": 12_345_678_400_u64, "tid": 4711, "comm": "hackbench", "cpu": 1,
            "context": "softirq", "stack": ["anon_pipe_write+0x43", "nfs_lookup+0x10 [nfs]", "0x77"],
        },
    });
    let with_figures = |mut row: Value| {
        row.as_object_mut().unwrap().extend(figures.as_object().unwrap().clone());
        row
    };
    let expected = [
        ("schema", json!(1)),
        (
            "run",
            json!({
                "ftlock": env!("CARGO_PKG_VERSION"), "command": ["sh", "\\xff"], "clock": "mono",
                "start": 9_007_199_254_740_993_u64, "end": 9_007_199_254_750_000_u64,
                "duration_ns": 500_000_000, "date": "2023-11-14T22:13:20.250Z",
                "kernel": "6.18.44", "host": "lab", "cpus": 2,
            }),
        ),
        ("by", json!(["comm", "caller"])),
        (
            "rows",
            json!([with_figures(
                json!({"comm": "x\n\"\\xff", "type": "mutex", "caller": "anon_pipe_write+0x43"})
            )]),
        ),
        (
            "overflow",
            json!([with_figures(
                json!({"overflow": true, "comm": null, "type": "spinlock", "caller": null})
            )]),
        ),
        ("waits", json!(7)),
        ("loss", json!({"events": 5, "overrun": 4, "dropped": 1, "gaps": 1, "complete": false})),
        ("bad", json!({"total": 7, "bad": 3, "task": 0, "stack": 0, "time": 0, "data": 3})),
        (
            "overhead",
            json!({"cpu_ns": 1_500_000, "cpu_percent": 0.3, "events": 25, "events_per_s": 50}),
        ),
    ];
    for (field, expected) in expected {
        assert_eq!(value[field], expected, "{field}");
    }
    assert_eq!(value["totals"]["wait_total"], 24);
    assert_eq!(value["open"][0]["lock"], "0xffff888133445566");
    assert_eq!(value["quality"]["in_overflow"], 3);
    assert_eq!(value["identities"].as_array().unwrap().len(), 6);
}

#[test]
fn of_a_recording_less_is_known() {
    let unknown = ReportInfo { host: None, date: None, start_ns: None, end_ns: None, ..info(&[]) };
    let value = parsed(&unknown, &[By::Type], &[], &Quality::default());
    for field in ["host", "date", "start", "end"] {
        assert_eq!(value["run"][field], Value::Null, "{field}");
    }
    assert_eq!(value["overhead"], Value::Null);
    assert_eq!((&value["rows"], &value["overflow"]), (&json!([]), &json!([])));
    assert_eq!(value["run"]["command"], json!([]));
}

/// Every field that is written is described, here or with the stream, which has some of them too.
#[test]
fn the_description_names_every_field() {
    let (page, stream) =
        (include_str!("../../../../docs/report.md"), include_str!("../../../../docs/stream.md"));
    let keys = [
        RowKey::of(
            Table::Locks,
            [
                Part::Lock(1, WaitKind::Mutex),
                Part::Task { tid: Tid(1), incarnation: 0, comm: None },
                Part::Process { pid: None, incarnation: 0, comm: None },
                Part::Context(Context::Task),
            ],
        ),
        RowKey::Overflow(Table::Locks, Some(WaitKind::Mutex)),
    ];
    let by = [By::Lock, By::Task, By::Process, By::Context];
    let value = parsed(&info(&[]), &by, &keys, &quality());
    let shared = ["open", "quality", "identities", "totals", "rows", "overflow"];
    for (field, value) in value.as_object().unwrap() {
        assert!(page.contains(&format!("`{field}`")), "{field} is not described");
        let page = if shared.contains(&field.as_str()) { stream } else { page };
        assert_described(page, value);
    }
}
