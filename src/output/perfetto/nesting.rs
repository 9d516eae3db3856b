//! Which slices can share a track.

use std::collections::VecDeque;

/// Slices one after the other that a track remembers.
const MAX_REMEMBERED: usize = 64;

/// The slices of a track so far. They are known by their ends alone, from begins and ends in the order of
/// time: a slice must lie wholly within another one, or wholly beside it.
#[derive(Debug, Default)]
pub(super) struct Nesting {
    /// The outermost ones, beside each other, in their order.
    outermost: VecDeque<(u64, u64)>,
}

impl Nesting {
    /// Takes a slice, if those before it allow that. Of two that begin at the same time only the first one told
    /// begins first, so the second one cannot be around it.
    pub(super) fn takes(&mut self, begin: u64, end: u64) -> bool {
        let before = self.outermost.partition_point(|&(other, _)| other <= begin);
        let is_free = before.checked_sub(1).and_then(|last| self.outermost.get(last));
        let is_free = is_free.is_none_or(|&(_, other)| other <= begin);
        let is_around = self.outermost.iter().skip(before).all(|&(_, other)| other <= end);
        if !is_free || !is_around {
            return false;
        }
        self.outermost.truncate(before);
        self.outermost.push_back((begin, end));
        if self.outermost.len() > MAX_REMEMBERED
            && let (Some((first, _)), Some((_, last))) =
                (self.outermost.pop_front(), self.outermost.pop_front())
        {
            // As if it were one: what would begin between the two is refused for nothing.
            self.outermost.push_front((first, last));
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::Nesting;
    use proptest::prelude::*;

    #[test]
    fn slices_stand_beside_or_around_those_before() {
        let mut nesting = Nesting::default();
        let table = [
            ((10, 20), true),
            ((20, 30), true),
            ((25, 40), false),
            ((5, 15), false),
            ((20, 35), false),
            ((30, 30), true),
            ((5, 35), true),
            ((36, 40), true),
            ((1, 50), true),
            ((1, 60), false),
        ];
        for ((begin, end), fits) in table {
            assert_eq!(nesting.takes(begin, end), fits, "{begin}..{end}");
        }
    }

    #[test]
    fn a_track_is_never_full() {
        let mut nesting = Nesting::default();
        assert!((0..10_000).all(|n| nesting.takes(10 * n, 10 * n + 5)));
        assert!(nesting.outermost.len() <= super::MAX_REMEMBERED);
        assert!(!nesting.takes(7, 200_000), "it may lie in what was joined");
        assert!(nesting.takes(0, 0) || nesting.takes(200_000, 200_001));
    }

    proptest! {
        /// A reader keeps a stack, and closes whatever is on its top: each slice must be closed by its own end.
        #[test]
        fn what_is_taken_reads_back_as_it_was(
            slices in prop::collection::vec((0u64..60, 0u64..30), 1..40)
        ) {
            let mut slices: Vec<_> = slices.iter().map(|(begin, wait)| (*begin, begin + wait)).collect();
            slices.sort_by_key(|slice| slice.1);
            let mut nesting = Nesting::default();
            slices.retain(|(begin, end)| nesting.takes(*begin, *end));
            let mut events: Vec<(u64, Option<u64>)> = Vec::new();
            for (begin, end) in &slices {
                events.extend([(*begin, Some(*end)), (*end, None)]);
            }
            events.sort_by_key(|event| event.0);
            let mut open = Vec::new();
            for (at, begins) in events {
                match begins {
                    Some(end) => open.push(end),
                    None => prop_assert_eq!(open.pop(), Some(at)),
                }
            }
        }
    }
}
