//! Memory that rings are drained into, used again and again.

use std::ops::Range;

/// Sub-buffers of one or more rings, in the order they were drained.
///
/// It grows to what one drain needs and stays there; clearing it costs nothing.
#[derive(Debug, Default)]
pub struct Arena {
    /// All of it is initialised: what lies behind `used` is of drains before.
    bytes: Vec<u8>,
    used: usize,
    spans: Vec<Span>,
}

#[derive(Debug)]
struct Span {
    range: Range<usize>,
    resume_from: usize,
}

/// One sub-buffer as it was drained.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Chunk<'a> {
    /// The sub-buffer from its header on: wholly as read, or as far as it was written when mapped.
    pub bytes: &'a [u8],
    /// Bytes of data (behind the header) that an earlier chunk of this ring has already brought.
    /// Decoding goes on there, with the time it had reached. Always 0 when read.
    pub resume_from: usize,
}

impl Arena {
    /// An arena without memory.
    pub fn new() -> Arena {
        Arena::default()
    }

    /// Forgets the chunks and keeps the memory.
    pub fn clear(&mut self) {
        self.used = 0;
        self.spans.clear();
    }

    /// What was drained since the arena was cleared, oldest first.
    pub fn chunks(&self) -> impl Iterator<Item = Chunk<'_>> {
        self.spans.iter().map(|span| Chunk {
            bytes: self.bytes.get(span.range.clone()).unwrap_or(&[]),
            resume_from: span.resume_from,
        })
    }

    /// Bytes drained since the arena was cleared.
    pub fn used_bytes(&self) -> usize {
        self.used
    }

    /// `len` bytes to write to, behind what is kept.
    pub(super) fn spare(&mut self, len: usize) -> &mut [u8] {
        let end = self.used.saturating_add(len);
        if self.bytes.len() < end {
            self.bytes.resize(end, 0);
        }
        self.bytes.get_mut(self.used..end).unwrap_or(&mut [])
    }

    /// Keeps the first `len` bytes of what `spare` gave, as one chunk.
    pub(super) fn keep(&mut self, len: usize, resume_from: usize) {
        let end = self.used.saturating_add(len).min(self.bytes.len());
        self.spans.push(Span { range: self.used..end, resume_from });
        self.used = end;
    }
}

#[cfg(test)]
mod tests {
    use super::{Arena, Chunk};

    #[test]
    fn chunks_come_in_order_and_clearing_keeps_the_memory() {
        let mut arena = Arena::new();
        arena.spare(8).copy_from_slice(b"abcdefgh");
        arena.keep(3, 0);
        arena.spare(4).copy_from_slice(b"wxyz");
        arena.keep(4, 2);
        let chunks: Vec<Chunk<'_>> = arena.chunks().collect();
        assert_eq!(
            chunks,
            [Chunk { bytes: b"abc", resume_from: 0 }, Chunk { bytes: b"wxyz", resume_from: 2 }]
        );
        assert_eq!(arena.used_bytes(), 7);
        arena.clear();
        assert_eq!(arena.chunks().count(), 0);
        assert_eq!(arena.spare(8), b"abcwxyzh");
    }
}
