//! Hand-made sub-buffers: one per rule of the format, one per malformation.

#![allow(clippy::arithmetic_side_effects, reason = "sizes of literals")]

use proptest::prelude::*;

use super::{PADDING, PageFault, Record, Resume, Step, TIME_EXTEND, TIME_STAMP, Walk, walk};
use crate::tracefs::abi::{Abi, Endian};
use crate::tracefs::header::SubbufLayout;

const ABIS: [Abi; 4] = [
    Abi { endian: Endian::Little, long_size_bytes: 8 },
    Abi { endian: Endian::Little, long_size_bytes: 4 },
    Abi { endian: Endian::Big, long_size_bytes: 8 },
    Abi { endian: Endian::Big, long_size_bytes: 4 },
];
const PAGE_TS: u64 = 1_000;

/// 128 bytes of room for data.
fn layout(abi: Abi) -> SubbufLayout {
    SubbufLayout {
        commit_offset: 8,
        commit_size_bytes: abi.long_size_bytes,
        data_offset: 8 + abi.long_size_bytes,
        data_size_bytes: 128,
    }
}

/// A sub-buffer in the making.
struct Page {
    abi: Abi,
    ts: u64,
    data: Vec<u8>,
}

impl Page {
    fn new(abi: Abi) -> Page {
        Page { abi, ts: PAGE_TS, data: Vec::new() }
    }

    fn word(mut self, word: u32) -> Page {
        self.data.extend(match self.abi.endian {
            Endian::Little => word.to_le_bytes(),
            Endian::Big => word.to_be_bytes(),
        });
        self
    }

    fn head(self, kind: u32, delta: u32) -> Page {
        let word = match self.abi.endian {
            Endian::Little => kind | delta << 5,
            Endian::Big => kind << 27 | delta,
        };
        self.word(word)
    }

    fn bytes(mut self, bytes: &[u8]) -> Page {
        self.data.extend(bytes);
        self
    }

    /// A record of one word's payload.
    fn record(self, delta: u32, payload: &[u8; 4]) -> Page {
        self.head(1, delta).bytes(payload)
    }

    /// All the sub-buffer's bytes: `flags` are or-ed to the commit word, the data is what was
    /// written so far, junk follows it.
    fn finish(&self, flags: u64) -> Vec<u8> {
        self.finish_with_size(flags | self.data.len() as u64)
    }

    fn finish_with_size(&self, commit: u64) -> Vec<u8> {
        let mut page = self.long(self.ts, 8);
        page.extend(self.long(commit, self.abi.long_size_bytes));
        page.extend(&self.data);
        page.resize(layout(self.abi).size_bytes(), 0xfa);
        page
    }

    fn long(&self, value: u64, size_bytes: usize) -> Vec<u8> {
        match self.abi.endian {
            Endian::Little => value.to_le_bytes()[..size_bytes].to_vec(),
            Endian::Big => value.to_be_bytes()[8 - size_bytes..].to_vec(),
        }
    }
}

fn steps<'a>(page: &'a [u8], abi: Abi) -> Vec<Step<'a>> {
    walk(page, &layout(abi), abi, None).collect()
}

fn record(ts: u64, payload: &[u8]) -> Step<'_> {
    Step::Record(Record { ts, payload })
}

#[test]
fn records_of_all_lengths_follow_each_other() {
    for abi in ABIS {
        let page = Page::new(abi)
            .record(0, b"one.")
            .head(2, 5)
            .bytes(b"twotwo..")
            .head(0, 7)
            .word(4 + 9)
            .bytes(b"long long...") // nine bytes, rounded up to twelve
            .head(0, 1)
            .word(4) // a length word that counts nothing but itself
            .record(0x7ff_ffff, b"last")
            .finish(0);
        assert_eq!(
            steps(&page, abi),
            [
                record(1_000, b"one."),
                record(1_005, b"twotwo.."),
                record(1_012, b"long long"),
                record(1_013, b""),
                record(1_013 + 0x7ff_ffff, b"last"),
            ],
            "{abi:?}"
        );
    }
}

#[test]
fn time_extends_add_and_time_stamps_replace() {
    for abi in ABIS {
        let page = Page::new(abi)
            .head(TIME_EXTEND, 3)
            .word(2)
            .record(0, b"ext.")
            .head(TIME_STAMP, 9)
            .word(1 << 20)
            .record(0, b"abs.")
            .head(TIME_EXTEND, 1)
            .word(0)
            .finish(0);
        let extended = 1_000 + 3 + (2 << 27);
        let stamped = 9 + (1 << 47);
        let layout = layout(abi);
        let mut walk = walk(&page, &layout, abi, None);
        assert_eq!(walk.next(), Some(record(extended, b"ext.")));
        assert_eq!(walk.next(), Some(record(stamped, b"abs.")));
        assert_eq!(walk.next(), None);
        assert_eq!(walk.ts(), stamped + 1, "an extend with nothing behind it still counts");
    }
}

/// `rb_fix_abs_ts` of kernel/trace/ring_buffer.c, 6.18.
#[test]
fn a_time_stamp_takes_its_upper_bits_from_the_running_time() {
    let tai = 0x18ec_b2fb_8df4_0000_u64;
    let low_59 = (1 << 59) - 1;
    let table = [
        (tai, (tai + 7) & low_59, tai + 7),
        (tai, 5, (3 << 59) + (1 << 59) + 5), // the 59 bits have wrapped
        (5_000, 4_000, 4_000),               // a small clock may step back
    ];
    let abi = ABIS[0];
    for (running, stamp, ts) in table {
        let mut page = Page::new(abi);
        page.ts = running;
        let page = page
            .head(TIME_STAMP, (stamp & 0x7ff_ffff) as u32)
            .word(u32::try_from(stamp >> 27).unwrap())
            .record(0, b"abs.")
            .finish(0);
        assert_eq!(steps(&page, abi), [record(ts, b"abs.")], "{running:#x} {stamp:#x}");
    }
}

#[test]
fn discarded_events_and_fillers_are_skipped() {
    for abi in ABIS {
        let page = Page::new(abi)
            .head(PADDING, 1) // discarded; its delta of 1 stands for none
            .word(8)
            .bytes(b"gone")
            .head(PADDING, 40) // discarded; it keeps its delta
            .word(8)
            .bytes(b"gone")
            .record(2, b"kept")
            .head(PADDING, 1) // the filler at the end, which claims more than is left
            .word(4_000)
            .bytes(b"fill")
            .finish(0);
        assert_eq!(steps(&page, abi), [record(1_042, b"kept")], "{abi:?}");
    }
}

#[test]
fn a_loss_comes_first_with_its_number_where_there_is_one() {
    const SIGN_EXTENDED: u64 = 0xffff_ffff << 32;
    for abi in ABIS {
        let one = Page::new(abi).record(0, b"one.");
        let mut counted = Page::new(abi).record(0, b"one.");
        let count = counted.long(288, abi.long_size_bytes);
        counted.data.extend(count);
        // All the room is used: the number would stand behind the sub-buffer.
        let full = Page::new(abi).head(0, 0).word(124).bytes(&[7; 120]);
        for upper in [0, SIGN_EXTENDED] {
            let table: [(Vec<u8>, Option<Option<u64>>); 5] = [
                (one.finish(upper), None),
                (one.finish(upper | 1 << 31), Some(None)),
                (counted.finish_with_size(upper | 3 << 30 | 8), Some(Some(288))),
                (counted.finish_with_size(upper | 1 << 30 | 8), None),
                (full.finish(upper | 3 << 30), Some(None)),
            ];
            for (page, loss) in table {
                let first = steps(&page, abi)[0];
                match loss {
                    Some(missed) => assert_eq!(first, Step::Lost { missed }),
                    None => assert_eq!(first, record(PAGE_TS, b"one.")),
                }
            }
        }
    }
}

#[test]
fn an_empty_sub_buffer_is_no_fault() {
    for abi in ABIS {
        assert_eq!(steps(&Page::new(abi).finish(0), abi), []);
        let lossy = Page::new(abi).finish(1 << 31);
        assert_eq!(steps(&lossy, abi), [Step::Lost { missed: None }]);
    }
}

/// Each malformation, with the records before it kept and those behind it given up.
#[test]
fn every_malformation_has_its_name() {
    type Break = fn(Page) -> Page;
    let table: [(PageFault, Break); 9] = [
        (PageFault::RecordHeaderCut, |page| page.bytes(&[1, 0])),
        (PageFault::RecordHeaderCut, |page| page.head(0, 0)),
        (PageFault::RecordHeaderCut, |page| page.head(TIME_EXTEND, 1)),
        (PageFault::RecordHeaderCut, |page| page.head(PADDING, 1)),
        (PageFault::ZeroLength, |page| page.bytes(&[0; 32])),
        (PageFault::ShortLength, |page| page.head(0, 0).word(3).record(0, b"lost")),
        (PageFault::RecordPastEnd, |page| page.head(2, 0).bytes(b"four")),
        (PageFault::RecordPastEnd, |page| page.head(0, 0).word(u32::MAX).bytes(b"four")),
        (PageFault::NullPadding, |page| page.head(PADDING, 0).record(0, b"lost")),
    ];
    for abi in ABIS {
        for (fault, break_page) in table {
            let page = break_page(Page::new(abi).record(4, b"kept")).finish(0);
            let layout = layout(abi);
            let mut walk = walk(&page, &layout, abi, None);
            let steps: Vec<_> = walk.by_ref().collect();
            assert_eq!(steps, [record(1_004, b"kept"), Step::Fault(fault)], "{abi:?}");
            assert_eq!(walk.resume().offset_bytes, walk.data_size_bytes(), "given up");
        }
    }
}

#[test]
fn a_header_that_cannot_be_is_rejected_as_a_whole() {
    for abi in ABIS {
        let one = Page::new(abi).record(0, b"one.");
        let blank = vec![0; layout(abi).size_bytes()];
        let header_size = layout(abi).data_offset;
        assert_eq!(steps(&blank, abi), [Step::Fault(PageFault::Blank)]);
        assert_eq!(steps(&one.finish_with_size(129), abi), [Step::Fault(PageFault::SizePastEnd)]);
        for size in [0, 7, 8, header_size - 1] {
            let page = &one.finish(0)[..size];
            assert_eq!(steps(page, abi), [Step::Fault(PageFault::HeaderCut)], "{size}");
        }
    }
}

#[test]
fn a_sub_buffer_cut_short_gives_what_it_has() {
    for abi in ABIS {
        let page = Page::new(abi).record(0, b"one.").record(1, b"two.").finish(0);
        let begin = layout(abi).data_offset;
        let one = record(1_000, b"one.");
        let cut = Step::Fault(PageFault::DataCut);
        for (size, expected) in [
            (0, vec![cut]),
            (3, vec![cut]),
            (8, vec![one, cut]),
            (14, vec![one, cut]),
            (16, vec![one, record(1_001, b"two.")]),
        ] {
            assert_eq!(steps(&page[..begin + size], abi), expected, "{size}");
        }
        let mut longer = page.clone();
        longer.extend([0xee; 64]);
        assert_eq!(steps(&longer, abi), steps(&page, abi));
    }
}

#[test]
fn a_growing_sub_buffer_is_read_on_with_its_running_time() {
    for abi in ABIS {
        let layout = layout(abi);
        let page = Page::new(abi).record(0, b"one.").head(TIME_EXTEND, 0).word(1);
        let page = page.record(5, b"two.");
        let before = page.finish(1 << 31);
        let mut first = walk(&before, &layout, abi, None);
        assert_eq!(first.by_ref().count(), 3);
        let resume = first.resume();
        assert_eq!(resume, Resume { offset_bytes: 24, ts: 1_005 + (1 << 27) });

        let after = page.record(6, b"new.").finish(1 << 31);
        let again: Vec<_> = walk(&after, &layout, abi, Some(resume)).collect();
        assert_eq!(again, [record(1_011 + (1 << 27), b"new.")]);

        let nothing_new: Vec<_> = walk(&before, &layout, abi, Some(resume)).collect();
        assert_eq!(nothing_new, []);
        let shrunk = Page::new(abi).record(0, b"one.").finish(0);
        let shrunk: Vec<_> = walk(&shrunk, &layout, abi, Some(resume)).collect();
        assert_eq!(shrunk, [Step::Fault(PageFault::ResumePastEnd)]);
    }
}

#[test]
fn the_end_of_a_walk_says_how_full_the_sub_buffer_was() {
    let abi = ABIS[0];
    let page = Page::new(abi).record(0, b"one.").record(9, b"two.").finish(0);
    let layout = layout(abi);
    let mut walk = walk(&page, &layout, abi, None);
    assert_eq!((walk.ts(), walk.data_size_bytes()), (1_000, 16));
    assert_eq!(walk.by_ref().count(), 2);
    assert_eq!((walk.ts(), walk.data_size_bytes()), (1_009, 16));
}

/// Ends within the number of words there are, inside the page, with a fault only at the end.
fn check_walk(page: &[u8], layout: &SubbufLayout, abi: Abi, resume: Option<Resume>) {
    let bytes = page.as_ptr_range();
    let limit = page.len() / 4 + 3;
    let mut walk: Walk<'_> = walk(page, layout, abi, resume);
    let steps: Vec<_> = walk.by_ref().take(limit).collect();
    assert!(steps.len() < limit);
    assert_eq!(walk.next(), None);
    for (place, step) in steps.iter().enumerate() {
        match step {
            Step::Record(Record { payload, .. }) => {
                let payload = payload.as_ptr_range();
                assert!(bytes.start <= payload.start && payload.end <= bytes.end);
            }
            Step::Lost { .. } => assert_eq!(place, 0),
            Step::Fault(_) => assert_eq!(place + 1, steps.len()),
        }
    }
    // Reading on from the end finds nothing new, whatever was there.
    let end = walk.resume();
    if !steps.iter().any(|step| matches!(step, Step::Fault(_))) {
        assert_eq!(super::walk(page, layout, abi, Some(end)).count(), 0);
    }
}

fn any_resume() -> impl Strategy<Value = Option<Resume>> {
    let resume = (0_usize..300, any::<u64>());
    prop::option::of(resume.prop_map(|(offset_bytes, ts)| Resume { offset_bytes, ts }))
}

proptest! {
    #[test]
    fn any_bytes_are_walked_to_an_end(
        page in prop::collection::vec(any::<u8>(), 0..300),
        commit_size in prop::option::of(0_u8..140),
        abi in prop::sample::select(&ABIS),
        resume in any_resume(),
    ) {
        let mut page = page;
        // Most random commit words say nonsense: give some a size that lets the walk begin.
        if let (Some(size), Some(commit)) = (commit_size, page.get_mut(8..16)) {
            commit.fill(0);
            commit[match abi.endian { Endian::Little => 0, Endian::Big => abi.long_size_bytes - 1 }] = size;
        }
        check_walk(&page, &layout(abi), abi, resume);
    }

    #[test]
    fn any_layout_is_walked_to_an_end(
        page in prop::collection::vec(any::<u8>(), 0..300),
        numbers in prop::array::uniform4(prop_oneof![0_usize..64, any::<usize>()]),
        long_size_bytes in 0_usize..10,
    ) {
        let [commit_offset, commit_size_bytes, data_offset, data_size_bytes] = numbers;
        let layout =
            SubbufLayout { commit_offset, commit_size_bytes, data_offset, data_size_bytes };
        check_walk(&page, &layout, Abi { endian: Endian::Little, long_size_bytes }, None);
    }

    #[test]
    fn a_damaged_page_is_walked_to_an_end(
        records in prop::collection::vec((0_u32..32, any::<u32>(), any::<u32>()), 1..16),
        damage in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..4),
        abi in prop::sample::select(&ABIS),
    ) {
        let mut page = Page::new(abi);
        for (kind, delta, word) in records {
            page = page.head(kind, delta & 0x7ff_ffff).word(word % 64);
        }
        let mut page = page.finish(0);
        for (index, byte) in damage {
            let place = index.index(page.len());
            page[place] = byte;
        }
        check_walk(&page, &layout(abi), abi, None);
    }
}
