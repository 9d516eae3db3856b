//! Recordings of real kernels: their symbols, and stacks with the kernel's own names.

use crate::event::LockFlags;
use std::collections::HashMap;
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};

/// A stack as the kernel printed it.
pub(super) struct RecordedStack {
    pub(super) flags: LockFlags,
    /// `symbol+0xoffset` with the address, innermost first.
    pub(super) frames: Vec<(String, u64)>,
}

pub(super) const KERNELS: [&str; 6] =
    ["amd64-6.1", "amd64-6.1-rt", "amd64-6.12", "amd64-6.18-live", "armhf-6.1", "s390x-6.1"];

/// The file, decompressed. None, with a word, where the recordings are not at hand.
pub(super) fn recording(kernel: &str, file: &str) -> Option<Vec<u8>> {
    let near = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors();
    let path: Option<PathBuf> = near
        .map(|folder| folder.join("shared/fixtures/kernels").join(kernel).join(file))
        .find(|path| path.exists());
    let Some(path) = path else {
        eprintln!("skipped: no recording {kernel}/{file}");
        return None;
    };
    let mut text = Vec::new();
    let compressed = fs::File::open(path).unwrap();
    ruzstd::decoding::StreamingDecoder::new(compressed).unwrap().read_to_end(&mut text).unwrap();
    Some(text)
}

pub(super) fn stacks(trace: &[u8]) -> Vec<RecordedStack> {
    let mut flags_of = HashMap::new();
    let mut stacks: Vec<RecordedStack> = Vec::new();
    for line in String::from_utf8_lossy(trace).lines() {
        if let Some(frame) = line.strip_prefix(" => ") {
            let (name, addr) = frame.split_once(" <").unwrap();
            let (name, _) = name.rsplit_once('/').unwrap();
            let addr = u64::from_str_radix(addr.trim_end_matches('>'), 16).unwrap();
            stacks.last_mut().unwrap().frames.push((name.to_owned(), addr));
        } else if let Some((head, rest)) = line.split_once("contention_begin: ") {
            let names = rest.split_once("(flags=").unwrap().1.trim_end_matches(')');
            flags_of.insert(task(head).to_owned(), flags(names));
        } else if let Some((head, _)) = line.split_once("<stack trace>") {
            let flags = flags_of[task(head)];
            stacks.push(RecordedStack { flags, frames: Vec::new() });
        }
    }
    stacks
}

fn task(head: &str) -> &str {
    head.split_once('[').unwrap().0.trim()
}

fn flags(names: &str) -> LockFlags {
    let bits = |bit| (0..6).map(|n| LockFlags(1 << n)).find(|f| f.to_string() == bit);
    LockFlags(names.split('|').filter_map(bits).fold(0, |all, bit| all | bit.0))
}
