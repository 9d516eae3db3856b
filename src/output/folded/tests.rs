use super::super::samples::{LOCK, row, with_report, written};
use super::write;
use crate::event::{Comm, Context, Cpu, StackId, Tid, WaitKind};
use crate::report::{By, COLUMNS, Column, Part, Row, RowKey, Table};

const MUTEX: WaitKind = WaitKind::Mutex;

fn column(id: &str) -> &'static Column {
    COLUMNS.iter().find(|column| column.id == id).unwrap()
}

fn key<const N: usize>(parts: [Part; N]) -> RowKey {
    RowKey::of(Table::Locks, parts)
}

fn folded(by: &[By], rows: &[Row]) -> String {
    with_report(by, rows, &[], |summary| written(|out| write(summary, column("wait_total"), out)))
}

/// A stack is one row for each kind of lock, and one line for all; an address without a symbol is
/// a frame.
#[test]
fn a_stack_is_a_line_from_its_outermost_function_on() {
    let rows = [
        row(key([Part::Stack(Some(StackId(0)), MUTEX)]), 7),
        row(key([Part::Stack(Some(StackId(0)), WaitKind::RwsemRead)]), 5),
        row(key([Part::Stack(None, MUTEX)]), 3),
        row(RowKey::Overflow(Table::Locks, Some(MUTEX)), 2),
        row(key([Part::Stack(Some(StackId(9)), WaitKind::Spinlock)]), 0),
    ];
    let expected = "(overflow);mutex 2\n- 3\n0x77;nfs_lookup [nfs];anon_pipe_write 12\n";
    assert_eq!(folded(&[By::Stack], &rows), expected);
}

#[test]
fn other_keys_are_frames_in_their_order() {
    let comm = |name: &[u8]| Some(Comm::new(name));
    let table: Vec<(Vec<By>, RowKey, &str)> = vec![
        (
            vec![By::Comm, By::Caller],
            key([Part::Comm(comm(b"a;b 7")), Part::Caller(Some(0x1043), MUTEX)]),
            "a\\x3bb\\x207;anon_pipe_write+0x43",
        ),
        (
            vec![By::Type, By::Stack],
            key([Part::Type(MUTEX), Part::Stack(Some(StackId(0)), MUTEX)]),
            "mutex;0x77;nfs_lookup [nfs];anon_pipe_write",
        ),
        (
            vec![By::Task, By::Cpu, By::Context],
            key([
                Part::Task { tid: Tid(7), incarnation: 0, comm: comm(b"x\ny") },
                Part::Cpu(Cpu(3)),
                Part::Context(Context::Softirq),
            ]),
            "x\\ny-7;cpu-3;softirq",
        ),
        (vec![By::Task], key([Part::Task { tid: Tid(7), incarnation: 0, comm: None }]), "?-7"),
        (vec![By::Task], key([Part::Interrupt(Context::Nmi)]), "[nmi]"),
        (vec![By::Owner], key([Part::Owner(None)]), "-"),
        (vec![By::Lock], key([Part::Lock(LOCK, MUTEX)]), "~pipe_mutex;0xffff888133445566"),
        (vec![By::Lock], key([Part::Lock(0x9000, MUTEX)]), "tasklist_lock"),
        (vec![By::Lock], key([Part::Lock(0x55, MUTEX)]), "0x55"),
    ];
    for (by, key, stack) in table {
        assert_eq!(folded(&by, &[row(key, 9)]), format!("{stack} 9\n"));
    }
}

#[test]
fn several_tables_are_told_apart_by_the_first_frame_and_chains_count_once() {
    let futex = Part::Futex {
        pid: Some(Tid(4700)),
        incarnation: 0,
        address: 0x7f00,
        shared: false,
        kind: WaitKind::Futex,
    };
    let further = [
        (Table::Futexes, vec![By::Lock], vec![row(RowKey::of(Table::Futexes, [futex]), 4)]),
        (
            Table::Chains,
            vec![By::Chain],
            vec![row(RowKey::of(Table::Chains, [Part::Chain(None)]), 8)],
        ),
    ];
    let rows = [row(key([Part::Caller(Some(0x77), MUTEX)]), 8)];
    let text = |weight| {
        with_report(&[By::Caller], &rows, &further, |summary| {
            written(|out| write(summary, column(weight), out))
        })
    };
    let expected = "futexes;process-4700;0x7f00 4\nlocks;0x77 8\n";
    assert_eq!(text("wait_total"), expected);
    assert_eq!(text("contended"), "futexes;process-4700;0x7f00 2\nlocks;0x77 2\n");
}
