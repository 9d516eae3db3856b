//! The page in a browser, against the JSON report of the same recording.

use std::path::PathBuf;

use serde_json::Value;

use crate::browser::Browser;
use crate::support::{demo, json_report};

/// The page of the recording, in a file.
fn page(folder: &tempfile::TempDir) -> PathBuf {
    let file = folder.path().join("report.html");
    demo(&["--format", "html", "--output", file.to_str().unwrap()]);
    file
}

/// A column of the rows that are shown, by its number; of numbers what they are, not how they look.
fn shown(browser: &mut Browser, column: usize) -> Vec<Value> {
    let cells = browser.ask(&format!(
        "Array.from(document.querySelectorAll('#locks tbody tr'))\
         .filter((row) => row.checkVisibility())\
         .map((row) => row.cells[{column}])\
         .map((cell) => cell.dataset.value === undefined ? cell.textContent : Number(cell.dataset.value))"
    ));
    cells.as_array().unwrap().clone()
}

fn of_rows(report: &Value, name: &str) -> Vec<Value> {
    report["rows"].as_array().unwrap().iter().map(|row| row[name].clone()).collect()
}

fn numbers(values: &[Value]) -> Vec<u64> {
    values.iter().map(|value| value.as_u64().unwrap()).collect()
}

/// Columns: type, caller, contended, total wait, ..
#[test]
fn headings_sort_and_the_field_filters() {
    let folder = tempfile::tempdir().unwrap();
    let file = page(&folder);
    let Some(mut browser) = Browser::start(1200) else { return };
    browser.open(&file);
    let report = json_report();
    assert_eq!(shown(&mut browser, 1), of_rows(&report, "caller"));
    assert_eq!(shown(&mut browser, 3), of_rows(&report, "wait_total"));

    let contended = "document.querySelectorAll('#locks th button')[2]";
    let mut expected = numbers(&of_rows(&report, "contended"));
    expected.sort_unstable();
    assert_ne!(numbers(&shown(&mut browser, 2)), expected);
    browser.click(contended);
    let falling: Vec<u64> = expected.iter().rev().copied().collect();
    assert_eq!(numbers(&shown(&mut browser, 2)), falling);
    let state = format!("{contended}.parentElement.getAttribute('aria-sort')");
    assert_eq!(browser.ask(&state), "descending");
    browser.click(contended);
    assert_eq!(numbers(&shown(&mut browser, 2)), expected);
    browser.click("document.querySelectorAll('#locks th button')[1]");
    let callers = shown(&mut browser, 1);
    let callers: Vec<&str> = callers.iter().map(|caller| caller.as_str().unwrap()).collect();
    assert_eq!(callers.first(), Some(&"__d_move+0x319"), "{callers:?}");

    browser.click("document.querySelector('#locks input')");
    browser.write("MUTEX");
    let kinds = of_rows(&report, "type");
    let mutexes = kinds.iter().filter(|kind| *kind == "mutex").count();
    let found = shown(&mut browser, 0);
    assert!(mutexes > 0 && found.len() == mutexes && found.iter().all(|kind| kind == "mutex"));
    let count = browser.ask("document.querySelector('#locks .tools span').textContent");
    assert_eq!(count, format!("{mutexes} of {} rows", kinds.len()));
    assert!(browser.complaints.is_empty(), "{:?}", browser.complaints);
}

#[test]
fn a_click_on_a_frame_makes_it_as_wide_as_the_graph() {
    let folder = tempfile::tempdir().unwrap();
    let file = page(&folder);
    let Some(mut browser) = Browser::start(1200) else { return };
    browser.open(&file);
    let frame = "Array.from(document.querySelectorAll('.flame > svg'))\
                 .find((frame) => frame.querySelector('text').textContent === 'do_unlinkat')";
    let width = format!(
        "{frame}.getBoundingClientRect().width / document.querySelector('.flame').getBoundingClientRect().width"
    );
    let seen = "Array.from(document.querySelectorAll('.flame > svg')).filter((f) => f.checkVisibility()).length";
    let before = browser.ask(seen).as_u64().unwrap();
    // Of the recording's 893 ms; see `--format folded`.
    let part = browser.ask(&width).as_f64().unwrap();
    assert!((0.2..0.25).contains(&part), "{part}");
    browser.click(frame);
    let part = browser.ask(&width).as_f64().unwrap();
    assert!((0.99..=1.0).contains(&part), "{part}");
    assert!(browser.ask(seen).as_u64().unwrap() < before);
    browser.click("document.querySelector('.flame > svg')");
    assert_eq!(browser.ask(seen).as_u64(), Some(before));
    assert!(browser.complaints.is_empty(), "{:?}", browser.complaints);
}

/// On a phone nothing but the tables is wider than the window, and those scroll.
#[test]
fn without_scripts_and_on_a_phone_the_tables_can_be_read() {
    let folder = tempfile::tempdir().unwrap();
    let file = page(&folder);
    let Some(mut browser) = Browser::start(1200) else { return };
    let phone = serde_json::json!({
        "width": 390, "height": 844, "deviceScaleFactor": 2, "mobile": true
    });
    browser.call("Emulation.setDeviceMetricsOverride", phone);
    browser.forbid_scripts();
    browser.open(&file);
    let report = json_report();
    assert_eq!(browser.ask("document.querySelectorAll('button, input').length"), 0);
    assert_eq!(shown(&mut browser, 1), of_rows(&report, "caller"));
    assert_eq!(shown(&mut browser, 3), of_rows(&report, "wait_total"));
    assert_eq!(browser.ask("document.documentElement.scrollWidth <= window.innerWidth"), true);
    assert_eq!(browser.ask("window.innerWidth"), 390);
    let waits = report["totals"]["contended"].as_u64().unwrap();
    let number = browser.ask("document.querySelector('.totals dd').textContent.replace(',', '')");
    assert_eq!(number, waits.to_string());
}
