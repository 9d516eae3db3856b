//! The report for programs, and on a terminal.

use std::process::{Command, Stdio};

use serde_json::Value;

use crate::decoder::decode;
use crate::support::{assert_sound, ftlock, live};

fn demo(arguments: &[&str]) -> (String, String) {
    let run = ftlock(&[&["demo", "--duration", "500ms"], arguments].concat()).output().unwrap();
    let (out, err) =
        (String::from_utf8(run.stdout).unwrap(), String::from_utf8(run.stderr).unwrap());
    assert_eq!(run.status.code(), Some(0), "{out}{err}");
    (out, err)
}

fn number(value: &Value) -> u64 {
    value.as_u64().unwrap()
}

#[test]
fn the_json_report_is_one_object_whose_rows_add_up() {
    let Some(_alone) = live() else { return };
    let (out, _) = demo(&["--format", "json", "--by", "comm,type", "-M", "3"]);
    assert_eq!(out.lines().count(), 1, "{out}");
    let report: Value = serde_json::from_str(&out).unwrap();
    assert_sound(&report);
    let rows = report["rows"].as_array().unwrap().iter();
    let rows: Vec<&Value> = rows.chain(report["overflow"].as_array().unwrap()).collect();
    for column in ["contended", "wait_total", "failed", "uncertain"] {
        let sum: u64 = rows.iter().map(|row| number(&row[column])).sum();
        assert_eq!(sum, number(&report["totals"][column]), "{column}");
    }
    let overflow = report["overflow"].as_array().unwrap().iter();
    let waits = |row: &Value| ["contended", "failed", "uncertain"].map(|c| number(&row[c]));
    let refused: u64 = overflow.flat_map(waits).sum();
    assert!(refused > 0, "{report}");
    assert_eq!(report["bad"]["data"], refused);
    let run = &report["run"];
    assert!(run["command"][1] == "demo-workload" && run["clock"] == "mono", "{run}");
    let traced_ns = number(&run["end"]) - number(&run["start"]);
    assert!((500_000_000..=traced_ns).contains(&number(&run["duration_ns"])), "{run}");
    let written = report["quality"]["cpus"].as_array().unwrap().iter();
    let written: u64 = written.map(|cpu| number(&cpu["written"])).sum();
    assert_eq!(report["overhead"]["events"], written);
    let cpu_ns = number(&report["overhead"]["cpu_ns"]);
    assert!(cpu_ns > 0 && cpu_ns < traced_ns * 64, "{}", report["overhead"]);
}

/// What perf's own test of its CSV asks for (tools/perf/tests/shell/lock_contention.sh): as many
/// separators in a row as in the header. Further, the sums.
#[test]
fn perfs_csv_has_as_many_cells_everywhere_and_adds_up() {
    let Some(_alone) = live() else { return };
    let tails = [
        (None, ["type", "caller", "stacktrace"].as_slice()),
        (Some("-t"), &["pid", "comm"]),
        (Some("-l"), &["address", "symbol", "type"]),
    ];
    for (option, tail) in tails {
        let mut arguments = vec!["-v", "-x", ","];
        arguments.extend(option);
        let (out, _) = demo(&arguments);
        let header = out.lines().next().unwrap();
        let titles: Vec<&str> = header.strip_prefix("# output: ").unwrap().split(", ").collect();
        assert_eq!(titles[..4], ["contended", "total wait", "max wait", "avg wait"]);
        assert_eq!(&titles[4..], tail);
        let rows: Vec<&str> = out.lines().filter(|line| !line.starts_with('#')).collect();
        let mut contended = 0;
        for row in &rows {
            assert_eq!(row.matches(',').count(), header.matches(',').count(), "{row}");
            let figures: Vec<u64> =
                row.split(", ").take(4).map(|cell| cell.parse().unwrap()).collect();
            assert_eq!(figures[1].checked_div(figures[0]).unwrap_or(0), figures[3], "{row}");
            contended += figures[0];
        }
        let line = |start| out.lines().find(|line| line.starts_with(start)).unwrap_or_default();
        let term = |line: &str, name: &str| -> u64 {
            let mut terms = line.split([' ', ',']);
            terms
                .find_map(|term| term.strip_prefix(name)?.strip_prefix('='))
                .unwrap()
                .parse()
                .unwrap()
        };
        let debug = line("# debug: total=");
        let others = ["failed", "uncertain"].map(|name| term(line("# ftlock: "), name));
        let in_no_row = ["bad_task", "bad_time"].map(|name| term(debug, name));
        let rest: u64 = others.into_iter().chain(in_no_row).sum();
        assert_eq!(term(debug, "total"), contended + rest, "{out}");
        assert!(term(line("# overhead: "), "cpu_ns") > 0, "{out}");
    }
}

#[test]
fn plain_csv_is_read_by_a_csv_reader_and_adds_up() {
    let Some(_alone) = live() else { return };
    let (out, err) = demo(&["--format", "csv", "--by", "task,caller", "-k", "contended"]);
    let mut reader = csv::Reader::from_reader(out.as_bytes());
    let header = ["tid", "comm", "type", "caller", "contended"];
    assert_eq!(reader.headers().unwrap().iter().take(5).collect::<Vec<_>>(), header);
    let rows = reader.records().map(|row| row.unwrap()[4].parse::<u64>().unwrap());
    let contended: u64 = rows.sum();
    let footer = err.lines().find(|line| line.contains(" waits in ")).unwrap().replace(',', "");
    assert!(
        footer.contains(&format!(" CPUs: {contended} got the lock"))
            || footer.contains(&format!(" CPU: {contended} got the lock")),
        "{contended}: {err}"
    );
    let (_, err) = demo(&["--format", "csv", "-q"]);
    assert_eq!(err, "");
}

#[test]
fn two_formats_on_stdout_are_refused() {
    for arguments in [
        ["--stream=json", "--format", "csv"],
        ["--stream=text", "-x", ","],
        ["--raw", "--format", "json"],
        ["--stream=none", "-x", "a+b"],
    ] {
        let run = ftlock(&[&["record"][..], &arguments].concat()).output().unwrap();
        assert_eq!(run.status.code(), Some(2), "{arguments:?}");
        assert!(run.stdout.is_empty() && !run.stderr.is_empty(), "{arguments:?}");
    }
}

/// Runs `ftlock` with these arguments on a terminal of 75 columns; gives what came to it.
fn on_a_terminal(arguments: &str, environment: &[(&str, &str)]) -> Option<String> {
    let command = format!("stty cols 75; {} {arguments}", env!("CARGO_BIN_EXE_ftlock"));
    let mut script = Command::new("script");
    script.args(["-qec", &command, "/dev/null"]).stdin(Stdio::null());
    script.env_remove("NO_COLOR").env("TERM", "xterm").envs(environment.iter().copied());
    match script.output() {
        Ok(run) => Some(String::from_utf8(run.stdout).unwrap()),
        Err(error) => {
            println!("skipped: script: {error}");
            None
        }
    }
}

#[test]
fn a_terminal_gets_colours_and_lines_that_fit_and_nothing_else_does() {
    let Some(_alone) = live() else { return };
    let demo_only = "demo --duration 500ms --stream none";
    let Some(plain) = on_a_terminal(demo_only, &[("NO_COLOR", "1")]) else { return };
    // Notes may stand before it.
    let header = |text: &str| {
        text.lines().find(|line| line.contains(" contended ")).unwrap_or_default().to_owned()
    };
    assert!(!plain.contains('\x1b'), "{plain}");
    let rows = plain.lines().skip_while(|line| !line.contains(" contended ")).skip(2);
    let rows: Vec<&str> = rows.take_while(|line| !line.trim().is_empty()).collect();
    assert!(!rows.is_empty(), "{plain}");
    assert!(rows.iter().all(|row| row.trim_end().chars().count() <= 75), "{plain}");
    assert!(rows.iter().any(|row| row.trim_end().ends_with('\u{2026}')), "{plain}");
    let coloured = on_a_terminal(demo_only, &[]).unwrap();
    assert!(header(&coloured).starts_with("\x1b[2m contended"), "{coloured}");
    let refused = on_a_terminal(&format!("{demo_only} --color never"), &[]).unwrap();
    assert!(!refused.contains('\x1b'), "{refused}");
    let (piped, _) = demo(&["--stream", "none"]);
    assert!(!piped.contains(['\x1b', '\u{2026}']), "{piped}");
    let (forced, _) = demo(&["--stream", "none", "--color", "always"]);
    assert!(header(&forced).starts_with("\x1b[2m contended"), "{forced}");
}

/// The line is taken away as it came: what is left of the last is erased before anything else.
#[test]
fn the_status_line_says_how_it_goes_and_leaves_no_trace() {
    let Some(_alone) = live() else { return };
    let waiter = "sleep 2 & pid=$!; ";
    let command = format!(
        "stty cols 60; {waiter}{} record -p $pid -E 0 --stream none",
        env!("CARGO_BIN_EXE_ftlock")
    );
    let script =
        Command::new("script").args(["-qec", &command, "/dev/null"]).stdin(Stdio::null()).output();
    let Ok(run) = script else { return println!("skipped: no script") };
    let text = String::from_utf8(run.stdout).unwrap();
    let lines: Vec<&str> = text.split("\r\x1b[K").collect();
    assert!(lines.len() > 3, "{text:?}");
    let (first, last) = (lines[0], lines[lines.len() - 1]);
    assert!(!first.contains("% CPU") && !last.contains("% CPU"), "{text:?}");
    assert!(last.starts_with(' ') && last.contains(" waits in "), "{text:?}");
    for line in &lines[1..lines.len() - 1] {
        assert!(line.starts_with("ftlock: ") && line.contains(" waits, "), "{line:?}");
        assert!(!line.contains('\n') && line.chars().count() < 60, "{line:?}");
    }
}

/// The trace and the lines are of one run: as many waits, each with its length, and an arrow for each holder.
#[test]
fn a_trace_for_perfetto_holds_the_waits_of_the_lines_beside_it() {
    let Some(_alone) = live() else { return };
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("waits.pftrace");
    let place = file.to_str().unwrap();
    let (lines, _) =
        demo(&["--sched", "--stream", "json", "--format", "perfetto", "--output", place]);
    let records: Vec<Value> =
        lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let waits: Vec<&Value> = records.iter().filter(|record| record["record"] == "wait").collect();
    let decoded = decode(&std::fs::read(&file).unwrap());
    let ended = decoded.slices.iter().filter(|slice| !slice.is_instant && slice.category != "loss");
    let mut slices: Vec<(u64, u64, String)> =
        ended.filter_map(|slice| Some((slice.begin, slice.end?, slice.category.clone()))).collect();
    let kind = |wait: &Value| wait["kind"].as_str().unwrap().to_owned();
    let mut expected: Vec<_> =
        waits.iter().map(|wait| (number(&wait["ts"]), number(&wait["end"]), kind(wait))).collect();
    slices.sort();
    expected.sort();
    assert!(!expected.is_empty());
    assert_eq!(slices, expected);
    let mut held: Vec<u64> =
        waits.iter().filter_map(|wait| wait["holder"]["ts"].as_u64()).collect();
    let mut arrows: Vec<u64> =
        decoded.arrows.iter().map(|(from, _)| decoded.slices[*from].begin).collect();
    held.sort_unstable();
    arrows.sort_unstable();
    assert!(!held.is_empty());
    assert_eq!(arrows, held);
}

#[test]
fn what_is_not_text_is_not_for_a_terminal() {
    let Some(said) = on_a_terminal("demo --format perfetto", &[]) else { return };
    let expected = "--format perfetto is not for a terminal: name a file with --output FILE";
    assert!(said.contains(expected) && !said.contains('\0'), "{said}");
}
