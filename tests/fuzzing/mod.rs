//! What the fuzz targets run: bytes in, nothing out. A panic, a hang or memory that grows is a finding.
//!
//! `fuzz/` calls these functions with what the fuzzer makes up, `tests/fuzz_inputs.rs` with what it once
//! found. Where bytes need a frame to mean something, such as the kernel whose pages they are, the first of
//! them choose it, so that every input is a plain file.

#![allow(dead_code, reason = "each user takes what it needs")]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    reason = "a fixture that cannot be read has to stop the run, and a broken promise is the finding"
)]

mod decoding;
pub(crate) mod files;
pub(crate) mod kernels;
mod options;
mod texts;

/// A target: bytes in.
pub(crate) type Target = fn(&[u8]);

/// All of them, by the names they have in `fuzz/` and in `tests/data/fuzz/`.
pub(crate) const TARGETS: [(&str, Target); 9] = [
    ("page", decoding::page),
    ("format", decoding::format),
    ("kallsyms", texts::kallsyms),
    ("proc", texts::proc),
    ("elf", texts::elf),
    ("args", options::args),
    ("trace_dat", files::trace_dat),
    ("saved_run", files::saved_run),
    ("diff", files::diff),
];

/// The target of that name.
pub(crate) fn target(name: &str) -> Target {
    TARGETS.iter().find(|(known, _)| *known == name).expect("a target's name").1
}
