//! Which kind of waits has which colour, everywhere in a page.

use crate::report::{Profile, Series};
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// Colours that the style sheet has (`.k0`, ..); the last one is for all further kinds.
const COLOURS: usize = 8;

/// The kinds of waits that keep someone from going on, the one with the most time first.
pub(super) struct Palette {
    kinds: Vec<Series>,
}

impl Palette {
    pub(super) fn new(profile: &Profile) -> Palette {
        let mut times: BTreeMap<Series, u64> = BTreeMap::new();
        for (series, bins) in profile.timeline.series().filter(|(series, _)| !series.idle) {
            times.insert(series, bins.iter().fold(0, |sum, bin| bin.saturating_add(sum)));
        }
        let mut kinds: Vec<Series> = times.keys().copied().collect();
        kinds.sort_by_key(|series| (Reverse(times.get(series).copied()), *series));
        Palette { kinds }
    }

    pub(super) fn kinds(&self) -> &[Series] {
        &self.kinds
    }

    /// The number of its colour.
    pub(super) fn colour(&self, series: Series) -> usize {
        let place = self.kinds.iter().position(|kind| *kind == series);
        place.unwrap_or(COLOURS).min(COLOURS - 1)
    }
}
