//! What locks are called on the running kernel.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use crate::support::{Recording, live, of};

fn demo(options: &[&str]) -> Vec<Value> {
    let program = env!("CARGO_BIN_EXE_ftlock");
    let command = ["--", program, "demo-workload", "--duration", "800ms"];
    let (records, status) = Recording::start(&[options, &command].concat()).wait();
    assert_eq!(status, 0);
    records
}

fn text<'a>(value: &'a Value, field: &str) -> &'a str {
    value[field].as_str().unwrap_or("")
}

/// What the demo fights over, by the field of the kernel's that holds the lock.
const FOUGHT_OVER: [(&str, &str); 3] =
    [("mmap_lock", "rwsem:W"), ("i_rwsem", "rwsem:W"), ("pipe_mutex", "mutex")];

/// On a busy machine one run may not see two tasks of the demo in each other's way everywhere.
const RUNS: usize = 10;

#[test]
fn the_demos_locks_have_names() {
    let Some(_alone) = live() else { return };
    let mut seen = BTreeSet::new();
    for _ in 0..RUNS {
        let records = demo(&["--by", "lock"]);
        for row in records.last().unwrap()["rows"].as_array().unwrap() {
            if text(row, "lock_name_by") == "rule" {
                seen.insert((text(row, "lock_name").to_owned(), text(row, "type").to_owned()));
            }
        }
        let waits = of(&records, "wait");
        let time_ns = |wait: &&Value| wait["wait_ns"].as_u64().unwrap();
        let all_ns: u64 = waits.iter().map(time_ns).sum();
        let named = waits.iter().filter(|wait| !wait["lock_name"].is_null());
        let named_ns: u64 = named.map(time_ns).sum();
        assert!(named_ns * 100 >= all_ns * 90, "{named_ns} of {all_ns} ns");
        let is_seen =
            |(name, kind): &(&str, &str)| seen.contains(&((*name).to_owned(), (*kind).to_owned()));
        if FOUGHT_OVER.iter().all(is_seen) {
            return;
        }
    }
    panic!("only {seen:?}");
}

/// The kernel's own events say which locks are an `mmap_lock`: what the rules say of the same
/// locks, before the kernel has told, is the same.
#[test]
fn the_rules_agree_with_the_kernel_about_mmap_lock() {
    let Some(_alone) = live() else { return };
    let records = demo(&["--by", "lock", "--learn-mmap-lock"]);
    let rows = records.last().unwrap()["rows"].as_array().unwrap();
    let learned = rows.iter().filter(|row| text(row, "lock_name_by") == "mmap_lock");
    let learned: BTreeSet<&str> = learned.map(|row| text(row, "lock")).collect();
    assert!(!learned.is_empty(), "{rows:#?}");
    let mut by_rule = BTreeMap::<&str, usize>::new();
    for wait in of(&records, "wait") {
        if text(wait, "kind").starts_with("rwsem") && learned.contains(text(wait, "lock")) {
            assert_eq!(text(wait, "lock_name"), "mmap_lock", "{wait}");
            *by_rule.entry(text(wait, "lock_name_by")).or_default() += 1;
        }
    }
    println!("{} address spaces, {by_rule:?}", learned.len());
    assert!(by_rule.contains_key("mmap_lock"), "{by_rule:?}");
}
