//! A perf.data up to its first record of an event.

use std::collections::BTreeSet;
use std::fs::File;
use std::path::{Path, PathBuf};

use super::bytes::Bytes;
use super::error::{Error, Fault};
use super::events::Events;
use super::features::{self, Features, TRACING_DATA};
use super::head::{Head, OLD_MAGIC, PIPE_HEAD_BYTES, endian, is_pipe, numbers};
use super::moments::{Reading, cpus_of_ids};
use super::records::{PlainRecords, Record, kind};
use super::rounds::Reader;
use super::unpack::Records;
use crate::event::Cpu;
use crate::trace_file::{Texts, perf_texts};
use crate::tracefs::{Abi, Endian, SubbufLayout};

/// One event's description; the kernel's has 136 bytes in 6.18.
const MAX_ATTR_BYTES: u64 = 4096;

/// So many of the first records are looked at for what perf says of the machine.
const FIRST_RECORDS: usize = 64;

/// A recording: all of it but the events.
#[derive(Debug)]
pub struct PerfData {
    /// What perf says of it.
    pub features: Features,
    /// The traced kernel's texts.
    pub texts: Texts,
    /// Where the kernel's code began, if perf said so.
    pub kernel_begin: Option<u64>,
    /// The CPUs on which events were recorded, in their order, if perf said so.
    pub cpus: Vec<Cpu>,
    abi: Abi,
    layout: SubbufLayout,
    clock: &'static str,
    path: PathBuf,
    bytes: Bytes,
    endian: Endian,
}

/// Whether a file that begins so is a perf.data.
pub fn is_perf_data(first: &[u8]) -> bool {
    endian(first).is_some() || first.starts_with(OLD_MAGIC)
}

/// What is gathered on the way.
#[derive(Debug, Default)]
struct Found {
    features: Features,
    events: Events,
    tracing_data: Option<Vec<u8>>,
    kernel_begin: Option<u64>,
    cpus: BTreeSet<Cpu>,
}

impl PerfData {
    /// Reads everything up to the events. `path` is what the file is called in errors.
    ///
    /// # Errors
    /// If it cannot be read, is of an old version, was not finished, or lacks what is needed to decode
    /// events.
    pub fn open(file: File, path: &Path) -> Result<PerfData, Error> {
        let opened = || {
            let bytes = Bytes::new(file)?;
            let first = bytes.part(0, 8, "the head")?;
            let endian = endian(&first).ok_or(Fault::Version)?;
            let found = gather(&bytes, endian)?.0;
            let Found { features, events, tracing_data, kernel_begin, cpus } = found;
            events.check()?;
            let tracing_data = tracing_data.ok_or(Fault::NoTracingData)?;
            let (abi, layout, texts) = perf_texts(&tracing_data).map_err(Fault::TracingData)?;
            let (clock, path) = (events.clock(), path.to_owned());
            let cpus = cpus.into_iter().collect();
            Ok(PerfData {
                features,
                texts,
                kernel_begin,
                cpus,
                abi,
                layout,
                clock,
                path,
                bytes,
                endian,
            })
        };
        opened().map_err(|fault| Error { path: path.to_owned(), fault })
    }

    /// How the traced kernel lays out numbers.
    pub fn abi(&self) -> Abi {
        self.abi
    }

    /// How the traced kernel lays out its own trace's sub-buffers.
    pub fn layout(&self) -> SubbufLayout {
        self.layout
    }

    /// The trace clock's name, as tracefs has it where it has that clock.
    pub fn clock(&self) -> &'static str {
        self.clock
    }

    /// The records, from the first on.
    ///
    /// # Errors
    /// If the file has changed since it was opened.
    pub fn reader(&self) -> Result<Reader, Error> {
        let gathered = gather(&self.bytes, self.endian);
        let (found, records) =
            gathered.map_err(|fault| Error { path: self.path.clone(), fault })?;
        let reading = Reading::new(found.events, self.endian);
        Ok(Reader::new(self.path.clone(), Records::Plain(records), reading))
    }
}

/// What is there beside the records, and the records.
fn gather(bytes: &Bytes, endian: Endian) -> Result<(Found, PlainRecords), Fault> {
    let mut found = Found::default();
    let start = match is_pipe(bytes, endian)? {
        true => {
            let mut records = PlainRecords::new(bytes.clone(), endian, PIPE_HEAD_BYTES..bytes.end);
            of_pipe(&mut records, endian, &mut found)?..bytes.end
        }
        false => {
            let head = Head::read(bytes, endian)?;
            of_file(bytes, endian, &head, &mut found)?;
            head.data.offset..head.data.offset.saturating_add(head.data.size_bytes)
        }
    };
    first_records(PlainRecords::new(bytes.clone(), endian, start.clone()), &mut found);
    Ok((found, PlainRecords::new(bytes.clone(), endian, start)))
}

fn of_file(bytes: &Bytes, endian: Endian, head: &Head, found: &mut Found) -> Result<(), Fault> {
    const PART: &str = "the events' attributes";
    const IDS_BYTES: u64 = 16;
    let attr_bytes = head.attr_bytes.checked_sub(IDS_BYTES).filter(|&bytes| bytes > 0);
    let attr_bytes = attr_bytes.filter(|&bytes| bytes <= MAX_ATTR_BYTES);
    let attr_bytes = attr_bytes.ok_or(Fault::Malformed { part: PART, offset: 16 })?;
    let attrs = bytes.part(head.attrs.offset, head.attrs.size_bytes, PART)?;
    let entry_bytes = usize::try_from(head.attr_bytes).unwrap_or(usize::MAX);
    for entry in attrs.chunks_exact(entry_bytes) {
        let (attr, ids) = entry.split_at(usize::try_from(attr_bytes).unwrap_or(0));
        let number = |at| numbers(endian).uint_at(ids, at, 8).unwrap_or(0);
        let ids = bytes.part(number(0), number(8), "the events' ids")?;
        found.events.add(attr, words(&ids, endian), endian)?;
    }
    for (&feature, section) in &head.features {
        let part = || bytes.part(section.offset, section.size_bytes, "a feature");
        if feature == TRACING_DATA {
            found.tracing_data = Some(part()?);
        } else if features::WANTED.contains(&feature) {
            found.features.take(feature, &part()?, endian);
        }
    }
    Ok(())
}

/// In a pipe all of that comes before the first record of the kernel's; gives its place.
fn of_pipe(records: &mut PlainRecords, endian: Endian, found: &mut Found) -> Result<u64, Fault> {
    loop {
        let position = records.position();
        let Some(place) = records.advance()? else { return Ok(position) };
        let Record { kind, body, .. } = records.record(&place);
        match kind {
            kind::HEADER_ATTR => {
                // It begins with its kind and its length.
                let size_bytes = numbers(endian).uint_at(body, 4, 4);
                let size_bytes = size_bytes.and_then(|size| usize::try_from(size).ok());
                let parts = size_bytes.and_then(|size| body.split_at_checked(size));
                let (attr, ids) = parts.ok_or(Fault::Event)?;
                found.events.add(attr, words(ids, endian), endian)?;
            }
            kind::HEADER_FEATURE => {
                let feature = numbers(endian).uint_at(body, 0, 8);
                let feature = feature.and_then(|feature| u32::try_from(feature).ok());
                let section = body.get(8..).unwrap_or_default();
                found.features.take(feature.unwrap_or(u32::MAX), section, endian);
            }
            kind::HEADER_TRACING_DATA => found.tracing_data = Some(body.to_vec()),
            kind if kind < kind::FIRST_OF_PERF => return Ok(position),
            _ => {}
        }
    }
}

/// Among the first records perf says which CPUs it recorded, and, as if it were a mapping, where the
/// kernel's code began.
fn first_records(mut records: PlainRecords, found: &mut Found) {
    const NAME: &[u8] = b"[kernel.kallsyms]";
    let endian = records.endian();
    for _ in 0..FIRST_RECORDS {
        // What is wrong here will be met again.
        let Ok(Some(place)) = records.advance() else { return };
        let Record { kind, body, .. } = records.record(&place);
        match kind {
            kind::ID_INDEX => found.cpus.extend(cpus_of_ids(body, endian).map(|(_, cpu)| cpu)),
            // Process and thread, address, length, offset, name.
            kind::MMAP if body.get(32..).is_some_and(|name| name.starts_with(NAME)) => {
                found.kernel_begin = numbers(endian).uint_at(body, 24, 8);
            }
            _ => {}
        }
    }
}

fn words(bytes: &[u8], endian: Endian) -> impl Iterator<Item = u64> {
    bytes.chunks_exact(8).filter_map(move |word| numbers(endian).uint(word, 8))
}
