//! What needs rings that are closer together than real ones.

use std::io::{Read as _, Write as _};

use super::compact::copy_by_hand;
use super::{Setup, Writer};
use crate::trace_file::{Error, Texts, TraceFile, Version};

const SUBBUF: usize = 4096;

const HEADER_PAGE: &str = "\tfield: u64 timestamp;\toffset:0;\tsize:8;\tsigned:0;\n\
    \tfield: local_t commit;\toffset:8;\tsize:8;\tsigned:1;\n\
    \tfield: char data;\toffset:16;\tsize:4080;\tsigned:0;\n";

/// A file with three rings, each with room for four sub-buffers.
fn writer(path: &std::path::Path) -> Writer {
    let setup = Setup {
        version: Version::V7,
        subbuf_size: 4096,
        cpus: vec![0, 1, 2],
        clock: "mono".to_owned(),
        uname: String::new(),
        writer: String::new(),
        ftlock: Vec::new(),
        texts: Texts { header_page: HEADER_PAGE.to_owned(), ..Texts::default() },
    };
    let mut writer = Writer::create(path, &setup).unwrap();
    let first = writer.rings[0].offset;
    for (ring, number) in writer.rings.iter_mut().zip(0..) {
        ring.offset = first + number * 4 * SUBBUF as u64;
        ring.place_end = ring.offset + 4 * SUBBUF as u64;
    }
    writer
}

/// The sub-buffers of each ring, by the byte they are filled with.
fn rings(path: &std::path::Path) -> Vec<Vec<u8>> {
    let file = TraceFile::open(path).unwrap();
    assert!(file.notes.is_empty(), "{:?}", file.notes);
    let buffer = &file.buffers[0];
    let read = |extent| {
        let mut ring = file.cpu_data(buffer, extent);
        let mut bytes = Vec::new();
        while let Some(subbufs) = ring.next(SUBBUF).unwrap() {
            assert!(subbufs.iter().all(|byte| *byte == subbufs[0]));
            bytes.push(subbufs[0]);
        }
        bytes
    };
    buffer.cpus.iter().map(read).collect()
}

#[test]
fn rings_move_together_unless_a_copy_would_write_over_itself() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("trace.dat");
    for (lengths, unmoved, end) in [
        ([2, 2, 2], 0, 6),
        ([0, 0, 4], 0, 4),
        ([4, 4, 4], 0, 12),
        // The second has 3 sub-buffers and only 2 free before it; the third has room for its 1.
        ([2, 3, 1], 1, 8),
        ([3, 2, 0], 1, 6),
    ] {
        let mut writer = writer(&path);
        let first = writer.rings[0].offset;
        let mut expected = vec![Vec::new(); 3];
        for (cpu, length) in (0..).zip(lengths) {
            for number in 0..length {
                let byte = 1 + 10 * u8::try_from(cpu).unwrap() + number;
                writer.append(cpu, &[byte; SUBBUF]).unwrap();
                expected[usize::from(cpu)].push(byte);
            }
        }
        assert_eq!(rings(&path), expected);
        let finished = writer.finish(b"").unwrap();
        assert_eq!(rings(&path), expected, "{lengths:?}");
        let whole = (finished.size_bytes - first) / SUBBUF as u64;
        assert_eq!((finished.unmoved_rings, whole), (unmoved, end), "{lengths:?}");
    }
}

#[test]
fn what_has_no_room_in_a_ring_is_refused_and_what_is_no_sub_buffer_not_counted() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("trace.dat");
    let mut writer = writer(&path);
    writer.append(1, &[1; 3 * SUBBUF]).unwrap();
    writer.append(1, &[2; SUBBUF - 1]).unwrap();
    let refused = writer.append(1, &[3; 2 * SUBBUF]).unwrap_err();
    assert!(matches!(refused, Error::NoPlace { cpu: 1, .. }));
    writer.append(1, &[4; SUBBUF]).unwrap();
    assert_eq!(rings(&path), [vec![], vec![1, 1, 1, 4], vec![]]);
}

#[test]
fn what_is_forgotten_gives_its_room_back() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("trace.dat");
    let mut writer = writer(&path);
    // The place itself moves on: it is as long as it was.
    writer.rings[2].place_end += 100 * SUBBUF as u64;
    let blocks = || std::os::unix::fs::MetadataExt::blocks(&path.metadata().unwrap()) * 512;
    for byte in 1..=50 {
        writer.append(2, &[byte; SUBBUF]).unwrap();
        if byte > 3 {
            writer.forget_first(2).unwrap();
        }
        let kept: Vec<u8> = (byte.saturating_sub(2).max(1)..=byte).collect();
        assert_eq!(rings(&path), [vec![], vec![], kept]);
    }
    assert!(blocks() < 32 * SUBBUF as u64 + writer.layout.head_bytes, "{}", blocks());
    assert!(writer.forget_first(1).is_err());
    writer.finish(b"").unwrap();
    assert_eq!(rings(&path), [vec![], vec![], vec![48, 49, 50]]);
}

#[test]
fn bytes_are_copied_by_hand_where_the_system_does_not() {
    let mut file = tempfile::tempfile().unwrap();
    let bytes: Vec<u8> = (0..3_000_000_u32).flat_map(u32::to_le_bytes).collect();
    file.write_all(&bytes).unwrap();
    // More than is copied at a time, and not a multiple of it.
    copy_by_hand(&file, 5_000_000, 1000, 2_500_001).unwrap();
    let mut copied = Vec::new();
    std::io::Seek::rewind(&mut file).unwrap();
    file.read_to_end(&mut copied).unwrap();
    assert!(copied[1000..2_501_001] == bytes[5_000_000..7_500_001]);
    assert!(copied[..1000] == bytes[..1000] && copied[2_501_001..] == bytes[2_501_001..]);
    assert!(copy_by_hand(&file, 11_999_999, 0, 2).is_err());
}
