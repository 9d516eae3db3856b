//! How often rings are read.

use std::time::Duration;

use super::live::RingFill;

/// A ring fuller than this when it is read was read too late.
const TOO_FULL_PERCENT: u64 = 50;

/// While no ring is fuller than this there is time.
const NEARLY_EMPTY_PERCENT: u64 = 10;

/// So many times in turn, before rings are read less often again.
const PATIENCE: u32 = 64;

/// More often is no use: to be woken takes as long.
const LEAST: Duration = Duration::from_millis(2);

/// How often rings are read: as often as asked for, and more often while they fill up in between.
///
/// A ring is not made larger while it is recorded to: the kernel records nothing meanwhile, and does not
/// count what is missing (`tracing_stop_tr`, kernel/trace/trace.c, 6.18).
#[derive(Debug)]
pub(super) struct Pace {
    shift: u32,
    quiet: u32,
    pub(super) fill: RingFill,
}

impl Pace {
    pub(super) fn new() -> Pace {
        Pace { shift: 0, quiet: 0, fill: RingFill::default() }
    }

    /// The time from one reading to the next, where it is to be `asked`.
    pub(super) fn tick(&self, asked: Duration) -> Duration {
        let shortened = asked.checked_div(1 << self.shift).unwrap_or(LEAST);
        shortened.max(LEAST.min(asked))
    }

    /// So full was the fullest ring when it was read.
    pub(super) fn note(&mut self, percent: u64) {
        self.fill.peak_percent = self.fill.peak_percent.max(percent);
        if percent >= TOO_FULL_PERCENT {
            self.quiet = 0;
            self.fill.hurried += 1;
            self.shift = (self.shift + 1).min(8);
        } else if percent > NEARLY_EMPTY_PERCENT || self.shift == 0 {
            self.quiet = 0;
        } else if self.quiet == PATIENCE {
            (self.quiet, self.shift) = (0, self.shift - 1);
        } else {
            self.quiet += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::{LEAST, PATIENCE, Pace};

    const ASKED: Duration = Duration::from_millis(50);

    #[test]
    fn full_rings_are_read_more_often_and_empty_ones_as_asked() {
        let mut pace = Pace::new();
        let mut note = |percents: &[u64]| {
            percents.iter().for_each(|&percent| pace.note(percent));
            (pace.tick(ASKED), pace.fill.hurried)
        };
        assert_eq!(note(&[0, 30, 49]), (ASKED, 0));
        assert_eq!(note(&[50]), (ASKED / 2, 1));
        assert_eq!(note(&[100, 99]), (ASKED / 8, 3));
        assert_eq!(note(&[20; 999]), (ASKED / 8, 3));
        assert_eq!(note(&vec![5; PATIENCE as usize]), (ASKED / 8, 3));
        assert_eq!(note(&[5]), (ASKED / 4, 3));
        assert_eq!(note(&[5; 999]), (ASKED, 3));
        assert_eq!(note(&[90; 99]).0, LEAST);
        assert_eq!(pace.fill.peak_percent, 100);
    }

    #[test]
    fn whoever_asks_for_less_gets_it() {
        let mut pace = Pace::new();
        (0..99).for_each(|_| pace.note(100));
        assert_eq!(pace.tick(Duration::from_millis(1)), Duration::from_millis(1));
        assert_eq!(pace.tick(Duration::ZERO), Duration::ZERO);
    }
}
