//! What perf says of a recording beside its records.

use super::head::numbers;
use crate::tracefs::Endian;

/// Features by their number (tools/perf/util/header.h, 6.18).
pub(super) const TRACING_DATA: u32 = 1;
const BUILD_ID: u32 = 2;
const HOST: u32 = 3;
const RELEASE: u32 = 4;
const CPUS: u32 = 7;
const COMMAND: u32 = 11;
const CLOCK_DATA: u32 = 29;

/// Those that are looked at, but for [`TRACING_DATA`].
pub(super) const WANTED: [u32; 6] = [BUILD_ID, HOST, RELEASE, CPUS, COMMAND, CLOCK_DATA];

/// Longer command lines are cut.
const MAX_WORDS: usize = 4096;

/// What perf says of a recording.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Features {
    /// The host's name.
    pub host: Option<String>,
    /// The kernel's release.
    pub release: Option<String>,
    /// CPUs that were online.
    pub cpus: Option<u32>,
    /// perf's own command line.
    pub command: Vec<Vec<u8>>,
    /// An instant by the clock of the records, in ns, and the same by the time of day, in ns since 1970.
    pub clock_at: Option<(u64, u64)>,
    /// The kernel's build id.
    pub build_id: Option<Vec<u8>>,
}

impl Features {
    /// Takes what stands in a feature's section. What cannot be read is as if it were not there.
    pub(super) fn take(&mut self, feature: u32, bytes: &[u8], endian: Endian) {
        match feature {
            HOST => self.host = text(bytes, endian),
            RELEASE => self.release = text(bytes, endian),
            // Configured, then online.
            CPUS => self.cpus = u32_at(bytes, 4, endian).filter(|&cpus| cpus > 0),
            COMMAND => self.command = words(bytes, endian),
            CLOCK_DATA => self.clock_at = clock_at(bytes, endian),
            BUILD_ID => self.build_id = kernels_build_id(bytes, endian),
            _ => {}
        }
    }
}

fn u32_at(bytes: &[u8], offset: usize, endian: Endian) -> Option<u32> {
    u32::try_from(numbers(endian).uint_at(bytes, offset, 4)?).ok()
}

/// A length, and so many bytes, which end with the first NUL; and what is behind them.
fn string(bytes: &[u8], endian: Endian) -> Option<(&[u8], &[u8])> {
    let size_bytes = u32_at(bytes, 0, endian)? as usize;
    let (string, rest) = bytes.get(4..)?.split_at_checked(size_bytes)?;
    Some((string.split(|&byte| byte == 0).next().unwrap_or_default(), rest))
}

fn text(bytes: &[u8], endian: Endian) -> Option<String> {
    let (text, _) = string(bytes, endian)?;
    Some(String::from_utf8_lossy(text).into_owned()).filter(|text| !text.is_empty())
}

fn words(bytes: &[u8], endian: Endian) -> Vec<Vec<u8>> {
    let count = u32_at(bytes, 0, endian).unwrap_or(0) as usize;
    let mut rest = bytes.get(4..).unwrap_or_default();
    let words = std::iter::from_fn(|| {
        let (word, behind) = string(rest, endian)?;
        rest = behind;
        Some(word.to_vec())
    });
    words.take(count.min(MAX_WORDS)).collect()
}

/// Version, clock, the time of day and the clock's at one instant.
fn clock_at(bytes: &[u8], endian: Endian) -> Option<(u64, u64)> {
    let number = |offset, size_bytes| numbers(endian).uint_at(bytes, offset, size_bytes);
    (number(0, 4)? == 1).then_some((number(16, 8)?, number(8, 8)?))
}

/// Of a list of programs with their build ids that of the kernel: each entry is a record's head, a
/// process, the id (the last of its 24 bytes is its length, since 5.8) and a path.
fn kernels_build_id(bytes: &[u8], endian: Endian) -> Option<Vec<u8>> {
    const HEAD_BYTES: usize = 8 + 4;
    const SIZE_GIVEN: u64 = 1 << 15;
    let mut rest = bytes;
    loop {
        let number = |offset, size_bytes| numbers(endian).uint_at(rest, offset, size_bytes);
        let entry = rest.get(..usize::try_from(number(6, 2)?).ok()?)?;
        let id = entry.get(HEAD_BYTES..HEAD_BYTES + 24)?;
        let size_bytes = match number(4, 2)? & SIZE_GIVEN {
            0 => 20,
            _ => usize::from(*id.get(20)?).min(20),
        };
        if entry.get(HEAD_BYTES + 24..)?.starts_with(b"[kernel.kallsyms]") {
            return Some(id.get(..size_bytes)?.to_vec());
        }
        rest = rest.get(entry.len().max(1)..)?;
    }
}

#[cfg(test)]
mod tests {
    use super::{BUILD_ID, CLOCK_DATA, COMMAND, CPUS, Features, HOST};
    use crate::tracefs::Endian;

    fn string(text: &[u8]) -> Vec<u8> {
        [&8u32.to_le_bytes()[..], text, &[0; 8][text.len()..]].concat()
    }

    #[test]
    fn each_feature_is_read_and_what_is_cut_is_left_out() {
        let mut features = Features::default();
        let id = [[7; 20].as_slice(), &[20, 0, 0, 0]].concat();
        let entry = |path: &[u8]| {
            let size = u16::try_from(36 + path.len()).unwrap().to_le_bytes();
            [&[0; 4][..], &0x8001u16.to_le_bytes(), &size, &[0xff; 4], &id, path].concat()
        };
        let clock = [1u64 | 1 << 32, 5_000_000_007, 7].map(u64::to_le_bytes).concat();
        let sections = [
            (HOST, string(b"vm")),
            (CPUS, [8u32, 6].map(u32::to_le_bytes).concat()),
            (COMMAND, [2u32.to_le_bytes().to_vec(), string(b"perf"), string(b"a\xff")].concat()),
            (CLOCK_DATA, clock),
            (BUILD_ID, [entry(b"/bin/sh\0"), entry(b"[kernel.kallsyms]\0\0\0")].concat()),
        ];
        for (feature, bytes) in &sections {
            features.take(*feature, bytes, Endian::Little);
        }
        let expected = Features {
            host: Some("vm".to_owned()),
            release: None,
            cpus: Some(6),
            command: vec![b"perf".to_vec(), b"a\xff".to_vec()],
            clock_at: Some((7, 5_000_000_007)),
            build_id: Some(vec![7; 20]),
        };
        assert_eq!(features, expected);
        for (feature, bytes) in &sections {
            for cut in 0..bytes.len() {
                Features::default().take(*feature, &bytes[..cut], Endian::Little);
                Features::default().take(*feature, &bytes[cut..], Endian::Big);
            }
        }
    }
}
