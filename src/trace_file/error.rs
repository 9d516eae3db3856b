//! What can be wrong with a trace.dat.

use std::io;
use std::path::{Path, PathBuf};

use crate::tracefs::HeaderPageError;

/// A failure at a file: what was tried, on which path.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The system refuses.
    #[error("cannot {action} {}: {source}", path.display())]
    Io {
        /// What was tried, as a verb.
        action: &'static str,
        /// The file.
        path: PathBuf,
        /// The system's answer.
        source: io::Error,
    },
    /// The file system fills holes, on FAT for instance: a file could not be written such that it
    /// can be read at every moment.
    #[error("cannot record to {}: its file system keeps no holes", path.display())]
    NoHoles {
        /// The file.
        path: PathBuf,
    },
    /// A CPU without a ring in the file, or one that is full.
    #[error("no room in {} for the ring of CPU {cpu}", path.display())]
    NoPlace {
        /// The file.
        path: PathBuf,
        /// The CPU.
        cpu: u16,
    },
    /// The file's contents are not as they should be.
    #[error("{}: {fault}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        #[source]
        fault: Fault,
    },
}

impl Error {
    pub(super) fn io(action: &'static str, path: &Path, source: io::Error) -> Error {
        Error::Io { action, path: path.to_owned(), source }
    }

    /// Gives a fault its place.
    pub(super) fn of(path: &Path, fault: Fault) -> Error {
        match fault {
            Fault::Read(source) => Error::io("read", path, source),
            fault => Error::File { path: path.to_owned(), fault },
        }
    }

    /// The command that mends it, where there is one.
    pub fn hint(&self) -> Option<String> {
        Some(match self {
            Error::File { path, fault: Fault::Text } => {
                format!("trace-cmd report -i {}", path.display())
            }
            Error::Io { path, source, .. } if source.kind() == io::ErrorKind::StorageFull => {
                format!("df -h {}", path.display())
            }
            Error::Io { source, .. } if source.kind() == io::ErrorKind::FileTooLarge => {
                "ulimit -f unlimited".to_owned()
            }
            Error::NoHoles { path } => {
                format!("record to another file system than that of {}, /tmp say", path.display())
            }
            Error::File { .. } | Error::Io { .. } | Error::NoPlace { .. } => return None,
        })
    }
}

/// What is wrong with a file's contents.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Fault {
    /// The system refuses to read.
    #[error("cannot read: {0}")]
    Read(io::Error),
    /// Another magic.
    #[error("not a trace.dat: it does not begin as one")]
    NotTraceFile,
    /// A version that is not known.
    #[error("trace.dat of version {0:?}, only 6 and 7 are known")]
    Version(String),
    /// A compression that is not known.
    #[error("compressed with {0:?}, only zlib and zstd are known")]
    Compression(String),
    /// The file ends too early.
    #[error("cut short at byte {offset}, within {part}")]
    Cut {
        /// What was being read.
        part: &'static str,
        /// Where in the file, or in the uncompressed section, it begins.
        offset: u64,
    },
    /// A length or a count beyond any real one.
    #[error("{part} at byte {offset} claims {claimed}, more than {limit}")]
    TooLarge {
        /// What was being read.
        part: &'static str,
        /// Where in the file, or in the uncompressed section, it begins.
        offset: u64,
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
        /// Where in the file, or in the uncompressed section.
        offset: u64,
    },
    /// A part without which nothing can be decoded.
    #[error("it has no {0}")]
    Missing(&'static str),
    /// A compressed part that does not unpack to what it claims.
    #[error("{part} at byte {offset} does not unpack: {reason}")]
    Unpack {
        /// What was being read.
        part: &'static str,
        /// Where in the file.
        offset: u64,
        /// The decompressor's own words.
        reason: String,
    },
    /// A text of the kernel's `trace` file instead of rings.
    #[error("it holds the text of a latency tracer, not recorded rings")]
    Text,
    /// The layout of its sub-buffers is not understood.
    #[error(transparent)]
    HeaderPage(HeaderPageError),
}
