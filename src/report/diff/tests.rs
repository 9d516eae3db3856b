use super::{Basis, Change, Comparison, Figures, Lengths, Measure, Presence, RunFacts, RunTable};
use super::{compare, notes};
use crate::report::{COLUMNS, Column};

/// Figures of waits: how many, and their time.
fn figures(contended: u64, wait_total: u64) -> Figures {
    Figures::new(|column| match column.id {
        "contended" => Some(contended),
        "wait_total" => Some(wait_total),
        "failed" => Some(0),
        "p99" => (contended > 0).then(|| wait_total / contended),
        _ => None,
    })
}

fn table(rows: &[(&'static str, u64, u64)]) -> RunTable<&'static str> {
    let sums = rows.iter().fold((0, 0), |sum, row| (sum.0 + row.1, sum.1 + row.2));
    let mut table = RunTable::new(figures(sums.0, sums.1));
    rows.iter().for_each(|&(key, waits, ns)| table.add(key, &figures(waits, ns)));
    table
}

fn column(id: &str) -> &'static Column {
    Column::find(id).unwrap()
}

fn measure(id: &str, basis: Basis, a_ns: u64, b_ns: u64) -> Measure {
    Measure { column: column(id), basis, lengths: Lengths { a_ns, b_ns } }
}

fn order<'a>(compared: &Comparison<&'a str>) -> Vec<&'a str> {
    compared.rows.iter().map(|row| row.key).collect()
}

const A: [(&str, u64, u64); 4] = [("f", 10, 1000), ("g", 5, 500), ("gone", 1, 90), ("h", 1, 5)];
const B: [(&str, u64, u64); 4] = [("f", 12, 1500), ("g", 5, 100), ("h", 1, 5), ("new", 2, 60)];

#[test]
fn rows_stand_side_by_side_those_that_changed_most_first() {
    let by_time = measure("wait_total", Basis::Totals, 1, 1);
    let compared = compare(table(&A), table(&B), &by_time);
    let rows = compared.rows.iter().map(|row| {
        let time = row.change(column("wait_total"));
        (row.key, time.difference().unwrap(), time.percent(), row.presence)
    });
    let rows: Vec<_> = rows.collect();
    let expected = [
        ("f", 500, Some(50.0), Presence::Both),
        ("g", -400, Some(-80.0), Presence::Both),
        ("gone", -90, Some(-100.0), Presence::Gone),
        ("new", 60, None, Presence::New),
        ("h", 0, Some(0.0), Presence::Both),
    ];
    assert_eq!(rows, expected);
    let totals = compared.totals.change(column("wait_total"));
    assert_eq!((totals.a, totals.b, totals.difference()), (Some(1595), Some(1665), Some(70)));
    // By how many: f +2, new +2, gone -1; of equal changes the one that has more.
    let by_count = measure("contended", Basis::Totals, 1, 1);
    let compared = compare(table(&A), table(&B), &by_count);
    assert_eq!(order(&compared), ["f", "new", "gone", "g", "h"]);
}

#[test]
fn a_run_against_itself_has_not_changed() {
    let compared = compare(table(&A), table(&A), &measure("p99", Basis::PerSecond, 7, 7));
    for row in &compared.rows {
        assert_eq!(row.presence, Presence::Both);
        for column in &COLUMNS {
            let change = row.change(column);
            let difference = change.difference();
            assert!(difference.is_none_or(|difference| difference == 0), "{}", column.id);
            assert_eq!(difference.is_some(), change.a.is_some(), "{}", column.id);
        }
    }
    assert_eq!(order(&compared), ["f", "g", "gone", "h"]);
}

/// 3 s against 1 s: what seems less is more in each second.
#[test]
fn what_there_was_in_each_second_is_of_each_runs_own_length() {
    let lengths = Lengths { a_ns: 3_000_000_000, b_ns: 1_000_000_000 };
    let change = Change { a: Some(600), b: Some(400) };
    assert_eq!(change.rates(lengths), Some((200.0, 400.0)));
    assert_eq!(change.rate_percent(lengths), Some(100.0));
    assert_eq!(change.percent().map(f64::round), Some(-33.0));
    assert_eq!(change.rates(Lengths { a_ns: 0, ..lengths }), None);
    // In all, f changed most; in each second, g.
    let (a, b) = ([("f", 1, 900), ("g", 1, 600)], [("f", 1, 300), ("g", 1, 400)]);
    let of = |basis| {
        let measure = Measure { column: column("wait_total"), basis, lengths };
        let mut compared = compare(table(&a), table(&b), &measure);
        compared.mark_over(&measure, 20.0);
        let over = compared.rows.iter().filter(|row| row.is_over).map(|row| row.key);
        let over: Vec<_> = over.collect();
        (order(&compared), compared.totals.is_over, over)
    };
    assert_eq!(of(Basis::Totals), (vec!["f", "g"], false, vec![]));
    assert_eq!(of(Basis::PerSecond), (vec!["g", "f"], true, vec!["g"]));
    assert!(!lengths.are_equal());
    assert!(Lengths { a_ns: 1000, b_ns: 990 }.are_equal());
    assert!(!Lengths { a_ns: 1000, b_ns: 989 }.are_equal());
}

#[test]
fn growth_beyond_the_limit_is_told_of_rows_that_count() {
    let a = [("big", 10, 10_000), ("small", 1, 10), ("same", 1, 1000)];
    let b = [("big", 10, 12_001), ("small", 9, 99), ("same", 1, 1200), ("new", 1, 140)];
    let over = |limit| {
        let by_time = measure("wait_total", Basis::Totals, 1, 1);
        let mut compared = compare(table(&a), table(&b), &by_time);
        compared.mark_over(&by_time, limit);
        let over = compared.rows.iter().filter(|row| row.is_over).map(|row| row.key);
        let over: Vec<_> = over.collect();
        assert_eq!(compared.is_over(), compared.totals.is_over || !over.is_empty());
        (compared.totals.is_over, over)
    };
    // All: 11,010 and 13,440, which is 22.07 % more. `small` has less than 1 %, `new` was nothing.
    assert_eq!(over(20.0), (true, vec!["big", "new"]));
    assert_eq!(over(19.9), (true, vec!["big", "same", "new"]));
    assert_eq!(over(22.1), (false, vec!["new"]));
}

/// What a run does not tell is neither new nor gone, and no growth.
#[test]
fn a_table_with_some_rows_says_nothing_of_the_others() {
    let mut some = table(&A[..1]);
    some.is_whole = false;
    let by_time = measure("wait_total", Basis::Totals, 1, 1);
    let mut compared = compare(some, table(&B), &by_time);
    compared.mark_over(&by_time, 0.0);
    let new = compared.rows.iter().find(|row| row.key == "new").unwrap();
    assert_eq!(new.change(column("wait_total")), Change { a: None, b: Some(60) });
    assert_eq!((new.presence, new.is_over), (Presence::Both, false));
    // Unknown changes stand behind the known ones.
    assert_eq!(order(&compared)[0], "f");
}

#[test]
fn rows_of_one_key_are_added_up_as_far_as_that_goes() {
    let row = |contended: u64, total: u64, min: u64, max: u64| {
        Figures::new(|column| match column.id {
            "contended" => Some(contended),
            "wait_total" => Some(total),
            "wait_min" => Some(min),
            "wait_max" => Some(max),
            "p99" => Some(max),
            _ => None,
        })
    };
    let mut table = RunTable::new(row(6, 100, 1, 40));
    table.add("once", &row(2, 20, 5, 15));
    table.add("twice", &row(1, 40, 40, 40));
    table.add("twice", &row(3, 40, 1, 30));
    // One that only has failed waits has no times.
    table.add("once", &row(0, 0, 0, 0));
    let rows = table.into_rows().map(|(key, row)| {
        let ids = ["contended", "wait_total", "wait_min", "wait_max", "avg_wait", "p99", "share"];
        (key, ids.map(|id| row.get(column(id))))
    });
    let rows: Vec<_> = rows.collect();
    let expected = [
        ("once", [Some(2), Some(20), Some(5), Some(15), Some(10), Some(15), Some(200)]),
        ("twice", [Some(4), Some(80), Some(1), Some(40), Some(20), None, Some(800)]),
    ];
    assert_eq!(rows, expected);
}

#[test]
fn differences_of_any_size_have_a_sign() {
    let difference = |a, b| Change { a: Some(a), b: Some(b) }.difference();
    assert_eq!(difference(0, u64::MAX), Some(i64::MAX));
    assert_eq!(difference(u64::MAX, 0), Some(-i64::MAX));
    assert_eq!(difference(5, 3), Some(-2));
    assert_eq!(Change { a: None, b: Some(1) }.difference(), None);
}

#[test]
fn what_makes_runs_differ_is_told() {
    let run = RunFacts {
        file: "a".to_owned(),
        command: vec!["make".to_owned(), "-j2".to_owned()],
        duration_ns: 1_000_000_000,
        kernel: "6.18.1".to_owned(),
        host: Some("one".to_owned()),
        cpus: 2,
        traced: Some(vec!["stacks".to_owned(), "--sched".to_owned()]),
        ..RunFacts::default()
    };
    assert_eq!(notes(&run, &RunFacts { file: "b".to_owned(), ..run.clone() }), [""; 0]);
    let other = RunFacts {
        file: "b".to_owned(),
        command: vec![],
        duration_ns: 2_000_000_000,
        kernel: "6.12.0".to_owned(),
        host: Some("two".to_owned()),
        cpus: 64,
        lost: 7,
        uncertain: 3,
        traced: Some(vec!["stacks".to_owned()]),
    };
    let expected = [
        "not of the same length: A 1.00 s, B 2.00 s",
        "not on as many CPUs: A 2, B 64",
        "not on the same kernel: A 6.18.1, B 6.12.0",
        "not on the same machine: A one, B two",
        "not the same command: A make -j2, B none",
        "not traced alike: A --sched, B without",
        "B lacks waits: 7 events lost, 3 waits uncertain",
    ];
    assert_eq!(notes(&run, &other), expected);
    // A report does not say what was traced, nor a trace of somebody else on which machine.
    let silent = RunFacts { traced: None, host: None, ..run.clone() };
    assert_eq!(notes(&run, &silent), [""; 0]);
}
