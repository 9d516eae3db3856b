//! The file, read at places, each only as far as it reaches.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt as _;
use std::sync::Arc;

use super::error::Fault;

/// One part of a file: the formats of all events, and a long list of symbols, fit in.
pub(super) const MAX_PART_BYTES: u64 = 128 << 20;

/// A file and where it ends.
#[derive(Debug, Clone)]
pub(super) struct Bytes {
    file: Arc<File>,
    pub(super) end: u64,
}

impl Bytes {
    pub(super) fn new(file: File) -> io::Result<Bytes> {
        let end = file.metadata()?.len();
        Ok(Bytes { file: Arc::new(file), end })
    }

    /// What is at a place.
    pub(super) fn part(
        &self,
        offset: u64,
        size_bytes: u64,
        part: &'static str,
    ) -> Result<Vec<u8>, Fault> {
        if size_bytes > self.end.saturating_sub(offset) {
            return Err(Fault::Cut { part, offset });
        }
        if size_bytes > MAX_PART_BYTES {
            return Err(Fault::TooLarge { part, claimed: size_bytes, limit: MAX_PART_BYTES });
        }
        let mut bytes = vec![0; usize::try_from(size_bytes).unwrap_or(0)];
        self.file.read_exact_at(&mut bytes, offset)?;
        Ok(bytes)
    }

    /// Reads at a place as much as is there; returns how much.
    pub(super) fn read(&self, bytes: &mut [u8], offset: u64) -> io::Result<usize> {
        let mut filled = 0;
        while let Some(rest) = bytes.get_mut(filled..).filter(|rest| !rest.is_empty()) {
            match self.file.read_at(rest, offset.saturating_add(filled as u64)) {
                Ok(0) => break,
                Ok(read) => filled += read,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(filled)
    }
}
