//! What other programs read: written by the program from its bundled recording, which is the same
//! everywhere and needs no right to trace, and read back in another way.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::cast_possible_truncation,
    clippy::print_stdout,
    reason = "a test may stop at whatever is not as it should be"
)]

mod browser;
mod clean;
mod decoder;
mod folded;
#[path = "../fuzzing/mod.rs"]
mod fuzzing;
mod hostile;
mod html;
#[cfg(feature = "parquet")]
mod parquet;
#[cfg(feature = "parquet")]
mod parquet_hosts;
#[cfg(feature = "parquet")]
mod parquet_slowly;
mod perfetto;
#[path = "../recordings/fixtures.rs"]
#[allow(dead_code, reason = "other tests ask more of it")]
mod recorded;
#[cfg(feature = "parquet")]
mod rows;
mod support;
