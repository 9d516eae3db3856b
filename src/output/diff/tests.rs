use super::super::samples::{ClosedPipe, assert_described, written};
use super::table::{DiffView, write};
use super::{Diff, DiffTable, Places, SharedKey, csv, json, key_ids};
use crate::report::{
    Basis, By, Column, Figures, Lengths, Measure, RunFacts, RunTable, Table, compare,
};
use anstyle::AnsiColor;
use serde_json::Value;

fn figures(contended: u64, wait_total: u64) -> Figures {
    Figures::new(|column| match column.id {
        "contended" => Some(contended),
        "wait_total" => Some(wait_total),
        "p99" => (contended > 0).then(|| wait_total / contended),
        _ => None,
    })
}

/// Rows by task and caller: a name, a function, waits and their time.
type Rows<'a> = &'a [(&'a [u8], &'a str, u64, u64)];

fn table(rows: Rows<'_>) -> RunTable<SharedKey> {
    let sums = rows.iter().fold((0, 0), |sum, row| (sum.0 + row.2, sum.1 + row.3));
    let mut table = RunTable::new(figures(sums.0, sums.1));
    let ids = key_ids(Table::Locks, &[By::Comm, By::Caller]);
    for (comm, caller, waits, ns) in rows {
        let value = |id: &str| {
            Some(match id {
                "comm" => comm.to_vec(),
                "type" => b"mutex".to_vec(),
                _ => caller.as_bytes().to_vec(),
            })
        };
        let is_overflow = caller.is_empty();
        let key = SharedKey::new(&ids, Places::Exact, is_overflow, value, None);
        table.add(key, &figures(*waits, *ns));
    }
    table
}

const A: Rows<'_> = &[(b"make", "f+0x1", 4, 4000), (b"old", "g+0x2", 1, 900)];
const B: Rows<'_> =
    &[(b"make", "f+0x1", 6, 9000), (b"\x1b[2J,\xff", "h+0x3", 1, 300), (b"rest", "", 1, 1)];

fn run(file: &str, duration_ns: u64) -> RunFacts {
    RunFacts {
        file: file.to_owned(),
        command: vec!["make".to_owned()],
        duration_ns,
        kernel: "6.18.1".to_owned(),
        cpus: 2,
        ..RunFacts::default()
    }
}

fn with<T>(b_ns: u64, entries: Option<usize>, read: impl FnOnce(&Diff<'_>) -> T) -> T {
    let columns: Vec<&Column> =
        ["contended", "wait_total", "p99"].map(|id| Column::find(id).unwrap()).into();
    let (a, b) = (run("a.dat", 1_000_000_000), run("b.dat", b_ns));
    let measure = Measure {
        column: columns[1],
        basis: Basis::Totals,
        lengths: Lengths { a_ns: 1_000_000_000, b_ns },
    };
    let mut rows = compare(table(A), table(B), &measure);
    rows.mark_over(&measure, 20.0);
    let tables = [DiffTable { table: Table::Locks, by: vec![By::Comm, By::Caller], rows }];
    read(&Diff {
        a: &a,
        b: &b,
        tables: &tables,
        columns: &columns,
        measure,
        entries,
        notes: &["not alike".to_owned()],
        limit_percent: Some(20.0),
    })
}

#[test]
fn runs_stand_side_by_side() {
    let text =
        with(1_000_000_000, None, |diff| written(|out| write(diff, DiffView::default(), out)));
    let expected = r" A: a.dat: 1.00 s on 2 CPUs, kernel 6.18.1: make
 B: b.dat: 1.00 s on 2 CPUs, kernel 6.18.1: make

  contended A  B       %  total wait A        B    change        %    p99 A        B       %   comm            type   caller

            4  6  +50.0%       4.00 us  9.00 us  +5.00 us  +125.0%  1.00 us  1.50 us  +50.0%   make           mutex   f+0x1
            1  0    gone        900 ns     0 ns   -900 ns     gone   900 ns        -    gone   old            mutex   g+0x2
            0  1     new          0 ns   300 ns   +300 ns      new        -   300 ns     new   \x1b[2J,\xff   mutex   h+0x3
            0  1     new          0 ns     1 ns     +1 ns      new        -     1 ns     new   rest           mutex    (overflow)
            5  8  +60.0%       4.90 us  9.30 us  +4.40 us   +89.8%   980 ns  1.16 us  +18.6%   all together

 not alike
 over 20 %: kernel locks, all together: total wait 4.90 us -> 9.30 us, +89.8%
 over 20 %: kernel locks, make mutex f+0x1: total wait 4.00 us -> 9.00 us, +125.0%
 over 20 %: kernel locks, \x1b[2J,\xff mutex h+0x3: total wait 0 ns -> 300 ns, new
";
    assert_eq!(text, expected);
}

#[test]
fn runs_of_different_length_are_compared_by_the_second_too() {
    let text =
        with(2_000_000_000, Some(1), |diff| written(|out| write(diff, DiffView::default(), out)));
    // 6 in 2 s against 4 in 1 s; 4.5 us and 4 us in each.
    assert!(text.contains("4  6  +50.0%  -25.0% "), "{text}");
    assert!(text.contains("+5.00 us  +125.0%  +12.5% "), "{text}");
    assert!(
        text.contains("total wait in each second (%/s): A 4.90 us, B 4.65 us, -5.1%"),
        "{text}"
    );
    assert!(text.contains("(overflow)") && !text.contains("g+0x2"), "{text}");
}

#[test]
fn worse_and_better_have_their_colours() {
    let view = DiffView {
        is_bare: true,
        all_changes: true,
        worse: AnsiColor::Red.on_default(),
        better: AnsiColor::Green.on_default(),
        ..DiffView::default()
    };
    let text = with(1_000_000_000, None, |diff| written(|out| write(diff, view, out)));
    let lines: Vec<&str> = text.lines().collect();
    assert!(lines[0].contains("\x1b[31m+5.00 us\x1b[0m  \x1b[31m+125.0%\x1b[0m"), "{text:?}");
    assert!(lines[1].contains("\x1b[32m-900 ns\x1b[0m     \x1b[32mgone\x1b[0m"), "{text:?}");
    // The rows, and what grew too much; every change as a figure.
    assert_eq!(lines.len(), 4 + 3);
    assert!(lines[0].contains("+2\x1b[0m"), "{text:?}");
}

#[test]
fn csv_has_both_figures_and_what_has_become_of_them() {
    let text = with(2_000_000_000, Some(2), |diff| written(|out| csv::write(diff, out)));
    let mut reader = ::csv::Reader::from_reader(text.as_bytes());
    let header = reader.headers().unwrap().clone();
    let rows: Vec<_> = reader.records().map(Result::unwrap).collect();
    let cell = |row: usize, name: &str| {
        let place = header.iter().position(|title| title == name).unwrap();
        rows[row][place].to_owned()
    };
    let of = |row, names: &[&str]| names.iter().map(|name| cell(row, name)).collect::<Vec<_>>();
    let keys = ["table", "comm", "type", "caller", "only", "overflow", "over"];
    assert_eq!(of(0, &keys), ["locks", "make", "mutex", "f+0x1", "", "false", "true"]);
    assert_eq!(of(1, &keys), ["locks", "old", "mutex", "g+0x2", "gone", "false", "false"]);
    assert_eq!(of(2, &keys[5..]), ["true", "false"]);
    let time = ["a", "b", "change", "percent", "a_per_s", "b_per_s", "percent_per_s"];
    let time = time.map(|part| format!("wait_total_{part}"));
    let time: Vec<&str> = time.iter().map(String::as_str).collect();
    assert_eq!(of(0, &time), ["4000", "9000", "5000", "125.0", "4000.0", "4500.0", "12.5"]);
    assert_eq!(of(1, &["p99_a", "p99_b", "p99_change", "p99_percent"]), ["900", "", "", ""]);
}

#[test]
fn json_has_all_of_it_and_the_page_names_every_field() {
    let text = with(2_000_000_000, None, |diff| written(|out| json::write(diff, out)));
    let value: Value = serde_json::from_str(&text).unwrap();
    assert_described(include_str!("../../../docs/diff.md"), &value);
    assert_eq!((&value["over"], &value["key"]), (&true.into(), &"wait_total".into()));
    let rows = value["tables"][0]["rows"].as_array().unwrap();
    assert_eq!(rows[0]["wait_total"]["change"], 5000);
    assert_eq!(rows[0]["wait_total"]["percent_per_s"], 12.5);
    assert_eq!((&rows[1]["only"], &rows[1]["p99"]["b"]), (&"gone".into(), &Value::Null));
    assert_eq!(rows[2]["comm"], "\x1b[2J,\\xff");
    assert_eq!(value["tables"][0]["totals"]["contended"]["b"], 8);
}

#[test]
fn a_closed_pipe_is_told_as_such() {
    let error = with(1, None, |diff| csv::write(diff, &mut ClosedPipe)).unwrap_err();
    assert_eq!(error.kind(), std::io::ErrorKind::BrokenPipe);
}
