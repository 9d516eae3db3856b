use super::super::StreamOpen;
use super::super::footer::grouped;
use super::super::samples::{
    LOCK, MMAP_LOCK, PIPE_WRITE, futex_names, lock_names, stacks, symbols, witness, written,
};
use super::{Detail, Summary, View, cut, write};
use crate::event::{Comm, Context, Cpu, LockFlags, Texts, Tid, WaitKind};
use crate::report::{
    By, Cause, Chains, Column, Counts, CpuEvents, DEFAULT_FIELDS, Part, Quality, Row, RowKey,
    RowStats, Sample, Split, Table,
};

fn columns(ids: &[&str]) -> Vec<&'static Column> {
    ids.iter().map(|id| Column::find(id).unwrap()).collect()
}

fn clean() -> Quality {
    Quality {
        pairing: Counts {
            begins_read: 9809,
            ends_read: 9811,
            ok: 9805,
            failed: 3,
            open: 1,
            began_before_start: 3,
            ..Counts::default()
        },
        kept: 9808,
        in_rows: 9808,
        cpus: [0, 1]
            .map(|cpu| CpuEvents { cpu, read: 9, written: 9, ..CpuEvents::default() })
            .into(),
        ..Quality::default()
    }
}

fn table(
    by: By,
    fields: &[&str],
    rows: &[(RowKey, RowStats)],
    quality: &Quality,
    detail: Detail,
) -> String {
    viewed(by, fields, rows, quality, View { detail, ..View::default() })
}

fn viewed(
    by: By,
    fields: &[&str],
    rows: &[(RowKey, RowStats)],
    quality: &Quality,
    view: View,
) -> String {
    let rows: Vec<Row> =
        rows.iter().map(|(key, stats)| Row { key: *key, stats: stats.clone() }).collect();
    let open: Vec<StreamOpen> = (0..quality.pairing.open).map(|_| open_wait()).collect();
    let totals = RowStats {
        contended: quality.pairing.ok,
        wait_total_ns: 10_000_000,
        failed: quality.pairing.failed,
        ..RowStats::default()
    };
    let summary = Summary {
        table: Table::Locks,
        split: false,
        holders: false,
        further: &[],
        by: &[by],
        columns: &columns(fields),
        rows: &rows,
        totals: &totals,
        open: &open,
        quality,
        duration_ns: 4_210_000_000,
        blocked: &[],
        chains: &Chains::new(0),
        lock_names: &lock_names(),
        futex_names: &futex_names(),
        symbols: &symbols(),
        stacks: &stacks(),
        cgroups: None,
    };
    written(|out| write(&summary, view, out))
}

const FOOTER: &str = " 9,812 waits in 4.21 s on 2 CPUs: 9,805 got the lock, 3 failed, 1 still open, \
                      3 began before; 0 lost, 0 uncertain\n still waiting: hackbench-4711 for \
                      mutex 0xffff888133445566 since 1.20 ms, anon_pipe_write+0x43\n";

fn open_wait() -> StreamOpen {
    StreamOpen {
        begin_ns: 12_345_678_400,
        age_ns: 1_200_000,
        tid: Tid(4711),
        comm: Some(Comm::new(b"hackbench")),
        cpu: Cpu(1),
        lock: LOCK,
        cause: Cause::Lock(LockFlags(33)),
        lock_name: None,
        stack: None,
        holder: None,
        reason: None,
        context: Context::Task,
        caller: Some(PIPE_WRITE),
    }
}

/// A row of one wait.
fn one() -> RowStats {
    let mut row = RowStats::default();
    row.add(Sample::Acquired(764_165), Split::default(), witness);
    row
}

/// Header and first row as `perf lock contention` 6.1 printed them for that wait.
#[test]
fn callers_stand_as_in_perf() {
    let kind = WaitKind::Spinlock;
    let rows = [
        (RowKey::of(Table::Locks, [Part::Caller(Some(0x4032), kind)]), one()),
        (
            RowKey::of(Table::Locks, [Part::Caller(Some(0x5010), WaitKind::RwsemWrite)]),
            RowStats::default(),
        ),
        (RowKey::of(Table::Locks, [Part::Caller(None, kind)]), one()),
        (RowKey::Overflow(Table::Locks, Some(kind)), one()),
    ];
    let expected = " contended   total wait     max wait     avg wait         type   caller

         1    764.16 us    764.16 us    764.16 us     spinlock   poll_freewait+0x32
         0         0 ns         0 ns         0 ns      rwsem:W   nfs_lookup+0x10 [nfs]
         1    764.16 us    764.16 us    764.16 us     spinlock   -
         1    764.16 us    764.16 us    764.16 us     spinlock   (overflow)

";
    let text = table(By::Caller, &DEFAULT_FIELDS, &rows, &clean(), Detail::Notable);
    assert_eq!(text, format!("{expected}{FOOTER}"));
}

/// Header and first row as perf's, figures from the trace it read.
#[test]
fn tasks_stand_as_in_perf() {
    let stats = RowStats {
        contended: 10,
        wait_total_ns: 2_076_322,
        wait_max_ns: 1_430_354,
        wait_min_ns: 4_797,
        failed: 2,
        ..RowStats::default()
    };
    let task = |tid, comm: Option<&[u8]>| {
        let (tid, comm) = (Tid(tid), comm.map(Comm::new));
        RowKey::of(Table::Locks, [Part::Task { tid, incarnation: 0, comm }])
    };
    let rows = [
        (task(6904, Some(b"sched-messaging")), stats),
        (task(7, Some(b"x\ny")), one()),
        (task(8, None), one()),
        (RowKey::of(Table::Locks, [Part::Interrupt(Context::Softirq)]), one()),
        (RowKey::Overflow(Table::Locks, None), one()),
    ];
    let expected = " contended   total wait     max wait     min wait     avg wait     failed          pid   comm

        10      2.08 ms      1.43 ms      4.80 us    207.63 us          2         6904   sched-messaging
         1    764.16 us    764.16 us    764.16 us    764.16 us          0            7   x\\ny
         1    764.16 us    764.16 us    764.16 us    764.16 us          0            8   ?8
         1    764.16 us    764.16 us    764.16 us    764.16 us          0            -   [softirq]
         1    764.16 us    764.16 us    764.16 us    764.16 us          0            -   (overflow)

";
    let fields = ["contended", "wait_total", "wait_max", "wait_min", "avg_wait", "failed"];
    let text = table(By::Task, &fields, &rows, &clean(), Detail::Notable);
    assert_eq!(text, format!("{expected}{FOOTER}"));
}

#[test]
fn locks_have_data_names_and_types_stand_alone() {
    let kind = WaitKind::Mutex;
    let rows = [
        (RowKey::of(Table::Locks, [Part::Lock(0x9000, WaitKind::RwlockRead)]), one()),
        (RowKey::of(Table::Locks, [Part::Lock(0x9008, kind)]), one()),
        (RowKey::of(Table::Locks, [Part::Lock(0x9100, kind)]), one()),
        (RowKey::of(Table::Locks, [Part::Lock(LOCK, kind)]), one()),
        (RowKey::of(Table::Locks, [Part::Lock(MMAP_LOCK, WaitKind::RwsemRead)]), one()),
        (RowKey::of(Table::Locks, [Part::Lock(PIPE_WRITE, kind)]), one()),
        (RowKey::Overflow(Table::Locks, Some(kind)), one()),
    ];
    let expected = " contended            address   symbol

         1   0000000000009000   tasklist_lock (rwlock:R)
         1   0000000000009008   tasklist_lock+0x8 (mutex)
         1   0000000000009100   state [nfs] (mutex)
         1   ffff888133445566   ~pipe_mutex (mutex)
         1   ffff88810000a000   mmap_lock (rwsem:R)
         1   0000000000001043   (mutex)
         1                  -   (overflow) (mutex)

";
    let text = table(By::Lock, &["contended"], &rows, &clean(), Detail::Notable);
    assert_eq!(text, format!("{expected}{FOOTER}"));
    let text = table(By::Lock, &["contended"], &rows, &clean(), Detail::Everything);
    assert!(text.contains("~pipe_mutex (mutex), rule: anon_pipe_*\n"), "{text}");

    let rows = [(RowKey::of(Table::Locks, [Part::Type(kind)]), one())];
    let text = table(By::Type, &["wait_max"], &rows, &clean(), Detail::Notable);
    assert_eq!(text, format!("    max wait         type\n\n   764.16 us        mutex\n\n{FOOTER}"));
}

/// A share of 10 ms, quantiles of a single wait.
#[test]
fn who_waited_longest_and_how_waits_are_spread_stand_below_the_row() {
    let kind = WaitKind::Mutex;
    let rows = [
        (RowKey::of(Table::Locks, [Part::Type(kind)]), one()),
        (RowKey::Overflow(Table::Locks, Some(kind)), RowStats::default()),
    ];
    let fields = ["p50", "p99", "share"];
    let expected = "         p50          p99   share         type

   764.16 us    764.16 us    7.6%        mutex
    longest at 12.345678: [softirq] on hackbench-4711 on cpu 1
      #0 anon_pipe_write+0x43
      #1 nfs_lookup+0x10 [nfs]
      #2 0x77
     524.29 us -    1.05 ms |████████| 1
        0 ns         0 ns    0.0%        mutex   (overflow)

";
    let view = View { detail: Detail::Everything, hist_width: Some(40), ..View::default() };
    let text = viewed(By::Type, &fields, &rows, &clean(), view);
    assert!(text.starts_with(expected), "{text}");
    let view = View { detail: Detail::Notable, hist_width: Some(40), ..View::default() };
    let text = viewed(By::Type, &fields, &rows, &clean(), view);
    assert!(!text.contains("longest") && text.contains("████████"), "{text}");
}

#[test]
fn a_cgroup_stands_with_its_containers_id_cut_and_moves_no_cursor() {
    let paths = Texts::new(1 << 10);
    let path = ["/x\n/docker-", &"0f".repeat(32), ".scope"].concat();
    let row = |id| Row { key: RowKey::of(Table::Locks, [Part::Cgroup(id)]), stats: one() };
    let rows = [row(paths.intern(path.as_bytes())), row(None)];
    let summary = Summary {
        table: Table::Locks,
        split: false,
        holders: false,
        further: &[],
        by: &[By::Cgroup],
        columns: &columns(&["contended"]),
        rows: &rows,
        totals: &one(),
        open: &[],
        quality: &clean(),
        duration_ns: 1,
        blocked: &[],
        chains: &Chains::new(0),
        lock_names: &lock_names(),
        futex_names: &futex_names(),
        symbols: &symbols(),
        stacks: &stacks(),
        cgroups: Some(&paths),
    };
    let text = written(|out| write(&summary, View::default(), out));
    let expected = [
        " contended   cgroup",
        "",
        "         1   /x\\n/docker-0f0f0f0f0f0f.scope",
        "         1   -",
    ];
    assert_eq!(text.lines().take(4).collect::<Vec<_>>(), expected);
}

#[test]
fn without_rows_the_footer_still_covers_all() {
    assert_eq!(table(By::Caller, &DEFAULT_FIELDS, &[], &clean(), Detail::Notable), FOOTER);
}

#[test]
fn what_is_missing_is_always_said() {
    let mut quality = clean();
    quality.cpus[1].overrun = 1234;
    quality.pairing.begins_read += 1;
    quality.stacks_refused = 5;
    quality.page_faults.insert("short page".to_owned(), 2);
    let text = table(By::Caller, &DEFAULT_FIELDS, &[], &quality, Detail::Notable);
    let expected = " cpu 1: 1,234 overrun, 0 dropped of 9 events
 malformed pages, short page: 2
 stacks refused, table full: 5
 DOES NOT HOLD: begins read = ok + failed + uncertain + clock + lost_end + open + phase_changes + overflow_depth: 9,810 != 9,809
 DOES NOT HOLD on cpu 1: events read + overrun + dropped = written: 1,243 != 9
";
    assert_eq!(text, format!("{}{expected}", FOOTER.replace("; 0 lost", "; 1,234 lost")));
}

#[test]
fn everything_shows_each_counter_and_each_identity() {
    let text = table(By::Caller, &DEFAULT_FIELDS, &[], &clean(), Detail::Everything);
    for line in [
        " cpu 0: 0 overrun, 0 dropped of 9 events",
        " ends without a begin: 0",
        " begins read: 9,809",
        " holds: ends read = ok + failed + uncertain + clock + orphan_end + began_before_start \
         + filtered_end + overflow_end: 9,811 = 9,811",
        " holds on cpu 1: events read + overrun + dropped = written: 9 = 9",
    ] {
        assert!(text.lines().any(|shown| shown == line), "no {line:?} in\n{text}");
    }
}

#[test]
fn thousands_are_grouped() {
    let table = [(0, "0"), (999, "999"), (1000, "1,000"), (123_456_789, "123,456,789")];
    for (count, text) in table {
        assert_eq!(grouped(count), text);
    }
}

#[test]
fn many_open_waits_are_counted_rather_than_listed() {
    let quality =
        Quality { pairing: Counts { open: 12, ..Counts::default() }, ..Quality::default() };
    let lines = |detail| {
        let text = table(By::Caller, &DEFAULT_FIELDS, &[], &quality, detail);
        text.lines().filter(|line| line.starts_with(" still waiting")).count()
    };
    assert_eq!(lines(Detail::Everything), 12);
    assert_eq!(lines(Detail::Notable), 11);
    let text = table(By::Caller, &DEFAULT_FIELDS, &[], &quality, Detail::Notable);
    assert!(text.contains(" still waiting: 2 more (see -v)\n"), "{text}");
}

#[test]
fn several_keys_stand_side_by_side_and_share_what_they_have_in_common() {
    let comm = |name: &[u8]| Part::Comm(Some(Comm::new(name)));
    let kind = WaitKind::Mutex;
    let rows = [
        RowKey::of(
            Table::Locks,
            [comm(b"make"), Part::Caller(Some(0x4032), kind), Part::Type(kind)],
        ),
        RowKey::of(
            Table::Locks,
            [comm(b"x\ny"), Part::Caller(None, WaitKind::RwsemRead), Part::Type(kind)],
        ),
        RowKey::Overflow(Table::Locks, Some(kind)),
    ];
    let rows = rows.map(|key| Row { key, stats: one() });
    let summary = Summary {
        table: Table::Locks,
        split: false,
        holders: false,
        further: &[],
        by: &[By::Comm, By::Caller, By::Type],
        columns: &columns(&["contended"]),
        rows: &rows,
        totals: &one(),
        open: &[],
        quality: &Quality::default(),
        duration_ns: 1,
        blocked: &[],
        chains: &Chains::new(0),
        lock_names: &lock_names(),
        futex_names: &futex_names(),
        symbols: &symbols(),
        stacks: &stacks(),
        cgroups: None,
    };
    let text = written(|out| write(&summary, View::default(), out));
    let expected = " contended   comm         type   caller

         1   make        mutex   poll_freewait+0x32
         1   x\\ny      rwsem:R   -
         1   -           mutex   (overflow)
";
    assert!(text.starts_with(expected), "{text}");
}

#[test]
fn what_went_wrong_and_what_it_cost_stand_below() {
    let quality = Quality {
        pairing: Counts { overflow_depth: 1, ..clean().pairing },
        kept: 9_800,
        in_overflow: 2,
        own_cpu_ns: Some(42_100_000),
        ..clean()
    };
    let text = table(By::Caller, &DEFAULT_FIELDS, &[], &quality, Detail::Notable);
    let lines: Vec<&str> = text.lines().skip(1).take(2).collect();
    let expected = [
        " bad: 3 of 9,801 (0.03 %): task 1, stack 0, time 0, data 2",
        " overhead: 42.10 ms CPU time (1.00 % of one CPU), 18 events traced (4/s)",
    ];
    assert_eq!(lines, expected);
}

/// 80 characters, of which figures and type take 65: `anon_pipe_write+0x43` has 15 for its 20.
#[test]
fn a_terminal_cuts_the_last_column_and_shows_headings_as_such() {
    let kind = WaitKind::Mutex;
    let rows = [RowKey::of(Table::Locks, [Part::Caller(Some(PIPE_WRITE), kind)])]
        .map(|key| Row { key, stats: one() });
    let summary = Summary {
        table: Table::Locks,
        split: false,
        holders: false,
        further: &[],
        by: &[By::Caller],
        columns: &columns(&DEFAULT_FIELDS),
        rows: &rows,
        totals: &one(),
        open: &[],
        quality: &Quality {
            pairing: Counts { orphan_end: 1, ..Counts::default() },
            ..Quality::default()
        },
        duration_ns: 1,
        symbols: &symbols(),
        stacks: &stacks(),
        blocked: &[],
        chains: &Chains::new(0),
        lock_names: &lock_names(),
        futex_names: &futex_names(),
        cgroups: None,
    };
    let plain = View { width: Some(80), ..View::default() };
    let first_row = |view| {
        let text = written(|out| write(&summary, view, out));
        text.lines().nth(2).unwrap().to_owned()
    };
    let row = first_row(plain);
    assert!(row.ends_with("        mutex   anon_pipe_writ\u{2026}"), "{row}");
    assert_eq!(row.chars().count(), 80);
    for (width, end) in [(85, "   anon_pipe_write+0x43"), (10, "   anon_pi\u{2026}")] {
        assert!(first_row(View { width: Some(width), ..plain }).ends_with(end));
    }
    let styled = View {
        heading: anstyle::Style::new().dimmed(),
        fault: anstyle::Style::new().bold(),
        ..plain
    };
    let text = written(|out| write(&summary, styled, out));
    assert!(text.starts_with("\x1b[2m contended "), "{text}");
    assert!(text.contains(" caller\x1b[0m\n\n"), "{text}");
    assert!(text.contains("\x1b[1m ends without a begin: 1\n"), "{text}");
    assert_eq!(text.matches('\x1b').count(), 4);
}

#[test]
fn a_cut_text_fills_its_room_and_no_more() {
    let table = [
        ("abc", 3, "abc"),
        ("abcd", 3, "ab\u{2026}"),
        ("日本語", 6, "日本語"),
        ("日本語", 5, "日本\u{2026}"),
        ("日本語", 4, "日\u{2026}"),
        ("abc", 0, "\u{2026}"),
    ];
    for (text, room, expected) in table {
        assert_eq!(cut(text, room), expected, "{text} in {room}");
    }
}

#[test]
fn rows_alone_stand_alone_unless_something_was_lost() {
    let rows =
        [(RowKey::of(Table::Locks, [Part::Caller(Some(0x4032), WaitKind::Spinlock)]), one())];
    let row =
        "         1    764.16 us    764.16 us    764.16 us     spinlock   poll_freewait+0x32\n";
    let bare = |quality: &Quality| table(By::Caller, &DEFAULT_FIELDS, &rows, quality, Detail::Rows);
    assert_eq!(bare(&clean()), row);
    let lossy = bare(&Quality { pairing: Counts { uncertain: 1, ..clean().pairing }, ..clean() });
    assert!(lossy.starts_with(" contended ") && lossy.contains(row), "{lossy}");
    assert!(lossy.contains(" 9,812 waits in "), "{lossy}");
}
