//! Putting the records of one sub-buffer behind those of another.
//!
//! A reader that does not wait for full sub-buffers gets each with a few records in it. Kept as they
//! are, a quiet hour would be gigabytes of nothing. A record of the kernel's own kind, an absolute time
//! stamp (kernel/trace/ring_buffer.c, 6.18), says when the records behind it begin.

#![deny(clippy::indexing_slicing, clippy::arithmetic_side_effects)]

#[cfg(test)]
mod tests;

use super::abi::{Abi, Endian};
use super::header::SubbufLayout;
use super::page::{LOST, LOST_COUNT_STORED, MAX_DATA_SIZE_BYTES};

/// The type of such a record: the five lower bits of its first word on little-endian machines.
const TIME_STAMP: u32 = 31;

/// It carries so many bits of the time.
const TIME_STAMP_BITS: u32 = 59;

/// The size of such a record.
const STAMP_BYTES: usize = 8;

/// The end of a sub-buffer that takes more records.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tail {
    /// Where the next record goes, from the sub-buffer's beginning.
    end_bytes: usize,
}

/// What to write into the sub-buffer, the commit word last: until then it reads as before.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Joined {
    /// Where the records go.
    pub records_at: usize,
    /// A time stamp, and the records behind it.
    pub records: Vec<u8>,
    /// Where the commit word is.
    pub commit_at: usize,
    /// The word.
    pub commit: Vec<u8>,
}

impl Tail {
    /// None if the sub-buffer stands behind a loss, whose number is where records would go, or is malformed.
    pub fn of(sub_buffer: &[u8], layout: &SubbufLayout, abi: Abi) -> Option<Tail> {
        let data = data(sub_buffer, layout, abi)?;
        Some(Tail { end_bytes: layout.data_offset.checked_add(data.len())? })
    }

    /// Puts the records of `next` here. None, and nothing changes, if there is no room, or `next` has to
    /// stay a sub-buffer of its own.
    pub fn join(&mut self, next: &[u8], layout: &SubbufLayout, abi: Abi) -> Option<Joined> {
        let ts = abi.uint(next, 8)?;
        let mut records = stamp(ts, abi.endian)?.to_vec();
        records.extend(data(next, layout, abi)?);
        let (records_at, end_bytes) = (self.end_bytes, self.end_bytes.checked_add(records.len())?);
        if end_bytes > layout.size_bytes() {
            return None;
        }
        self.end_bytes = end_bytes;
        let commit = word(end_bytes.checked_sub(layout.data_offset)?, layout, abi)?;
        Some(Joined { records_at, records, commit_at: layout.commit_offset, commit })
    }
}

/// Whether events are missing before a sub-buffer.
pub fn is_behind_loss(sub_buffer: &[u8], layout: &SubbufLayout, abi: Abi) -> bool {
    let commit = abi.uint_at(sub_buffer, layout.commit_offset, layout.commit_size_bytes);
    commit.is_some_and(|commit| commit & LOST != 0)
}

/// A sub-buffer's records, if it has no marks and is whole.
fn data<'a>(sub_buffer: &'a [u8], layout: &SubbufLayout, abi: Abi) -> Option<&'a [u8]> {
    let commit = abi.uint_at(sub_buffer, layout.commit_offset, layout.commit_size_bytes)?;
    if commit & (LOST | LOST_COUNT_STORED) != 0 {
        return None;
    }
    let size_bytes = usize::try_from(commit & MAX_DATA_SIZE_BYTES as u64).ok()?;
    sub_buffer.get(layout.data_offset..)?.get(..size_bytes)
}

fn stamp(ts: u64, endian: Endian) -> Option<[u8; STAMP_BYTES]> {
    if ts >> TIME_STAMP_BITS != 0 {
        return None;
    }
    let (low, high) = (u32::try_from(ts & 0x07ff_ffff).ok()?, u32::try_from(ts >> 27).ok()?);
    let (first, second) = match endian {
        Endian::Little => ((low << 5 | TIME_STAMP).to_le_bytes(), high.to_le_bytes()),
        Endian::Big => ((TIME_STAMP << 27 | low).to_be_bytes(), high.to_be_bytes()),
    };
    [first, second].concat().try_into().ok()
}

fn word(number: usize, layout: &SubbufLayout, abi: Abi) -> Option<Vec<u8>> {
    let number = u32::try_from(number).ok()?;
    Some(match (layout.commit_size_bytes, abi.endian) {
        (4, Endian::Little) => number.to_le_bytes().to_vec(),
        (4, Endian::Big) => number.to_be_bytes().to_vec(),
        (_, Endian::Little) => u64::from(number).to_le_bytes().to_vec(),
        (_, Endian::Big) => u64::from(number).to_be_bytes().to_vec(),
    })
}
