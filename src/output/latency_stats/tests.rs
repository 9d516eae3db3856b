use super::super::samples::{futex_names, lock_names, stacks, symbols, written};
use super::super::{Section, Summary};
use super::write;
use crate::event::{Reason, StackId, WaitKind};
use crate::report::{By, Chains, Part, Quality, Row, RowKey, RowStats, Split, Table};

fn row(table: Table, stack: Option<StackId>, reason: &'static str, blocked_ns: u64) -> Row {
    let parts = [Part::Stack(stack, WaitKind::Sleep), Part::Reason(Reason::Named(reason))];
    let split = Split { blocked_ns, runnable_ns: 70_000, preempted_ns: 0 };
    let stats = RowStats {
        contended: 2,
        wait_total_ns: blocked_ns + 70_000,
        split,
        blocked_max_ns: blocked_ns - 1000,
        ..RowStats::default()
    };
    Row { key: RowKey::of(table, parts), stats }
}

/// One line for each stack, by the time until the waking, in microseconds; what is idle has none.
#[test]
fn lines_are_the_kernels() {
    let known = Some(StackId(0));
    let rows = vec![
        row(Table::Sleeps, None, "interruptible sleep", 9_999),
        row(Table::Sleeps, known, "pipe write", 2_000_000),
        row(Table::Sleeps, known, "lock", 3_000_999),
    ];
    let idle = vec![row(Table::IdleSleeps, known, "timer", 7_000_000)];
    let totals = RowStats::default();
    let by = || vec![By::Stack, By::Reason];
    let section = |table, rows| Section { table, by: by(), rows, totals: &totals, columns: &[] };
    let summary = Summary {
        table: Table::Locks,
        split: false,
        holders: false,
        further: &[section(Table::Sleeps, rows), section(Table::IdleSleeps, idle)],
        by: &[By::Stack],
        columns: &[],
        rows: &[],
        totals: &totals,
        open: &[],
        blocked: &[],
        chains: &Chains::new(0),
        quality: &Quality::default(),
        duration_ns: 1,
        symbols: &symbols(),
        stacks: &stacks(),
        lock_names: &lock_names(),
        futex_names: &futex_names(),
        cgroups: None,
    };
    let expected = "\
Latency Top version : v0.1
4 5000 2999 anon_pipe_write nfs_lookup [nfs] 0x77
2 9 8 (unknown)
";
    assert_eq!(written(|out| write(&summary, out)), expected);
}
