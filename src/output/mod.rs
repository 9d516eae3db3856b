//! What goes out: the stream of waits and events, and the report at the end.
//!
//! Every writer takes plain values and an [`io::Write`](std::io::Write), and gives the
//! writer's error back as it is, so that a closed pipe can be told from a full disk.

pub mod csv;
pub mod diff;
pub mod escape;
#[cfg(feature = "flamegraph")]
pub mod flamegraph;
pub mod folded;
pub mod footer;
pub mod html;
pub mod json;
pub mod latency_stats;
#[cfg(feature = "parquet")]
pub mod parquet;
pub mod perf_csv;
pub mod perfetto;
pub mod table;
pub mod text;

mod cgroup;
mod errno;
mod hist;
mod input;
mod keys;
mod lock;
mod machine;
#[cfg(test)]
mod samples;
#[cfg(test)]
mod sleeps_tests;

pub use input::{
    FieldValue, RawEvent, ReportInfo, RunInfo, Section, StreamBlocked, StreamHolder, StreamLoss,
    StreamOpen, StreamWait, Summary,
};
