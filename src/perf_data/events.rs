//! The events that were recorded, and how their records are laid out.

use std::collections::HashMap;

use byteorder::{BigEndian, LittleEndian};
use foldhash::fast::FixedState;
use linux_perf_event_reader::{
    Endianness, PerfClock, PerfEventAttr, PerfEventType, RawData, RawEventRecord, RecordParseInfo,
    RecordType, SampleFormat,
};

use super::error::Fault;
use super::records::{Record, kind};
use crate::tracefs::{Clock, Endian};

/// Events of one recording. perf opens each on each CPU, but they have one description.
const MAX_EVENTS: usize = 1 << 12;

/// Ids: each event has one for each CPU or thread.
const MAX_IDS: usize = 1 << 22;

/// The events of a recording, to be found by the ids in their records.
#[derive(Debug, Default)]
pub(super) struct Events {
    layouts: Vec<Layout>,
    by_id: HashMap<u64, usize, FixedState>,
    clock: Option<&'static str>,
}

/// How the records of one event are laid out.
#[derive(Debug, Clone, Copy)]
pub(super) struct Layout {
    info: RecordParseInfo,
    /// Its samples hold what the kernel's trace holds.
    pub(super) is_tracepoint: bool,
}

impl Events {
    /// Adds an event by its `perf_event_attr`.
    pub(super) fn add(
        &mut self,
        attr: &[u8],
        ids: impl IntoIterator<Item = u64>,
        endian: Endian,
    ) -> Result<(), Fault> {
        let parsed = match endian {
            Endian::Little => PerfEventAttr::parse::<_, LittleEndian>(attr),
            Endian::Big => PerfEventAttr::parse::<_, BigEndian>(attr),
        };
        let (attr, _) = parsed.map_err(|_| Fault::Event)?;
        let is_tracepoint = matches!(attr.type_, PerfEventType::Tracepoint(_));
        if is_tracepoint {
            self.clock = Some(clock(&attr));
        }
        let info = RecordParseInfo::new(&attr, endianness(endian));
        for id in ids {
            if self.by_id.len() >= MAX_IDS {
                let (claimed, limit) = (MAX_IDS as u64 + 1, MAX_IDS as u64);
                return Err(Fault::TooLarge { part: "the list of ids", claimed, limit });
            }
            self.by_id.insert(id, self.layouts.len());
        }
        self.layouts.push(Layout { info, is_tracepoint });
        if self.layouts.len() > MAX_EVENTS {
            let (claimed, limit) = (MAX_EVENTS as u64 + 1, MAX_EVENTS as u64);
            return Err(Fault::TooLarge { part: "the list of events", claimed, limit });
        }
        Ok(())
    }

    /// Whether records can be read by them.
    ///
    /// # Errors
    /// If samples lack their time, CPU or contents, or events cannot be told apart.
    pub(super) fn check(&self) -> Result<(), Fault> {
        let tracepoints = || self.layouts.iter().filter(|layout| layout.is_tracepoint);
        if tracepoints().next().is_none() {
            return Err(Fault::NoTracepoints);
        }
        let needed = [
            (SampleFormat::TIME, "when they were taken"),
            (SampleFormat::CPU, "on which CPU they were taken"),
            (SampleFormat::RAW, "what the events hold"),
        ];
        for (format, what) in needed {
            if tracepoints().any(|layout| !layout.info.sample_format.contains(format)) {
                return Err(Fault::Lacks(what));
            }
        }
        // Counters within samples: perf's groups with leaders, which nothing here needs.
        if tracepoints().any(|layout| layout.info.sample_format.contains(SampleFormat::READ)) {
            return Err(Fault::Lacks("only what the events hold, but counters too"));
        }
        let id_place = self.layouts.first().map(|layout| layout.info.id_parse_info);
        let is_same = |layout: &Layout| Some(layout.info.id_parse_info) == id_place;
        if !self.layouts.iter().all(is_same) {
            return Err(Fault::Apart);
        }
        Ok(())
    }

    /// The trace clock's name, as tracefs has it where it has that clock.
    pub(super) fn clock(&self) -> &'static str {
        self.clock.unwrap_or(Clock::Perf.name())
    }

    /// The layout of a record of the kernel's, and the record with it. perf's own records of that kind
    /// have no id, and are laid out like the first event's.
    pub(super) fn layout<'a>(&self, record: &Record<'a>) -> Option<(Layout, RawEventRecord<'a>)> {
        let &first = self.layouts.first()?;
        let raw = |info| {
            let data = RawData::Single(record.body);
            RawEventRecord::new(RecordType(record.kind), record.misc, data, info)
        };
        if self.layouts.len() == 1 {
            return Some((first, raw(first.info)));
        }
        let id = raw(first.info).id();
        let place = id.and_then(|id| self.by_id.get(&id));
        let layout = match place {
            Some(&place) => self.layouts.get(place).copied()?,
            None if record.kind == kind::SAMPLE => return None,
            None => first,
        };
        Some((layout, raw(layout.info)))
    }
}

impl Layout {
    /// Where a sample's call chain begins, with its length, if it has one.
    pub(super) fn chain_at(&self) -> Option<usize> {
        let format = self.info.sample_format;
        let before = SampleFormat::IDENTIFIER
            | SampleFormat::IP
            | SampleFormat::TID
            | SampleFormat::TIME
            | SampleFormat::ADDR
            | SampleFormat::ID
            | SampleFormat::STREAM_ID
            | SampleFormat::CPU
            | SampleFormat::PERIOD;
        let words = format.intersection(before).bits().count_ones() as usize;
        format.contains(SampleFormat::CALLCHAIN).then_some(8 * words)
    }
}

fn endianness(endian: Endian) -> Endianness {
    match endian {
        Endian::Little => Endianness::LittleEndian,
        Endian::Big => Endianness::BigEndian,
    }
}

fn clock(attr: &PerfEventAttr) -> &'static str {
    use linux_perf_event_reader::ClockId;
    match attr.clock {
        PerfClock::Default => Clock::Perf.name(),
        PerfClock::ClockId(ClockId::Monotonic) => Clock::Mono.name(),
        PerfClock::ClockId(ClockId::MonotonicRaw) => Clock::MonoRaw.name(),
        PerfClock::ClockId(ClockId::Boottime) => Clock::Boot.name(),
        PerfClock::ClockId(_) => "realtime",
    }
}
