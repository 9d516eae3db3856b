//! What perf's own test asks of `perf lock contention` (tests/shell/lock_contention.sh, 6.1 to
//! 7.3), asked of ours: one row where one is asked for, filters that leave only what they name, CSV
//! with as many separators in a row as in its headings. The load is perf's: messages over sockets.

use std::process::Command;

use crate::support::{ftlock, live};

/// Messages between many processes over sockets.
fn messages() -> Option<&'static [&'static str]> {
    const BENCHES: [&[&str]; 2] = [
        &["perf", "bench", "sched", "messaging", "-g", "4", "-l", "50"],
        &["hackbench", "-g", "4"],
    ];
    let there = |bench: &&&[&str]| Command::new(bench[0]).arg("--help").output().is_ok();
    let found = BENCHES.iter().find(there).copied();
    if found.is_none() {
        println!("skipped: neither perf nor hackbench here");
    }
    found
}

/// The lines of the rows alone.
fn rows(arguments: &[&str]) -> Option<Vec<String>> {
    report(&[arguments, &["-q"]].concat())
}

/// The report's lines; the load's own words stay on stdout.
fn report(arguments: &[&str]) -> Option<Vec<String>> {
    let folder = tempfile::tempdir().unwrap();
    let report = folder.path().join("report");
    let output = ["--stream", "none", "--output", report.to_str().unwrap()];
    let all = [&["record"], arguments, &output, &["--"], messages()?].concat();
    let run = ftlock(&all).output().unwrap();
    assert_eq!(run.status.code(), Some(0), "{arguments:?}: {run:?}");
    Some(std::fs::read_to_string(report).unwrap().lines().map(str::to_owned).collect())
}

#[test]
fn one_row_is_one_line_in_every_mode() {
    let Some(_alone) = live() else { return };
    let modes: [&[&str]; 5] = [
        &["-E", "1"],
        &["-a", "-b", "-E", "1"],
        &["-t", "-E", "1"],
        &["-l", "-E", "1"],
        &["-ablE1"],
    ];
    for mode in modes {
        let Some(rows) = rows(mode) else { return };
        assert_eq!(rows.len(), 1, "{mode:?}: {rows:#?}");
    }
}

/// The cgroup with the most waits is asked for, and is all that is left.
#[test]
fn a_cgroup_leaves_no_other_cgroup() {
    let Some(_alone) = live() else { return };
    let Some(first) = rows(&["-a", "--lock-cgroup", "-E", "1"]) else { return };
    assert_eq!(first.len(), 1);
    // A long path is cut in the table, not in CSV.
    let most = rows(&["-x", ";", "--lock-cgroup", "-E", "1"]).unwrap();
    let group = |row: &String| row.rsplit_once("; ").unwrap().1.to_owned();
    let only = rows(&["-x", ";", "--lock-cgroup", "-G", &group(&most[0])]).unwrap();
    assert!(!only.is_empty());
    let is_inside = |row: &String| group(row).starts_with(&group(&most[0]));
    assert!(only.iter().all(is_inside), "{most:?}: {only:#?}");
}

/// perf counts separators: five of them in the header, and in each row.
#[test]
fn csv_has_as_many_separators_in_a_row_as_in_its_header() {
    let Some(_alone) = live() else { return };
    let Some(plain) = report(&["-x", ",", "-E", "1"]) else { return };
    let separators = |line: &str| line.matches(',').count();
    let (comments, rows): (Vec<_>, Vec<_>) = plain.iter().partition(|line| line.starts_with('#'));
    assert!(comments[0].starts_with("# output: "), "{plain:#?}");
    assert_eq!((separators(comments[0]), rows.len()), (5, 1), "{plain:#?}");
    assert_eq!(separators(rows[0]), 5, "{plain:#?}");
}

#[test]
fn a_type_leaves_no_other_type() {
    let Some(_alone) = live() else { return };
    for mode in [&["-a", "-Y", "spinlock"][..], &["-Y", "spinlock", "-l"]] {
        let Some(rows) = rows(mode) else { return };
        assert!(!rows.is_empty(), "{mode:?}");
        assert!(rows.iter().all(|row| row.contains("spinlock")), "{mode:?}: {rows:#?}");
    }
}

/// perf asks for `tasklist_lock`, which only a kernel with data symbols can find. Here it is an
/// address that was seen before, and where the kernel has it also that name.
#[test]
fn a_lock_leaves_no_other_lock() {
    let Some(_alone) = live() else { return };
    // A lock that outlives the load: many CPUs' work goes through it.
    let Some(seen) = rows(&["-a", "-l", "-Y", "spinlock", "-k", "contended", "-E", "4"]) else {
        return;
    };
    let address = |row: &String| {
        let mut words = row.split_whitespace();
        words
            .find(|word| word.len() == 16 && word.bytes().all(|b| b.is_ascii_hexdigit()))
            .unwrap()
            .to_owned()
    };
    let locks: Vec<String> = seen.iter().map(address).collect();
    let rows = rows(&["-a", "-l", "-L", &locks.join(",")]).unwrap();
    assert!(!rows.is_empty(), "{locks:?}");
    assert!(rows.iter().all(|row| locks.contains(&address(row))), "{locks:?}: {rows:#?}");

    let named = ftlock(&["record", "--stream", "none", "-L", "tasklist_lock", "--", "true"])
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&named.stderr);
    match named.status.code() {
        Some(0) => {}
        status => assert!(status == Some(2) && said.contains("-L tasklist_lock: "), "{said}"),
    }
}

#[test]
fn a_stack_filter_leaves_the_callers_of_its_symbols() {
    let Some(_alone) = live() else { return };
    let Some(callers) = rows(&["-a", "-S", "unix_stream", "-E", "1"]) else { return };
    assert_eq!(callers.len(), 1);
    // Whoever waits below unix_stream_* is part of the load.
    let tasks = rows(&["-S", "unix_stream", "-t"]).unwrap();
    assert!(!tasks.is_empty());
    let ours = |row: &String| {
        ["sched-messaging", "hackbench", "perf", "[softirq]", "[hardirq]"]
            .iter()
            .any(|name| row.ends_with(name))
    };
    assert!(tasks.iter().all(ours), "{tasks:#?}");
}
