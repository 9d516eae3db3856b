//! Two runs side by side: nothing has become of a run held against itself, and growth is found.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Output;

use serde_json::Value;
use tempfile::TempDir;

use crate::support::{ftlock, live};

/// A workload that waits, the more the longer it runs.
fn load(duration: &str) -> Vec<&str> {
    vec![env!("CARGO_BIN_EXE_ftlock"), "demo-workload", "--duration", duration]
}

/// Saves a run; returns its trace, and its report as JSON.
fn record(folder: &TempDir, name: &str, how: &[&str], command: &[&str]) -> (PathBuf, PathBuf) {
    let path = |kind: &str| folder.path().join(format!("{name}.{kind}"));
    let (trace, report) = (path("dat"), path("json"));
    let mut record = ftlock(&["record", "--format", "json", "--save"]);
    record.arg(&trace).arg("--output").arg(&report).args(how).arg("--").args(command);
    let output = record.output().unwrap();
    assert!(output.status.success(), "{output:?}");
    (trace, report)
}

fn diff(arguments: &[&str], a: &Path, b: &Path) -> Output {
    ftlock(&["diff"]).args(arguments).args([a, b]).output().unwrap()
}

fn json(arguments: &[&str], a: &Path, b: &Path) -> Value {
    let output = diff(&[&["--format", "json"], arguments].concat(), a, b);
    assert!(output.status.success(), "{output:?}");
    serde_json::from_slice(&output.stdout).unwrap()
}

fn read(report: &Path) -> Value {
    serde_json::from_slice(&fs::read(report).unwrap()).unwrap()
}

/// Both figures of a column.
fn both(row: &Value, column: &str) -> (u64, u64) {
    let of = |run: &str| row[column][run].as_u64().unwrap_or_else(|| panic!("{column} of {row}"));
    (of("a"), of("b"))
}

/// Every change of every row and of the totals is 0.
fn assert_unchanged(object: &Value) {
    for table in object["tables"].as_array().unwrap() {
        let rows = table["rows"].as_array().unwrap();
        assert!(!rows.is_empty(), "{table}");
        for row in rows.iter().chain([&table["totals"]]) {
            assert!(row["only"].is_null(), "{row}");
            let columns: Vec<_> = row.as_object().unwrap().values().collect();
            let changes = columns.iter().filter_map(|value| value.get("change"));
            let changes: Vec<f64> = changes.filter_map(Value::as_f64).collect();
            assert!(changes.len() > 5 && changes.iter().all(|change| *change == 0.0), "{row}");
        }
    }
}

#[test]
fn a_run_has_not_changed_against_itself_as_trace_or_as_report() {
    let Some(_alone) = live() else { return };
    let folder = tempfile::tempdir().unwrap();
    let (trace, report) = record(&folder, "run", &["--sched", "--sleep"], &load("300ms"));
    for (a, b) in [(&trace, &trace), (&trace, &report), (&report, &trace), (&report, &report)] {
        let object = json(&["--fail-over", "0"], a, b);
        assert_unchanged(&object);
        assert_eq!(object["notes"], serde_json::json!([]), "{object}");
        let tables = object["tables"].as_array().unwrap();
        let names: Vec<_> = tables.iter().map(|table| &table["table"]).collect();
        assert!(names.contains(&&"sleeps".into()), "{names:?}");
    }
    for by in ["lock", "task", "stack", "comm,caller"] {
        let object = json(&["--by", by], &trace, &trace);
        assert_unchanged(&object);
    }
    // Rows that only ids and addresses tell apart are one, in a report of them too.
    for by in ["lock", "task"] {
        let report = folder.path().join(by);
        let mut ftlock = ftlock(&["report", "--sched", "--sleep", "--format", "json", "--by", by]);
        assert!(ftlock.arg("--output").args([&report, &trace]).status().unwrap().success());
        assert_unchanged(&json(&[], &trace, &report));
    }
}

/// The same work for four times as long, held against what the runs themselves reported.
#[test]
fn growth_is_found_and_fails_the_comparison() {
    let Some(_alone) = live() else { return };
    let folder = tempfile::tempdir().unwrap();
    let (a, a_report) = record(&folder, "a", &[], &load("300ms"));
    let (b, b_report) = record(&folder, "b", &[], &load("1200ms"));
    let output = diff(&["--fail-over", "20%"], &a, &b);
    let told = String::from_utf8_lossy(&output.stdout).into_owned();
    assert_eq!(output.status.code(), Some(6), "{told}");
    assert!(told.contains(" over 20 %: kernel locks, all together: total wait "), "{told}");
    assert!(told.contains("not of the same length: A ") && told.contains("%/s"), "{told}");
    let object = json(&[], &a, &b);
    let (a_report, b_report) = (read(&a_report), read(&b_report));
    let totals = &object["tables"][0]["totals"];
    for column in ["contended", "wait_total", "p99", "wait_max"] {
        let of = |report: &Value| report["totals"][column].as_u64().unwrap();
        assert_eq!(both(totals, column), (of(&a_report), of(&b_report)), "{column}");
    }
    let rows = object["tables"][0]["rows"].as_array().unwrap();
    let find = |report: &Value, row: &Value| {
        let rows = report["rows"].as_array().unwrap();
        let is_it = |one: &&Value| ["type", "caller"].iter().all(|key| one[key] == row[key]);
        rows.iter().find(is_it).map(|row| row["wait_total"].as_u64().unwrap())
    };
    let mut only = [0, 0];
    for row in rows {
        let (of_a, of_b) = (find(&a_report, row), find(&b_report, row));
        let expected = (of_a.unwrap_or(0), of_b.unwrap_or(0));
        assert_eq!(both(row, "wait_total"), expected, "{row}");
        match (of_a, of_b) {
            (None, _) => assert_eq!(row["only"], "new"),
            (_, None) => assert_eq!(row["only"], "gone"),
            _ => assert_eq!(row["only"], Value::Null),
        }
        only[0] += usize::from(of_a.is_some());
        only[1] += usize::from(of_b.is_some());
    }
    let count = |report: &Value| report["rows"].as_array().unwrap().len();
    assert_eq!(only, [count(&a_report), count(&b_report)]);
    let changes = rows.iter().map(|row| row["wait_total"]["change"].as_i64().unwrap().abs());
    assert!(changes.is_sorted_by(|one, next| one >= next));
    // The other way round there is less.
    let back = json(&[], &b, &a);
    let (before, after) = both(&back["tables"][0]["totals"], "wait_total");
    assert!(before > after);
}

#[test]
fn threads_are_found_again_by_their_names() {
    let Some(_alone) = live() else { return };
    let folder = tempfile::tempdir().unwrap();
    let (a, report) = record(&folder, "a", &["--by", "task"], &load("300ms"));
    let (b, _) = record(&folder, "b", &[], &load("300ms"));
    let object = json(&["--by", "task"], &a, &b);
    let mut waits: BTreeMap<String, u64> = BTreeMap::new();
    for row in read(&report)["rows"].as_array().unwrap() {
        let name = row["comm"].as_str().unwrap().to_owned();
        *waits.entry(name).or_default() += row["contended"].as_u64().unwrap();
    }
    let mut found = 0;
    for row in object["tables"][0]["rows"].as_array().unwrap() {
        let of_a = waits.get(row["comm"].as_str().unwrap());
        assert_eq!(both(row, "contended").0, of_a.copied().unwrap_or(0), "{row}");
        found += usize::from(row["only"].is_null());
    }
    // Bakers, millers and others, of whom each run had several.
    assert!(found > 3, "{object}");
}

#[test]
fn what_cannot_be_compared_is_refused_by_its_name() {
    let Some(_alone) = live() else { return };
    let folder = tempfile::tempdir().unwrap();
    let (trace, report) = record(&folder, "run", &[], &load("100ms"));
    let [text, other] = ["text", "other"].map(|name| folder.path().join(name));
    fs::write(&text, "no trace").unwrap();
    fs::write(&other, "{\"a\": 1}").unwrap();
    let missing = folder.path().join("missing");
    let table: [(&[&str], &Path, i32, &str); 7] = [
        (&[], &missing, 1, "cannot open"),
        (&[], &text, 1, "text"),
        (&[], &other, 1, "no report of --format json"),
        (&["--by", "comm"], &report, 2, "is a report by caller, not by comm"),
        (&["--comm", "x"], &report, 2, "--comm needs the trace"),
        (&["--by", "owner"], &trace, 1, "not recorded"),
        (&["--fail-over", "-1"], &trace, 2, "0 % or more"),
    ];
    for (arguments, file, status, why) in table {
        let options: Vec<String> = match arguments {
            [name, value] => vec![format!("{name}={value}")],
            _ => Vec::new(),
        };
        let output = ftlock(&["diff"]).args(&options).arg(&trace).arg(file).output().unwrap();
        let told = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(status), "{arguments:?} {file:?}: {told}");
        assert!(told.contains(why), "{arguments:?} {file:?}: {told}");
        let is_named = told.contains(file.to_str().unwrap());
        assert!(is_named || arguments[0] == "--fail-over", "{told}");
    }
    // A report with two of its rows says nothing of the others.
    let cut = folder.path().join("cut");
    let mut ftlock = ftlock(&["report", "--format", "json", "-E", "2", "--output"]);
    assert!(ftlock.args([&cut, &trace]).status().unwrap().success());
    let object = json(&["--fail-over", "0"], &cut, &trace);
    assert!(object["notes"].to_string().contains("A has not every row"), "{object}");
    let rows = object["tables"][0]["rows"].as_array().unwrap();
    assert!(rows.len() > 2 && rows.iter().all(|row| row["only"].is_null()), "{object}");
}
