//! The program on the kernel it runs on: needs root and tracefs, and says plainly where it skips.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::print_stdout,
    clippy::cast_possible_truncation,
    reason = "a test may stop at whatever is not as it should be, and says what it skipped"
)]

mod accounting;
mod cases;
#[path = "../exports/clean.rs"]
mod clean;
mod columns;
#[path = "../exports/decoder.rs"]
#[allow(dead_code, reason = "the other tests ask more of it")]
mod decoder;
mod diff;
mod endings;
mod faults;
mod formats;
mod futexes;
mod groups;
mod hostile_names;
mod known_waits;
mod lasting;
mod lock_names;
mod names;
#[cfg(feature = "parquet")]
mod parquet_files;
mod perf_checks;
mod perf_data;
mod perf_options;
mod places;
#[cfg(feature = "parquet")]
#[path = "../exports/rows.rs"]
#[allow(dead_code, reason = "the other tests ask more of it")]
mod rows;
mod sampling;
mod saved;
mod saved_futexes;
mod sleeps;
mod support;
mod targets;
mod truth;
mod with_perf;
