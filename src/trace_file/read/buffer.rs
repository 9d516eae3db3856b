//! Where the rings are.

use super::super::error::Fault;
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

/// Leaves out every ring that begins within another one. No writer makes such files: they are there to have
/// the same bytes read, or unpacked, over and over again.
pub(super) fn leave_out_shared(buffers: &mut [Buffer], notes: &mut Notes) {
    let rings = buffers.iter_mut().flat_map(|buffer| &mut buffer.cpus);
    let mut rings: Vec<&mut CpuExtent> = rings.filter(|ring| ring.size_bytes > 0).collect();
    rings.sort_by_key(|ring| ring.offset);
    let mut end = 0;
    for ring in rings {
        if ring.offset < end {
            let fault = Fault::Malformed { part: "a ring of its own", offset: ring.offset };
            notes.add(Note::LeftOut(fault));
            ring.size_bytes = 0;
        } else {
            end = ring.offset.saturating_add(ring.size_bytes);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Buffer, CpuExtent, Notes, leave_out_shared};

    #[test]
    fn no_byte_is_of_two_rings() {
        let ring = |(offset, size_bytes)| CpuExtent { cpu: 0, offset, size_bytes, is_packed: true };
        let buffer = |rings: [(u64, u64); 3]| Buffer {
            name: String::new(),
            clock: None,
            page_size_bytes: 4096,
            cpus: rings.map(ring).into(),
        };
        let mut buffers =
            [buffer([(100, 10), (110, 10), (100, 10)]), buffer([(119, 1), (0, 0), (120, 1)])];
        let mut notes = Notes::default();
        leave_out_shared(&mut buffers, &mut notes);
        let sizes = buffers.iter().flat_map(|buffer| &buffer.cpus).map(|ring| ring.size_bytes);
        assert_eq!(sizes.collect::<Vec<_>>(), [10, 10, 0, 0, 0, 1]);
        let told: Vec<String> = notes.first.iter().map(ToString::to_string).collect();
        assert_eq!(
            told,
            [
                "left out: something else than a ring of its own at byte 100",
                "left out: something else than a ring of its own at byte 119",
            ]
        );
    }
}
