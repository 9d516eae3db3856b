//! Work on many lanes, on several CPUs where there is enough of it.

use std::iter;
use std::num::NonZero;
use std::sync::{Mutex, PoisonError};
use std::thread;

/// Below this many events a thread costs more than it saves: starting one takes some 30 us, an
/// event some 50 ns.
const WORTH_A_THREAD: usize = 4096;

/// How many threads can work on so many lanes.
pub(super) fn threads(lanes: usize) -> usize {
    thread::available_parallelism().map_or(1, NonZero::get).min(lanes.max(1))
}

/// Runs `work` once on each of `lanes`, which hold `events` together.
pub(super) fn on_each<T: Send>(lanes: &mut [T], events: usize, work: impl Fn(&mut T) + Sync) {
    let mut workers = vec![(); threads(lanes.len())];
    by_workers(lanes, events, &mut workers, |lanes, ()| lanes.for_each(&work));
}

/// Divides `lanes`, which hold `events` together, among as many of `workers` as are worth it: `work` is run
/// once by each of these, with the lanes that fall to it.
pub(super) fn by_workers<T: Send, W: Send>(
    lanes: &mut [T],
    events: usize,
    workers: &mut [W],
    work: impl Fn(&mut dyn Iterator<Item = &mut T>, &mut W) + Sync,
) {
    let threads = workers.len().min(events / WORTH_A_THREAD);
    if threads < 2 {
        return workers.iter_mut().take(1).for_each(|worker| work(&mut lanes.iter_mut(), worker));
    }
    let queue = Mutex::new(lanes.iter_mut());
    let next = || queue.lock().unwrap_or_else(PoisonError::into_inner).next();
    thread::scope(|scope| {
        for worker in workers.iter_mut().take(threads) {
            scope.spawn(|| work(&mut iter::from_fn(next), worker));
        }
    });
}

#[cfg(test)]
mod tests {
    use super::{by_workers, on_each};

    #[test]
    fn every_lane_is_worked_on_once_whatever_the_load() {
        for events in [0, 10, 1_000_000] {
            let mut lanes: Vec<u32> = (0..37).collect();
            on_each(&mut lanes, events, |lane| *lane += 100);
            assert_eq!(lanes, (100..137).collect::<Vec<u32>>());
            let mut sums = [0; 3];
            by_workers(&mut lanes, events, &mut sums, |lanes, sum| {
                *sum += lanes.map(|lane| *lane).sum::<u32>()
            });
            assert_eq!(sums.iter().sum::<u32>(), (100..137).sum::<u32>());
        }
    }
}
