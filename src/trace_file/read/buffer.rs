//! Where the rings are.

use super::notes::{Note, Notes};

/// The rings of one tracing instance.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Buffer {
    /// The instance's name; empty for the top level.
    pub name: String,
    /// Its clock, where the file says.
    pub clock: Option<String>,
    /// The size of its sub-buffers, header included.
    pub page_size_bytes: u32,
    /// Its rings.
    pub cpus: Vec<CpuExtent>,
}

/// One CPU's ring in the file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CpuExtent {
    /// The CPU.
    pub cpu: u16,
    /// Where it begins.
    pub offset: u64,
    /// How long it is in the file.
    pub size_bytes: u64,
    /// Whether it is packed, in chunks.
    pub is_packed: bool,
}

impl Buffer {
    /// Cuts off what would lie behind the file's end, and notes it.
    pub(super) fn clip(&mut self, file_end: u64, notes: &mut Notes) {
        for extent in &mut self.cpus {
            let there = file_end.saturating_sub(extent.offset);
            if extent.size_bytes > there {
                let missing_bytes = extent.size_bytes - there;
                extent.size_bytes = there;
                let (buffer, cpu) = (self.name.clone(), extent.cpu);
                notes.add(Note::RingCut { buffer, cpu, missing_bytes });
            }
        }
    }
}
