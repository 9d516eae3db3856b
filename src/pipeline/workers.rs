//! Work on many lanes, on several CPUs where there is enough of it.

use std::num::NonZero;
use std::sync::{Mutex, PoisonError};
use std::thread;

/// Below this many events a thread costs more than it saves: starting one takes some 30 us, an
/// event some 50 ns.
const WORTH_A_THREAD: usize = 4096;

/// How many threads can work on so many lanes.
pub(super) fn threads(lanes: usize) -> usize {
    thread::available_parallelism().map_or(1, NonZero::get).min(lanes)
}

/// Runs `work` once on each of `lanes`, which hold `events` together.
pub(super) fn on_each<T: Send>(lanes: &mut [T], events: usize, work: impl Fn(&mut T) + Sync) {
    let threads = threads(lanes.len()).min(events / WORTH_A_THREAD);
    if threads < 2 {
        lanes.iter_mut().for_each(work);
        return;
    }
    let queue = Mutex::new(lanes.iter_mut());
    let next = || queue.lock().unwrap_or_else(PoisonError::into_inner).next();
    thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                while let Some(lane) = next() {
                    work(lane);
                }
            });
        }
    });
}

#[cfg(test)]
mod tests {
    use super::on_each;

    #[test]
    fn every_lane_is_worked_on_once_whatever_the_load() {
        for events in [0, 10, 1_000_000] {
            let mut lanes: Vec<u32> = (0..37).collect();
            on_each(&mut lanes, events, |lane| *lane += 100);
            assert_eq!(lanes, (100..137).collect::<Vec<u32>>());
        }
    }
}
