use super::super::samples::{ClosedPipe, LOCK, futex_names, lock_names, stacks, symbols, written};
use super::{Summary, write};
use crate::event::{Comm, Tid, WaitKind};
use crate::report::{By, COLUMNS, Chains, Column, Part, Quality, Row, RowKey, RowStats, Table};
use std::io;

fn with<T>(by: &[By], keys: &[RowKey], read: impl FnOnce(&Summary<'_>) -> T) -> T {
    let stats = RowStats { contended: 2, wait_total_ns: 7, failed: 1, ..RowStats::default() };
    let rows: Vec<Row> = keys.iter().map(|&key| Row { key, stats: stats.clone() }).collect();
    let columns: Vec<&Column> = COLUMNS
        .iter()
        .take_while(|column| column.id != "spin")
        .filter(|column| !matches!(column.id, "wait_min" | "p50" | "p95" | "p99"))
        .collect();
    read(&Summary {
        table: Table::Locks,
        split: false,
        holders: false,
        further: &[],
        by,
        columns: &columns,
        rows: &rows,
        totals: &stats,
        open: &[],
        quality: &Quality::default(),
        duration_ns: 1,
        symbols: &symbols(),
        stacks: &stacks(),
        blocked: &[],
        chains: &Chains::new(0),
        lock_names: &lock_names(),
        futex_names: &futex_names(),
        cgroups: None,
    })
}

fn text(by: &[By], keys: &[RowKey]) -> String {
    with(by, keys, |summary| written(|out| write(summary, out)))
}

#[test]
fn keys_and_columns_stand_under_their_names() {
    let kind = WaitKind::Mutex;
    let keys = [
        RowKey::of(Table::Locks, [Part::Lock(0x9000, kind)]),
        RowKey::of(Table::Locks, [Part::Lock(LOCK, kind)]),
        RowKey::of(Table::Locks, [Part::Lock(LOCK + 8, kind)]),
        RowKey::Overflow(Table::Locks, Some(kind)),
    ];
    let expected = "\
lock,lock_name,lock_name_by,type,contended,wait_total,wait_max,avg_wait,share,failed,uncertain,overflow
0x9000,tasklist_lock,symbol,mutex,2,7,0,3,100.0,1,0,false
0xffff888133445566,pipe_mutex,rule,mutex,2,7,0,3,100.0,1,0,false
0xffff88813344556e,,,mutex,2,7,0,3,100.0,1,0,false
,,,mutex,2,7,0,3,100.0,1,0,true
";
    assert_eq!(text(&[By::Lock], &keys), expected);
}

/// Read back by the reader of the same library: as many cells as the header has, and no name that
/// moves a cursor, is calculated, or looks like another.
#[test]
fn hostile_names_stay_in_their_cells() {
    let cases: [(&[u8], &str); 9] = [
        (b"a,b", "a,b"),
        (b"q\"u\"o", "q\"u\"o"),
        (b"x\r\ny", "x\\x0d\\ny"),
        (b"\x1b[2J", "\\x1b[2J"),
        (b"=HYPERLINK(1)", "\\x3dHYPERLINK(1)"),
        (b"@sum", "\\x40sum"),
        (b"a\xff", "a\\xff"),
        (b"a\\xff", "a\\\\xff"),
        (b"", "\\x00"),
    ];
    let task = |comm| RowKey::of(Table::Locks, [Part::Task { tid: Tid(7), incarnation: 0, comm }]);
    let mut keys: Vec<RowKey> = cases.iter().map(|(name, _)| task(Some(Comm::new(name)))).collect();
    keys.push(task(None));
    let text = text(&[By::Task], &keys);
    let mut reader = csv::Reader::from_reader(text.as_bytes());
    assert_eq!(reader.headers().unwrap().iter().take(2).collect::<Vec<_>>(), ["tid", "comm"]);
    let rows: Vec<csv::StringRecord> = reader.records().map(Result::unwrap).collect();
    let names: Vec<&str> = rows.iter().map(|row| &row[1]).collect();
    let expected: Vec<&str> = cases.iter().map(|(_, cell)| *cell).chain([""]).collect();
    assert_eq!(names, expected);
    assert!(rows.iter().all(|row| &row[0] == "7" && &row[3] == "7" && row.len() == 10));
}

#[test]
fn a_closed_pipe_is_told_as_such() {
    let error = with(&[By::Type], &[], |summary| write(summary, &mut ClosedPipe)).unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::BrokenPipe);
}
