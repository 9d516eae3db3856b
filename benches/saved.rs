//! A saved trace of any number of events, of a generated machine, for whoever reads such traces:
//! `cargo bench --bench saved -- FILE EVENTS [CPUS]`. `benches/report-beside-others` times its readers.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::cast_possible_truncation,
    clippy::print_stdout,
    reason = "it may stop at whatever is not as it should be"
)]

#[path = "../tests/rings/mod.rs"]
mod rings;

use std::path::Path;

use ftlock::trace_file::{EventText, Setup, Texts, Version, Writer};
use rings::{HEADER_PAGE, SUB_BUFFER_BYTES, Spec, format_texts, generate};

const HEADER_EVENT: &str = "# compressed entry header\n\ttype_len    :    5 bits\n\
    \ttime_delta  :   27 bits\n\tarray       :   32 bits\n\n\
    \tpadding     : type == 29\n\ttime_extend : type == 30\n\ttime_stamp : type == 31\n\
    \tdata max type_len  == 28\n";

fn main() {
    let words: Vec<String> = std::env::args().skip(1).filter(|word| word != "--bench").collect();
    let [path, events, rest @ ..] = &words[..] else {
        println!("usage: cargo bench --bench saved -- FILE EVENTS [CPUS]");
        return;
    };
    let events: usize = events.parse().unwrap();
    let cpus = rest.first().map_or(2, |cpus| cpus.parse().unwrap());
    // Two events a wait, and a birth, rename or end now and then.
    let spec = Spec { cpus, waits: events * 49 / 100, tasks: 1000, locks: 5000, ..Spec::default() };
    let rings = generate(&spec);
    let system = |text: &String| match text {
        text if text.contains("name: contention") => "lock",
        text if text.contains("name: task") => "task",
        _ => "sched",
    };
    let event = |text: String| EventText { system: system(&text).to_owned(), text };
    let setup = Setup {
        version: Version::V7,
        subbuf_size: SUB_BUFFER_BYTES as u32,
        cpus: (0..cpus).collect(),
        clock: "mono".to_owned(),
        uname: "Linux generated 6.18.0 x86_64".to_owned(),
        writer: "ftlock benches/saved.rs".to_owned(),
        ftlock: Vec::new(),
        texts: Texts {
            header_page: HEADER_PAGE.to_owned(),
            header_event: HEADER_EVENT.to_owned(),
            event_formats: format_texts().into_iter().map(event).collect(),
            ..Texts::default()
        },
    };
    let mut writer = Writer::create(Path::new(path), &setup).unwrap();
    for (cpu, ring) in (0u16..).zip(&rings.rings) {
        ring.chunks(1 << 20).for_each(|part| writer.append(cpu, part).unwrap());
    }
    writer.finish(b"").unwrap();
    println!("{path}: {} events of {cpus} CPUs, {} waits", rings.events, rings.waits.len());
}
