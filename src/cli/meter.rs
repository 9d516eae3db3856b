//! How long a run takes, and how much CPU time of ours.

use std::time::{Duration, Instant, SystemTime};

use rustix::time::{ClockId, clock_gettime};

/// A run's clocks.
#[derive(Debug)]
pub(super) struct Meter {
    /// When the run started.
    pub(super) date: SystemTime,
    started: Reading,
    asked: Reading,
}

#[derive(Debug, Clone, Copy)]
struct Reading {
    at: Instant,
    /// CPU time of all threads of ours so far.
    cpu: Duration,
}

impl Reading {
    fn now() -> Reading {
        let cpu = clock_gettime(ClockId::ProcessCPUTime);
        Reading { at: Instant::now(), cpu: cpu.try_into().unwrap_or_default() }
    }
}

impl Meter {
    /// Starts now.
    pub(super) fn start() -> Meter {
        let now = Reading::now();
        Meter { date: SystemTime::now(), started: now, asked: now }
    }

    /// Time since the start.
    pub(super) fn elapsed(&self) -> Duration {
        self.started.at.elapsed()
    }

    /// CPU time since the start, in ns.
    pub(super) fn cpu_ns(&self) -> u64 {
        let cpu = Reading::now().cpu.saturating_sub(self.started.cpu);
        u64::try_from(cpu.as_nanos()).unwrap_or(u64::MAX)
    }

    /// CPU time since this was last asked, as percent of one CPU.
    pub(super) fn percent(&mut self) -> f64 {
        let now = Reading::now();
        let before = std::mem::replace(&mut self.asked, now);
        let cpu = now.cpu.saturating_sub(before.cpu).as_secs_f64();
        100.0 * cpu / (now.at - before.at).as_secs_f64().max(1e-6)
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use super::Meter;

    /// Other tests may run in this process meanwhile, so there is no upper bound.
    #[test]
    fn work_is_seen_as_cpu_time() {
        let mut meter = Meter::start();
        let cpu = || rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
        let begin: Duration = cpu().try_into().unwrap();
        let deadline = Instant::now() + Duration::from_secs(60);
        let spent = || Duration::try_from(cpu()).unwrap() - begin;
        while spent() < Duration::from_millis(5) {
            assert!(Instant::now() < deadline);
        }
        assert!(meter.cpu_ns() >= 5_000_000, "{}", meter.cpu_ns());
        assert!(meter.percent() > 0.0);
        assert!(meter.elapsed() >= Duration::from_millis(5));
    }
}
