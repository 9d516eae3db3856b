//! Sub-buffers of a live 6.18 kernel picked for what they hold: absolute time stamps, time
//! extends, losses, 64 KiB, the mapped form. Each with the kernel's own list of its records.

use std::collections::BTreeMap;

use ftlock::tracefs::SubbufLayout;
use ftlock::tracefs::{Abi, Endian};
use ftlock::tracefs::{Record, Resume, Step, walk};
use serde_json::Value as Json;

use crate::fixtures;
use crate::kernel::{Kernel, Ring};
use crate::kernel_text;
use crate::oracle;

/// One file of sub-buffers: its name, its facts, its sub-buffers' layout and its bytes.
type File = (String, Json, SubbufLayout, Vec<u8>);

fn all() -> (Kernel, Vec<File>) {
    let folder = fixtures::own().join("pages");
    let layout = |path| SubbufLayout::parse(&fixtures::text(&folder.join(path))).unwrap();
    let layouts = [layout("events/header_page"), layout("header_page-64k.txt")];
    let kernel = Kernel::new(&folder.join("events"), Abi::new(Endian::Little, &layouts[0]), false);
    let facts = fixtures::json(&folder.join("facts.json"));
    let files = facts.as_object().unwrap().iter().filter(|(name, _)| name.ends_with(".pages"));
    let files = files.map(|(name, facts)| {
        let size = facts["page_size"].as_u64().unwrap();
        let layout = layouts.iter().find(|layout| layout.size_bytes() as u64 == size).unwrap();
        (name.clone(), facts.clone(), *layout, fixtures::read(&folder.join(name)))
    });
    let files: Vec<_> = files.collect();
    assert_eq!(files.len(), 12);
    (kernel, files)
}

#[test]
fn each_page_is_what_its_facts_say() {
    let (kernel, files) = all();
    for (name, facts, layout, bytes) in files {
        let mut ids: BTreeMap<String, u64> = BTreeMap::new();
        let pages = facts["per_page"].as_array().unwrap();
        assert_eq!(bytes.len(), pages.len() * layout.size_bytes());
        for (page, facts) in bytes.chunks(layout.size_bytes()).zip(pages) {
            let mut walk = walk(page, &layout, kernel.abi, None);
            assert_eq!(walk.ts(), facts["timestamp"].as_u64().unwrap(), "{name}");
            assert_eq!(walk.data_size_bytes() as u64, facts["data_size"].as_u64().unwrap());
            let (mut loss, mut events) = (None, 0_u64);
            for step in walk.by_ref() {
                match step {
                    Step::Lost { missed } => loss = Some(missed),
                    Step::Fault(fault) => panic!("{name}: {fault}"),
                    Step::Record(Record { payload, .. }) => {
                        let id = kernel.decoder.head(payload).unwrap().id;
                        *ids.entry(id.to_string()).or_default() += 1;
                        events += 1;
                    }
                }
            }
            assert_eq!(events, facts["events"].as_u64().unwrap(), "{name}");
            assert_eq!(loss.is_some(), facts["missed"].as_bool().unwrap(), "{name}");
            assert_eq!(loss.flatten(), facts["missed_count"].as_u64(), "{name}");
        }
        assert_eq!(serde_json::json!(ids), facts["ids"], "{name}");
    }
}

#[test]
fn tasks_and_times_are_the_kernels_own_to_the_nanosecond() {
    let (kernel, files) = all();
    let mut with_truth = 0;
    for (name, facts, layout, bytes) in files {
        if facts["kernel_truth"] != Json::Bool(true) {
            continue;
        }
        with_truth += 1;
        let truth = name.replace(".pages", ".truth.tsv");
        let truth = fixtures::text(&fixtures::own().join("pages").join(truth));
        let expected: Vec<_> = truth.lines().skip(1).map(str::to_owned).collect();
        let ring = Ring::read(&bytes, &layout, kernel.abi);
        let found = ring
            .records
            .iter()
            .map(|(ts, payload)| format!("{}\t{ts}", kernel.decoder.head(payload).unwrap().tid));
        assert_eq!(found.collect::<Vec<_>>(), expected, "{name}");
    }
    assert_eq!(with_truth, 9);
}

#[test]
fn locks_stacks_and_switches_are_as_the_kernel_printed_them() {
    let (kernel, files) = all();
    for (name, _, layout, bytes) in files.iter().filter(|(name, ..)| name.starts_with("lock-sched"))
    {
        let text = name.replace(".pages", ".trace.txt");
        let text = fixtures::read(&fixtures::own().join("pages").join(text));
        let lines = kernel_text::parse(&text);
        let cpu = if name.contains("cpu0") { 0 } else { 1 };
        let ring = Ring::read(bytes, layout, kernel.abi);
        for (&(ts, payload), line) in ring.records.iter().zip(&lines[&cpu]) {
            oracle::Record { kernel: &kernel, ts, payload }.must_be(line);
        }
        assert!(lines[&cpu].len() >= ring.records.len());
    }
}

/// The markers bear a running number: a loss is a gap in it.
#[test]
fn a_losss_number_is_the_gap_in_the_markers_numbers() {
    let (kernel, files) = all();
    let (_, _, layout, bytes) =
        files.iter().find(|(name, ..)| name == "lost-events-read-cpu0.pages").unwrap();
    let (mut next, mut gaps, mut losses) = (0, Vec::new(), Vec::new());
    for page in bytes.chunks(layout.size_bytes()) {
        for step in walk(page, layout, kernel.abi, None) {
            match step {
                Step::Lost { missed } => losses.push(missed.unwrap()),
                Step::Fault(fault) => panic!("{fault}"),
                Step::Record(Record { payload, .. }) => {
                    let format = kernel.decoder.format(5).unwrap();
                    let buf = format.field("buf").unwrap().text(payload, kernel.abi).unwrap();
                    let number: u64 = std::str::from_utf8(&buf[..8]).unwrap().parse().unwrap();
                    if number != next {
                        gaps.push(number - next);
                    }
                    next = number + 1;
                }
            }
        }
    }
    assert_eq!(losses, [288, 240]);
    assert_eq!(gaps, losses);
}

/// As a mapped sub-buffer is read while it grows: to each record's end and on from there.
#[test]
fn every_page_can_be_read_in_two_parts_anywhere() {
    let (kernel, files) = all();
    for (name, _, layout, bytes) in files {
        for page in bytes.chunks(layout.size_bytes()).take(2) {
            let whole: Vec<_> = walk(page, &layout, kernel.abi, None).collect();
            let mut first = walk(page, &layout, kernel.abi, None);
            for read in 0..=whole.len() {
                let resume: Resume = first.resume();
                let rest: Vec<_> = walk(page, &layout, kernel.abi, Some(resume)).collect();
                // A loss is told of once, in the first part.
                let told = whole.iter().filter(|step| matches!(step, Step::Lost { .. })).count();
                assert_eq!(rest, whole[read.max(told)..], "{name}");
                first.next();
            }
        }
    }
}
