//! What goes out: the stream of waits and events, and the table at the end.
//!
//! Every writer takes plain values and an [`io::Write`](std::io::Write), and gives the
//! writer's error back as it is, so that a closed pipe can be told from a full disk.

pub mod escape;
pub mod json;
pub mod table;
pub mod text;

mod cgroup;
mod errno;
mod input;
mod keys;
#[cfg(test)]
mod samples;

pub use input::{FieldValue, RawEvent, RunInfo, StreamLoss, StreamOpen, StreamWait, Summary};
