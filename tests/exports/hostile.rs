//! A recording in which everything that others choose is hostile: every form of the results stays what it
//! is, and none of it reaches a terminal, a page or a cell as anything but text.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use serde_json::{Value, json};

use crate::clean::{NAMES, is_clean, is_clean_markup};
use crate::decoder::decode;
use crate::fuzzing::{files, kernels};
use crate::recorded;

/// The same as texts of any length, which a file may have wherever it tells something.
const TEXT: &str = "\u{1b}[31m</title><hst a=\"hst='\">&hst;\u{202e}\r\n\u{9b}x,;\"\t";

/// A real recording with other names in it: of those that tasks have there, the n-th is `NAMES[n]`.
fn trace() -> Vec<u8> {
    let kernel = kernels::chosen_by(0);
    let folder = kernels::project().join("tests/data/kernels/amd64-6.12/stackonly");
    let rings = (0..4).map(|cpu| recorded::read(&folder.join(format!("cpu{cpu}.raw"))));
    let rings: Vec<Vec<u8>> = rings.collect();
    let rings: Vec<&[u8]> = rings.iter().map(Vec::as_slice).collect();
    files::trace(kernel, said(&tasks(kernel, &rings)).as_bytes(), &rings)
}

/// The thread ids that there are.
fn tasks(kernel: &kernels::Kernel, rings: &[&[u8]]) -> BTreeSet<u32> {
    use ftlock::tracefs::{Step, walk};
    let pages = rings.iter().flat_map(|ring| ring.chunks(kernel.layout.size_bytes()));
    let steps = pages.flat_map(|page| walk(page, &kernel.layout, kernel.abi, None));
    let records = steps.filter_map(|step| match step {
        Step::Record(record) => kernel.decoder.head(record.payload),
        _ => None,
    });
    records.map(|head| head.tid.0).filter(|&tid| tid > 0).collect()
}

/// What ftlock said of the run.
fn said(tasks: &BTreeSet<u32>) -> String {
    let extras = json!({
        "split": false, "holders": false, "holder_stacks": false, "futexes": false, "sleeps": false
    });
    let mut lines = vec![json!({
        "record": "run", "schema": 1, "ftlock": TEXT, "kernel": TEXT, "host": TEXT,
        "clock": TEXT, "cpus": [0, 1, 2, 3], "own_tid": 9, "is_nested": false,
        "command": ["make", TEXT], "whose": "all", "only_cpus": null, "stacks": true,
        "mmap_lock": false, "extras": extras, "flags": [],
        "cgroups": {"id": 0, "is_nested": false}, "cmdlines": true
    })];
    for (place, tid) in tasks.iter().enumerate() {
        let name = ftlock::output::escape::json_name(NAMES[place % NAMES.len()]);
        lines.push(json!({
            "record": "task", "at_ns": 1, "tid": tid, "tgid": tid, "comm": name,
            "start_time": 1, "kernel_thread": false
        }));
        for record in ["cgroup", "cmdline"] {
            lines.push(json!({
                "record": record, "at_ns": 1, "behind": false, "tid": tid, "tgid": tid,
                "text": format!("/{TEXT}{place}")
            }));
        }
    }
    lines.push(json!({"record": "start", "at_ns": 1, "date_ns": 1}));
    lines.push(json!({
        "record": "end", "at_ns": null, "duration_ns": 5, "own_cpu_ns": 5, "is_all_saved": true,
        "disturbances": [TEXT]
    }));
    lines.iter().map(|line| format!("{line}\n")).collect()
}

fn report(file: &Path, view: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_ftlock"));
    let run = command.arg("report").args(view).arg(file).output().unwrap();
    is_clean(&format!("what {view:?} says"), &run.stderr);
    assert!(run.status.success(), "{view:?}: {}", String::from_utf8_lossy(&run.stderr));
    run
}

/// A recording with such names, in a file.
struct Hostile {
    folder: tempfile::TempDir,
}

impl Hostile {
    fn new() -> Hostile {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("t.dat"), trace()).unwrap();
        Hostile { folder }
    }

    fn printed(&self, view: &[&str]) -> Vec<u8> {
        report(&self.folder.path().join("t.dat"), view).stdout
    }

    fn json(&self, view: &[&str]) -> Value {
        serde_json::from_slice(&self.printed(&[&["--format", "json"], view].concat())).unwrap()
    }

    /// The names of the waiters.
    fn names(&self) -> BTreeSet<String> {
        let report = self.json(&["--by", "comm"]);
        let rows = report["rows"].as_array().unwrap().iter();
        rows.filter_map(|row| row["comm"].as_str().map(str::to_owned)).collect()
    }
}

const KEYS: [&str; 7] = ["comm", "task", "process", "caller", "stack,comm", "lock", "cgroup"];

#[test]
fn texts_and_cells_are_clean_by_every_key() {
    let hostile = Hostile::new();
    for key in KEYS {
        for view in [
            &["--by", key, "-v"][..],
            &["--by", key, "--hist", "--stream", "text"],
            &["--by", key, "--format", "csv"],
            &["--by", key, "-x", ";"],
            &["--by", key, "--format", "folded"],
            &["--by", key, "--format", "json"],
            &["--by", key, "--stream", "json"],
        ] {
            let printed = hostile.printed(view);
            assert!(!printed.is_empty(), "{view:?}");
            is_clean(&format!("{view:?}"), &printed);
        }
    }
    is_clean("--raw", &hostile.printed(&["--raw"]));
    is_clean("--raw as JSON", &hostile.printed(&["--raw", "--stream", "json"]));
}

#[test]
fn programs_read_every_name_back_as_it_was() {
    let hostile = Hostile::new();
    let names = hostile.names();
    let known: BTreeSet<String> =
        NAMES.iter().map(|name| ftlock::output::escape::json_name(name).into_owned()).collect();
    let mine: BTreeSet<&String> = names.intersection(&known).collect();
    assert!(mine.len() > 8, "{names:?}");

    let csv = hostile.printed(&["--by", "comm", "--format", "csv"]);
    let mut reader = csv::Reader::from_reader(csv.as_slice());
    let cells: Vec<String> =
        reader.records().map(|record| record.unwrap().get(0).unwrap().to_owned()).collect();
    // An empty cell is no name.
    let cells: BTreeSet<String> = cells.into_iter().filter(|cell| !cell.is_empty()).collect();
    assert_eq!(cells.len(), names.len(), "{cells:?}");
    assert!(!cells.iter().any(|cell| cell.starts_with(['=', '+', '-', '@'])), "{cells:?}");

    let folded = hostile.printed(&["--by", "comm,type", "--format", "folded"]);
    for line in str::from_utf8(&folded).unwrap().lines() {
        let (stack, weight) = line.rsplit_once(' ').unwrap();
        assert!(weight.parse::<u64>().is_ok() && stack.split(';').count() == 2, "{line}");
    }

    let lines = hostile.printed(&["--stream", "json"]);
    let records = str::from_utf8(&lines).unwrap().lines();
    let records: Vec<Value> = records.map(|line| serde_json::from_str(line).unwrap()).collect();
    let waiters = records.iter().filter(|record| record["record"] == "wait");
    let waiters: BTreeSet<&str> = waiters.filter_map(|wait| wait["comm"].as_str()).collect();
    assert!(mine.iter().all(|name| waiters.contains(name.as_str())), "{waiters:?}");
}

#[test]
fn pages_and_pictures_are_what_they_were_made_to_be() {
    let hostile = Hostile::new();
    for key in ["comm", "task,caller", "cgroup"] {
        let page = hostile.printed(&["--by", key, "--format", "html"]);
        is_clean_markup(&format!("the page by {key}"), &page);
        #[cfg(feature = "flamegraph")]
        {
            let graph = hostile.printed(&["--by", key, "--format", "flamegraph"]);
            is_clean_markup(&format!("the flame graph by {key}"), &graph);
            assert!(!str::from_utf8(&graph).unwrap().contains('\u{fffe}'), "not XML: {key}");
        }
    }
    let file = hostile.folder.path().join("t.pftrace");
    hostile.printed(&["--format", "perfetto", "--output", file.to_str().unwrap()]);
    let decoded = decode(&fs::read(file).unwrap());
    let names = decoded.tracks.values().filter_map(|track| track.name.as_ref());
    let arguments = decoded.slices.iter().flat_map(|slice| slice.arguments.values());
    let texts = names.chain(arguments).chain(decoded.processes.values());
    let threads = decoded.tracks.values().filter_map(|track| track.thread.as_ref()?.2.as_ref());
    let all: Vec<&String> = texts.chain(threads).collect();
    assert!(all.iter().any(|text| text.contains("\\x1b[2J")), "{all:?}");
    all.iter().for_each(|text| is_clean("the trace for Perfetto", text.as_bytes()));
}

/// Of what cannot be opened at all the path is told, and that may be called anything too.
#[test]
fn messages_about_files_are_clean() {
    let hostile = Hostile::new();
    let file = hostile.folder.path().join(TEXT.replace('/', "_"));
    for bytes in [b"no trace".to_vec(), trace()[..4000].to_vec()] {
        fs::write(&file, bytes).unwrap();
        for command in ["report", "diff"] {
            let mut run = Command::new(env!("CARGO_BIN_EXE_ftlock"));
            run.arg(command).arg(&file);
            if command == "diff" {
                run.arg(&file);
            }
            let run = run.output().unwrap();
            assert_eq!(run.status.code(), Some(1));
            is_clean(command, &run.stderr);
            is_clean(command, &run.stdout);
        }
    }
}
