use super::{HEADER_LEN, META_LEN, Mapping, Meta, commit_as_read};
use std::fs;
use std::io::Write as _;

/// A meta page by its first 16 words.
fn meta(words: [u32; 16]) -> Meta {
    let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_ne_bytes()).collect();
    Meta::parse(&<[u8; META_LEN]>::try_from(bytes).unwrap()).unwrap()
}

#[test]
fn the_meta_page_gives_the_geometry_and_the_readers_place() {
    let words = [4096, 80, 4096, 66, 0, 0, 7, 4080, 0, 0, 100, 0, 5, 0, 60, 1];
    let seen = meta(words);
    assert_eq!(
        seen,
        Meta {
            meta_page_size: 4096,
            struct_len: 80,
            subbuf_size: 4096,
            subbufs: 66,
            reader_id: 7,
            reader_read: 4080,
            events_read: (1 << 32) + 60,
        }
    );
    assert_eq!(seen.reader_offset(), Some(4096 + 7 * 4096));
    assert_eq!(seen.mapping_len(), Some(4096 + 66 * 4096));

    let changed = |at: usize, to: u32| {
        let mut words = words;
        words[at] = to;
        meta(words)
    };
    assert!(changed(6, 65).agrees_with(&seen));
    for (at, to) in [(0, 8192), (2, 8192), (3, 67), (6, 66), (6, u32::MAX), (7, 4097)] {
        assert!(!changed(at, to).agrees_with(&seen), "{at} {to}");
    }
}

#[test]
fn a_copys_commit_word_says_what_was_read() {
    let header = |commit: u32| {
        let mut header = [0xff; HEADER_LEN];
        header[8..12].copy_from_slice(&commit.to_le_bytes());
        header
    };
    for (commit, read, resume_from, expected) in [
        (100, 100, 0, (100, 0)),
        (140, 100, 0, (100, 0)),
        (0xc000_0064, 100, 0, (0xc000_0064, 8)),
        (0x8000_0064, 100, 0, (0x8000_0064, 0)),
        // Bit 30 means nothing alone, nor does the count's place while data is still to come.
        (0x4000_0064, 100, 0, (100, 0)),
        (0xc000_0078, 100, 0, (0x8000_0064, 0)),
        (0xc000_0064, 100, 40, (100, 0)),
    ] {
        assert_eq!(commit_as_read(&header(commit), read, resume_from), expected, "{commit:#x}");
    }
}

#[test]
fn copies_stay_within_the_mapping() {
    let mut file = tempfile::NamedTempFile::new().unwrap();
    let bytes: Vec<u8> = (0..=255).cycle().take(4096).collect();
    file.write_all(&bytes).unwrap();
    let mapping = Mapping::new(&fs::File::open(file.path()).unwrap(), 4096).unwrap();
    for (offset, len, whole) in [
        (0, 4096, true),
        (8, 21, true),
        (4088, 8, true),
        (4088, 1, true),
        (4088, 9, false),
        (4096, 1, false),
        (3, 8, false),
        (usize::MAX - 7, 8, false),
    ] {
        let mut copy = vec![0; len];
        assert_eq!(mapping.copy(offset, &mut copy).is_some(), whole, "{offset} {len}");
        if whole {
            assert_eq!(copy, bytes[offset..offset + len]);
        }
    }
}
