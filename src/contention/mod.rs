//! Begin and end events become waits.
//!
//! ```text
//!   one CPU's events, in order          all CPUs' forwarded events, merged by time
//!          |                                        |
//!          v                                        v
//!      Spinners ---- forwards what may leave ---> Sleepers
//!          |         its CPU                        |
//!          +------------> waits <-------------------+
//! ```
//!
//! A spinning lock's wait never leaves its CPU and context, so [`Spinners`] pairs each CPU on
//! its own, in parallel. Everything else belongs to a task, may begin on one CPU and end on
//! another, and goes through [`Sleepers`] in the order of time. [`Sleeps`], where they are asked for,
//! takes the same events: it knows nothing of locks, only who is off its CPU.
//!
//! Invariants: every begin and every end is counted in exactly one term of [`Counts`], so its
//! two identities hold at the end of any sequence of events; no duration is ever invented.
//! Absent on purpose: names, callers and addresses' meaning. A wait carries ids and instants.

mod counts;
mod holders;
mod idle;
mod nest;
mod off_cpu;
mod sleepers;
mod sleeps;
mod spinners;
mod wait;

#[cfg(test)]
mod tests;

pub use counts::{CauseCounts, Counts};
pub use holders::{Evidence, Holder};
pub use idle::{Process, Words};
pub use off_cpu::OffCpu;
pub use sleepers::{Around, Sleepers};
pub use sleeps::Sleeps;
pub use spinners::Spinners;
pub use wait::{Cause, OpenWait, Outcome, Wait};

/// Whether the trace records every begin, or a kernel-side filter leaves some out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Begins {
    /// Every begin is recorded: an end without one is an anomaly.
    All,
    /// A filter rejects some: an end without one is normal.
    Filtered,
}
