//! What a report is made of: rows, the columns over them, their order, and how good the data is.
//!
//! Each output is a loop over these. A column is declared once, in [`COLUMNS`].

mod bad;
mod by;
mod chains;
mod column;
mod cycles;
mod diff;
mod identity;
mod key;
mod overhead;
mod profile;
mod quality;
mod row;
mod sampling;
mod table;
mod time;
mod timeline;
mod witness;

pub use crate::aggregate::{Histogram, Sample, Split};
pub use crate::contention::{Cause, Counts, Evidence, OffCpu};
pub use crate::event::Reason;
pub use bad::Bad;
pub use by::{By, MAX_KEYS};
pub use chains::{ChainId, Chains, Link, Waits};
pub use column::{COLUMNS, Column, DEFAULT_FIELDS, SLEEP_FIELDS, SPLIT_FIELDS, Unit};
pub use cycles::cycles;
pub use diff::{
    Basis, Change, ComparedRow, Comparison, Figures, Lengths, Measure, Presence, RunFacts,
    RunTable, compare, notes,
};
pub use identity::Identity;
pub use key::{FutexId, Owner, Part, RowKey};
pub use overhead::Overhead;
pub use profile::Profile;
pub use quality::{CpuEvents, Holders, Quality};
pub use row::{Row, select};
pub use sampling::StackSampling;
pub use table::{Keys, Table};
pub use time::{Scaled, scaled};
pub use timeline::{Series, Timeline};
pub use witness::{ItsHolder, Witness};

/// The figures of a row.
pub type RowStats = crate::aggregate::Stats<Witness>;
