//! The first bytes of a perf.data, and what they point to (tools/perf/util/header.h, 6.18).

use std::collections::BTreeMap;

use super::bytes::Bytes;
use super::error::Fault;
use crate::tracefs::{Abi, Endian};

/// The first bytes of every such file, by the byte order of the machine that wrote it.
pub(super) const MAGIC: [(&[u8; 8], Endian); 2] =
    [(b"PERFILE2", Endian::Little), (b"2ELIFREP", Endian::Big)];

/// Of the format's first version.
pub(super) const OLD_MAGIC: &[u8; 8] = b"PERFFILE";

/// The head of a file that perf wrote to a pipe: nothing but the magic and its own size.
pub(super) const PIPE_HEAD_BYTES: u64 = 16;

/// The bits of the features that there may be.
const FEATURE_BITS: u64 = 256;

/// A place in the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Section {
    pub(super) offset: u64,
    pub(super) size_bytes: u64,
}

/// Where the parts of a file are.
#[derive(Debug)]
pub(super) struct Head {
    /// The events' attributes.
    pub(super) attrs: Section,
    /// How long each of them is, with where its ids are.
    pub(super) attr_bytes: u64,
    /// The records.
    pub(super) data: Section,
    /// What perf says beside the records, by the number of the feature.
    pub(super) features: BTreeMap<u32, Section>,
}

/// The byte order of a file, by its first bytes; none if it is no perf.data.
pub(super) fn endian(first: &[u8]) -> Option<Endian> {
    let found = MAGIC.into_iter().find(|(magic, _)| first.starts_with(*magic));
    found.map(|(_, endian)| endian)
}

/// How numbers are read that come with their width.
pub(super) fn numbers(endian: Endian) -> Abi {
    Abi { endian, long_size_bytes: 8 }
}

/// Whether perf wrote it to a pipe: what is elsewhere in a file stands between the records then.
pub(super) fn is_pipe(bytes: &Bytes, endian: Endian) -> Result<bool, Fault> {
    let head = bytes.part(0, PIPE_HEAD_BYTES, "the head")?;
    Ok(numbers(endian).uint_at(&head, 8, 8) == Some(PIPE_HEAD_BYTES))
}

impl Head {
    /// Reads it, of a file.
    pub(super) fn read(bytes: &Bytes, endian: Endian) -> Result<Head, Fault> {
        const PART: &str = "the head";
        let words = 13;
        let head = bytes.part(0, 8 * words, PART)?;
        let word = |at: usize| numbers(endian).uint_at(&head, 8 * at, 8).unwrap_or(0);
        let section = |at: usize| Section { offset: word(at), size_bytes: word(at + 1) };
        let (attr_bytes, attrs, data) = (word(2), section(3), section(5));
        if data.size_bytes == 0 {
            return Err(Fault::Unended);
        }
        let table = data.offset.checked_add(data.size_bytes);
        let mut offset = table.ok_or(Fault::Malformed { part: PART, offset: 40 })?;
        let mut features = BTreeMap::new();
        for feature in 0..FEATURE_BITS {
            let bits = word(9 + usize::try_from(feature / 64).unwrap_or(0));
            if bits >> (feature % 64) & 1 == 1 {
                let entry = bytes.part(offset, 16, "the table of features")?;
                let number = |at| numbers(endian).uint_at(&entry, at, 8).unwrap_or(0);
                let section = Section { offset: number(0), size_bytes: number(8) };
                features.insert(u32::try_from(feature).unwrap_or(u32::MAX), section);
                offset = offset.saturating_add(16);
            }
        }
        Ok(Head { attrs, attr_bytes, data, features })
    }
}
