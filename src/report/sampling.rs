//! Stacks that were recorded for a part of the time only.

use serde::{Deserialize, Serialize};

/// What stacks cost, and how much of the time they were recorded for that.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct StackSampling {
    /// What they were allowed to cost, in percent of each CPU's time.
    pub max_percent: f64,
    /// What it cost to record a frame, as measured at the start, in ns.
    pub frame_ns: f64,
    /// How much of the time they were recorded, in percent.
    pub on_percent: f64,
}

impl StackSampling {
    /// From a share of a CPU's time, ns, and a share of the time.
    pub fn new(limit: f64, frame_ns: f64, on: f64) -> StackSampling {
        // Further digits are noise, and spoil a line.
        let rounded = |number: f64, digits: f64| (number * digits).round() / digits;
        StackSampling {
            max_percent: rounded(100.0 * limit, 1e6),
            frame_ns: rounded(frame_ns, 10.0),
            on_percent: rounded((100.0 * on).clamp(0.0, 100.0), 1e3),
        }
    }

    /// Whether some waits have no stack for that.
    pub fn is_partial(&self) -> bool {
        self.on_percent < 99.0
    }
}
