//! Recordings of many kernels (see the `README.md` beside them).

use std::collections::HashMap;
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};

use ftlock::cmdline_cache::proc::kernels_comm;
use ftlock::cmdline_cache::{CmdlineCache, SeededTask};
use ftlock::event::{Comm, Stamp, TaskEvent, Tid};

use super::compare::{apply_all, compare, switched, task_event};
use super::text::{Record, between, records};

const SCENARIOS: [&str; 5] = ["plain", "fresh", "pid-recycle", "weird-comm", "weird-comm-ctl"];

fn kernels() -> Option<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let places = ["../shared/fixtures/kernels", "../../shared/fixtures/kernels"];
    places.into_iter().map(|place| root.join(place)).find(|place| place.is_dir())
}

/// A file of a recording, whether it is compressed there or not.
fn read(folder: &Path, name: &str) -> Vec<u8> {
    let plain = folder.join(name);
    if plain.exists() {
        return fs::read(plain).unwrap();
    }
    let packed = fs::File::open(folder.join(format!("{name}.zst"))).unwrap();
    let mut text = Vec::new();
    let mut decoder = ruzstd::decoding::StreamingDecoder::new(packed).unwrap();
    decoder.read_to_end(&mut text).unwrap();
    text
}

/// `\xNN` stands for a byte.
fn unescaped(text: &str) -> Vec<u8> {
    let mut parts = text.split("\\x");
    let mut bytes = parts.next().unwrap().as_bytes().to_vec();
    for part in parts {
        bytes.push(u8::from_str_radix(&part[..2], 16).unwrap());
        bytes.extend_from_slice(&part.as_bytes()[2..]);
    }
    bytes
}

/// /proc at the start: tid, tgid, ppid, start time, state, kernel thread, comm.
fn seed(cache: &mut CmdlineCache, tasks: &[u8]) {
    const KERNEL_WORKER: u32 = 0x0020_0020;
    const KERNEL: u32 = 0x0020_0000;
    for line in String::from_utf8_lossy(tasks).lines().filter(|line| !line.starts_with('#')) {
        let fields: Vec<&str> = line.splitn(7, '\t').collect();
        let shown = unescaped(fields[6]);
        let kernel_thread = fields[5] == "1";
        let flags = match kernel_thread {
            true if shown.starts_with(b"kworker/") => KERNEL_WORKER,
            true => KERNEL,
            false => 0,
        };
        let task = SeededTask {
            tid: Tid(fields[0].parse().unwrap()),
            tgid: Tid(fields[1].parse().unwrap()),
            comm: kernels_comm(&shown, flags),
            start_time: fields[3].parse().unwrap(),
            kernel_thread,
        };
        cache.seed(&task, Stamp::MIN);
    }
}

/// The recordings' /proc was read just before the trace was switched on: what happened between
/// the two is lost. This is when the trace begins.
fn beginning() -> Stamp {
    Stamp::before(1)
}

/// What /proc would have said of a task when the trace began: its name in the first switch that
/// it is part of, if no event of its own comes first.
fn names_at_the_beginning(records: &[Record]) -> HashMap<Tid, Option<Comm>> {
    let mut first = HashMap::new();
    for record in records {
        match task_event(record) {
            Some(TaskEvent::New { tid, .. } | TaskEvent::Rename { tid, .. }) => {
                first.entry(tid).or_insert(None);
            }
            _ => {
                for (tid, comm) in switched(record).into_iter().flatten() {
                    first.entry(tid).or_insert(Some(comm));
                }
            }
        }
    }
    first
}

/// How many records the text says it has.
fn records_announced(text: &[u8]) -> usize {
    let count = between(text, "entries-in-buffer/entries-written: ", "#P:").unwrap();
    let digits = count.iter().take_while(|byte| byte.is_ascii_digit()).count();
    str::from_utf8(&count[..digits]).unwrap().parse().unwrap()
}

/// One recording: nothing may be wrong that we say we know, and once /proc is read behind the
/// beginning of the trace, nothing may be wrong or unknown. Returns what is.
fn check(folder: &Path) -> Vec<String> {
    let text = read(folder, "trace.txt");
    let records = records(&text);
    assert_eq!(records.len(), records_announced(&text), "{}", folder.display());
    let mut cache = CmdlineCache::new(100_000);
    seed(&mut cache, &read(folder, "tasks_start.tsv"));
    cache.mark_loss(Stamp::MIN, beginning());
    apply_all(&mut cache, &records);
    let early = compare(&cache, &records, 0);

    for (tid, comm) in names_at_the_beginning(&records) {
        if let Some(comm) = comm {
            let task = SeededTask { tid, tgid: tid, comm, start_time: 0, kernel_thread: false };
            cache.seed(&task, beginning());
        }
    }
    let anew = compare(&cache, &records, 0);
    println!("{}: /proc before the trace: {early}; behind: {anew}", folder.display());
    assert_eq!((cache.counters().contradictions, anew.unknown), (0, 0), "{}", folder.display());
    assert!(early.known > 1000 && anew.known > 3000 && anew.unconfirmed < 4, "{early}; {anew}");
    let mut wrong = early.wrong_known;
    wrong.extend(anew.wrong);
    if folder.ends_with("fresh") {
        // Here the load came behind the trace: nothing was missed.
        wrong.extend(early.wrong);
    }
    wrong
}

#[test]
fn every_switch_of_the_recordings_bears_the_name_we_give() {
    let Some(kernels) = kernels() else {
        println!("skipped: there are no recordings beside the project");
        return;
    };
    let kernels = fs::read_dir(kernels).unwrap().map(|entry| entry.unwrap().path());
    let folders = kernels.flat_map(|kernel| SCENARIOS.map(|scenario| kernel.join(scenario)));
    for folder in folders.filter(|folder| folder.is_dir()) {
        let wrong = check(&folder);
        assert!(wrong.is_empty(), "{}: {} wrong, {:#?}", folder.display(), wrong.len(), wrong);
    }
}
