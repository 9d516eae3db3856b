//! Records, unpacked where perf packed them (`perf record -z`).
//!
//! All packed records together are one stream of zstd, which perf flushes now and then and never
//! ends. The unpacker gives bytes out only when later ones cannot refer to them any more: so what is
//! unpacked comes later than what stands beside it in the file, and where rounds end is not known.

use std::collections::VecDeque;
use std::fmt;
use std::io::{self, Read};

use ruzstd::decoding::{FrameDecoder, StreamingDecoder};

use super::error::Fault;
use super::head::numbers;
use super::records::{Place, PlainRecords, Record, kind, place};
use crate::tracefs::Endian;

/// What ends the stream: an empty last block, and room for a checksum.
const END: [u8; 7] = [1, 0, 0, 0, 0, 0, 0];

/// Plain records between packed ones that are kept for the end, where perf writes some. Further ones
/// are left out.
const MAX_BESIDE: usize = 1 << 16;

/// Unpacked at a time.
const STEP_BYTES: usize = 1 << 18;

/// The records of a file.
#[derive(Debug)]
pub(super) enum Records {
    /// No packed record was met yet.
    Plain(PlainRecords),
    /// The packed ones.
    Packed(Box<Unpacker>),
    /// All packed records are done with. The first of these is the current one.
    Beside(VecDeque<Owned>),
}

/// A record by itself.
#[derive(Debug, Default)]
pub(super) struct Owned {
    kind: u32,
    misc: u16,
    body: Vec<u8>,
}

pub(super) struct Unpacker {
    decoder: StreamingDecoder<Payloads, FrameDecoder>,
    unpacked: Vec<u8>,
    used: usize,
}

/// The contents of packed records, one behind the other, and [`END`].
#[derive(Debug)]
struct Payloads {
    plain: PlainRecords,
    current: Vec<u8>,
    used: usize,
    ended: bool,
    beside: VecDeque<Owned>,
    /// Why there are no more of them, if not for the file's end.
    fault: Option<Fault>,
}

impl Records {
    /// Goes on to the next record, which [`Records::record`] then gives; none at the end.
    pub(super) fn advance(&mut self) -> Result<Option<Place>, Fault> {
        if let Records::Plain(plain) = self {
            match plain.advance()? {
                Some(place) if is_packed(place.kind) => {
                    let current = payload(&plain.record(&place), plain.endian());
                    self.unpack(current)?;
                }
                place => return Ok(place),
            }
        }
        if let Records::Packed(unpacker) = self {
            match unpacker.advance()? {
                Some(place) => return Ok(Some(place)),
                None => self.end()?,
            }
        } else if let Records::Beside(beside) = self {
            beside.pop_front();
        }
        match self {
            Records::Beside(beside) => Ok(beside.front().map(|record| {
                let Owned { kind, misc, ref body } = *record;
                Place { kind, misc, body: 0..body.len() }
            })),
            _ => Ok(None),
        }
    }

    /// The record that was last gone on to.
    pub(super) fn record(&self, place: &Place) -> Record<'_> {
        let Place { kind, misc, ref body } = *place;
        match self {
            Records::Plain(plain) => plain.record(place),
            Records::Packed(unpacker) => {
                Record { kind, misc, body: unpacker.unpacked.get(body.clone()).unwrap_or_default() }
            }
            Records::Beside(beside) => {
                Record { kind, misc, body: beside.front().map_or(&[], |record| &record.body) }
            }
        }
    }

    /// Bytes of the file that are still to come.
    pub(super) fn left_bytes(&self) -> u64 {
        match self {
            Records::Plain(plain) => plain.left_bytes(),
            Records::Packed(unpacker) => unpacker.decoder.get_ref().plain.left_bytes(),
            Records::Beside(_) => 0,
        }
    }

    /// Nothing more comes.
    pub(super) fn stop(&mut self) {
        *self = Records::Beside(VecDeque::new());
    }

    /// From here on records are packed; `current` is the first one's contents.
    fn unpack(&mut self, current: Vec<u8>) -> Result<(), Fault> {
        let Records::Plain(plain) = std::mem::replace(self, Records::Beside(VecDeque::new()))
        else {
            return Ok(());
        };
        let (beside, fault) = (VecDeque::new(), None);
        let payloads = Payloads { plain, current, used: 0, ended: false, beside, fault };
        let decoder = StreamingDecoder::new(payloads);
        let decoder = decoder.map_err(|error| Fault::Unpack(error.to_string()))?;
        *self = Records::Packed(Box::new(Unpacker { decoder, unpacked: Vec::new(), used: 0 }));
        Ok(())
    }

    /// All packed records are done with.
    fn end(&mut self) -> Result<(), Fault> {
        let stage = std::mem::replace(self, Records::Beside(VecDeque::new()));
        let Records::Packed(unpacker) = stage else { return Ok(()) };
        let mut payloads = unpacker.decoder.into_inner();
        *self = Records::Beside(std::mem::take(&mut payloads.beside));
        payloads.fault.map_or(Ok(()), Err)
    }
}

impl Unpacker {
    fn advance(&mut self) -> Result<Option<Place>, Fault> {
        let endian = self.decoder.get_ref().plain.endian();
        loop {
            let rest = self.unpacked.get(self.used..).unwrap_or_default();
            if let Some(Place { kind, misc, body }) = place(rest, endian)? {
                let body = self.used + body.start..self.used + body.end;
                self.used = body.end;
                return Ok(Some(Place { kind, misc, body }));
            }
            if !self.fill()? {
                // The beginning of a record, where the stream was cut.
                return Ok(None);
            }
        }
    }

    /// Unpacks more; false at the end.
    fn fill(&mut self) -> Result<bool, Fault> {
        self.unpacked.drain(..self.used);
        self.used = 0;
        let kept = self.unpacked.len();
        self.unpacked.resize(kept + STEP_BYTES, 0);
        let room = self.unpacked.get_mut(kept..).unwrap_or_default();
        let read = self.decoder.read(room).map_err(|error| Fault::Unpack(error.to_string()));
        self.unpacked.truncate(kept + read.as_ref().map_or(0, |&read| read));
        Ok(read? > 0)
    }
}

impl fmt::Debug for Unpacker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Unpacker").field("payloads", self.decoder.get_ref()).finish_non_exhaustive()
    }
}

impl Read for Payloads {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        while self.used >= self.current.len() && !self.ended {
            self.go_on();
        }
        let read = self.current.get(self.used..).unwrap_or_default().read(bytes)?;
        self.used += read;
        Ok(read)
    }
}

impl Payloads {
    fn go_on(&mut self) {
        let place = match self.plain.advance() {
            Ok(place) => place,
            Err(fault) => {
                self.fault = Some(fault);
                None
            }
        };
        self.used = 0;
        match place.map(|place| self.plain.record(&place)) {
            None => {
                self.current = END.to_vec();
                self.ended = true;
            }
            Some(record) if is_packed(record.kind) => {
                self.current = payload(&record, self.plain.endian());
            }
            Some(Record { kind, misc, body }) => {
                self.current.clear();
                if kind != kind::FINISHED_ROUND && self.beside.len() < MAX_BESIDE {
                    let body = body.to_vec();
                    self.beside.push_back(Owned { kind, misc, body });
                }
            }
        }
    }
}

fn is_packed(kind: u32) -> bool {
    matches!(kind, kind::COMPRESSED | kind::COMPRESSED2)
}

/// The second kind says its length, and is filled up to a multiple of 8 bytes (6.16).
fn payload(record: &Record<'_>, endian: Endian) -> Vec<u8> {
    let body = record.body;
    if record.kind == kind::COMPRESSED {
        return body.to_vec();
    }
    let size_bytes =
        numbers(endian).uint_at(body, 0, 8).and_then(|size| usize::try_from(size).ok());
    let rest = body.get(8..).unwrap_or_default();
    rest.get(..size_bytes.unwrap_or(0)).unwrap_or(rest).to_vec()
}
