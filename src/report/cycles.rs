//! Waits that wait for each other.

use crate::event::Tid;
use std::collections::HashMap;

/// The cycles among open waits, given each one's waiter and who probably has its lock: for each the
/// places of its waits, every waiter waiting for the next one's, and the last for the first.
///
/// A task may wait for several locks at once, one inside of the other; only the innermost keeps it
/// from going on, and is the last one given of it.
pub fn cycles(waits: &[(Tid, Option<Tid>)]) -> Vec<Vec<usize>> {
    let innermost: HashMap<Tid, usize> =
        waits.iter().enumerate().map(|(place, (waiter, _))| (*waiter, place)).collect();
    let next = |place: usize| {
        let (_, holder) = waits.get(place)?;
        innermost.get(holder.as_ref()?).copied()
    };
    // A walk from each wait, along its own number: who meets it again has found a cycle.
    let mut walked = vec![usize::MAX; waits.len()];
    let mut cycles = Vec::new();
    for start in innermost.values().copied() {
        let mut at = Some(start);
        while let Some(place) = at
            && let Some(mark) = walked.get_mut(place).filter(|mark| **mark == usize::MAX)
        {
            *mark = start;
            at = next(place);
        }
        let closes = at.filter(|&place| walked.get(place) == Some(&start));
        if let Some(first) = closes {
            let around = std::iter::successors(next(first), |&place| next(place));
            let mut cycle: Vec<usize> = around.take_while(|&place| place != first).collect();
            cycle.insert(0, first);
            let least = cycle.iter().enumerate().min_by_key(|(_, place)| **place);
            let least = least.map_or(0, |(at, _)| at);
            cycle.rotate_left(least);
            cycles.push(cycle);
        }
    }
    cycles.sort();
    cycles
}

#[cfg(test)]
mod tests {
    use super::cycles;
    use crate::event::Tid;

    #[test]
    fn waits_for_each_other_are_found_once_and_nothing_else() {
        type Waits = &'static [(u32, u32)];
        let table: [(Waits, &[&[usize]]); 7] = [
            (&[], &[]),
            (&[(1, 0), (2, 0)], &[]),
            (&[(1, 2), (2, 3)], &[]),
            (&[(1, 2), (2, 1)], &[&[0, 1]]),
            // Somebody who waits for one of them is not in it.
            (&[(5, 3), (3, 1), (1, 2), (2, 3)], &[&[1, 2, 3]]),
            (&[(1, 2), (2, 1), (3, 4), (4, 3)], &[&[0, 1], &[2, 3]]),
            (&[(1, 1)], &[&[0]]),
        ];
        for (waits, expected) in table {
            let waits: Vec<_> = waits
                .iter()
                .map(|&(waiter, holder)| (Tid(waiter), (holder > 0).then_some(Tid(holder))))
                .collect();
            assert_eq!(cycles(&waits), expected, "{waits:?}");
        }
        // Task 1 waits for task 9 inside of a wait for task 2, which waits for it.
        let nested = [(Tid(1), Some(Tid(2))), (Tid(1), Some(Tid(9))), (Tid(2), Some(Tid(1)))];
        assert_eq!(cycles(&nested), Vec::<Vec<usize>>::new());
    }
}
