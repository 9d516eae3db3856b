//! The file, read at places.

use std::fs::File;
use std::io::{self, BufReader, Read};
use std::os::unix::fs::FileExt as _;

use super::input::Input;
use crate::tracefs::Endian;

/// Large enough that texts are read in few calls.
const READ_BYTES: usize = 64 << 10;

/// A file and where it ends.
#[derive(Debug)]
pub(super) struct Source<'f> {
    file: &'f File,
    end: u64,
}

/// A place in a file.
#[derive(Debug)]
pub(super) struct At<'f> {
    file: &'f File,
    offset: u64,
}

/// What [`Source::input`] reads from.
pub(super) type FileInput<'f> = Input<BufReader<At<'f>>>;

impl<'f> Source<'f> {
    pub(super) fn new(file: &'f File) -> io::Result<Source<'f>> {
        Ok(Source { file, end: file.metadata()?.len() })
    }

    pub(super) fn end(&self) -> u64 {
        self.end
    }

    /// Reads from `offset` on.
    pub(super) fn input(&self, offset: u64, endian: Endian) -> FileInput<'f> {
        let reader = BufReader::with_capacity(READ_BYTES, At { file: self.file, offset });
        Input::new(reader, endian, offset, self.end)
    }
}

impl Read for At<'_> {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        // Beyond what an offset can be there is nothing, as behind the end.
        if i64::try_from(self.offset).is_err() {
            return Ok(0);
        }
        let read = self.file.read_at(bytes, self.offset)?;
        self.offset = self.offset.saturating_add(read as u64);
        Ok(read)
    }
}
