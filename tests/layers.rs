//! Dependencies between the rooms point one way: reads every `crate::` path in the sources.

#![allow(clippy::unwrap_used, reason = "a test may stop at whatever is not as it should be")]

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// What each room may use. A room that is missing here, or an edge, is an error.
const EDGES: [(&str, &[&str]); 14] = [
    ("tracefs", &[]),
    ("user_symbols", &[]),
    ("trace_file", &["tracefs"]),
    ("event", &["tracefs"]),
    ("perf_data", &["event", "trace_file", "tracefs"]),
    ("symbols", &["event"]),
    ("cmdline_cache", &["event"]),
    ("contention", &["event"]),
    ("aggregate", &[]),
    ("report", &["aggregate", "contention", "event"]),
    ("output", &["report", "symbols", "event"]),
    (
        "pipeline",
        &[
            "tracefs",
            "trace_file",
            "perf_data",
            "event",
            "symbols",
            "cmdline_cache",
            "contention",
            "aggregate",
            "report",
            "output",
            "user_symbols",
        ],
    ),
    (
        "cli",
        &[
            "pipeline",
            "tracefs",
            "trace_file",
            "perf_data",
            "event",
            "symbols",
            "cmdline_cache",
            "contention",
            "report",
            "output",
        ],
    ),
    ("lib", &[]),
];

fn sources(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let below = |path: PathBuf| if path.is_dir() { sources(&path) } else { vec![path] };
    entries.flat_map(below).collect()
}

/// The rooms that a source file names: `crate::room::..`, and `crate::{room, ..}`.
fn rooms_used(text: &str) -> BTreeSet<String> {
    let code = text.lines().filter(|line| !line.trim_start().starts_with("//"));
    let code: String = code.collect::<Vec<_>>().join("\n");
    let name = |text: &str| -> String {
        text.chars().take_while(|c| c.is_ascii_alphanumeric() || *c == '_').collect()
    };
    let mut rooms = BTreeSet::new();
    for rest in code.split("crate::").skip(1) {
        match rest.strip_prefix('{') {
            None => _ = rooms.insert(name(rest)),
            Some(list) => {
                let list = list.split('}').next().unwrap();
                rooms.extend(list.split(',').map(|item| name(item.trim())));
            }
        }
    }
    rooms.remove("");
    rooms
}

#[test]
fn rooms_use_only_what_stands_below_them() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let allowed: BTreeMap<&str, &[&str]> = EDGES.into_iter().collect();
    let mut seen = BTreeSet::new();
    for path in sources(&root) {
        let inside = path.strip_prefix(&root).unwrap();
        let room = inside.components().next().unwrap().as_os_str().to_str().unwrap();
        let room = room.trim_end_matches(".rs");
        if room == "main" {
            continue;
        }
        let edges = allowed.get(room).unwrap_or_else(|| panic!("no room is called {room}"));
        seen.insert(room.to_owned());
        for used in rooms_used(&fs::read_to_string(&path).unwrap()) {
            let fine = used == room || edges.contains(&used.as_str());
            assert!(fine, "{} uses {used}, which {room} must not know", inside.display());
        }
    }
    assert_eq!(seen.len(), EDGES.len(), "{seen:?}");
}

#[test]
fn uses_are_found_in_each_form() {
    let text =
        "use crate::event::{Tid};\nlet a = crate::report::x();\nuse crate::{aggregate, output::b};";
    let expected = ["aggregate", "event", "output", "report"].map(str::to_owned);
    assert_eq!(rooms_used(text), expected.into());
    assert!(rooms_used("// use crate::cli;").is_empty());
}

/// Only the mapping module may hold `unsafe`, and each use says why it is sound.
#[test]
fn unsafe_stays_in_the_mapping_module() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    for path in sources(&root) {
        let text = fs::read_to_string(&path).unwrap();
        let has = text.lines().any(|line| {
            let code = line.split("//").next().unwrap();
            code.contains("unsafe {") || code.contains("unsafe fn") || code.contains("unsafe impl")
        });
        assert!(!has || path.ends_with("tracefs/mmap.rs"), "{}", path.display());
    }
}

/// `cases.md` names tests by file and name: a name that is gone says so here.
#[test]
fn every_test_that_the_cases_name_is_there() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let cases = fs::read_to_string(root.join("tests/cases.md")).unwrap();
    let in_sources = sources(&root.join("src")).into_iter();
    let in_tests =
        ["live", "names", "recordings"].map(|name| sources(&root.join("tests").join(name)));
    let paths = in_sources.chain(in_tests.into_iter().flatten());
    let texts: String = paths.map(|path| fs::read_to_string(path).unwrap()).collect();
    let is_name =
        |word: &&str| word.matches('_').count() > 2 && word.starts_with(char::is_lowercase);
    let words = cases.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
    let names: BTreeSet<&str> = words.filter(is_name).collect();
    assert!(names.len() > 25, "{names:?}");
    let gone: Vec<_> = names.iter().filter(|name| !texts.contains(&format!("fn {name}"))).collect();
    assert!(gone.is_empty(), "{gone:?}");
}
