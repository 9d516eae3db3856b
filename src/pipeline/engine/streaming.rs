//! What of a window goes to the stream.

use crate::event::Event;
use crate::event::decode::Decoded;

use super::super::lane::Decoding;
use super::super::merge::merge;
use super::super::raw::{RawEvent, RawHead, RawStore};
use super::super::results::Sink;
use super::Engine;

impl Engine {
    /// In the order in which they happened.
    pub(super) fn stream_events(&self, sink: &mut dyn Sink) {
        let slices = self.lanes.iter();
        let slices = slices.map(|lane| lane.events.get(..lane.window.events).unwrap_or(&[]));
        let mut stores: Vec<_> =
            self.lanes.iter().map(|lane| lane.raw.iter().flat_map(RawStore::iter)).collect();
        for (lane, event) in merge(slices.collect()) {
            let stored = stores.get_mut(lane).and_then(Iterator::next).flatten();
            let Some(stored) = stored else { continue };
            if let Some(raw) = self.raw_event(event, stored) {
                sink.event(&raw);
            }
        }
    }

    fn raw_event<'a>(
        &'a self,
        event: &Event,
        (raw, payload): (RawHead, &'a [u8]),
    ) -> Option<RawEvent<'a>> {
        let name = self.cache.name_at(event.head.tid, event.head.cpu, event.head.stamp);
        let shown = self.keep.shows(&event.head, &name);
        let Decoding { decoder, abi, .. } = &self.decoding;
        let format = decoder.format(raw.id);
        let frames = match decoder.decode(raw.id, payload) {
            Ok(Decoded::Stack(frames)) => Some(frames),
            _ => None,
        };
        let (head, abi) = (event.head, *abi);
        shown.then_some(RawEvent { head, raw, name, payload, format, abi, frames })
    }
}
