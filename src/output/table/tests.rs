use super::super::StreamOpen;
use super::super::samples::{LOCK, PIPE_WRITE, symbols, written};
use super::{Detail, Summary, grouped, write};
use crate::event::{Comm, Context, Cpu, LockFlags, LockKind, Texts, Tid};
use crate::report::{By, Column, CpuEvents, DEFAULT_FIELDS, Part, Quality, Row, RowKey, RowStats};

fn columns(ids: &[&str]) -> Vec<&'static Column> {
    ids.iter().map(|id| Column::find(id).unwrap()).collect()
}

fn clean() -> Quality {
    Quality {
        begins_read: 9809,
        ends_read: 9811,
        ok: 9805,
        failed: 3,
        kept: 9808,
        in_rows: 9808,
        open: 1,
        began_before_start: 3,
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
    let rows: Vec<Row> = rows.iter().map(|&(key, stats)| Row { key, stats }).collect();
    let open: Vec<StreamOpen> = (0..quality.open).map(|_| open_wait()).collect();
    let summary = Summary {
        by: &[by],
        columns: &columns(fields),
        rows: &rows,
        totals: RowStats { contended: quality.ok, failed: quality.failed, ..RowStats::default() },
        open: &open,
        quality,
        duration_ns: 4_210_000_000,
        symbols: &symbols(),
        cgroups: None,
    };
    written(|out| write(&summary, detail, out))
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
        flags: LockFlags(33),
        context: Context::Task,
        caller: Some(PIPE_WRITE),
    }
}

const ONE: RowStats = RowStats {
    contended: 1,
    wait_total_ns: 764_165,
    wait_max_ns: 764_165,
    wait_min_ns: 764_165,
    failed: 0,
    failed_total_ns: 0,
    uncertain: 0,
    uncertain_total_ns: 0,
};

/// Header and first row as `perf lock contention` 6.1 printed them for that wait.
#[test]
fn callers_stand_as_in_perf() {
    let kind = LockKind::Spinlock;
    let rows = [
        (RowKey::of([Part::Caller(Some(0x4032), kind)]), ONE),
        (RowKey::of([Part::Caller(Some(0x5010), LockKind::RwsemWrite)]), RowStats::default()),
        (RowKey::of([Part::Caller(None, kind)]), ONE),
        (RowKey::Overflow(Some(kind)), ONE),
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
        RowKey::of([Part::Task { tid, incarnation: 0, comm }])
    };
    let rows = [
        (task(6904, Some(b"sched-messaging")), stats),
        (task(7, Some(b"x\ny")), ONE),
        (task(8, None), ONE),
        (RowKey::of([Part::Interrupt(Context::Softirq)]), ONE),
        (RowKey::Overflow(None), ONE),
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
    let kind = LockKind::Mutex;
    let rows = [
        (RowKey::of([Part::Lock(0x9000, LockKind::RwlockRead)]), ONE),
        (RowKey::of([Part::Lock(0x9008, kind)]), ONE),
        (RowKey::of([Part::Lock(LOCK, kind)]), ONE),
        (RowKey::of([Part::Lock(PIPE_WRITE, kind)]), ONE),
        (RowKey::Overflow(Some(kind)), ONE),
    ];
    let expected = " contended            address   symbol

         1   0000000000009000   tasklist_lock (rwlock:R)
         1   0000000000009008   tasklist_lock+0x8 (mutex)
         1   ffff888133445566   (mutex)
         1   0000000000001043   (mutex)
         1                  -   (overflow) (mutex)

";
    let text = table(By::Lock, &["contended"], &rows, &clean(), Detail::Notable);
    assert_eq!(text, format!("{expected}{FOOTER}"));

    let rows = [(RowKey::of([Part::Type(kind)]), ONE)];
    let text = table(By::Type, &["wait_max"], &rows, &clean(), Detail::Notable);
    assert_eq!(text, format!("    max wait         type\n\n   764.16 us        mutex\n\n{FOOTER}"));
}

#[test]
fn a_cgroup_stands_with_its_containers_id_cut_and_moves_no_cursor() {
    let paths = Texts::new(1 << 10);
    let path = ["/x\n/docker-", &"0f".repeat(32), ".scope"].concat();
    let row = |id| Row { key: RowKey::of([Part::Cgroup(id)]), stats: ONE };
    let rows = [row(paths.intern(path.as_bytes())), row(None)];
    let summary = Summary {
        by: &[By::Cgroup],
        columns: &columns(&["contended"]),
        rows: &rows,
        totals: ONE,
        open: &[],
        quality: &clean(),
        duration_ns: 1,
        symbols: &symbols(),
        cgroups: Some(&paths),
    };
    let text = written(|out| write(&summary, Detail::Notable, out));
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
    quality.begins_read += 1;
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
    let quality = Quality { open: 12, ..Quality::default() };
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
    let kind = LockKind::Mutex;
    let rows = [
        RowKey::of([comm(b"make"), Part::Caller(Some(0x4032), kind), Part::Type(kind)]),
        RowKey::of([comm(b"x\ny"), Part::Caller(None, LockKind::RwsemRead), Part::Type(kind)]),
        RowKey::Overflow(Some(kind)),
    ];
    let rows = rows.map(|key| Row { key, stats: ONE });
    let summary = Summary {
        by: &[By::Comm, By::Caller, By::Type],
        columns: &columns(&["contended"]),
        rows: &rows,
        totals: ONE,
        open: &[],
        quality: &Quality::default(),
        duration_ns: 1,
        symbols: &symbols(),
        cgroups: None,
    };
    let text = written(|out| write(&summary, Detail::Notable, out));
    let expected = " contended   comm         type   caller

         1   make        mutex   poll_freewait+0x32
         1   x\\ny      rwsem:R   -
         1   -           mutex   (overflow)
";
    assert!(text.starts_with(expected), "{text}");
}
