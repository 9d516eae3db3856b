//! Nothing is lost without being counted. Every recording here is checked by `assert_sound`.

use rustix::process::Signal;
use serde_json::Value;

use crate::support::{Recording, assert_sound, ftlock, live, load, of};

fn record(arguments: &[&str]) -> Vec<Value> {
    let recording = Recording::start(&[&["-a"], arguments].concat());
    assert!(load("300ms").status.success());
    recording.stop()
}

fn sum(rows: &Value, column: &str) -> u64 {
    rows.as_array().unwrap().iter().map(|row| row[column].as_u64().unwrap()).sum()
}

#[test]
fn rows_and_stream_add_up_to_the_totals_by_every_key() {
    let Some(_alone) = live() else { return };
    for by in ["caller", "lock", "task", "type"] {
        let records = record(&["--by", by]);
        let summary = records.last().unwrap();
        let waits = of(&records, "wait");
        // The time of a wait that failed is in no total.
        let got = waits.iter().filter(|wait| wait["ret"] == 0 && wait["uncertain"] == false);
        let streamed: u64 = got.map(|wait| wait["wait_ns"].as_u64().unwrap()).sum();
        assert!(waits.len() > 20, "{by}: {}", waits.len());
        assert_eq!(summary["waits"], waits.len(), "{by}");
        assert_eq!(sum(&summary["rows"], "wait_total"), summary["totals"]["wait_total"], "{by}");
        assert_eq!(summary["totals"]["wait_total"], streamed, "{by}");
    }
}

#[test]
fn a_full_map_keeps_every_wait_in_the_overflow_rows() {
    let Some(_alone) = live() else { return };
    let records = record(&["-M", "1", "--by", "lock"]);
    let summary = records.last().unwrap();
    let rows = summary["rows"].as_array().unwrap();
    let overflow = rows.iter().filter(|row| row["overflow"] == true).count();
    assert_eq!(rows.len() - overflow, 1);
    assert!(overflow > 0);
    assert_eq!(sum(&summary["rows"], "contended"), summary["totals"]["contended"]);
    assert!(summary["quality"]["map_given_up"].as_u64().unwrap() > 0);
}

/// A ring of two sub-buffers that nobody reads while the load runs: it must overflow.
#[test]
fn an_overflow_is_counted_and_what_overlaps_it_is_uncertain() {
    let Some(_alone) = live() else { return };
    let recording = Recording::start(&["-a", "-m", "16K", "-e", "sched:sched_switch", "--raw"]);
    recording.signal(Signal::STOP);
    let loaded = load("1s");
    recording.signal(Signal::CONT);
    assert!(loaded.status.success());
    let records = recording.stop();
    let quality = &records.last().unwrap()["quality"];
    let cpus = quality["cpus"].as_array().unwrap();
    let lost: u64 = cpus.iter().map(|cpu| cpu["overrun"].as_u64().unwrap()).sum();
    let missed: u64 = of(&records, "loss").iter().filter_map(|loss| loss["missed"].as_u64()).sum();
    assert!(lost > 0, "{quality}");
    assert!(quality["gaps"].as_u64().unwrap() > 0, "{quality}");
    assert!(missed <= lost, "{missed} of {lost}");
}

#[test]
fn the_mapped_ring_accounts_for_every_event_too() {
    let Some(_alone) = live() else { return };
    let checked = ftlock(&["check"]).output().unwrap();
    if !String::from_utf8_lossy(&checked.stdout).contains("--reader mmap") {
        println!("skipped: this kernel cannot map its rings");
        return;
    }
    let records = record(&["--reader", "mmap"]);
    assert!(of(&records, "wait").len() > 20);
}

#[test]
fn the_text_form_prints_the_same_accounting() {
    let Some(_alone) = live() else { return };
    let run = ftlock(&["demo", "--duration", "300ms", "-v", "--stream", "none"]).output().unwrap();
    let text = String::from_utf8(run.stdout).unwrap();
    assert_eq!(run.status.code(), Some(0), "{text}");
    let held = text.lines().filter(|line| line.starts_with(" holds")).count();
    assert!(held >= 5, "{text}");
    assert!(!text.contains("DOES NOT HOLD"), "{text}");
}

#[test]
fn filters_leave_the_accounting_of_the_whole_machine_alone() {
    let Some(_alone) = live() else { return };
    let records = record(&["--min-wait", "20us", "-C", "0"]);
    let waits = of(&records, "wait");
    assert!(!waits.is_empty());
    for wait in waits {
        assert!(wait["wait_ns"].as_u64().unwrap() >= 20_000, "{wait}");
        assert_eq!(wait["cpu"], 0, "{wait}");
    }
    let quality = &records.last().unwrap()["quality"];
    assert!(quality["short"].as_u64().unwrap() > 0 && quality["not_asked"].as_u64().unwrap() > 0);
    assert_sound(records.last().unwrap());
}
