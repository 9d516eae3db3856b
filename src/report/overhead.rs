//! What watching cost.

use super::Quality;
use super::quality::sum;
use serde::Serialize;

/// What a run took of the machine.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Overhead {
    /// CPU time of all our threads while we traced, in ns. What the kernel spends on writing
    /// events is in the waiting tasks' time and not in this.
    pub cpu_ns: u64,
    /// The same as percent of one CPU.
    pub cpu_percent: f64,
    /// Events that the kernel wrote, of all kinds.
    pub events: u64,
    /// The same for each second.
    pub events_per_s: u64,
}

impl Quality {
    /// The costs of a run that took this long; none where they were not measured, which is where
    /// a recording was read.
    pub fn overhead(&self, duration_ns: u64) -> Option<Overhead> {
        let cpu_ns = self.own_cpu_ns.filter(|_| duration_ns > 0)?;
        let events = sum(self.cpus.iter().map(|cpu| cpu.written));
        Some(Overhead {
            cpu_ns,
            // Two decimals: the rest is noise, and spoils a line.
            cpu_percent: scaled(cpu_ns, 10_000, duration_ns) as f64 / 100.0,
            events,
            events_per_s: scaled(events, 1_000_000_000, duration_ns),
        })
    }
}

/// `count * by / whole`, rounded.
fn scaled(count: u64, by: u64, whole: u64) -> u64 {
    let (product, whole) = (u128::from(count) * u128::from(by), u128::from(whole));
    u64::try_from((product + whole / 2) / whole).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::{Overhead, Quality};
    use crate::report::CpuEvents;

    #[test]
    fn costs_are_of_one_cpu_and_one_second() {
        let cpus = [3_000, 4_001].map(|written| CpuEvents { written, ..CpuEvents::default() });
        let quality =
            Quality { own_cpu_ns: Some(12_340_000), cpus: cpus.into(), ..Quality::default() };
        let expected =
            Overhead { cpu_ns: 12_340_000, cpu_percent: 0.41, events: 7_001, events_per_s: 2_334 };
        assert_eq!(quality.overhead(3_000_000_000), Some(expected));
        assert_eq!(quality.overhead(0), None);
        assert_eq!(Quality::default().overhead(1), None);
    }
}
