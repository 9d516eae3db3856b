//! What can be wrong with a perf.data.

use std::io;
use std::path::PathBuf;

use crate::trace_file;

/// A failure at a file.
#[derive(Debug, thiserror::Error)]
#[error("{}: {fault}", path.display())]
pub struct Error {
    /// The file.
    pub path: PathBuf,
    /// What is wrong with it.
    pub fault: Fault,
}

/// What is wrong with a file's contents.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Fault {
    /// The system refuses to read.
    #[error("cannot read: {0}")]
    Read(#[from] io::Error),
    /// The first version of the format, before 2.6.36.
    #[error("perf.data of the first version, which is not known")]
    Version,
    /// The file ends too early.
    #[error("cut short at byte {offset}, within {part}")]
    Cut {
        /// What was being read.
        part: &'static str,
        /// Where it begins.
        offset: u64,
    },
    /// A length or a count beyond any real one.
    #[error("{part} claims {claimed}, more than {limit}")]
    TooLarge {
        /// What was being read.
        part: &'static str,
        /// The length or count.
        claimed: u64,
        /// The bound.
        limit: u64,
    },
    /// Something else stands where a part should.
    #[error("something else than {part} at byte {offset}")]
    Malformed {
        /// What should be there.
        part: &'static str,
        /// Where.
        offset: u64,
    },
    /// An event that is described in an unknown way.
    #[error("an event is of a kind, or by a clock, that is not known")]
    Event,
    /// perf was killed before it wrote where its records end and what they mean.
    #[error("perf did not end its recording: what the events mean is not in it")]
    Unended,
    /// Nothing says what the events mean.
    #[error("it has no tracing data, and so nothing says what its events mean")]
    NoTracingData,
    /// No event was recorded that has a format: cycles, for instance, have none.
    #[error("no tracepoints were recorded")]
    NoTracepoints,
    /// Samples lack what is needed.
    #[error("its samples do not say {0}")]
    Lacks(&'static str),
    /// Events of different layouts cannot be told apart.
    #[error("its events cannot be told apart")]
    Apart,
    /// The kernel's texts in it.
    #[error("its tracing data: {0}")]
    TracingData(#[source] trace_file::Fault),
    /// Packed records that do not unpack.
    #[error("packed records do not unpack: {0}")]
    Unpack(String),
}

impl Error {
    /// The command that mends it, where there is one.
    pub fn hint(&self) -> Option<&'static str> {
        Some(match self.fault {
            Fault::NoTracepoints | Fault::Lacks(_) | Fault::Apart => {
                "perf lock record -a, or perf record -a -g -e lock:contention_begin -e lock:contention_end"
            }
            Fault::Unended => "end perf by Ctrl-C (SIGINT), and let it write its file",
            _ => return None,
        })
    }
}
