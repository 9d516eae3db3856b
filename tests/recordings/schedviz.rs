//! SchedViz's test pages, in place: old kernels of 64 bits, and one of 32.

use std::collections::{BTreeMap, HashMap};

use ftlock::tracefs::EventFormat;
use ftlock::tracefs::SubbufLayout;
use ftlock::tracefs::Value;
use ftlock::tracefs::{Abi, Endian};
use ftlock::tracefs::{Step, walk};

use crate::fixtures;

#[test]
fn schedvizs_pages_hold_what_their_facts_say() {
    let Some(folder) = fixtures::shared("external/schedviz") else { return };
    let facts = fixtures::json(&folder.join("facts.json"));
    let files = facts["files"].as_object().unwrap();
    assert_eq!(files.len(), 4);
    for (name, facts) in files {
        let number = |key: &str| usize::try_from(facts[key].as_u64().unwrap()).unwrap();
        let layout = SubbufLayout {
            commit_offset: 8,
            commit_size_bytes: number("commit_size"),
            data_offset: number("data_offset"),
            data_size_bytes: 4096 - number("data_offset"),
        };
        let abi = Abi::new(Endian::Little, &layout);
        let bytes = fixtures::read(&folder.join(name));
        let (mut ids, mut last_ts): (BTreeMap<String, u64>, _) = (BTreeMap::new(), 0);
        let pages = facts["per_page"].as_array().unwrap();
        assert_eq!((bytes.len() / 4096, pages.len()), (number("pages"), number("pages")));
        for (page, facts) in bytes.chunks(4096).zip(pages) {
            let mut walk = walk(page, &layout, abi, None);
            let number = |key: &str| facts[key].as_u64().unwrap();
            assert_eq!(walk.ts(), number("timestamp"), "{name}");
            assert_eq!(walk.data_size_bytes() as u64, number("data_size"), "{name}");
            let records: Vec<_> = walk
                .by_ref()
                .filter_map(|step| match step {
                    Step::Record(record) => Some(record),
                    Step::Lost { .. } => {
                        assert!(facts["missed"].as_bool().unwrap());
                        None
                    }
                    Step::Fault(fault) => panic!("{name}: {fault}"),
                })
                .collect();
            assert_eq!(records.len() as u64, facts["counts"]["data"].as_u64().unwrap(), "{name}");
            assert_eq!(records.first().map(|record| record.ts), facts["first_ts"].as_u64());
            assert_eq!(records.last().map(|record| record.ts), facts["last_ts"].as_u64());
            let pid = abi.uint_at(records[0].payload, 4, 4);
            assert_eq!(pid, facts["first_pid"].as_u64(), "{name}");
            for record in records {
                assert!(record.ts >= last_ts, "{name}");
                last_ts = record.ts;
                let id = abi.uint_at(record.payload, 0, 2).unwrap();
                *ids.entry(id.to_string()).or_default() += 1;
            }
        }
        assert_eq!(serde_json::json!(ids), facts["event_ids"], "{name}");
    }
}

/// The task that is switched to is the current one of the CPU's next event.
#[test]
fn schedvizs_switches_chain() {
    let Some(folder) = fixtures::shared("external/schedviz") else { return };
    let files = fixtures::files(&folder.join("server-test-formats"));
    let formats = files.iter().filter(|path| fixtures::name(path) == "format");
    let formats: HashMap<u16, EventFormat> = formats
        .map(|path| EventFormat::parse(&fixtures::text(path)).unwrap())
        .map(|format| (format.id, format))
        .collect();
    let layout = fixtures::text(
        &fixtures::files(&folder.join("server-test-formats"))
            .into_iter()
            .find(|path| fixtures::name(path) == "header_page")
            .unwrap(),
    );
    let layout = SubbufLayout::parse(&layout).unwrap();
    let abi = Abi::new(Endian::Little, &layout);
    let bytes = fixtures::read(&folder.join("server-test-cpu0-first64.pages"));
    let (mut current, mut switches) = (None, 0);
    for page in bytes.chunks(layout.size_bytes()) {
        for step in walk(page, &layout, abi, None) {
            let Step::Record(record) = step else { panic!("{step:?}") };
            let id = u16::try_from(abi.uint_at(record.payload, 0, 2).unwrap()).unwrap();
            let format = &formats[&id];
            let value = |name: &str| format.field(name).unwrap().value(record.payload, abi);
            assert!(current.as_ref().is_none_or(|current| value("common_pid") == *current));
            if format.name == "sched_switch" {
                assert_eq!(value("prev_pid"), value("common_pid"));
                assert!(matches!(value("next_comm"), Value::Text([_, ..])));
                current = Some(value("next_pid"));
                switches += 1;
            }
        }
    }
    assert_eq!(switches, 2367);
}
