//! The records of a perf.data, one after the other (include/uapi/linux/perf_event.h and
//! tools/lib/perf/include/perf/event.h, 6.18).

use std::ops::Range;

use super::bytes::{Bytes, MAX_PART_BYTES};
use super::error::Fault;
use super::head::numbers;
use crate::tracefs::Endian;

/// Records by their number: the kernel's, and from 64 on perf's own.
pub(super) mod kind {
    pub(crate) const MMAP: u32 = 1;
    pub(crate) const LOST: u32 = 2;
    pub(crate) const COMM: u32 = 3;
    pub(crate) const EXIT: u32 = 4;
    pub(crate) const UNTHROTTLE: u32 = 6;
    pub(crate) const FORK: u32 = 7;
    pub(crate) const SAMPLE: u32 = 9;
    pub(crate) const LOST_SAMPLES: u32 = 13;
    pub(crate) const FIRST_OF_PERF: u32 = 64;
    pub(crate) const HEADER_ATTR: u32 = 64;
    pub(crate) const HEADER_TRACING_DATA: u32 = 66;
    pub(crate) const FINISHED_ROUND: u32 = 68;
    pub(crate) const ID_INDEX: u32 = 69;
    pub(crate) const AUXTRACE: u32 = 71;
    pub(crate) const HEADER_FEATURE: u32 = 80;
    pub(crate) const COMPRESSED: u32 = 81;
    pub(crate) const COMPRESSED2: u32 = 83;
}

/// A record's head: what it is, 4 bytes, its flags and its length, 2 bytes each.
pub(super) const HEAD_BYTES: usize = 8;

/// No record is longer: its length has 16 bits.
const MAX_RECORD_BYTES: usize = 1 << 16;

/// Read at a time.
const READ_BYTES: usize = 1 << 20;

/// One record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Record<'a> {
    pub(super) kind: u32,
    pub(super) misc: u16,
    /// What follows its head; of tracing data what follows the record.
    pub(super) body: &'a [u8],
}

/// Where a record lies in what has been read.
#[derive(Debug, Clone)]
pub(super) struct Place {
    pub(super) kind: u32,
    pub(super) misc: u16,
    pub(super) body: Range<usize>,
}

/// The record that bytes begin with; none if they do not hold all of it.
pub(super) fn place(bytes: &[u8], endian: Endian) -> Result<Option<Place>, Fault> {
    let number = |offset, size_bytes| numbers(endian).uint_at(bytes, offset, size_bytes);
    let (Some(kind), Some(misc), Some(size_bytes)) = (number(0, 4), number(4, 2), number(6, 2))
    else {
        return Ok(None);
    };
    let end = usize::try_from(size_bytes).unwrap_or(0);
    if end < HEAD_BYTES {
        return Err(Fault::Malformed { part: "a record's length", offset: 0 });
    }
    let kind = u32::try_from(kind).unwrap_or(0);
    let misc = u16::try_from(misc).unwrap_or(0);
    Ok((end <= bytes.len()).then_some(Place { kind, misc, body: HEAD_BYTES..end }))
}

/// The records of a stretch of the file as they stand there, packed ones too.
#[derive(Debug)]
pub(super) struct PlainRecords {
    bytes: Bytes,
    endian: Endian,
    /// Where to read on, and where the records end.
    position: u64,
    end: u64,
    read: Vec<u8>,
    used: usize,
    /// What followed a record, and is no record.
    payload: Vec<u8>,
}

impl PlainRecords {
    /// Those between two places.
    pub(super) fn new(bytes: Bytes, endian: Endian, place: Range<u64>) -> PlainRecords {
        let Range { start: position, end } = place;
        let end = end.min(bytes.end);
        PlainRecords {
            bytes,
            endian,
            position,
            end,
            read: Vec::new(),
            used: 0,
            payload: Vec::new(),
        }
    }

    pub(super) fn endian(&self) -> Endian {
        self.endian
    }

    /// Bytes of the file that are still to come.
    pub(super) fn left_bytes(&self) -> u64 {
        self.end.saturating_sub(self.position) + (self.read.len() - self.used) as u64
    }

    /// Where the next record begins.
    pub(super) fn position(&self) -> u64 {
        self.position.saturating_sub((self.read.len() - self.used) as u64)
    }

    /// Goes on to the next record, which [`PlainRecords::record`] then gives; none at the end.
    ///
    /// # Errors
    /// If the file cannot be read, or what comes is no record: then nothing more comes.
    pub(super) fn advance(&mut self) -> Result<Option<Place>, Fault> {
        let advanced = self.next_place();
        if advanced.is_err() {
            self.position = self.end;
            self.used = self.read.len();
        }
        advanced
    }

    /// The record that was last gone on to.
    pub(super) fn record(&self, place: &Place) -> Record<'_> {
        let Place { kind, misc, ref body } = *place;
        let body = match kind {
            kind::HEADER_TRACING_DATA => &self.payload,
            _ => self.read.get(body.clone()).unwrap_or_default(),
        };
        Record { kind, misc, body }
    }

    fn next_place(&mut self) -> Result<Option<Place>, Fault> {
        const PART: &str = "a record";
        self.fill()?;
        let offset = self.position();
        let rest = self.read.get(self.used..).unwrap_or_default();
        if rest.is_empty() {
            return Ok(None);
        }
        let found =
            place(rest, self.endian).map_err(|_| Fault::Malformed { part: PART, offset })?;
        let Some(Place { kind, misc, body }) = found else {
            return Err(Fault::Cut { part: PART, offset });
        };
        let body = self.used + body.start..self.used + body.end;
        self.used = body.end;
        let number = |size_bytes| {
            let bytes = self.read.get(body.clone()).unwrap_or_default();
            numbers(self.endian).uint_at(bytes, 0, size_bytes).unwrap_or(0)
        };
        match kind {
            kind::HEADER_TRACING_DATA => {
                let size_bytes = number(4);
                self.payload = self.skip(size_bytes.next_multiple_of(8))?;
            }
            kind::AUXTRACE => {
                let size_bytes = number(8);
                self.skip_unread(size_bytes);
            }
            _ => {}
        }
        Ok(Some(Place { kind, misc, body }))
    }

    /// A record is always whole in what was read, if the file has it.
    fn fill(&mut self) -> Result<(), Fault> {
        if self.read.len() - self.used >= MAX_RECORD_BYTES || self.position >= self.end {
            return Ok(());
        }
        self.read.drain(..self.used);
        self.used = 0;
        let kept = self.read.len();
        let wanted =
            usize::try_from(self.end - self.position).unwrap_or(usize::MAX).min(READ_BYTES);
        self.read.resize(kept + wanted, 0);
        let read = self.bytes.read(self.read.get_mut(kept..).unwrap_or_default(), self.position)?;
        self.read.truncate(kept + read);
        self.position += read as u64;
        if read < wanted {
            // Somebody cut the file since it was opened.
            self.end = self.position;
        }
        Ok(())
    }

    /// Bytes behind a record that are no records.
    fn skip(&mut self, size_bytes: u64) -> Result<Vec<u8>, Fault> {
        let part = "tracing data";
        let offset = self.position();
        if size_bytes > self.left_bytes() {
            return Err(Fault::Cut { part, offset });
        }
        if size_bytes > MAX_PART_BYTES {
            return Err(Fault::TooLarge { part, claimed: size_bytes, limit: MAX_PART_BYTES });
        }
        let bytes = self.bytes.part(offset, size_bytes, part)?;
        self.skip_unread(size_bytes);
        Ok(bytes)
    }

    fn skip_unread(&mut self, size_bytes: u64) {
        let there = (self.read.len() - self.used) as u64;
        match size_bytes.checked_sub(there) {
            // It fits, since there is not less.
            None => self.used += usize::try_from(size_bytes).unwrap_or(0),
            Some(further) => {
                self.used = self.read.len();
                self.position = self.position.saturating_add(further).min(self.end);
            }
        }
    }
}
