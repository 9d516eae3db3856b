//! Putting the records of one sub-buffer behind those of another.
//!
//! A reader that does not wait for full sub-buffers gets each with a few records in it. Kept as they
//! are, a quiet hour would be gigabytes of nothing. A record of the kernel's own kind, an absolute time
//! stamp (kernel/trace/ring_buffer.c, 6.18), says when the records behind it begin.

#![deny(clippy::indexing_slicing, clippy::arithmetic_side_effects)]

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

#[cfg(test)]
mod tests {
    use super::{Tail, is_behind_loss};
    use crate::tracefs::{Abi, Endian, Step, SubbufLayout, walk};

    const SIZE: usize = 96;

    fn layout(commit_size_bytes: usize) -> SubbufLayout {
        let data_offset = 8 + commit_size_bytes;
        let data_size_bytes = SIZE - data_offset;
        SubbufLayout { commit_offset: 8, commit_size_bytes, data_offset, data_size_bytes }
    }

    /// A sub-buffer of records of 8 bytes each, by their times.
    fn sub_buffer(times: &[u64], marks: u64, layout: &SubbufLayout, abi: Abi) -> Vec<u8> {
        let bytes = |number: u64, size: usize| match abi.endian {
            Endian::Little => number.to_le_bytes()[..size].to_vec(),
            Endian::Big => number.to_be_bytes()[8 - size..].to_vec(),
        };
        let commit = 8 * times.len() as u64 | marks;
        let mut page = bytes(times[0], 8);
        page.extend(bytes(commit, layout.commit_size_bytes));
        let mut before = times[0];
        for &time in times {
            let word = match abi.endian {
                Endian::Little => (time - before) << 5 | 1,
                Endian::Big => 1 << 27 | (time - before),
            };
            page.extend(bytes(word, 4));
            page.extend(bytes(time & 0xffff_ffff, 4));
            before = time;
        }
        page.resize(SIZE, 0);
        page
    }

    fn times(page: &[u8], layout: &SubbufLayout, abi: Abi) -> Vec<u64> {
        let time = |step| match step {
            Step::Record(record) => {
                assert_eq!(abi.uint(record.payload, 4), Some(record.ts & 0xffff_ffff));
                record.ts
            }
            other => panic!("{other:?}"),
        };
        walk(page, layout, abi, None).map(time).collect()
    }

    #[test]
    fn records_keep_their_times_behind_others_as_long_as_there_is_room() {
        for (endian, long_size_bytes) in
            [(Endian::Little, 8), (Endian::Little, 4), (Endian::Big, 8), (Endian::Big, 4)]
        {
            let (layout, abi) = (layout(long_size_bytes), Abi { endian, long_size_bytes });
            let of = |times: &[u64]| sub_buffer(times, 0, &layout, abi);
            let mut page = of(&[10, 12, 20]);
            let mut tail = Tail::of(&page, &layout, abi).unwrap();
            let late = (1 << 59) - 1;
            for next in [&[1 << 40, (1 << 40) + 5][..], &[late]] {
                let joined = tail.join(&of(next), &layout, abi).unwrap();
                let unfinished = times(&page, &layout, abi);
                page[joined.records_at..][..joined.records.len()].copy_from_slice(&joined.records);
                assert_eq!(times(&page, &layout, abi), unfinished);
                page[joined.commit_at..][..joined.commit.len()].copy_from_slice(&joined.commit);
            }
            assert_eq!(times(&page, &layout, abi), [10, 12, 20, 1 << 40, (1 << 40) + 5, late]);
            // 64 bytes are used of 80 or 84: there is no room for three more.
            assert_eq!(tail.join(&of(&[late, late, late]), &layout, abi), None);
            assert_eq!(tail.join(&of(&[1 << 59]), &layout, abi), None);
            assert!(tail.join(&of(&[late]), &layout, abi).is_some());
        }
    }

    #[test]
    fn what_stands_behind_a_loss_stays_by_itself() {
        let (layout, abi) = (layout(8), Abi { endian: Endian::Little, long_size_bytes: 8 });
        let mut tail = Tail::of(&sub_buffer(&[1], 0, &layout, abi), &layout, abi).unwrap();
        for marks in [1 << 31, 1 << 31 | 1 << 30] {
            let lossy = sub_buffer(&[5], marks, &layout, abi);
            assert!(is_behind_loss(&lossy, &layout, abi));
            assert_eq!(Tail::of(&lossy, &layout, abi), None);
            assert_eq!(tail.join(&lossy, &layout, abi), None);
        }
        let cut = &sub_buffer(&[5], 0, &layout, abi)[..20];
        assert_eq!(Tail::of(cut, &layout, abi), None);
        assert!(!is_behind_loss(cut, &layout, abi));
    }
}
