//! A sub-buffer's bytes to records.
//!
//! Facts from kernel/trace/ring_buffer.c and include/linux/ring_buffer.h (6.18): a header (time of
//! the first record, commit word), then records of a 32-bit word each (5 bits type or length, 27
//! bits time since the record before) and what follows it.

#![deny(clippy::indexing_slicing, clippy::arithmetic_side_effects)]

#[cfg(test)]
mod tests;

use std::iter::FusedIterator;

use thiserror::Error;

use super::abi::{Abi, Endian};
use super::header::SubbufLayout;

/// The most data a commit word can count. The kernel's own write index has 20 bits; the bits up
/// to the loss flags' are never set to anything else.
pub const MAX_DATA_SIZE_BYTES: usize = (1 << 27) - 1;

/// Commit word: events were lost between the sub-buffer before and this one.
pub(super) const LOST: u64 = 1 << 31;
/// Commit word: how many is stored, as a `long`, right behind the data.
pub(super) const LOST_COUNT_STORED: u64 = 1 << 30;

const PADDING: u32 = 29;
const TIME_EXTEND: u32 = 30;
const TIME_STAMP: u32 = 31;

/// An absolute time stamp carries 59 bits; these are missing.
const TIME_STAMP_MISSING_BITS: u64 = 0xf8 << 56;

/// What a walk meets, in the order of the ring.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step<'a> {
    /// Events of this CPU are missing before the records that follow.
    Lost {
        /// How many, where the kernel could say.
        missed: Option<u64>,
    },
    /// An event's record.
    Record(Record<'a>),
    /// The sub-buffer is malformed here: its rest is given up. Always the last step.
    Fault(PageFault),
}

/// One record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Record<'a> {
    /// When, in units of the trace clock (ns, or ticks with `x86-tsc` and `counter`), as recorded.
    pub ts: u64,
    /// The event's bytes, from `common_type` on. Up to 7 bytes of junk may trail it: its true
    /// length is not recorded.
    pub payload: &'a [u8],
}

/// Where in a sub-buffer that still grows to read on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Resume {
    /// How many bytes of its data have been read.
    pub offset_bytes: usize,
    /// The running time there.
    pub ts: u64,
}

/// How a sub-buffer can be malformed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Error)]
pub enum PageFault {
    /// Fewer bytes than the header has.
    #[error("sub-buffer shorter than its header")]
    HeaderCut,
    /// Time and commit word are zero: nothing was ever written here, or the sub-buffer's real
    /// size is another one.
    #[error("sub-buffer is blank: its size may be another than assumed")]
    Blank,
    /// The commit word counts more data than a sub-buffer holds.
    #[error("commit word counts more data than the sub-buffer holds")]
    SizePastEnd,
    /// The bytes end before the data does. What is there has been read.
    #[error("sub-buffer cut short")]
    DataCut,
    /// To be read on from behind the end of the data.
    #[error("sub-buffer shrank since it was last read")]
    ResumePastEnd,
    /// The data ends within a record's first word or its second.
    #[error("data ends within a record's header")]
    RecordHeaderCut,
    /// A record's length word is zero, as in a zero-filled tail (seen with 4.19).
    #[error("record of length zero")]
    ZeroLength,
    /// A record's length word does not even count itself.
    #[error("record shorter than its length word")]
    ShortLength,
    /// A record ends behind the data.
    #[error("record ends behind the data")]
    RecordPastEnd,
    /// The filler that says "nothing more was written here" stands within the data.
    #[error("end-of-data filler within the data")]
    NullPadding,
}

/// The records of one sub-buffer. See [`walk`].
#[derive(Debug, Clone)]
pub struct Walk<'a> {
    endian: Endian,
    ts: u64,
    rest: &'a [u8],
    /// Where `rest` ends, in bytes of data.
    end: usize,
    data_size_bytes: usize,
    lost: Option<Option<u64>>,
    /// What to report at the end of `rest`.
    fault: Option<PageFault>,
}

/// Walks the records of one sub-buffer.
///
/// `page` is what the kernel handed out for one sub-buffer; bytes behind `layout`'s size are
/// ignored. With `resume` it is the same sub-buffer again, read on from where an earlier walk
/// ended: its header's time and loss flags count no more.
pub fn walk<'a>(
    page: &'a [u8],
    layout: &SubbufLayout,
    abi: Abi,
    resume: Option<Resume>,
) -> Walk<'a> {
    Walk::new(page, layout, abi, resume).unwrap_or_else(|fault| Walk {
        endian: abi.endian,
        ts: resume.map_or(0, |resume| resume.ts),
        rest: &[],
        end: 0,
        data_size_bytes: 0,
        lost: None,
        fault: Some(fault),
    })
}

impl<'a> Walk<'a> {
    fn new(
        page: &'a [u8],
        layout: &SubbufLayout,
        abi: Abi,
        resume: Option<Resume>,
    ) -> Result<Walk<'a>, PageFault> {
        let page = page.get(..layout.size_bytes()).unwrap_or(page);
        let data = page.get(layout.data_offset..).ok_or(PageFault::HeaderCut)?;
        let page_ts = abi.uint(page, 8).ok_or(PageFault::HeaderCut)?;
        let commit = abi
            .uint_at(page, layout.commit_offset, layout.commit_size_bytes)
            .ok_or(PageFault::HeaderCut)?;
        if page_ts == 0 && commit == 0 && resume.is_none() {
            return Err(PageFault::Blank);
        }
        // Above the flags there is sign extension, on kernels that add them to a signed word.
        let data_size_bytes = usize::try_from(commit & MAX_DATA_SIZE_BYTES as u64)
            .map_err(|_| PageFault::SizePastEnd)?;
        if data_size_bytes > layout.data_size_bytes {
            return Err(PageFault::SizePastEnd);
        }
        let (available, fault) = match data.get(..data_size_bytes) {
            Some(all) => (all, None),
            None => (data, Some(PageFault::DataCut)),
        };
        let from = resume.unwrap_or(Resume { offset_bytes: 0, ts: page_ts });
        let rest = available.get(from.offset_bytes..).ok_or(PageFault::ResumePastEnd)?;
        // Without room for the count behind the data, only the fact is known.
        let missed = || match commit & LOST_COUNT_STORED {
            0 => None,
            _ => abi.uint_at(data, data_size_bytes, abi.long_size_bytes),
        };
        let is_lossy = commit & LOST != 0 && resume.is_none();
        Ok(Walk {
            endian: abi.endian,
            ts: from.ts,
            rest,
            end: available.len(),
            data_size_bytes,
            lost: is_lossy.then(missed),
            fault,
        })
    }

    /// The next record, if nothing but its own two words has to be looked at: so it is with nearly all, and
    /// this is a third of what [`Iterator::next`] costs, which knows the rest.
    #[inline(always)]
    pub fn next_short(&mut self) -> Option<Record<'a>> {
        if self.lost.is_some() || self.endian == Endian::Big {
            return None;
        }
        let (word, body) = self.rest.split_first_chunk()?;
        self.short(u32::from_le_bytes(*word), body)
    }

    /// The running time: the header's at first, then that of the last record.
    pub fn ts(&self) -> u64 {
        self.ts
    }

    /// How much data the sub-buffer holds (0 if its header is malformed). One less than half
    /// full is, as a rule, the one that is being written: the reader has caught up.
    pub fn data_size_bytes(&self) -> usize {
        self.data_size_bytes
    }

    /// Where to read on once the sub-buffer has grown. Behind a fault: the end of the data.
    pub fn resume(&self) -> Resume {
        Resume { offset_bytes: self.end.saturating_sub(self.rest.len()), ts: self.ts }
    }

    #[inline]
    fn record(&mut self) -> Result<Option<Record<'a>>, PageFault> {
        while !self.rest.is_empty() {
            let (word, body) = self.word(self.rest)?;
            let (kind, delta) = match self.endian {
                Endian::Little => (word & 0x1f, word >> 5),
                Endian::Big => (word >> 27, word & 0x07ff_ffff),
            };
            match kind {
                0 => {
                    let (length, body) = self.word(body)?;
                    let payload_size_bytes = checked_length(length)?.saturating_sub(4);
                    return self.data(delta, body, payload_size_bytes).map(Some);
                }
                PADDING if delta == 0 => return Err(PageFault::NullPadding),
                PADDING => {
                    let (length, _) = self.word(body)?;
                    // The filler behind the last record may claim more than is left of it.
                    self.rest = behind(body, checked_length(length)?);
                    // A discarded event keeps its delta, or is given 1 where it had none.
                    if delta != 1 {
                        self.ts = self.ts.saturating_add(u64::from(delta));
                    }
                }
                TIME_EXTEND | TIME_STAMP => {
                    let (high, body) = self.word(body)?;
                    let time = u64::from(high) << 27 | u64::from(delta);
                    self.ts = match kind {
                        TIME_EXTEND => self.ts.saturating_add(time),
                        _ => absolute(time, self.ts),
                    };
                    self.rest = body;
                }
                words => {
                    let payload_size_bytes = (words as usize).saturating_mul(4);
                    return self.data(delta, body, payload_size_bytes).map(Some);
                }
            }
        }
        Ok(None)
    }

    /// The record, if its length is in its first word, and it is whole.
    #[inline(always)]
    fn short(&mut self, word: u32, body: &'a [u8]) -> Option<Record<'a>> {
        let words = (word & 0x1f) as usize;
        if !(1..=28).contains(&words) {
            return None;
        }
        let (payload, rest) = body.split_at_checked(words.saturating_mul(4))?;
        self.rest = rest;
        self.ts = self.ts.saturating_add(u64::from(word >> 5));
        Some(Record { ts: self.ts, payload })
    }

    /// The record whose payload `body` begins with.
    #[inline]
    fn data(
        &mut self,
        delta: u32,
        body: &'a [u8],
        size_bytes: usize,
    ) -> Result<Record<'a>, PageFault> {
        let payload = body.get(..size_bytes).ok_or(PageFault::RecordPastEnd)?;
        self.rest = behind(body, size_bytes);
        self.ts = self.ts.saturating_add(u64::from(delta));
        Ok(Record { ts: self.ts, payload })
    }

    #[inline]
    fn word(&self, bytes: &'a [u8]) -> Result<(u32, &'a [u8]), PageFault> {
        let (word, rest) = bytes.split_first_chunk().ok_or(PageFault::RecordHeaderCut)?;
        let word = match self.endian {
            Endian::Little => u32::from_le_bytes(*word),
            Endian::Big => u32::from_be_bytes(*word),
        };
        Ok((word, rest))
    }

    #[cold]
    fn give_up(&mut self, fault: PageFault) -> PageFault {
        self.rest = &[];
        self.end = self.data_size_bytes;
        // Where the bytes are cut short, whatever is wrong at their end comes from that.
        self.fault.take().unwrap_or(fault)
    }
}

impl<'a> Iterator for Walk<'a> {
    type Item = Step<'a>;

    #[inline]
    fn next(&mut self) -> Option<Step<'a>> {
        // Only looked at, not taken, on the way to every record: that costs.
        if self.lost.is_some() {
            return self.lost.take().map(|missed| Step::Lost { missed });
        }
        match self.record() {
            Ok(Some(record)) => Some(Step::Record(record)),
            Ok(None) => self.fault.map(|fault| Step::Fault(self.give_up(fault))),
            Err(fault) => Some(Step::Fault(self.give_up(fault))),
        }
    }
}

impl FusedIterator for Walk<'_> {}

/// A length word, which counts itself.
#[inline]
fn checked_length(length: u32) -> Result<usize, PageFault> {
    match length {
        0 => Err(PageFault::ZeroLength),
        1..4 => Err(PageFault::ShortLength),
        _ => Ok(length as usize),
    }
}

/// What follows the first `size_bytes`: records begin at multiples of four bytes.
#[inline]
fn behind(bytes: &[u8], size_bytes: usize) -> &[u8] {
    bytes.get(size_bytes.saturating_add(3) & !3..).unwrap_or(&[])
}

/// An absolute time stamp, made whole as the kernel does it (`rb_fix_abs_ts`, 6.18): by the
/// upper bits of the running time, and one more where that would go back. Only clocks that
/// count from 1970 or from a constant have such bits.
fn absolute(stamp: u64, running_ts: u64) -> u64 {
    let upper = running_ts & TIME_STAMP_MISSING_BITS;
    let ts = stamp | upper;
    if upper != 0 && ts < running_ts { ts.saturating_add(1 << 59) } else { ts }
}
