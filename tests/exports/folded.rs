//! Folded stacks and the flame graph against the JSON report of the same recording.

use std::collections::BTreeMap;

use crate::support::{json_report, printed};

/// As tools read it: the weight stands behind the last blank.
fn weights(folded: &str) -> BTreeMap<&str, u64> {
    let lines = folded.lines().map(|line| line.rsplit_once(' ').unwrap());
    let lines: Vec<_> = lines.map(|(stack, weight)| (stack, weight.parse().unwrap())).collect();
    let weights: BTreeMap<&str, u64> = lines.iter().copied().collect();
    assert_eq!(weights.len(), lines.len(), "a stack twice");
    weights
}

#[test]
fn stacks_weigh_as_much_as_all_waits() {
    let totals = &json_report()["totals"];
    for (arguments, column) in [
        (&[][..], "wait_total"),
        (&["-k", "contended"], "contended"),
        (&["-k", "p99"], "wait_total"),
        (&["--by", "comm,type"], "wait_total"),
    ] {
        let folded = printed(&[&["--format", "folded"], arguments].concat());
        let sum: u64 = weights(&folded).values().sum();
        assert!(sum > 0);
        assert_eq!(Some(sum), totals[column].as_u64(), "{arguments:?}");
    }
}

/// Rows by caller, one by one.
#[test]
fn keys_weigh_what_their_rows_do() {
    let report = json_report();
    let mut rows: BTreeMap<&str, u64> = BTreeMap::new();
    for row in report["rows"].as_array().unwrap() {
        *rows.entry(row["caller"].as_str().unwrap()).or_default() +=
            row["wait_total"].as_u64().unwrap();
    }
    let folded = printed(&["--format", "folded", "--by", "caller"]);
    assert_eq!(weights(&folded), rows);
}

#[cfg(feature = "flamegraph")]
#[test]
fn the_flame_graph_is_as_wide_as_all_waits() {
    let total = json_report()["totals"]["wait_total"].as_u64().unwrap();
    let svg = printed(&["--format", "flamegraph"]);
    assert!(svg.starts_with("<?xml") && svg.contains(&format!("total_samples=\"{total}\"")));
    let widths = svg.split(" fg:w=\"").skip(1);
    let widths: Vec<u64> =
        widths.map(|rest| rest.split('"').next().unwrap().parse().unwrap()).collect();
    assert!(widths.len() > 20 && widths.iter().max() == Some(&total), "{widths:?}");
}
