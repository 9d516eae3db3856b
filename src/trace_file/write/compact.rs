//! Moving the rings together in the end.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt as _;

use rustix::fs::{FallocateFlags, copy_file_range, fallocate};

use super::super::error::Error;
use super::{Ring, Writer};

/// Copied at a time where the file system does not copy by itself.
const COPY_BYTES: usize = 1 << 20;

impl Writer {
    /// Moves each ring behind the one before. Returns how many had to stay.
    ///
    /// The table leads to a ring's old place until its copy is complete, so that the file can be
    /// read at every moment.
    pub(super) fn compact(&mut self) -> Result<usize, Error> {
        let mut rings = std::mem::take(&mut self.rings);
        let mut end = self.layout.head_bytes.next_multiple_of(self.subbuf_size);
        let mut stayed = 0;
        for ring in &mut rings {
            stayed += usize::from(!self.move_to(ring, end)?);
            end = ring.offset + ring.size_bytes;
        }
        self.rings = rings;
        Ok(stayed)
    }

    /// Whether the ring is at a place now, or has to stay where it is.
    fn move_to(&self, ring: &mut Ring, to: u64) -> Result<bool, Error> {
        let (from, size_bytes) = (ring.offset, ring.size_bytes);
        if to >= from {
            return Ok(true);
        }
        if to + size_bytes > from {
            // The copy would write over what it copies: were it interrupted, neither were whole.
            return Ok(false);
        }
        if self.copy(from, to, size_bytes).is_err() {
            self.free(to, size_bytes);
            return Ok(false);
        }
        ring.offset = to;
        self.write_entry(ring)?;
        self.free(from, size_bytes);
        Ok(true)
    }

    fn copy(&self, from: u64, to: u64, size_bytes: u64) -> io::Result<()> {
        let copied = copy_within_kernel(&self.file, from, to, size_bytes);
        copied.or_else(|_| copy_by_hand(&self.file, from, to, size_bytes))
    }

    /// Gives a place's room back before the next ring needs it.
    pub(super) fn free(&self, from: u64, size_bytes: u64) {
        let flags = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
        // Where it cannot be, the room is given back when the file is cut.
        fallocate(&self.file, flags, from, size_bytes).ok();
    }
}

/// By reference where the file system can.
fn copy_within_kernel(file: &File, from: u64, to: u64, size_bytes: u64) -> io::Result<()> {
    let (mut from, mut to, mut left) = (from, to, size_bytes);
    while left > 0 {
        let wanted = usize::try_from(left).unwrap_or(usize::MAX);
        let copied = copy_file_range(file, Some(&mut from), file, Some(&mut to), wanted)?;
        if copied == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        left -= copied as u64;
    }
    Ok(())
}

pub(super) fn copy_by_hand(file: &File, from: u64, to: u64, size_bytes: u64) -> io::Result<()> {
    let mut bytes = vec![0; COPY_BYTES];
    let mut done = 0;
    while done < size_bytes {
        let len =
            usize::try_from(size_bytes - done).map_or(COPY_BYTES, |left| left.min(COPY_BYTES));
        let part = bytes.get_mut(..len).unwrap_or_default();
        file.read_exact_at(part, from + done)?;
        file.write_all_at(part, to + done)?;
        done += len as u64;
    }
    Ok(())
}
