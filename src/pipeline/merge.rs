//! Sorted streams become one.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::event::{Event, Stamp};

/// Merges slices, each sorted by stamp, into one sequence sorted by stamp: each event with the number
/// of its slice.
pub(super) fn merge(sorted: Vec<&[Event]>) -> impl Iterator<Item = (usize, &Event)> {
    let mut sorted = sorted;
    let mut next: BinaryHeap<Reverse<(Stamp, usize)>> = sorted
        .iter()
        .enumerate()
        .filter_map(|(stream, events)| Some(Reverse((events.first()?.head.stamp, stream))))
        .collect();
    std::iter::from_fn(move || {
        let Reverse((_, stream)) = next.pop()?;
        let events = sorted.get_mut(stream)?;
        let (first, rest) = events.split_first()?;
        *events = rest;
        if let Some(event) = rest.first() {
            next.push(Reverse((event.head.stamp, stream)));
        }
        Some((stream, first))
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::merge;
    use crate::event::{Body, Context, Cpu, Event, Head, Stamp, Tid};

    fn event(ts_ns: u64, cpu: u16, seq: u64) -> Event {
        let cpu = Cpu(cpu);
        let stamp = Stamp::new(ts_ns, cpu, seq);
        let head = Head { stamp, ts_ns, cpu, tid: Tid(1), context: Context::Task };
        Event { head, body: Body::Other }
    }

    proptest! {
        #[test]
        fn merge_equals_sort(streams in prop::collection::vec(prop::collection::vec(0u64..40, 0..50), 0..6)) {
            let streams: Vec<Vec<Event>> = (0u16..)
                .zip(streams)
                .map(|(cpu, mut times)| {
                    times.sort_unstable();
                    (0u64..).zip(times).map(|(seq, ts)| event(ts, cpu, seq)).collect()
                })
                .collect();
            let merged: Vec<Event> = merge(streams.iter().map(Vec::as_slice).collect()).map(|(_, event)| *event).collect();
            let mut expected: Vec<Event> = streams.concat();
            // Time first, then CPU, then the order on that CPU.
            expected.sort_by_key(|event| (event.head.ts_ns, event.head.cpu));
            prop_assert_eq!(merged, expected);
        }
    }
}
