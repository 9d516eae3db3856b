//! Rings of machines that are larger than the one at hand: valid sub-buffers for any number of CPUs,
//! with the truth about every wait in them.
//!
//! ```text
//!   Spec --> Machine: tasks that are born, renamed, wait and leave, on CPUs --> records
//!        records --> Pages: sub-buffers as the kernel lays them out, with losses
//! ```
//!
//! The same spec and seed give the same rings.

#![allow(dead_code, reason = "each user takes what it needs")]

mod formats;
mod machine;
mod page;
mod stages;

pub(crate) use formats::formats;
pub(crate) use machine::{TruthWait, generate};
pub(crate) use stages::engine;

/// The size of a generated sub-buffer: what a page of 4 KiB holds with its header.
pub(crate) const SUB_BUFFER_BYTES: usize = 4096;

/// `events/header_page` of the generated rings.
pub(crate) const HEADER_PAGE: &str = "\tfield: u64 timestamp;\toffset:0;\tsize:8;\tsigned:0;\n\
    \tfield: local_t commit;\toffset:8;\tsize:8;\tsigned:1;\n\
    \tfield: int overwrite;\toffset:8;\tsize:1;\tsigned:1;\n\
    \tfield: char data;\toffset:16;\tsize:4080;\tsigned:1;\n";

/// What to generate.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Spec {
    /// CPUs.
    pub(crate) cpus: u16,
    /// Waits that get an end, in all.
    pub(crate) waits: usize,
    /// Tasks that live at once.
    pub(crate) tasks: u32,
    /// Different locks.
    pub(crate) locks: u64,
    /// Of a thousand steps, so many are a task's birth and another one's end.
    pub(crate) forks_per_mille: u32,
    /// Of a thousand steps, so many are a rename.
    pub(crate) renames_per_mille: u32,
    /// Of a thousand waits, so many have an interrupt's wait inside.
    pub(crate) nested_per_mille: u32,
    /// Of a thousand waits, so many are for a sleeping lock, and end on another CPU.
    pub(crate) sleeping_per_mille: u32,
    /// Of a thousand sub-buffers, so many are lost.
    pub(crate) lost_per_mille: u32,
    /// Where the dice begin.
    pub(crate) seed: u64,
}

impl Default for Spec {
    fn default() -> Self {
        Spec {
            cpus: 2,
            waits: 10_000,
            tasks: 100,
            locks: 50,
            forks_per_mille: 10,
            renames_per_mille: 10,
            nested_per_mille: 20,
            sleeping_per_mille: 200,
            lost_per_mille: 0,
            seed: 1,
        }
    }
}

/// What came out.
#[derive(Debug)]
pub(crate) struct Rings {
    /// Each CPU's sub-buffers, one after the other.
    pub(crate) rings: Vec<Vec<u8>>,
    /// Every wait that has an end, lost or not, in the order of their ends.
    pub(crate) waits: Vec<TruthWait>,
    /// Events written, those lost included.
    pub(crate) events: usize,
    /// Of those: begins and ends of waits.
    pub(crate) lock_events: usize,
    /// Events in sub-buffers that were lost.
    pub(crate) lost: usize,
}

/// xorshift64*: good enough dice, and the same everywhere.
#[derive(Debug)]
struct Dice(u64);

impl Dice {
    fn new(seed: u64) -> Dice {
        Dice(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 33) % limit.max(1)
    }

    fn hits(&mut self, per_mille: u32) -> bool {
        self.below(1000) < u64::from(per_mille)
    }
}
