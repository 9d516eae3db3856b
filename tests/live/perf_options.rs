//! The command lines of `perf lock contention`, each with a sign of its effect: `perf_options.tsv`.

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::{Command, Output, Stdio};

use regex::Regex;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use crate::support::{ftlock, live, until};

const LIST: &str = include_str!("../perf_options.tsv");
const DOCUMENT: &str = include_str!("../../docs/perf-lock.md");

/// Kernel symbols that name almost nothing.
const KALLSYMS: &str = "ffffffff81000000 T the_only_function\nffffffff81000010 T _etext\n";

struct Line {
    option: &'static str,
    relation: &'static str,
    arguments: &'static str,
    status: i32,
    sign: &'static str,
}

fn lines() -> Vec<Line> {
    let lines = LIST.lines().filter(|line| !line.starts_with('#'));
    lines
        .map(|line| match line.split('\t').collect::<Vec<_>>()[..] {
            [option, relation, arguments, status, sign] => {
                Line { option, relation, arguments, status: status.parse().unwrap(), sign }
            }
            _ => panic!("not five fields: {line}"),
        })
        .collect()
}

/// What stands for `{name}` in a line.
struct Stage {
    names: BTreeMap<&'static str, String>,
    _folder: tempfile::TempDir,
}

impl Stage {
    fn new() -> Stage {
        let folder = tempfile::tempdir().unwrap();
        let kallsyms = folder.path().join("kallsyms");
        fs::write(&kallsyms, KALLSYMS).unwrap();
        let path = |path: &Path| path.to_str().unwrap().to_owned();
        let names = [("{kallsyms}", path(&kallsyms)), ("{file}", path(&folder.path().join("r")))];
        Stage { names: names.into(), _folder: folder }
    }

    fn filled(&self, text: &str) -> String {
        self.names.iter().fold(text.to_owned(), |text, (name, value)| text.replace(name, value))
    }

    /// Runs a line over a workload.
    fn run(&mut self, line: &Line, form: &[&str]) -> Output {
        if line.arguments.contains("{pid}") {
            return self.run_beside(line, form);
        }
        let own = env!("CARGO_BIN_EXE_ftlock");
        let workload = ["--", own, "demo-workload", "--duration", "300ms"];
        self.command(line, form).args(workload).output().unwrap()
    }

    /// Over one that is there already: it stands still until it is recorded.
    fn run_beside(&mut self, line: &Line, form: &[&str]) -> Output {
        let script = "kill -STOP $$; exec $FTLOCK demo-workload --duration 500ms";
        let own = env!("CARGO_BIN_EXE_ftlock");
        let mut workload =
            Command::new("sh").args(["-c", script]).env("FTLOCK", own).spawn().unwrap();
        let stat = format!("/proc/{}/stat", workload.id());
        until("the workload stands still", || {
            fs::read_to_string(&stat).is_ok_and(|stat| stat.contains(") T "))
        });
        self.names.insert("{pid}", workload.id().to_string());
        let mut recording =
            self.command(line, form).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut stdout = BufReader::new(recording.stdout.take().unwrap());
        let mut text = String::new();
        stdout.read_line(&mut text).unwrap();
        kill_process(Pid::from_child(&workload), Signal::CONT).unwrap();
        stdout.read_to_string(&mut text).unwrap();
        workload.wait().unwrap();
        Output { stdout: text.into(), ..recording.wait_with_output().unwrap() }
    }

    fn command(&self, line: &Line, form: &[&str]) -> Command {
        let arguments = self.filled(line.arguments);
        let arguments: Vec<&str> = arguments.split_whitespace().collect();
        ftlock(&[&["record"], form, &arguments[..]].concat())
    }
}

/// The rows of the summary, which the stream of JSON lines ends with.
fn rows(output: &Output) -> Vec<Value> {
    let text = String::from_utf8_lossy(&output.stdout);
    let summary: Value = serde_json::from_str(text.lines().last().unwrap()).unwrap();
    summary["rows"].as_array().unwrap().clone()
}

fn shown(row: &Value, field: &str) -> String {
    row[field].as_str().map_or_else(|| row[field].to_string(), str::to_owned)
}

/// Which form of the results a sign is looked for in.
fn form(line: &Line) -> &'static [&'static str] {
    let raw = line.arguments.starts_with("-D") || line.arguments.starts_with("--dump");
    match line.sign.split(' ').next().unwrap() {
        "stdout" if raw => &["--stream", "text"],
        "report" => &[],
        "stdout" | "no-stdout" | "stderr" | "file" | "footer" => &["--stream", "none"],
        _ => &["--stream", "json"],
    }
}

/// Whether the sign is there.
fn is_there(sign: &str, output: &Output, file: &str) -> bool {
    let (kind, rest) = sign.split_once(' ').unwrap();
    let matches = |text: &[u8]| Regex::new(rest).unwrap().is_match(&String::from_utf8_lossy(text));
    let each = |rest: &str| {
        let (field, pattern) = rest.split_once(' ').unwrap();
        let pattern = Regex::new(pattern).unwrap();
        rows(output).iter().all(|row| pattern.is_match(&shown(row, field)))
    };
    match kind {
        "stdout" | "report" | "footer" => matches(&output.stdout),
        "no-stdout" => !matches(&output.stdout),
        "stderr" => matches(&output.stderr),
        "file" => output.stdout.is_empty() && matches(&fs::read(file).unwrap()),
        "rows" => rows(output).len().to_string() == rest,
        "each" => !rows(output).is_empty() && each(rest),
        "only" => each(rest),
        "falls" => {
            let values = rows(output).into_iter().map(|row| row[rest].as_u64().unwrap());
            let values: Vec<u64> = values.collect();
            values.len() > 2 && values.is_sorted_by(|a, b| a >= b)
        }
        "distinct" => {
            let key = |row: &Value| rest.split(' ').map(|f| shown(row, f)).collect::<Vec<_>>();
            let mut keys: Vec<_> = rows(output).iter().map(key).collect();
            let count = keys.len();
            keys.sort();
            keys.dedup();
            count > 2 && keys.len() == count
        }
        _ => panic!("no such sign: {sign}"),
    }
}

#[test]
fn perfs_command_lines_do_what_the_list_says() {
    let Some(_alone) = live() else { return };
    let mut stage = Stage::new();
    let mut wrong = Vec::new();
    for line in lines() {
        let output = stage.run(&line, form(&line));
        let (sign, file) = (stage.filled(line.sign), stage.filled("{file}"));
        let status = output.status.code();
        if status != Some(line.status) || !is_there(&sign, &output, &file) {
            let texts = [&output.stderr, &output.stdout].map(|text| String::from_utf8_lossy(text));
            let last = texts.map(|text| text.lines().last().unwrap_or_default().to_owned());
            wrong.push(format!("{} gives {status:?} without {sign}: {last:?}", line.arguments));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// The document's table and the list have the same options, and say the same of them.
#[test]
fn the_document_lists_the_same_options() {
    let lines = lines();
    let listed: BTreeMap<&str, &str> =
        lines.iter().map(|line| (line.option, line.relation)).collect();
    assert!(lines.iter().all(|line| listed[line.option] == line.relation));
    let rows = DOCUMENT.lines().filter_map(|line| line.strip_prefix("| `"));
    let mut documented: BTreeMap<&str, &str> = BTreeMap::new();
    for row in rows {
        let mut cells = row.split(" | ");
        let (options, relation) = (cells.next().unwrap(), cells.next().unwrap());
        for option in options.trim_end_matches('`').split("`, `") {
            documented.insert(option, relation);
        }
    }
    assert_eq!(documented, listed);
}
