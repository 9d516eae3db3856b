//! libtraceevent's test records, in place: located strings of two ages, and CPU masks.

use ftlock::tracefs::EventFormat;
use ftlock::tracefs::Value;
use ftlock::tracefs::{Abi, Endian};

use crate::fixtures;

const ABI: Abi = Abi { endian: Endian::Little, long_size_bytes: 8 };

#[test]
fn libtraceevents_records_hold_what_their_facts_say() {
    let Some(folder) = fixtures::shared("external/libtraceevent") else { return };
    let facts = fixtures::json(&folder.join("facts.json"));
    let cases = facts.as_object().unwrap();
    assert_eq!(cases.len(), 8);
    for (name, facts) in cases {
        let format = facts["format"].as_str().unwrap();
        let format = EventFormat::parse(&fixtures::text(&folder.join(format))).unwrap();
        let payload = fixtures::read(&folder.join(format!("{name}.bin")));
        let value = |field: &str| format.field(field).unwrap().value(&payload, ABI);
        if let Some(cpus) = facts.get("cpus") {
            let Value::List(words) = value("cpumask") else { panic!("{name} is no list") };
            let bits = words.zip(0..).flat_map(|(word, place)| {
                let Value::Unsigned(word) = word else { panic!("{word:?}") };
                (0..64).filter(move |bit| word >> bit & 1 != 0).map(move |bit| place * 64 + bit)
            });
            let bits: Vec<_> = bits.map(|bit: u32| bit.to_string()).collect();
            // The facts write the full mask as a range.
            let shown = if bits.len() == 64 { "0-63".to_owned() } else { bits.join(",") };
            assert_eq!(shown, cpus.as_str().unwrap(), "{name}");
        } else {
            assert_eq!(value("irq"), Value::Signed(facts["irq"].as_i64().unwrap()), "{name}");
            let expected = facts["name"].as_str().unwrap();
            assert_eq!(value("name"), Value::Text(expected.as_bytes()), "{name}");
        }
    }
}
