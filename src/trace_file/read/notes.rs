//! What of a file could not be read.

use super::super::error::Fault;
use super::super::limits::MAX_NOTES;

/// Something that is missing, while the rest can be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Note {
    /// The options, and what they would have pointed to, end here.
    #[error("options end early: {0}")]
    OptionsEnd(Fault),
    /// A text or a buffer that was left out.
    #[error("left out: {0}")]
    LeftOut(Fault),
    /// A ring that ends behind the file's end.
    #[error("ring of CPU {cpu}{}: {missing_bytes} bytes are cut off", of_buffer(buffer))]
    RingCut {
        /// The buffer's name.
        buffer: String,
        /// The CPU.
        cpu: u16,
        /// How many bytes of sub-buffers are missing.
        missing_bytes: u64,
    },
    /// A buffer that holds text instead of rings.
    #[error("text of a latency tracer{} was left out", of_buffer(buffer))]
    Text {
        /// The buffer's name.
        buffer: String,
    },
}

fn of_buffer(name: &str) -> String {
    if name.is_empty() { String::new() } else { format!(" in buffer {name:?}") }
}

/// The first notes, and how many more there were.
#[derive(Debug, Default)]
pub struct Notes {
    /// The first ones.
    pub first: Vec<Note>,
    /// Those behind them.
    pub more: u64,
}

impl Notes {
    pub(super) fn add(&mut self, note: Note) {
        if self.first.len() < MAX_NOTES {
            self.first.push(note);
        } else {
            self.more += 1;
        }
    }

    /// Whether the file is all there.
    pub fn is_empty(&self) -> bool {
        self.first.is_empty()
    }
}
