//! A Parquet file of a run that ends by Ctrl-C, against the lines and the totals of the same run.

use std::collections::BTreeMap;
use std::time::{SystemTime, UNIX_EPOCH};

use serde_json::Value;

use crate::rows::{Told, as_row, rows, without_run};
use crate::support::{Recording, live, load, of};

fn now_us() -> i64 {
    i64::try_from(SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_micros()).unwrap()
}

fn totals_of(rows: &[Told]) -> BTreeMap<String, [u64; 5]> {
    let mut totals: BTreeMap<String, [u64; 5]> = BTreeMap::new();
    for row in rows {
        let all = totals.entry(row["table"].as_str().unwrap().to_owned()).or_default();
        if row["uncertain"] == true {
            all[2] += 1;
        } else if row["ret"] == 0 {
            all[0] += 1;
            all[3] += row["wait_ns"].as_u64().unwrap();
            all[4] += row["blocked_ns"].as_u64().unwrap();
        } else {
            all[1] += 1;
        }
    }
    totals
}

fn totals_told(summary: &Value) -> BTreeMap<String, [u64; 5]> {
    let columns = ["contended", "failed", "uncertain", "wait_total", "blocked"];
    let of_table = |table: &Value| columns.map(|column| table["totals"][column].as_u64().unwrap());
    let further = summary["tables"].as_array().into_iter().flatten();
    let further = further.filter(|table| table["table"] != "chains");
    let further = further.map(|table| (table["table"].as_str().unwrap().to_owned(), table));
    let all = [("locks".to_owned(), summary)].into_iter().chain(further);
    all.map(|(name, table)| (name, of_table(table))).collect()
}

#[test]
fn a_parquet_file_holds_the_waits_of_the_lines_beside_it() {
    let Some(_alone) = live() else { return };
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("waits.parquet");
    let before_us = now_us();
    let arguments = ["-a", "--sched", "--sleep", "--format", "parquet", "--output"];
    let recording = Recording::start(&[&arguments[..], &[file.to_str().unwrap()]].concat());
    assert!(load("300ms").status.success());
    let records = recording.stop();
    let expected: Vec<Told> = of(&records, "wait").into_iter().map(as_row).collect();
    let (rows, _) = rows(&file);
    assert_eq!(rows.iter().map(without_run).collect::<Vec<_>>(), expected);
    let totals = totals_of(&rows);
    assert!(totals["locks"][0] > 0 && totals["sleeps"][0] > 0, "{totals:?}");
    assert_eq!(totals, totals_told(records.last().unwrap()));
    assert!(rows.iter().any(|row| row.contains_key("holder_tid")));

    let us = |row: &Told, name: &str| row[name].as_i64().unwrap();
    // The date is asked for when tracing goes on already, and a busy machine takes its time between clocks.
    let during = before_us..=now_us() + 1_000_000;
    for row in &rows {
        let (start, begin) = (us(row, "run_start"), us(row, "time"));
        assert!(during.contains(&start) && during.contains(&begin), "{during:?} {row:?}");
    }
    let name = rustix::system::uname();
    assert_eq!(rows[0]["host"], name.nodename().to_str().unwrap());
    assert_eq!(rows[0]["kernel"], name.release().to_str().unwrap());
}
