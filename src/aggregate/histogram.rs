//! How the waits of a row are spread, in bounded memory.

/// Each power of two is divided into `1 << PART_BITS` equal parts.
const PART_BITS: u32 = 5;

/// Parts of a power of two.
const PARTS: u16 = 1 << PART_BITS;

/// Powers of two that are divided. The first stands for all below 32.
const OCTAVES: usize = 60;

/// Parts that are counted in place, before octaves are.
const FEW: usize = 4;

/// Counts by size, in parts of a 32nd of a power of two; below 64 each value has its own.
///
/// A row of few sizes has their counts in place. Of more, each power of two that is met has an array
/// of its parts (128 bytes), so that a further value costs no search. Counts saturate at `u32::MAX`.
#[derive(Debug, Clone)]
pub struct Histogram(Counts);

#[derive(Debug, Clone)]
enum Counts {
    /// Those with a count, rising.
    Few([(u16, u32); FEW]),
    Octaves(Box<Octaves>),
}

#[derive(Debug, Clone)]
struct Octaves {
    /// Where each octave's counts are, from 1; 0 where it has none.
    places: [u8; OCTAVES],
    counts: Vec<[u32; PARTS as usize]>,
}

impl Default for Histogram {
    fn default() -> Self {
        Histogram(Counts::Few([(0, 0); FEW]))
    }
}

/// Two histograms are equal if their counts are, whichever way they are kept.
impl PartialEq for Histogram {
    fn eq(&self, other: &Self) -> bool {
        self.parts().eq(other.parts())
    }
}

impl Eq for Histogram {}

impl Histogram {
    /// Counts one value.
    #[inline]
    pub fn add(&mut self, value: u64) {
        self.add_to(part(value), 1);
    }

    /// Adds another one's counts.
    pub fn merge(&mut self, other: &Histogram) {
        other.parts().for_each(|(part, count)| self.add_to(part, count));
    }

    /// The value that `per_mille` thousandths of all values do not exceed (the nearest rank), off
    /// by at most a 64th of it; none where there is no value.
    pub fn quantile(&self, per_mille: u64) -> Option<u64> {
        let all: u64 = self.parts().map(|(_, count)| u64::from(count)).sum();
        let rank = (all * per_mille.min(1000)).div_ceil(1000).max(1);
        let mut up_to = 0;
        let at = self.parts().find(|&(_, count)| {
            up_to += u64::from(count);
            up_to >= rank
        });
        at.map(|(part, _)| middle(part))
    }

    /// The ranges from one power of two to the next that are not empty, rising: where each
    /// begins, and its count. The first may be that of 0 alone.
    pub fn octaves(&self) -> impl Iterator<Item = (u64, u64)> {
        let parts: Vec<(u16, u32)> = self.parts().collect();
        let octaves = parts.chunk_by(|(a, _), (b, _)| octave(*a) == octave(*b)).map(|parts| {
            let counts = parts.iter().map(|&(_, count)| u64::from(count));
            (parts.first().map_or(0, |&(part, _)| octave(part)), counts.sum())
        });
        octaves.collect::<Vec<_>>().into_iter()
    }

    /// The parts that are not empty, rising, each with its count.
    fn parts(&self) -> impl Iterator<Item = (u16, u32)> {
        let (few, octaves) = match &self.0 {
            Counts::Few(few) => (&few[..], None),
            Counts::Octaves(octaves) => (&[][..], Some(octaves)),
        };
        let few = few.iter().copied().filter(|&(_, count)| count > 0);
        few.chain(octaves.into_iter().flat_map(|octaves| octaves.parts()))
    }

    #[inline]
    fn add_to(&mut self, part: u16, count: u32) {
        match &mut self.0 {
            Counts::Octaves(octaves) => octaves.add(part, count),
            Counts::Few(few) => {
                if !add_to_few(few, part, count) {
                    let mut octaves = Octaves { places: [0; OCTAVES], counts: Vec::new() };
                    few.iter().for_each(|&(part, count)| octaves.add(part, count));
                    octaves.add(part, count);
                    self.0 = Counts::Octaves(Box::new(octaves));
                }
            }
        }
    }
}

/// Whether there was room.
fn add_to_few(few: &mut [(u16, u32); FEW], part: u16, count: u32) -> bool {
    if let Some((_, sum)) = few.iter_mut().find(|(known, sum)| *known == part && *sum > 0) {
        *sum = sum.saturating_add(count);
        return true;
    }
    let Some(place) = few.iter_mut().find(|(_, count)| *count == 0) else { return false };
    *place = (part, count);
    // What is empty stays behind.
    few.sort_unstable_by_key(|&(part, count)| (count == 0, part));
    true
}

impl Octaves {
    #[inline]
    fn add(&mut self, part: u16, count: u32) {
        let Some(place) = self.places.get_mut(usize::from(part / PARTS)) else { return };
        if *place == 0 {
            self.counts.push([0; PARTS as usize]);
            // There are no more octaves than fit.
            *place = u8::try_from(self.counts.len()).unwrap_or(u8::MAX);
        }
        let counts = self.counts.get_mut(usize::from(*place).wrapping_sub(1));
        let sum = counts.and_then(|counts| counts.get_mut(usize::from(part % PARTS)));
        if let Some(sum) = sum {
            *sum = sum.saturating_add(count);
        }
    }

    fn parts(&self) -> impl Iterator<Item = (u16, u32)> {
        let octaves = (0u16..).zip(&self.places).filter(|(_, place)| **place > 0);
        let counts = octaves.filter_map(|(octave, place)| {
            let counts = self.counts.get(usize::from(*place).checked_sub(1)?)?;
            Some((octave * PARTS..).zip(counts.iter().copied()))
        });
        counts.flatten().filter(|&(_, count)| count > 0)
    }
}

/// The number of the part a value belongs to: itself below 64, and no gap behind.
fn part(value: u64) -> u16 {
    let shift = value.checked_ilog2().unwrap_or(0).saturating_sub(PART_BITS);
    let part = u64::from(shift) * u64::from(PARTS) + (value >> shift);
    u16::try_from(part).unwrap_or(u16::MAX)
}

/// A part's first value, and the binary logarithm of how many it has.
fn values(part: u16) -> (u64, u16) {
    let shift = (part / PARTS).saturating_sub(1);
    (u64::from(part - shift * PARTS) << shift, shift)
}

fn middle(part: u16) -> u64 {
    let (first, shift) = values(part);
    first + (1 << shift) / 2
}

/// The power of two at which the part's range begins; 0 for that of 0.
fn octave(part: u16) -> u64 {
    values(part).0.checked_ilog2().map_or(0, |exponent| 1 << exponent)
}

#[cfg(test)]
mod tests {
    use super::{Histogram, middle, octave, part, values};
    use proptest::prelude::*;

    /// As likely small as large.
    fn any_size() -> impl Strategy<Value = u64> {
        (any::<u64>(), 0u32..64).prop_map(|(value, shift)| value >> shift)
    }

    fn of(values: &[u64]) -> Histogram {
        let mut histogram = Histogram::default();
        values.iter().for_each(|&value| histogram.add(value));
        histogram
    }

    #[test]
    fn parts_follow_each_other_without_a_gap_from_0_to_the_largest_value() {
        let mut next = Some(0);
        for number in 0..1920 {
            let (first, shift) = values(number);
            assert_eq!(Some(first), next);
            assert_eq!((part(first), part(first + ((1 << shift) - 1))), (number, number));
            assert!(octave(number) <= first && first / 2 < octave(number).max(1));
            next = first.checked_add(1 << shift);
        }
        assert_eq!((next, part(u64::MAX)), (None, 1919));
    }

    #[test]
    fn quantiles_are_nearest_ranks() {
        let hundred: Vec<u64> = (1..=100).map(|n| n * 1024).collect();
        let quantiles = [0, 10, 500, 950, 990, 1000, 2000].map(|q| of(&hundred).quantile(q));
        let ranks = [1u64, 1, 50, 95, 99, 100, 100];
        assert_eq!(quantiles, ranks.map(|rank| Some(middle(part(rank * 1024)))));
        assert_eq!(of(&[7]).quantile(990), Some(7));
        assert_eq!(of(&[]).quantile(500), None);
    }

    #[test]
    fn ranges_are_drawn_from_powers_of_two() {
        let ranges: Vec<_> = of(&[0, 1, 2, 3, 64, 127, 128, u64::MAX]).octaves().collect();
        assert_eq!(ranges, [(0, 1), (1, 1), (2, 2), (64, 2), (128, 1), (1 << 63, 1)]);
    }

    #[test]
    fn counts_saturate() {
        for others in [0, 9] {
            let mut histogram = of(&[6]);
            histogram.add_to(5, u32::MAX - 1);
            (0..others).for_each(|other| histogram.add(1 << (other + 10)));
            histogram.merge(&histogram.clone());
            let smallest: Vec<_> = histogram.parts().take(2).collect();
            assert_eq!(smallest, [(5, u32::MAX), (6, 2)]);
        }
    }

    proptest! {
        #[test]
        fn a_quantile_is_that_of_the_sorted_values_within_3_2_percent(
            mut sizes in prop::collection::vec(any_size(), 1..300),
            per_mille in 0u64..=1000,
        ) {
            let found = of(&sizes).quantile(per_mille).unwrap();
            sizes.sort_unstable();
            let rank = (sizes.len() * usize::try_from(per_mille).unwrap()).div_ceil(1000).max(1);
            let exact = sizes[rank - 1];
            prop_assert!(
                u128::from(found.abs_diff(exact)) * 1000 <= u128::from(exact) * 32,
                "{} for {}", found, exact
            );
        }

        #[test]
        fn merged_parts_are_the_histogram_of_all_values(
            sizes in prop::collection::vec(any_size(), 0..300),
            cut in any::<prop::sample::Index>(),
        ) {
            let (left, right) = sizes.split_at(cut.index(sizes.len() + 1));
            let mut merged = of(left);
            merged.merge(&of(right));
            prop_assert_eq!(&merged, &of(&sizes));
            prop_assert!(merged.parts().is_sorted_by(|a, b| a.0 < b.0));
            let mut counted: std::collections::BTreeMap<u16, u32> = Default::default();
            sizes.iter().for_each(|&size| *counted.entry(part(size)).or_default() += 1);
            prop_assert!(merged.parts().eq(counted));
            let drawn: u64 = merged.octaves().map(|(_, count)| count).sum();
            prop_assert_eq!(drawn, sizes.len() as u64);
        }
    }
}
