//! What a report is made of: rows, the columns over them, their order, and how good the data is.
//!
//! Each output is a loop over these. A column is declared once, in [`COLUMNS`].

mod bad;
mod column;
mod identity;
mod overhead;
mod quality;
mod row;
mod time;
mod witness;

pub use crate::aggregate::{Histogram, Sample};
pub use crate::contention::Counts;
pub use bad::Bad;
pub use column::{COLUMNS, Column, DEFAULT_FIELDS, Unit};
pub use identity::Identity;
pub use overhead::Overhead;
pub use quality::{CpuEvents, Quality};
pub use row::{By, MAX_KEYS, Part, Row, RowKey, select};
pub use time::{Scaled, scaled};
pub use witness::Witness;

/// The figures of a row.
pub type RowStats = crate::aggregate::Stats<Witness>;
