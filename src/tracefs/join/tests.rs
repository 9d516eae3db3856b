#![allow(clippy::arithmetic_side_effects, clippy::indexing_slicing, reason = "tests may stop")]

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
    let commit = (8 * times.len() as u64) | marks;
    let mut page = bytes(times[0], 8);
    page.extend(bytes(commit, layout.commit_size_bytes));
    let mut before = times[0];
    for &time in times {
        let word = match abi.endian {
            Endian::Little => ((time - before) << 5) | 1,
            Endian::Big => (1 << 27) | (time - before),
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
    for marks in [1 << 31, 3 << 30] {
        let lossy = sub_buffer(&[5], marks, &layout, abi);
        assert!(is_behind_loss(&lossy, &layout, abi));
        assert_eq!(Tail::of(&lossy, &layout, abi), None);
        assert_eq!(tail.join(&lossy, &layout, abi), None);
    }
    let cut = &sub_buffer(&[5], 0, &layout, abi)[..20];
    assert_eq!(Tail::of(cut, &layout, abi), None);
    assert!(!is_behind_loss(cut, &layout, abi));
}
