//! perf's `perf.data`: recordings of tracepoints read, from a file or as perf writes them to a pipe.
//!
//! [`PerfData::open`] reads what perf says beside the records: which events there are, what they mean
//! ([`Texts`], the kernel's own, as in a trace.dat), of which machine. [`PerfData::reader`] gives the
//! records of all CPUs in the order of time, a round at a time, so that memory does not grow with the file.
//!
//! What the events mean is not known here: their contents are the kernel's, and decoded as those of a
//! ring. Births, names and ends of tasks are perf's own records.
//!
//! The layouts are those of tools/perf/Documentation/perf.data-file-format.txt (6.18). A file is
//! hostile: no length, offset or count in it is trusted. Records are taken apart by the crate
//! `linux-perf-event-reader`; the file around them is read here, since `linux-perf-data` believes what it
//! counts.

mod bytes;
mod error;
mod events;
mod features;
mod head;
mod moments;
mod open;
mod records;
mod rounds;
mod unpack;

pub use error::{Error, Fault};
pub use features::Features;
pub use open::{PerfData, is_perf_data};
pub use rounds::{Moment, MomentWhat, Reader};

#[cfg(doc)]
use crate::trace_file::Texts;
