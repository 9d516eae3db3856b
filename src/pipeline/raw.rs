//! Events with their bytes, where every event is streamed.

use crate::cmdline_cache::TaskName;
use crate::event::Head;
use crate::tracefs::{Abi, EventFormat};

use crate::event::decode::Frames;
pub use crate::event::decode::RawHead;

/// An event as it is streamed: under the name its task had at that instant.
#[derive(Debug, Clone)]
pub struct RawEvent<'a> {
    /// When, where, on top of whom.
    pub head: Head,
    /// Its common fields as recorded.
    pub raw: RawHead,
    /// Who its task was then.
    pub name: TaskName,
    /// Its bytes.
    pub payload: &'a [u8],
    /// What they mean, if its id is known.
    pub format: Option<&'a EventFormat>,
    /// Byte order and word size of them.
    pub abi: Abi,
    /// The frames, if it is a kernel stack: its format names too few of them.
    pub frames: Option<Frames<'a>>,
}

/// The bytes of a lane's decoded events, in their order; gaps have none.
#[derive(Debug, Default)]
pub(super) struct RawStore {
    events: Vec<Stored>,
    bytes: Vec<u8>,
}

#[derive(Debug)]
struct Stored {
    head: Option<RawHead>,
    /// Where its bytes end; they begin where those before end.
    end: usize,
}

impl RawStore {
    pub(super) fn push(&mut self, head: RawHead, payload: &[u8]) {
        self.bytes.extend_from_slice(payload);
        self.events.push(Stored { head: Some(head), end: self.bytes.len() });
    }

    /// Keeps the place of something that is no event.
    pub(super) fn push_nothing(&mut self) {
        self.events.push(Stored { head: None, end: self.bytes.len() });
    }

    /// Every event's common fields and bytes; none for a gap.
    pub(super) fn iter(&self) -> impl Iterator<Item = Option<(RawHead, &[u8])>> {
        let mut begin = 0;
        self.events.iter().map(move |stored| {
            let bytes = self.bytes.get(begin..stored.end).unwrap_or(&[]);
            begin = stored.end;
            Some((stored.head?, bytes))
        })
    }

    /// Drops the first events.
    pub(super) fn forget(&mut self, count: usize) {
        let gone = count.checked_sub(1).and_then(|last| self.events.get(last));
        let gone_bytes = gone.map_or(0, |last| last.end);
        self.events.drain(..count);
        self.bytes.drain(..gone_bytes);
        for stored in &mut self.events {
            stored.end -= gone_bytes;
        }
    }
}
