use super::super::StreamOpen;
use super::super::samples::{
    LOCK, PIPE_WRITE, futex_names, lock_names, stacks, symbols, witness, written,
};
use super::{Detail, Summary, separator_fault, write};
use crate::event::{Comm, Context, Cpu, LockFlags, StackId, Tid, WaitKind};
use crate::report::{
    By, Cause, Chains, Column, Counts, CpuEvents, DEFAULT_FIELDS, Part, Quality, Row, RowKey,
    RowStats, Table,
};

/// Figures of a row of `perf lock contention`, as in the tests of the columns.
fn one() -> RowStats {
    RowStats {
        contended: 14,
        wait_total_ns: 1_881_441,
        wait_max_ns: 1_759_412,
        wait_min_ns: 2_494,
        ..RowStats::default()
    }
}

fn perf(by: &[By], keys: &[RowKey], separator: &str, detail: Detail) -> String {
    with_quality(by, keys, separator, detail, &clean(), &[])
}

/// All of 14 waits got the lock.
fn clean() -> Quality {
    Quality {
        pairing: Counts { begins_read: 14, ends_read: 14, ok: 14, ..Counts::default() },
        kept: 14,
        in_rows: 14,
        ..Quality::default()
    }
}

fn with_quality(
    by: &[By],
    keys: &[RowKey],
    separator: &str,
    detail: Detail,
    quality: &Quality,
    open: &[StreamOpen],
) -> String {
    let rows: Vec<Row> = keys.iter().map(|&key| Row { key, stats: one() }).collect();
    let columns: Vec<_> = DEFAULT_FIELDS.iter().map(|id| Column::find(id).unwrap()).collect();
    let summary = Summary {
        table: Table::Locks,
        split: false,
        holders: false,
        further: &[],
        by,
        columns: &columns,
        rows: &rows,
        totals: &RowStats {
            failed: quality.pairing.failed,
            uncertain: quality.pairing.uncertain,
            ..one()
        },
        open,
        quality,
        duration_ns: 2_000_000_000,
        symbols: &symbols(),
        stacks: &stacks(),
        blocked: &[],
        chains: &Chains::new(0),
        lock_names: &lock_names(),
        futex_names: &futex_names(),
        cgroups: None,
    };
    written(|out| write(&summary, separator, detail, out))
}

/// The headers of perf 6.4 to 7.3 with `-x ,`, alone, with `-t` and with `-l`.
#[test]
fn headers_and_rows_are_perfs() {
    let kind = WaitKind::RwsemWrite;
    let comm = Some(Comm::new(b"hackbench"));
    let cases = [
        (
            By::Caller,
            Part::Caller(Some(0x4032), kind),
            "# output: contended, total wait, max wait, avg wait, type, caller\n\
             14, 1881441, 1759412, 134388, rwsem:W, poll_freewait+0x32\n",
        ),
        (
            By::Task,
            Part::Task { tid: Tid(4711), incarnation: 0, comm },
            "# output: contended, total wait, max wait, avg wait, pid, comm\n\
             14, 1881441, 1759412, 134388, 4711, hackbench\n",
        ),
        (
            By::Lock,
            Part::Lock(0x9000, kind),
            "# output: contended, total wait, max wait, avg wait, address, symbol, type\n\
             14, 1881441, 1759412, 134388, 9000, tasklist_lock, rwsem:W\n",
        ),
        (
            By::Lock,
            Part::Lock(LOCK, kind),
            "# output: contended, total wait, max wait, avg wait, address, symbol, type\n\
             14, 1881441, 1759412, 134388, ffff888133445566, ~pipe_mutex, rwsem:W\n",
        ),
        (
            By::Lock,
            Part::Lock(LOCK + 8, kind),
            "# output: contended, total wait, max wait, avg wait, address, symbol, type\n\
             14, 1881441, 1759412, 134388, ffff88813344556e, , rwsem:W\n",
        ),
    ];
    for (by, part, expected) in cases {
        assert_eq!(
            perf(&[by], &[RowKey::of(Table::Locks, [part])], ",", Detail::Notable),
            expected
        );
    }
}

/// As perf's `-v`: frames as address and name, a colon between them. A row by caller has the stack
/// of its longest wait, one by stack its own.
#[test]
fn stacks_are_perfs_last_column_where_rows_have_one() {
    let kind = WaitKind::Mutex;
    let stacks = stacks();
    let caller = RowKey::of(Table::Locks, [Part::Caller(Some(PIPE_WRITE), kind)]);
    let cases = [
        (By::Caller, caller, Some(witness())),
        (By::Stack, RowKey::of(Table::Locks, [Part::Stack(Some(StackId(0)), kind)]), None),
        (By::Caller, caller, None),
    ];
    let texts = cases.map(|(by, key, witness)| {
        let rows = [Row { key, stats: RowStats { witness, ..one() } }];
        let summary = Summary {
            table: Table::Locks,
            split: false,
            holders: false,
            further: &[],
            by: &[by],
            columns: &[],
            rows: &rows,
            totals: &one(),
            open: &[],
            quality: &clean(),
            duration_ns: 1,
            symbols: &symbols(),
            stacks: &stacks,
            blocked: &[],
            chains: &Chains::new(0),
            lock_names: &lock_names(),
            futex_names: &futex_names(),
            cgroups: None,
        };
        written(|out| write(&summary, "|", Detail::Everything, out))
    });
    let header = "# output: type| caller| stacktrace\n";
    let stack = "0x1043 anon_pipe_write+0x43: 0x5010 nfs_lookup+0x10 [nfs]: 0x77 0x77";
    for (text, stack) in texts.iter().zip([stack, stack, ""]) {
        let start = format!("{header}mutex| anon_pipe_write+0x43| {stack}\n#");
        assert!(text.starts_with(&start), "{text}");
    }
}

#[test]
fn every_row_has_as_many_cells_as_the_header_whatever_the_names() {
    let kind = WaitKind::Mutex;
    let comm = |name: &[u8]| Part::Comm(Some(Comm::new(name)));
    let keys = [
        RowKey::of(
            Table::Locks,
            [comm(b"a; b"), Part::Caller(Some(PIPE_WRITE), kind), Part::Cpu(Cpu(1))],
        ),
        RowKey::of(Table::Locks, [comm(b"x\n=\xff"), Part::Caller(None, kind), Part::Cpu(Cpu(1))]),
        RowKey::of(Table::Locks, [comm(b""), Part::Caller(Some(0x77), kind), Part::Cpu(Cpu(0))]),
        RowKey::Overflow(Table::Locks, Some(kind)),
    ];
    let text = perf(&[By::Comm, By::Caller, By::Cpu], &keys, ";", Detail::Notable);
    let figures = "14; 1881441; 1759412; 134388";
    let expected = format!(
        "# output: contended; total wait; max wait; avg wait; comm; type; caller; cpu\n\
         {figures}; a\\x3b b; mutex; anon_pipe_write+0x43; 1\n\
         {figures}; x\\n=\\xff; mutex; Unknown; 1\n\
         {figures}; \\x00; mutex; 0x77; 0\n\
         {figures}; Unknown; mutex; (overflow); -1\n"
    );
    assert_eq!(text, expected);
}

#[test]
fn what_found_no_room_says_so_by_every_key() {
    let figures = "14, 1881441, 1759412, 134388";
    let cases = [
        (By::Task, None, "-1, (overflow)"),
        (By::Lock, Some(WaitKind::Mutex), "0, (overflow), mutex"),
        (By::Type, Some(WaitKind::Mutex), "mutex(overflow)"),
        (By::Cpu, None, "-1(overflow)"),
    ];
    for (by, kind, expected) in cases {
        let text = perf(&[by], &[RowKey::Overflow(Table::Locks, kind)], ",", Detail::Rows);
        assert_eq!(text, format!("{figures}, {expected}\n"));
    }
}

#[test]
fn separators_that_occur_in_what_they_separate_are_refused() {
    for separator in [",", ";", "|", "\t", " ", ",,", "#", "\u{a6}"] {
        assert_eq!(separator_fault(separator), None, "{separator:?}");
    }
    for separator in ["", ":", "+", ".", "a", "7", "x", "\\", "{", "\n", ",:", "\u{e9}"] {
        assert!(separator_fault(separator).is_some(), "{separator:?}");
    }
}

/// perf's line stands under perf's conditions: something is bad, or `-v`.
#[test]
fn the_footer_is_perfs_and_then_ours() {
    let footer = |detail, quality: &Quality, open: &[StreamOpen]| {
        let text = with_quality(&[By::Caller], &[], ",", detail, quality, open);
        text.split_once('\n').map_or(text.clone(), |(_, behind)| behind.to_owned())
    };
    assert_eq!(footer(Detail::Notable, &clean(), &[]), "");
    let bad = Quality {
        pairing: Counts { overflow_depth: 1, clock: 4, ..Counts::default() },
        kept: 100,
        stacks_missing: 2,
        in_overflow: 8,
        ..Quality::default()
    };
    let text = footer(Detail::Notable, &bad, &[]);
    let perfs = "# debug: total=105, bad=15, bad_task=1, bad_stack=2, bad_time=4, bad_data=8\n";
    assert!(text.starts_with(perfs), "{text}");
    assert!(text.contains("\n# waits without a stack: 2\n"), "{text}");
    assert!(text.lines().all(|line| line.starts_with("# ")), "{text}");
    let without = Quality { stacks_missing: 2, ..clean() };
    assert_eq!(with_quality(&[By::Caller], &[], ",", Detail::Rows, &without, &[]), "");

    let cpus = vec![CpuEvents { cpu: 0, read: 20, overrun: 5, dropped: 0, written: 25 }];
    let lossy =
        Quality { pairing: Counts { ok: 13, failed: 1, ..clean().pairing }, cpus, ..clean() };
    let open = StreamOpen {
        begin_ns: 1,
        age_ns: 1_200_000,
        tid: Tid(1),
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
    let text = footer(Detail::Notable, &lossy, &[open]);
    let ours = "# ftlock: lost=5, failed=1, uncertain=0, open=1, open_oldest_ns=1200000\n\
                # cpu 0: 5 overrun, 0 dropped of 25 events\n";
    assert!(text.starts_with(ours), "{text}");
    let measured = Quality { own_cpu_ns: Some(4_000_000), ..lossy };
    let text = footer(Detail::Everything, &measured, &[]);
    let overhead = "# overhead: cpu_ns=4000000, cpu_percent=0.2, events=25, events_per_s=13\n";
    assert!(text.contains(overhead), "{text}");
    assert!(text.starts_with("# debug: total=14, bad=0, bad_task=0,"), "{text}");
}
