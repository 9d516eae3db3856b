//! Values for the writers' tests.

use super::{ReportInfo, RunInfo, Section, StreamWait, Summary};
use crate::event::{Comm, Context, Cpu, LockFlags, StackId, Tid};
use crate::report::{
    By, COLUMNS, Cause, Chains, FutexId, Quality, Row, RowKey, RowStats, Table, Witness,
};
use crate::symbols::{
    CallerFinder, DerivedName, Kallsyms, LockName, NamedBy, StackTable, UserName,
};
use serde_json::Value;
use std::collections::HashMap;
use std::io;
use std::sync::Arc;

pub(super) const SYMBOLS: &[u8] = b"\
1000 t anon_pipe_write\n\
2000 t unix_stream_read_generic\n\
3000 t try_to_wake_up\n\
4000 t poll_freewait\n\
5000 t nfs_lookup\t[nfs]\n\
9000 D tasklist_lock\n\
9100 d state\t[nfs]\n";

pub(super) const PIPE_WRITE: u64 = 0x1043;
pub(super) const LOCK: u64 = 0xffff_8881_3344_5566;
pub(super) const MMAP_LOCK: u64 = 0xffff_8881_0000_a000;
pub(super) const UNKNOWN_LOCK: u64 = 0xffff_8881_0000_b000;

pub(super) const PIPE_MUTEX: LockName =
    LockName::Derived(DerivedName { name: "pipe_mutex", function: "anon_pipe_*" });

/// A lock that a rule names, one that was learned, and one that has a symbol of its own.
pub(super) fn lock_names() -> HashMap<u64, LockName> {
    HashMap::from([(LOCK, PIPE_MUTEX), (MMAP_LOCK, LockName::MmapLock), (0x9000, PIPE_MUTEX)])
}

/// A futex that is a variable.
pub(super) const FUTEX: FutexId = ((Tid(4700), 1), 0x5555_0000_4080);

pub(super) const THE_LOCK: LockName =
    LockName::User(UserName { name: "the_lock", by: NamedBy::Global });

pub(super) fn futex_names() -> HashMap<FutexId, LockName> {
    HashMap::from([(FUTEX, THE_LOCK)])
}

pub(super) fn symbols() -> Kallsyms {
    Kallsyms::parse(SYMBOLS)
}

/// A table that has the stack of [`witness`].
pub(super) fn stacks() -> StackTable {
    let stacks = StackTable::new(1, Arc::new(CallerFinder::new(Arc::new(symbols()))));
    assert_eq!(stacks.intern(&[PIPE_WRITE, 0x5010, 0x77]), Some(StackId(0)));
    stacks
}

/// Whoever waited longest: a softirq on top of `hackbench-4711`.
pub(super) fn witness() -> Witness {
    Witness {
        ts_ns: 12_345_678_400,
        tid: Tid(4711),
        comm: Some(Comm::new(b"hackbench")),
        cpu: Cpu(1),
        context: Context::Softirq,
        stack: Some(StackId(0)),
        holder: None,
    }
}

/// A mutex wait of `hackbench-4711` in a pipe.
pub(super) fn pipe_wait(comm: &Comm) -> StreamWait<'_> {
    StreamWait {
        begin_ns: 12_345_678_400,
        end_ns: 12_346_878_400,
        wait_ns: 1_200_000,
        cpu: Cpu(1),
        tid: Tid(4711),
        pid: Some(Tid(4700)),
        comm: Some(comm),
        comm_confirmed: true,
        lock: LOCK,
        lock_name: Some(PIPE_MUTEX),
        table: Table::Locks,
        cause: Cause::Lock(LockFlags(33)),
        reason: None,
        off_cpu: None,
        holder: None,
        context: Context::Task,
        ret: 0,
        caller: Some(PIPE_WRITE),
        cgroup: None,
        cmdline: None,
        uncertain: false,
    }
}

/// A row with two waits of together `wait_total_ns`.
pub(super) fn row(key: RowKey, wait_total_ns: u64) -> Row {
    Row { key, stats: RowStats { contended: 2, wait_total_ns, ..RowStats::default() } }
}

/// Does something with the report of these rows, which add up to all there is.
pub(super) fn with_report<T>(
    by: &[By],
    rows: &[Row],
    further: &[(Table, Vec<By>, Vec<Row>)],
    read: impl FnOnce(&Summary<'_>) -> T,
) -> T {
    let sum = |rows: &[Row]| RowStats {
        contended: rows.iter().map(|row| row.stats.contended).sum(),
        wait_total_ns: rows.iter().map(|row| row.stats.wait_total_ns).sum(),
        ..RowStats::default()
    };
    let totals: Vec<RowStats> = further.iter().map(|(_, _, rows)| sum(rows)).collect();
    let columns: Vec<_> = COLUMNS.iter().take(3).collect();
    let sections = further.iter().zip(&totals).map(|((table, by, rows), totals)| Section {
        table: *table,
        by: by.clone(),
        rows: rows.clone(),
        totals,
        columns: &columns,
    });
    let sections: Vec<Section<'_>> = sections.collect();
    read(&Summary {
        table: Table::Locks,
        split: false,
        holders: false,
        further: &sections,
        by,
        columns: &columns,
        rows,
        totals: &sum(rows),
        open: &[],
        blocked: &[],
        quality: &Quality::default(),
        duration_ns: 1_000_000_000,
        lock_names: &lock_names(),
        futex_names: &futex_names(),
        chains: &Chains::new(0),
        symbols: &symbols(),
        stacks: &stacks(),
        cgroups: None,
    })
}

/// A run of a command that has a hostile name.
pub(super) const RUN: ReportInfo<'static> = ReportInfo {
    run: RunInfo {
        clock: "mono",
        kernel: "6.18.0",
        cpus: 2,
        command: &[b"make", b"</title><b>\x1b"],
    },
    host: Some("host"),
    date: None,
    start_ns: Some(12_000_000_000),
    end_ns: Some(13_000_000_000),
};

/// What a writer writes.
pub(super) fn written(write: impl FnOnce(&mut dyn io::Write) -> io::Result<()>) -> String {
    let mut out = Vec::new();
    write(&mut out).unwrap();
    String::from_utf8(out).unwrap()
}

/// A writer whose reader has gone.
pub(super) struct ClosedPipe;

impl io::Write for ClosedPipe {
    fn write(&mut self, _: &[u8]) -> io::Result<usize> {
        Err(io::ErrorKind::BrokenPipe.into())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A page of `docs/` names every field of a JSON value, however deep.
pub(super) fn assert_described(page: &str, value: &Value) {
    match value {
        Value::Object(fields) => {
            for (name, value) in fields {
                assert!(page.contains(&format!("`{name}`")), "{name} is not described");
                assert_described(page, value);
            }
        }
        Value::Array(values) => values.iter().for_each(|value| assert_described(page, value)),
        _ => {}
    }
}
