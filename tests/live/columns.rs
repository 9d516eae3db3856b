//! The figures of each row against the waits of the same run's stream.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::support::{assert_sound, ftlock, live, of};

fn demo(arguments: &[&str]) -> String {
    let run = ftlock(&["demo", "--duration", "300ms"]).args(arguments).output().unwrap();
    let text = String::from_utf8(run.stdout).unwrap();
    assert_eq!(run.status.code(), Some(0), "{text}");
    text
}

fn number(value: &Value, name: &str) -> u64 {
    value[name].as_u64().unwrap_or_else(|| panic!("no {name} in {value}"))
}

/// The lock and its kind; a row and a wait name them differently.
fn lock(value: &Value, kind: &str) -> (String, String) {
    (value["lock"].to_string(), value[kind].to_string())
}

#[test]
fn quantiles_shares_and_witnesses_are_those_of_the_streamed_waits() {
    let Some(_alone) = live() else { return };
    let text = demo(&["--stream", "json", "--by", "lock"]);
    let records: Vec<Value> =
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let summary = records.last().unwrap();
    assert_sound(summary);
    let mut waits: BTreeMap<_, Vec<&Value>> = BTreeMap::new();
    for wait in of(&records, "wait") {
        if wait["ret"] == 0 && wait["uncertain"] == false {
            waits.entry(lock(wait, "kind")).or_default().push(wait);
        }
    }
    let total = waits.values().flatten().map(|wait| number(wait, "wait_ns")).sum::<u64>() as f64;
    let rows = summary["rows"].as_array().unwrap().iter();
    let rows: Vec<_> = rows.filter(|row| number(row, "contended") > 0).collect();
    assert_eq!(rows.len(), waits.len());
    assert!(rows.len() > 3, "{rows:?}");
    for row in rows {
        let waits = waits.get_mut(&lock(row, "type")).unwrap();
        waits.sort_by_key(|wait| number(wait, "wait_ns"));
        let sorted: Vec<u64> = waits.iter().map(|wait| number(wait, "wait_ns")).collect();
        for (name, percent) in [("p50", 50), ("p95", 95), ("p99", 99), ("wait_max", 100)] {
            let exact = sorted[(sorted.len() * percent).div_ceil(100) - 1];
            let error = number(row, name).abs_diff(exact) as f64;
            assert!(error <= 0.032 * exact as f64, "{name}, not {exact}: {row}");
        }
        let rising = ["p50", "p95", "p99", "wait_max"].map(|name| number(row, name));
        assert!(rising.is_sorted(), "{row}");
        let share = sorted.iter().sum::<u64>() as f64 / total * 100.0;
        assert!((row["share"].as_f64().unwrap() - share).abs() < 0.051, "{share}: {row}");
        let longest = sorted.last().unwrap();
        let seen = waits.iter().find(|wait| {
            let same = ["ts", "tid", "comm", "cpu", "context"];
            same.iter().all(|name| wait[*name] == row["witness"][*name])
                && number(wait, "wait_ns") == *longest
        });
        let seen = seen.unwrap_or_else(|| panic!("no such wait: {row}"));
        let stack = row["witness"]["stack"].as_array().unwrap();
        assert!(stack.contains(&seen["caller"]), "{seen}: {row}");
    }
}

#[test]
fn the_table_shows_the_columns_asked_for_with_distributions_and_witnesses() {
    let Some(_alone) = live() else { return };
    let arguments = ["--stream", "none", "-F", "p50,share", "-k", "p99", "-E", "2", "--hist", "-v"];
    let text = demo(&arguments);
    let mut lines = text.lines();
    let heading: Vec<_> = lines.next().unwrap().split_whitespace().collect();
    assert_eq!(heading, ["p50", "share", "p99", "type", "caller"]);
    let shown = |what: &str| text.lines().filter(|line| line.contains(what)).count();
    assert_eq!(shown("    longest at "), 2, "{text}");
    assert_eq!(shown("      #0 "), 2, "{text}");
    assert!(shown("█") >= 2 && !text.contains('\x1b'), "{text}");
    assert!(text.lines().filter(|line| line.contains('|')).all(|line| line.chars().count() == 80));
}
