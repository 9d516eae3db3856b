//! Perfetto's test pages, in place, with the facts an independent decoder found in them.

use std::collections::HashMap;
use std::path::Path;

use ftlock::tracefs::EventFormat;
use ftlock::tracefs::SubbufLayout;
use ftlock::tracefs::Value;
use ftlock::tracefs::{Abi, Endian};
use ftlock::tracefs::{PageFault, Record, Step, walk};
use serde_json::Value as Json;

use crate::fixtures;

/// All its pages are of 64-bit kernels.
const ABI: Abi = Abi { endian: Endian::Little, long_size_bytes: 8 };
const LAYOUT: SubbufLayout =
    SubbufLayout { commit_offset: 8, commit_size_bytes: 8, data_offset: 16, data_size_bytes: 4080 };

#[test]
fn perfettos_pages_hold_what_their_facts_say() {
    let Some(folder) = fixtures::shared("external/perfetto") else { return };
    let mut pages = 0;
    for path in fixtures::entries(&folder.join("pages")) {
        if path.extension().is_some_and(|extension| extension == "bin") {
            let facts = fixtures::json(&path.with_extension("json"));
            let formats = facts["format_tree"].as_str().map(|tree| formats(&folder, tree));
            check(&path, &facts, &formats.unwrap_or_default());
            pages += 1;
        }
    }
    assert_eq!(pages, 29);
}

fn formats(folder: &Path, tree: &str) -> HashMap<u16, EventFormat> {
    let files = fixtures::files(&folder.join("formats").join(tree));
    let formats = files.iter().filter(|path| fixtures::name(path) == "format");
    let formats = formats.map(|path| EventFormat::parse(&fixtures::text(path)).unwrap());
    formats.map(|format| (format.id, format)).collect()
}

fn check(path: &Path, facts: &Json, formats: &HashMap<u16, EventFormat>) {
    let page = fixtures::read(path);
    let shown = path.display();
    let mut walk = walk(&page, &LAYOUT, ABI, None);
    assert_eq!(walk.ts(), facts["timestamp"].as_u64().unwrap(), "{shown}");
    assert_eq!(walk.data_size_bytes() as u64, facts["data_size"].as_u64().unwrap(), "{shown}");
    let (mut records, mut loss, mut fault) = (Vec::new(), None, None);
    for step in walk.by_ref() {
        match step {
            Step::Record(record) => records.push(record),
            Step::Lost { missed } => loss = Some(missed),
            Step::Fault(found) => fault = Some(found),
        }
    }
    assert_eq!(loss.is_some(), facts["missed_events"].as_bool().unwrap(), "{shown}");
    let expected_fault = match facts["walk_status"].as_str().unwrap() {
        "ok" => None,
        "short_data_length" => Some(PageFault::RecordHeaderCut),
        "zero_data_length" => Some(PageFault::ZeroLength),
        "data_past_end" => Some(PageFault::RecordPastEnd),
        // Nothing but a header, filled up with 0xfa.
        "not_applicable_header_only" => return,
        other => panic!("{shown}: {other}"),
    };
    assert_eq!(fault, expected_fault, "{shown}");
    assert_eq!(loss.flatten(), facts["missed_count"].as_u64(), "{shown}");
    let expected = facts["records"].as_array().unwrap();
    assert_eq!(records.len(), expected.len(), "{shown}");
    for (record, facts) in records.iter().zip(expected) {
        check_record(record, facts, formats, &page);
    }
}

fn check_record(
    record: &Record<'_>,
    facts: &Json,
    formats: &HashMap<u16, EventFormat>,
    page: &[u8],
) {
    let number = |key: &str| facts[key].as_u64().unwrap();
    assert_eq!(record.ts, number("ts"));
    assert_eq!(record.payload.len() as u64, number("payload_len"));
    let id = ABI.uint_at(record.payload, 0, 2).unwrap();
    assert_eq!(id, number("id"));
    assert_eq!(ABI.uint_at(record.payload, 4, 4), Some(number("pid")));
    // The record's word, and for the long ones its length, stand before its payload.
    let place = record.payload.as_ptr().addr() - page.as_ptr().addr();
    let header = place as u64 - 16 - number("off");
    assert!(matches!(header, 4 | 8), "{header}");

    let Some(fields) = facts.get("fields").and_then(Json::as_object) else { return };
    let Some(format) = formats.get(&u16::try_from(id).unwrap()) else { return };
    for (name, expected) in fields {
        let found = match format.field(name).unwrap().value(record.payload, ABI) {
            Value::Text(text) => Json::from(String::from_utf8_lossy(text)),
            Value::Signed(number) => Json::from(number),
            Value::Unsigned(number) => Json::from(number),
            other => panic!("{name}: {other:?}"),
        };
        assert_eq!(found, *expected, "{name}");
    }
}

/// The same pages as another collection cut them: mostly to the part that is used.
#[test]
fn pages_cut_to_their_used_part_are_read_the_same() {
    let Some(folder) = fixtures::shared("traces/perfetto-ftrace") else { return };
    let table = fixtures::text(&folder.join("pages.tsv"));
    let mut pages = 0;
    for row in table.lines().skip(1) {
        let [name, _, bytes, timestamp, commit] = row.split('\t').collect::<Vec<_>>()[..] else {
            panic!("{row}");
        };
        let page = fixtures::read(&folder.join("pages").join(name));
        assert_eq!(page.len().to_string(), bytes);
        let mut walk = walk(&page, &LAYOUT, ABI, None);
        assert_eq!(walk.ts().to_string(), timestamp, "{name}");
        let commit = u64::from_str_radix(commit.trim_start_matches("0x"), 16).unwrap();
        assert_eq!(walk.data_size_bytes() as u64, commit & 0xfff, "{name}");
        let fault = walk.find_map(|step| match step {
            Step::Fault(fault) => Some(fault),
            _ => None,
        });
        let expected = match name {
            "g_four_byte_commit.bin" => Some(PageFault::RecordHeaderCut),
            "WithOverrun_0.bin" => Some(PageFault::DataCut),
            _ => None,
        };
        assert_eq!(fault, expected, "{name}");
        pages += 1;
    }
    assert_eq!(pages, 15);
}
