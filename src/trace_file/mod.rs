//! trace-cmd's `trace.dat`: recordings read and written.
//!
//! [`TraceFile::open`] reads version 6 and 7 in any byte order and word size: what was stored
//! beside the rings is held in memory ([`Texts`], [`Options`]), each CPU's ring is read piece by
//! piece ([`CpuData`]), so that memory does not grow with the file.
//!
//! [`Writer`] writes both, of this machine, such that the file can be read at every moment.
//!
//! The layouts are those of trace-cmd.dat.v6(5) and trace-cmd.dat.v7(5), as trace-cmd 3.1.6 reads
//! and writes them. A file is hostile: nothing trusts a length, an offset or a count, and every
//! bound has a name in `limits`. What is cut short is read as far as it goes and said in
//! [`TraceFile::notes`]; what cannot be decoded without the missing part is an [`Error`].
//!
//! Absent on purpose: what any event means.

mod compression;
mod error;
mod limits;
mod option_id;
mod read;
mod texts;
mod write;

pub use compression::Compression;
pub use error::{Error, Fault};
pub use read::{
    Buffer, CpuData, CpuExtent, Guest, Head, Note, Notes, Options, TraceFile, TscToNs, perf_texts,
};
pub use texts::{EventText, SavedNames, Texts, Version};
pub use write::{Finished, Setup, Writer, live_texts};
