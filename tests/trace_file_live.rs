//! Recording the running kernel to a trace.dat: against the kernel's own text and trace-cmd's.
//!
//! Needs root and a mounted tracefs; says so and passes where they are not to be had. Every test
//! works in an instance of its own.

#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::print_stdout,
    reason = "helpers of tests fail as tests do, and say what they skip"
)]

use std::collections::{BTreeMap, HashMap};
use std::path::Path;
use std::process::Command;
use std::sync::mpsc;
use std::time::{Duration, Instant};
use std::{env, fs, thread};

use ftlock::trace_file::{Setup, TraceFile, Version, Writer, live_texts};
use ftlock::tracefs::{
    Arena, Config, EventFormat, Instance, Reader, Ring, Step, Tracefs, remove_leftovers, walk,
};
use regex::Regex;

const EVENTS: [(&str, &str); 3] =
    [("sched", "sched_switch"), ("sched", "sched_waking"), ("lock", "contention_begin")];

/// Set for the recorder that is to be killed: the file it records to.
const FILE: &str = "FTLOCK_TEST_FILE";

/// An event: when, in microseconds as the kernel rounds them, and its name.
type Seen = (u64, String);

fn tracefs() -> Option<Tracefs> {
    match Tracefs::find(None) {
        Ok(tracefs) if rustix::process::geteuid().is_root() => Some(tracefs),
        Ok(_) => skip("root is needed"),
        Err(error) => skip(&error.to_string()),
    }
}

fn skip<T>(why: &str) -> Option<T> {
    println!("skipped: {why}");
    None
}

fn instance(tracefs: &Tracefs, subbuf_size_kb: u64) -> Instance {
    let config = Config { subbuf_size_kb, ..Config::default() };
    let mut instance = Instance::create(tracefs, &config).unwrap();
    for (system, event) in EVENTS {
        instance.enable(system, event).unwrap();
    }
    instance
}

fn writer(instance: &Instance, version: Version, path: &Path) -> Writer {
    let setup = Setup {
        version,
        subbuf_size: u32::try_from(instance.subbuf_size()).unwrap(),
        cpus: instance.cpus().unwrap(),
        clock: instance.clock().name().to_owned(),
        uname: "Linux test".to_owned(),
        writer: "ftlock test".to_owned(),
        ftlock: b"{}".to_vec(),
        texts: live_texts(instance, &EVENTS).unwrap(),
    };
    Writer::create(path, &setup).unwrap()
}

/// Two threads that wake each other.
fn load(rounds: usize) {
    let (to_other, from_one) = mpsc::channel::<()>();
    let (to_one, from_other) = mpsc::channel::<()>();
    let other = thread::spawn(move || from_one.iter().for_each(|()| to_one.send(()).unwrap()));
    for _ in 0..rounds {
        to_other.send(()).unwrap();
        from_other.recv().unwrap();
    }
    drop(to_other);
    other.join().unwrap();
}

fn open_rings(instance: &Instance) -> Vec<(u16, Ring)> {
    let cpus = instance.cpus().unwrap().into_iter();
    cpus.map(|cpu| (cpu, instance.open_ring(cpu, Reader::Read).unwrap())).collect()
}

fn append_all(rings: &mut [(u16, Ring)], writer: &mut Writer) {
    for (cpu, ring) in rings {
        let mut arena = Arena::new();
        ring.drain(&mut arena, 4096).unwrap();
        arena.chunks().for_each(|chunk| writer.append(*cpu, chunk.bytes).unwrap());
    }
}

/// The events of each CPU as our reader finds them.
fn events(path: &Path) -> BTreeMap<u16, Vec<Seen>> {
    let file = TraceFile::open(path).unwrap();
    assert!(file.notes.is_empty(), "{:?}", file.notes);
    let formats = file.texts.formats().map(|text| EventFormat::parse(text).unwrap());
    let names: HashMap<u64, String> =
        formats.map(|format| (format.id.into(), format.name)).collect();
    let buffer = &file.buffers[0];
    let (layout, abi) = (file.layout(buffer), file.abi());
    let mut events: BTreeMap<u16, Vec<Seen>> = BTreeMap::new();
    for extent in &buffer.cpus {
        let mut ring = file.cpu_data(buffer, extent);
        while let Some(piece) = ring.next(1 << 20).unwrap() {
            for page in piece.chunks(layout.size_bytes()) {
                for step in walk(page, &layout, abi, None) {
                    match step {
                        Step::Record(record) => {
                            let name = names[&abi.uint(record.payload, 2).unwrap()].clone();
                            let ts_us = (record.ts + 500) / 1000;
                            events.entry(extent.cpu).or_default().push((ts_us, name));
                        }
                        Step::Lost { .. } => {}
                        Step::Fault(fault) => panic!("{fault}"),
                    }
                }
            }
        }
    }
    events
}

/// The events of each CPU in a text: the kernel's, or trace-cmd's with times in ns.
///
/// From lines as `  bash-12  [003] d..2. 15.103375: sched_switch: ...`, with or without the flags.
/// Task names are whatever others have chosen: only what stands behind them is looked at.
fn events_of_text(text: &str) -> BTreeMap<u16, Vec<Seen>> {
    let line = r"\[(\d{3})\] +(?:\S+ +)?(\d+)\.(\d{6}|\d{9}): +(\w+): ";
    let line = Regex::new(line).unwrap();
    let mut events: BTreeMap<u16, Vec<Seen>> = BTreeMap::new();
    for found in text.lines().filter_map(|text| line.captures(text)) {
        let [cpu, seconds, fraction, name] = found.extract().1;
        let number = |text: &str| text.parse::<u64>().unwrap();
        let us = match fraction.len() {
            9 => (number(fraction) + 500) / 1000,
            _ => number(fraction),
        };
        let seen = (number(seconds) * 1_000_000 + us, name.to_owned());
        events.entry(cpu.parse().unwrap()).or_default().push(seen);
    }
    events
}

fn must_be_trace_cmds(path: &Path, events: &BTreeMap<u16, Vec<Seen>>) {
    let report = Command::new("trace-cmd").args(["report", "-t", "-i"]).arg(path).output();
    let Ok(report) = report else { return println!("skipped: no trace-cmd here") };
    assert!(report.status.success(), "{report:?}");
    let printed = events_of_text(&String::from_utf8_lossy(&report.stdout));
    assert!(printed == *events, "trace-cmd reads {} differently", path.display());
}

#[test]
fn a_recording_holds_what_the_kernel_and_trace_cmd_print_of_it() {
    let Some(tracefs) = tracefs() else { return };
    let folder = tempfile::tempdir().unwrap();
    for (version, subbuf_size_kb) in
        [(Version::V6, 4), (Version::V6, 64), (Version::V7, 4), (Version::V7, 64)]
    {
        let mut instance = instance(&tracefs, subbuf_size_kb);
        let path = folder.path().join("trace.dat");
        let mut writer = writer(&instance, version, &path);
        instance.start().unwrap();
        load(3000);
        instance.stop().unwrap();
        let text = fs::read(instance.path().join("trace")).unwrap();
        let text = String::from_utf8_lossy(&text);
        let mut rings = open_rings(&instance);
        append_all(&mut rings, &mut writer);
        for (cpu, _) in &rings {
            let stats = instance.path().join(format!("per_cpu/cpu{cpu}/stats"));
            writer.set_stats(*cpu, &fs::read_to_string(stats).unwrap()).unwrap();
        }
        drop(rings);
        instance.remove().unwrap();
        let saved_cmdlines = fs::read(tracefs.root().join("saved_cmdlines")).unwrap();
        assert_eq!(writer.finish(&saved_cmdlines).unwrap().unmoved_rings, 0);

        let read = events(&path);
        assert!(read.values().map(Vec::len).sum::<usize>() > 6000);
        assert!(events_of_text(&text) == read, "the kernel prints something else");
        must_be_trace_cmds(&path, &read);
        let file = TraceFile::open(&path).unwrap();
        for (stats, (cpu, seen)) in file.options.cpu_stats.iter().zip(&read) {
            let expected = format!("CPU: {cpu}\nentries: 0\noverrun: 0\n");
            assert!(stats.starts_with(&expected), "{stats}");
            assert!(stats.contains(&format!("read events: {}\n", seen.len())), "{stats}");
        }
    }
}

/// The test runs itself once more, as the recorder.
#[test]
fn a_recorder_that_is_killed_leaves_everything_up_to_there() {
    let Some(tracefs) = tracefs() else { return };
    if let Some(path) = env::var_os(FILE) {
        return record_until_killed(&tracefs, Path::new(&path));
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("trace.dat");
    let mut recorder = Command::new(env::current_exe().unwrap())
        .args(["a_recorder_that_is_killed_leaves_everything_up_to_there", "--exact"])
        .env(FILE, &path)
        .spawn()
        .unwrap();
    let deadline = Instant::now() + Duration::from_secs(60);
    let recorded = |path: &Path| -> Option<u64> {
        let file = TraceFile::open(path).ok()?;
        Some(file.buffers[0].cpus.iter().map(|extent| extent.size_bytes).sum())
    };
    while recorded(&path).is_none_or(|bytes| bytes < 1 << 20) {
        assert!(Instant::now() < deadline && recorder.try_wait().unwrap().is_none());
        thread::sleep(Duration::from_millis(5));
    }
    recorder.kill().unwrap();
    recorder.wait().unwrap();
    remove_leftovers(&tracefs).unwrap();

    let read = events(&path);
    assert!(read.values().map(Vec::len).sum::<usize>() > 10_000);
    must_be_trace_cmds(&path, &read);
}

/// Ends by itself if nobody kills it.
fn record_until_killed(tracefs: &Tracefs, path: &Path) {
    let mut instance = instance(tracefs, 64);
    let mut writer = writer(&instance, Version::V7, path);
    let mut rings = open_rings(&instance);
    instance.start().unwrap();
    let end = Instant::now() + Duration::from_secs(60);
    while Instant::now() < end {
        load(1000);
        append_all(&mut rings, &mut writer);
    }
}
