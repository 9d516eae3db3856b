//! Files of trace-cmd, by its versions 2 to 3.1, against what trace-cmd itself reads in them.

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};
use std::process::Command;

use ftlock::trace_file::{Buffer, Compression, CpuExtent, TraceFile, Version};
use ftlock::tracefs::{Endian, EventFormat, Step, walk};

use crate::fixtures;

/// A file as the index describes it. `-` and `not stored` stand for nothing.
struct Described<'a> {
    fields: HashMap<&'a str, &'a str>,
}

impl Described<'_> {
    fn text(&self, column: &str) -> Option<&str> {
        Some(self.fields[column]).filter(|text| !["-", "not stored", ""].contains(text))
    }

    fn number(&self, column: &str) -> usize {
        self.fields[column].parse().unwrap()
    }
}

/// What a file's rings hold.
#[derive(Default)]
pub(crate) struct Contents {
    /// By CPU, then in order: time and event id.
    pub(crate) events: BTreeMap<u16, Vec<(u64, u16)>>,
    pub(crate) losses: Vec<Option<u64>>,
}

/// Reads all rings of all buffers, a few sub-buffers at a time.
pub(crate) fn contents(file: &TraceFile) -> Contents {
    let mut contents = Contents::default();
    for buffer in &file.buffers {
        for extent in &buffer.cpus {
            read_ring(file, buffer, extent, &mut contents);
        }
    }
    contents
}

fn read_ring(file: &TraceFile, buffer: &Buffer, extent: &CpuExtent, contents: &mut Contents) {
    let (layout, abi) = (file.layout(buffer), file.abi());
    let mut ring = file.cpu_data(buffer, extent);
    let events = contents.events.entry(extent.cpu).or_default();
    while let Some(piece) = ring.next(3 * layout.size_bytes() + 1).unwrap() {
        assert!(piece.len() <= 3 * layout.size_bytes());
        for page in piece.chunks(layout.size_bytes()) {
            for step in walk(page, &layout, abi, None) {
                match step {
                    Step::Record(record) => {
                        let id = abi.uint(record.payload, 2).unwrap();
                        events.push((record.ts, u16::try_from(id).unwrap()));
                    }
                    Step::Lost { missed } => contents.losses.push(missed),
                    Step::Fault(fault) => panic!("{fault}"),
                }
            }
        }
    }
}

/// Unpacks what is kept as `.gz`, so that it lies in a file as it was recorded.
pub(crate) fn in_place(path: &Path, folder: &tempfile::TempDir) -> PathBuf {
    if path.extension().is_some_and(|end| end != "gz") {
        return path.to_owned();
    }
    let plain = folder.path().join(fixtures::name(path));
    std::fs::write(&plain, fixtures::read(&path.with_extension(""))).unwrap();
    plain
}

#[test]
fn files_of_trace_cmd_hold_what_it_reads_in_them() {
    let Some(traces) = fixtures::shared("traces") else { return };
    let index = fixtures::text(&traces.join("INDEX.tsv"));
    let mut lines = index.lines();
    let columns: Vec<_> = lines.next().unwrap().split('\t').collect();
    let folder = tempfile::tempdir().unwrap();
    let mut files = 0;
    for line in lines {
        let fields = columns.iter().copied().zip(line.split('\t').chain(std::iter::repeat("")));
        let described = Described { fields: fields.collect() };
        println!("{}", described.fields["file"]);
        let path = in_place(&traces.join(described.fields["file"]), &folder);
        check(&TraceFile::open(&path).unwrap(), &described);
        check_with_trace_cmd(&path);
        files += 1;
    }
    assert!(files >= 17, "{files}");
}

fn check(file: &TraceFile, described: &Described<'_>) {
    assert!(file.notes.is_empty(), "{:?}", file.notes);
    let compression = match described.fields["compression"] {
        "zstd" => Compression::Zstd,
        _ => Compression::None,
    };
    assert_eq!(file.head.compression, compression);
    let version = if described.fields["version"] == "v6" { Version::V6 } else { Version::V7 };
    assert_eq!(file.head.version, version);
    assert_eq!((file.head.endian, described.fields["endian"]), (Endian::Little, "LE"));
    let (stated, of_kernel) = described.fields["long(header/page)"].split_once('/').unwrap();
    assert_eq!(file.head.user_long_size_bytes.to_string(), stated);
    match of_kernel {
        // Converted from a 32-bit machine's file, by a trace-cmd that stated its own word size.
        "?" if described.fields["file"].contains("arm32") => {
            assert_eq!((stated, file.abi().long_size_bytes), ("8", 4));
        }
        "?" => assert_eq!(file.abi().long_size_bytes, 8),
        of_kernel => assert_eq!(file.abi().long_size_bytes.to_string(), of_kernel),
    }
    assert_eq!(file.options.clock.as_deref(), described.text("clock"));
    let kernel = described.text("kernel");
    match (&file.options.uname, kernel) {
        (Some(uname), Some(kernel)) => assert!(uname.ends_with(kernel), "{uname}"),
        (uname, kernel) => assert_eq!((uname.as_deref(), kernel), (None, None)),
    }
    let names: Vec<_> = file.buffers.iter().map(|buffer| buffer.name.as_str()).collect();
    assert_eq!(names.join(""), described.text("buffers").unwrap_or_default());
    let cpus = file.buffers.iter().map(|buffer| buffer.cpus.len()).max().unwrap();
    assert_eq!(cpus, described.number("cpus"));
    for buffer in &file.buffers {
        assert_eq!(buffer.page_size_bytes as usize, described.number("page"));
        assert_eq!(file.layout(buffer).size_bytes(), described.number("page"));
    }
    check_events(file, described);
}

fn check_events(file: &TraceFile, described: &Described<'_>) {
    let formats = file.texts.formats().map(|text| EventFormat::parse(text).unwrap());
    let names: HashMap<u16, String> = formats.map(|format| (format.id, format.name)).collect();
    let contents = contents(file);
    let ids: Vec<u16> = contents.events.values().flatten().map(|&(_, id)| id).collect();
    let count = |prefix: &str| ids.iter().filter(|id| names[id].starts_with(prefix)).count();
    assert_eq!(ids.len(), described.number("events"));
    assert_eq!(count("sched_"), described.number("sched_*"));
    assert_eq!(count("contention_"), described.number("contention_*"));
    assert_eq!(contents.losses.len(), described.number("drop_marks"));
}

/// trace-cmd's text of a file, where it is installed.
pub(crate) fn report(path: &Path) -> Option<String> {
    let report = Command::new("trace-cmd").args(["report", "-t", "-i"]).arg(path).output();
    let Ok(report) = report else {
        println!("skipped: no trace-cmd here");
        return None;
    };
    assert!(report.status.success());
    Some(String::from_utf8_lossy(&report.stdout).into_owned())
}

/// We and trace-cmd find the same times, in the same order, on each CPU.
pub(crate) fn check_with_trace_cmd(path: &Path) {
    let Some(report) = report(path) else { return };
    let mut printed: BTreeMap<u16, Vec<u64>> = BTreeMap::new();
    for (cpu, ts_ns) in report.lines().filter_map(cpu_and_time) {
        printed.entry(cpu).or_default().push(ts_ns);
    }
    let events = contents(&TraceFile::open(path).unwrap()).events.into_iter();
    let read = events.map(|(cpu, events)| (cpu, events.iter().map(|&(ts, _)| ts).collect()));
    let read: BTreeMap<u16, Vec<u64>> =
        read.filter(|(_, times): &(_, Vec<_>)| !times.is_empty()).collect();
    assert!(read == printed, "{}", path.display());
}

/// From a line as `  bash-12  [003]  1115.103375204: event:  ...`.
fn cpu_and_time(line: &str) -> Option<(u16, u64)> {
    let (before, behind) = line.split_once("] ")?;
    let (_, cpu) = before.rsplit_once('[')?;
    let (seconds, rest) = behind.trim_start().split_once('.')?;
    let (ns, _) = rest.split_once(':')?;
    let second_ns = seconds.parse::<u64>().ok()? * 1_000_000_000;
    Some((cpu.parse().ok()?, second_ns + ns.parse::<u64>().ok()?))
}
