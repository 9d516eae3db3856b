//! Stretches of time in which events are missing.

use crate::event::Stamp;

/// More stretches than this between two prunings are joined, the oldest first.
const MOST: usize = 1024;

/// Where events are missing: disjoint stretches in time order, whichever CPU they are from
/// (a name may change on any).
#[derive(Debug, Default)]
pub(super) struct Losses {
    stretches: Vec<(Stamp, Stamp)>,
}

impl Losses {
    /// Adds the stretch from the last event before a gap to the first behind it.
    ///
    /// Returns whether stretches apart had to be joined, which costs certainty between them.
    pub(super) fn add(&mut self, after: Stamp, until: Stamp) -> bool {
        let first = self.stretches.partition_point(|&(_, end)| end < after);
        let behind = self.stretches.partition_point(|&(start, _)| start <= until);
        let touched = self.stretches.get(first..behind).unwrap_or(&[]);
        let start = touched.first().map_or(after, |&(start, _)| start.min(after));
        let end = touched.last().map_or(until, |&(_, end)| end.max(until));
        self.stretches.splice(first..behind.max(first), [(start, end)]);
        if self.stretches.len() <= MOST {
            return false;
        }
        if let [(start, _), (_, end), ..] = self.stretches[..] {
            self.stretches.splice(..2, [(start, end)]);
        }
        true
    }

    /// Whether none is known, since the last pruning.
    pub(super) fn is_empty(&self) -> bool {
        self.stretches.is_empty()
    }

    /// Whether an event between the two instants may be missing.
    pub(super) fn between(&self, from: Stamp, to: Stamp) -> bool {
        let first = self.stretches.partition_point(|&(_, end)| end <= from);
        self.stretches.get(first).is_some_and(|&(start, _)| start < to)
    }

    /// The end of the last stretch that ends at or before an instant.
    pub(super) fn last_end(&self, at: Stamp) -> Option<Stamp> {
        let behind = self.stretches.partition_point(|&(_, end)| end <= at);
        self.stretches.get(..behind)?.last().map(|&(_, end)| end)
    }

    /// Drops what no look-up from the horizon on can tell from the last stretch before it.
    pub(super) fn forget_before(&mut self, horizon: Stamp) {
        let ended = self.stretches.partition_point(|&(_, end)| end <= horizon);
        self.stretches.drain(..ended.saturating_sub(1));
    }
}

#[cfg(test)]
mod tests {
    use super::{Losses, MOST};
    use crate::event::Stamp;

    fn at(ns: u64) -> Stamp {
        Stamp::before(ns)
    }

    #[test]
    fn stretches_that_touch_become_one_and_the_rest_stay_apart() {
        let mut losses = Losses::default();
        for (after, until) in [(50, 60), (10, 20), (30, 40), (18, 31), (55, 56)] {
            assert!(!losses.add(at(after), at(until)));
        }
        assert_eq!(losses.stretches, [(at(10), at(40)), (at(50), at(60))]);
        let table =
            [(0, 10, false), (0, 11, true), (39, 45, true), (40, 50, false), (45, 51, true)];
        for (from, to, missing) in table {
            assert_eq!(losses.between(at(from), at(to)), missing, "{from}..{to}");
        }
        assert_eq!(losses.last_end(at(59)), Some(at(40)));
        assert_eq!(losses.last_end(at(39)), None);
    }

    #[test]
    fn the_last_stretch_before_the_horizon_stays_since_older_names_need_it() {
        let mut losses = Losses::default();
        losses.add(at(10), at(20));
        losses.add(at(30), at(40));
        losses.forget_before(at(100));
        assert_eq!(losses.stretches, [(at(30), at(40))]);
        assert!(losses.between(at(15), at(200)));
    }

    #[test]
    fn too_many_stretches_are_joined_at_the_old_end_and_it_is_told() {
        let mut losses = Losses::default();
        let joined =
            (0..2 * MOST as u64).filter(|n| losses.add(at(n * 10), at(n * 10 + 1))).count();
        assert_eq!(joined, MOST);
        assert_eq!(losses.stretches.len(), MOST);
        assert!(losses.between(at(5), at(6)), "joined: nothing is certain there any more");
        assert!(!losses.between(at(20_472), at(20_479)));
    }
}
