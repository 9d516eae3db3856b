//! Recordings of real kernels against the kernel's own text of the same buffers.
//!
//! Those in `tests/data` are always tested. Further ones, of this project and other projects',
//! are tested in place where they are found (see [`fixtures::shared`]), and said to be skipped
//! where they are not.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::print_stdout,
    reason = "a test may stop at whatever is not as it should be, and says what it skipped"
)]

mod cases;
mod damage;
mod fixtures;
mod formats;
mod futexes;
mod kernel;
mod kernel_text;
mod libtraceevent;
mod live;
mod lock_names;
mod oracle;
mod pages;
mod perf_data;
mod perf_data_damage;
mod perfetto;
mod print_format;
mod saved_traces;
mod scenarios;
mod schedviz;
mod totals;
mod trace_dat;
mod trace_dat_build;
mod trace_dat_damage;
mod trace_dat_kinds;
mod trace_dat_recording;
mod trace_dat_written;
