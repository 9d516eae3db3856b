//! Of which kind a file is, by its first bytes.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt as _;
use std::path::Path;

use crate::perf_data::is_perf_data;
use crate::trace_file;

/// As much is looked at.
const LOOK_BYTES: usize = 4096;

/// A kind of saved trace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// trace-cmd's trace.dat; and whatever is none of the others, which that reader says best.
    Rings,
    /// perf's perf.data.
    Perf,
}

impl Kind {
    /// Looks at the beginning of a file.
    pub(super) fn of(file: &File, path: &Path) -> Result<Kind, trace_file::Error> {
        let mut first = [0; LOOK_BYTES];
        let read = loop {
            match file.read_at(&mut first, 0) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                read => break read,
            }
        };
        let read = read.map_err(|source| trace_file::Error::Io {
            action: "read",
            path: path.to_owned(),
            source,
        })?;
        let first = first.get(..read).unwrap_or_default();
        Ok(match first {
            first if is_perf_data(first) => Kind::Perf,
            _ => Kind::Rings,
        })
    }
}
