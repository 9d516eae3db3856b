//! A reader of Perfetto's traces of its own: field numbers from `protos/perfetto/trace/` (v50), and of its trace
//! processor the rules by which slices, arrows and counters come out of packets.

use std::collections::{BTreeMap, HashMap};

use prost::Message;

#[derive(Clone, PartialEq, Message)]
struct File {
    #[prost(message, repeated, tag = "1")]
    packets: Vec<Packet>,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct Packet {
    #[prost(message, optional, tag = "6")]
    pub(crate) clocks: Option<Clocks>,
    #[prost(uint64, optional, tag = "8")]
    at: Option<u64>,
    #[prost(uint32, optional, tag = "10")]
    sequence: Option<u32>,
    #[prost(message, optional, tag = "11")]
    event: Option<Event>,
    #[prost(message, optional, tag = "12")]
    interned: Option<Interned>,
    #[prost(uint32, optional, tag = "13")]
    flags: Option<u32>,
    #[prost(bytes, optional, tag = "45")]
    system: Option<Vec<u8>>,
    #[prost(uint32, optional, tag = "58")]
    own_clock: Option<u32>,
    #[prost(message, optional, tag = "59")]
    defaults: Option<Defaults>,
    #[prost(message, optional, tag = "60")]
    track: Option<Descriptor>,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct Clocks {
    #[prost(message, repeated, tag = "1")]
    readings: Vec<Reading>,
    #[prost(int32, optional, tag = "2")]
    pub(crate) primary: Option<i32>,
}

#[derive(Clone, PartialEq, Message)]
struct Reading {
    #[prost(uint32, optional, tag = "1")]
    clock: Option<u32>,
    #[prost(uint64, optional, tag = "2")]
    at: Option<u64>,
}

#[derive(Clone, PartialEq, Message)]
struct Defaults {
    #[prost(uint32, optional, tag = "58")]
    clock: Option<u32>,
}

#[derive(Clone, PartialEq, Message)]
struct Descriptor {
    #[prost(uint64, optional, tag = "1")]
    uuid: Option<u64>,
    #[prost(string, optional, tag = "2")]
    name: Option<String>,
    #[prost(message, optional, tag = "3")]
    process: Option<Process>,
    #[prost(message, optional, tag = "4")]
    thread: Option<Thread>,
    #[prost(uint64, optional, tag = "5")]
    parent: Option<u64>,
    #[prost(message, optional, tag = "8")]
    counter: Option<Counter>,
}

#[derive(Clone, PartialEq, Message)]
struct Process {
    #[prost(int32, optional, tag = "1")]
    pid: Option<i32>,
    #[prost(string, optional, tag = "6")]
    name: Option<String>,
}

#[derive(Clone, PartialEq, Message)]
struct Thread {
    #[prost(int32, optional, tag = "1")]
    pid: Option<i32>,
    #[prost(int64, optional, tag = "2")]
    tid: Option<i64>,
    #[prost(string, optional, tag = "5")]
    name: Option<String>,
}

#[derive(Clone, PartialEq, Message)]
struct Counter {
    #[prost(string, optional, tag = "6")]
    unit: Option<String>,
}

#[derive(Clone, PartialEq, Message)]
struct Event {
    #[prost(uint64, repeated, tag = "3")]
    categories: Vec<u64>,
    #[prost(message, repeated, tag = "4")]
    arguments: Vec<Argument>,
    #[prost(int32, optional, tag = "9")]
    kind: Option<i32>,
    #[prost(uint64, optional, tag = "10")]
    name: Option<u64>,
    #[prost(uint64, optional, tag = "11")]
    track: Option<u64>,
    #[prost(double, optional, tag = "44")]
    value: Option<f64>,
    #[prost(fixed64, repeated, tag = "47")]
    arrows: Vec<u64>,
    #[prost(fixed64, repeated, tag = "48")]
    arrow_ends: Vec<u64>,
}

#[derive(Clone, PartialEq, Message)]
struct Argument {
    #[prost(uint64, optional, tag = "1")]
    name: Option<u64>,
    #[prost(bool, optional, tag = "2")]
    flag: Option<bool>,
    #[prost(uint64, optional, tag = "3")]
    unsigned: Option<u64>,
    #[prost(int64, optional, tag = "4")]
    signed: Option<i64>,
    #[prost(uint64, optional, tag = "7")]
    pointer: Option<u64>,
    #[prost(message, repeated, tag = "11")]
    entries: Vec<Argument>,
    #[prost(uint64, optional, tag = "17")]
    text: Option<u64>,
}

#[derive(Clone, PartialEq, Message)]
struct Interned {
    #[prost(message, repeated, tag = "1")]
    categories: Vec<Text>,
    #[prost(message, repeated, tag = "2")]
    names: Vec<Text>,
    #[prost(message, repeated, tag = "3")]
    arguments: Vec<Text>,
    #[prost(message, repeated, tag = "29")]
    values: Vec<Text>,
}

#[derive(Clone, PartialEq, Message)]
struct Text {
    #[prost(uint64, optional, tag = "1")]
    number: Option<u64>,
    #[prost(bytes, optional, tag = "2")]
    text: Option<Vec<u8>>,
}

/// A slice, or with no length an instant.
#[derive(Debug, Clone)]
pub(crate) struct Slice {
    pub(crate) track: u64,
    pub(crate) begin: u64,
    /// None where it never ends.
    pub(crate) end: Option<u64>,
    pub(crate) is_instant: bool,
    /// How many slices are around it.
    pub(crate) depth: usize,
    pub(crate) name: String,
    pub(crate) category: String,
    /// By their names; those within another one behind a dot.
    pub(crate) arguments: BTreeMap<String, String>,
}

/// What there is of a track.
#[derive(Debug, Clone, Default)]
pub(crate) struct Track {
    pub(crate) name: Option<String>,
    /// Process, thread, and the last name of the latter.
    pub(crate) thread: Option<(i32, i64, Option<String>)>,
    pub(crate) parent: Option<u64>,
    pub(crate) is_counter: bool,
}

/// A trace as a reader shows it.
#[derive(Debug, Default)]
pub(crate) struct Decoded {
    pub(crate) primary_clock: Option<i32>,
    pub(crate) slices: Vec<Slice>,
    pub(crate) tracks: HashMap<u64, Track>,
    /// The names of processes.
    pub(crate) processes: BTreeMap<i32, String>,
    /// From which slice to which, by their places.
    pub(crate) arrows: Vec<(usize, usize)>,
    /// By name: instants and values.
    pub(crate) counters: BTreeMap<String, Vec<(u64, f64)>>,
}

/// Texts by what they are for and their number.
type Texts = HashMap<(&'static str, u64), String>;

pub(crate) fn decode(bytes: &[u8]) -> Decoded {
    let file = File::decode(bytes).unwrap();
    let mut decoded = Decoded::default();
    let mut texts: Option<Texts> = None;
    let mut clock = None;
    let mut events = Vec::new();
    for packet in file.packets {
        assert_eq!(packet.sequence, Some(1), "{packet:?}");
        let Packet { clocks, event, system, track, .. } = &packet;
        // In Perfetto's own file they are a `oneof`: of several the last one counts.
        let data = [clocks.is_some(), event.is_some(), system.is_some(), track.is_some()];
        assert!(data.iter().filter(|is_there| **is_there).count() <= 1, "{packet:?}");
        if packet.flags == Some(1) {
            (texts, clock) = (Some(Texts::new()), None);
        }
        assert_eq!(packet.own_clock, None);
        clock = packet.defaults.as_ref().map_or(clock, |defaults| defaults.clock);
        if let Some(clocks) = &packet.clocks {
            decoded.primary_clock = clocks.primary;
            let primary = clocks.primary.map(|clock| clock as u32);
            assert!(clocks.readings.iter().any(|reading| reading.clock == primary));
        }
        if let (Some(interned), Some(texts)) = (&packet.interned, &mut texts) {
            learn(interned, texts);
        }
        if let Some(track) = &packet.track {
            describe(track, &mut decoded);
        }
        if let Some(event) = packet.event {
            assert_eq!(packet.flags, Some(2));
            assert_eq!(
                clock.map(|clock| clock as i32),
                decoded.primary_clock,
                "no clock to convert"
            );
            let texts = texts.as_ref().expect("no state yet");
            let track = event.track.unwrap();
            assert!(decoded.tracks.contains_key(&track), "track {track} is used before it is told");
            let name = event.name.map(|name| texts[&("name", name)].clone());
            let category = event.categories.first().map(|of| texts[&("category", *of)].clone());
            let mut arguments = BTreeMap::new();
            resolve(&event.arguments, "", texts, &mut arguments);
            events.push((packet.at.unwrap(), event, name, category, arguments));
        }
    }
    // Stable: those of one time stay in the order of the file.
    events.sort_by_key(|(at, ..)| *at);
    let mut open: HashMap<u64, Vec<usize>> = HashMap::new();
    let mut arrows: HashMap<u64, usize> = HashMap::new();
    for (at, event, name, category, arguments) in events {
        let track = event.track.unwrap();
        let stack = open.entry(track).or_default();
        let place = match event.kind {
            Some(1 | 3) => {
                decoded.slices.push(Slice {
                    track,
                    begin: at,
                    end: (event.kind == Some(3)).then_some(at),
                    is_instant: event.kind == Some(3),
                    depth: stack.len(),
                    name: name.unwrap(),
                    category: category.unwrap(),
                    arguments,
                });
                let place = decoded.slices.len() - 1;
                if event.kind == Some(1) {
                    stack.push(place);
                }
                place
            }
            Some(2) => {
                let place = stack.pop().expect("an end without a begin");
                decoded.slices[place].end = Some(at);
                place
            }
            Some(4) => {
                let name = decoded.tracks[&track].name.clone().unwrap();
                assert!(decoded.tracks[&track].is_counter);
                decoded.counters.entry(name).or_default().push((at, event.value.unwrap()));
                continue;
            }
            other => panic!("{other:?}"),
        };
        for arrow in event.arrows {
            assert_eq!(arrows.insert(arrow, place), None);
        }
        for arrow in event.arrow_ends {
            decoded.arrows.push((arrows.remove(&arrow).expect("no begin of an arrow"), place));
        }
    }
    assert!(arrows.is_empty(), "arrows to nowhere");
    decoded
}

fn learn(interned: &Interned, texts: &mut Texts) {
    let kinds = [
        ("category", &interned.categories),
        ("name", &interned.names),
        ("argument", &interned.arguments),
        ("value", &interned.values),
    ];
    for (kind, list) in kinds {
        for text in list {
            let number = text.number.unwrap();
            let told = String::from_utf8(text.text.clone().unwrap()).unwrap();
            assert!(number > 0);
            assert_eq!(texts.insert((kind, number), told), None, "told twice");
        }
    }
}

fn describe(track: &Descriptor, decoded: &mut Decoded) {
    if let Some(process) = &track.process {
        decoded.processes.insert(process.pid.unwrap(), process.name.clone().unwrap());
        return;
    }
    let known = decoded.tracks.entry(track.uuid.unwrap()).or_default();
    known.name = track.name.clone();
    known.parent = track.parent;
    known.is_counter = track.counter.is_some();
    if let Some(thread) = &track.thread {
        let now = (thread.pid.unwrap(), thread.tid.unwrap(), thread.name.clone());
        if let Some(before) = &known.thread {
            assert_eq!((before.0, before.1), (now.0, now.1), "another thread on the same track");
        }
        known.thread = Some(now);
    }
}

fn resolve(
    arguments: &[Argument],
    prefix: &str,
    texts: &Texts,
    into: &mut BTreeMap<String, String>,
) {
    for argument in arguments {
        let name = format!("{prefix}{}", texts[&("argument", argument.name.unwrap())]);
        let values = [
            argument.flag.map(|flag| flag.to_string()),
            argument.unsigned.map(|number| number.to_string()),
            argument.signed.map(|number| number.to_string()),
            argument.pointer.map(|address| format!("{address:#x}")),
            argument.text.map(|text| texts[&("value", text)].clone()),
        ];
        let values: Vec<String> = values.into_iter().flatten().collect();
        assert_eq!(values.len(), usize::from(argument.entries.is_empty()), "{argument:?}");
        resolve(&argument.entries, &format!("{name}."), texts, into);
        for value in values {
            assert_eq!(into.insert(name.clone(), value), None, "{name} twice");
        }
    }
}
