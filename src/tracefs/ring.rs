//! One CPU's ring, drained a window at a time.

use std::fs::{File, OpenOptions};
use std::io::{IoSliceMut, Read as _};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, RawFd};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use rustix::fs::OFlags;
use rustix::io::Errno;

use super::arena::Arena;
use super::error::Error;
use super::mmap::MappedRing;

/// How a ring is brought to user space.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Reader {
    /// By `readv` of whole sub-buffers: any kernel, and the cheaper way.
    Read,
    /// By mapping it (6.10 and later).
    Mapped,
}

/// One CPU's ring.
#[derive(Debug)]
pub enum Ring {
    /// Drained by reading.
    Read(ReadRing),
    /// Drained through its mapping.
    Mapped(MappedRing),
}

/// What a drain has brought.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Drained {
    /// Chunks put into the arena.
    pub chunks: usize,
    /// Why it ended.
    pub end: End,
}

/// Why a drain ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum End {
    /// Everything recorded before the drain began was brought.
    CaughtUp,
    /// The number of sub-buffers allowed was reached; there may be more.
    Capped,
    /// The kernel was short of memory or interrupted; there may be more.
    Busy,
    /// The CPU was never online: it has no ring.
    Offline,
}

impl Ring {
    /// Appends to the arena what was recorded since the last drain, at most `max_subbufs`
    /// sub-buffers. Never waits.
    pub fn drain(&mut self, arena: &mut Arena, max_subbufs: usize) -> Result<Drained, Error> {
        match self {
            Ring::Read(ring) => ring.drain(arena, max_subbufs),
            Ring::Mapped(ring) => ring.drain(arena, max_subbufs),
        }
    }
}

impl AsFd for Ring {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            Ring::Read(ring) => ring.file.as_fd(),
            Ring::Mapped(ring) => ring.as_fd(),
        }
    }
}

impl AsRawFd for Ring {
    fn as_raw_fd(&self) -> RawFd {
        self.as_fd().as_raw_fd()
    }
}

/// Bytes asked for in one `readv`: a single large sub-buffer, or enough small ones that the
/// system call is shared. More gains nothing and only goes on chasing the writer.
const BATCH_BYTES: usize = 64 * 1024;

/// A ring drained by `readv`.
#[derive(Debug)]
pub struct ReadRing {
    file: File,
    path: PathBuf,
    subbuf_size: usize,
}

impl ReadRing {
    /// Opens a `trace_pipe_raw` whose sub-buffers have `subbuf_size` bytes, header included.
    pub fn open(path: &Path, subbuf_size: usize) -> Result<ReadRing, Error> {
        Ok(ReadRing { file: open(path)?, path: path.to_owned(), subbuf_size })
    }

    /// See [`Ring::drain`].
    ///
    /// The kernel fills one vector after the other, each with a sub-buffer, until the ring is
    /// empty (kernel/trace/trace.c `tracing_buffers_read`, fs/read_write.c, 6.18). So a batch
    /// that comes back short has caught up. Were every batch read until then, the reader would
    /// chase a busy writer, each read returning the few events of meanwhile; hence a batch that
    /// ends in a sub-buffer less than half full is the last one too.
    pub fn drain(&mut self, arena: &mut Arena, max_subbufs: usize) -> Result<Drained, Error> {
        let batch = (BATCH_BYTES / self.subbuf_size.max(1)).max(1);
        let mut chunks = 0;
        while chunks < max_subbufs {
            let wanted = batch.min(max_subbufs - chunks);
            let got = match self.read_batch(arena, wanted) {
                Ok(got) => got,
                // After any fork, or dup and close, an empty ring gives 0 bytes instead (6.9).
                Err(Errno::AGAIN) => return Ok(Drained { chunks, end: End::CaughtUp }),
                Err(Errno::INTR | Errno::NOMEM | Errno::BUSY) => {
                    return Ok(Drained { chunks, end: End::Busy });
                }
                Err(Errno::NODEV | Errno::INVAL) => {
                    return Ok(Drained { chunks, end: End::Offline });
                }
                Err(errno) => return Err(Error::at("read", &self.path, errno.into())),
            };
            let last_is_sparse = self.keep_subbufs(arena, got)?;
            let subbufs = got / self.subbuf_size;
            chunks += subbufs;
            // The first one may be the rest of one that the last drain has begun.
            if subbufs < wanted || (last_is_sparse && chunks > 1) {
                return Ok(Drained { chunks, end: End::CaughtUp });
            }
        }
        Ok(Drained { chunks, end: End::Capped })
    }

    fn read_batch(&mut self, arena: &mut Arena, subbufs: usize) -> Result<usize, Errno> {
        let spare = arena.spare(subbufs.saturating_mul(self.subbuf_size));
        let mut vectors: Vec<IoSliceMut<'_>> =
            spare.chunks_exact_mut(self.subbuf_size).map(IoSliceMut::new).collect();
        let read = self.file.read_vectored(&mut vectors);
        read.map_err(|error| Errno::from_io_error(&error).unwrap_or(Errno::IO))
    }

    /// Keeps what was read, and tells whether the last sub-buffer is less than half full.
    fn keep_subbufs(&self, arena: &mut Arena, got: usize) -> Result<bool, Error> {
        if !got.is_multiple_of(self.subbuf_size) {
            let path = self.path.clone();
            return Err(Error::Resized { path, got, subbuf_size: self.subbuf_size });
        }
        for _ in 0..got / self.subbuf_size {
            arena.keep(self.subbuf_size, 0);
        }
        let last = arena.chunks().last().map(|chunk| data_size(chunk.bytes));
        Ok(last.is_some_and(|size| size < self.subbuf_size / 2))
    }
}

/// The bytes of data in a sub-buffer: the low 27 bits of the `commit` word behind the time stamp
/// (include/linux/ring_buffer.h and kernel/trace/ring_buffer.c, 6.18). Little-endian kernels only.
fn data_size(subbuf: &[u8]) -> usize {
    let commit = subbuf.get(8..12).and_then(|word| word.try_into().ok()).map(u32::from_le_bytes);
    commit.map_or(0, |commit| (commit & ((1 << 27) - 1)) as usize)
}

/// Opens a ring so that neither reading nor asking for the next mapped sub-buffer waits.
pub(super) fn open(path: &Path) -> Result<File, Error> {
    let flags = (OFlags::NONBLOCK | OFlags::CLOEXEC).bits();
    OpenOptions::new()
        .read(true)
        .custom_flags(flags.cast_signed())
        .open(path)
        .map_err(|source| Error::at("open", path, source))
}

#[cfg(test)]
mod tests {
    use super::{Drained, End, ReadRing};
    use crate::tracefs::{Arena, Error};
    use std::io::Write as _;

    const SUBBUF: usize = 16 * 1024;

    /// A file of sub-buffers with the given bytes of data reads like a ring.
    fn ring(data_sizes: &[u32], extra: usize) -> (tempfile::NamedTempFile, ReadRing) {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        for size in data_sizes {
            let mut subbuf = vec![0; SUBBUF];
            // The upper half of the commit word and the two marks of loss are no part of the size.
            subbuf[8..16]
                .copy_from_slice(&(0xffff_ffff_c000_0000 | u64::from(*size)).to_le_bytes());
            file.write_all(&subbuf).unwrap();
        }
        file.write_all(&vec![0; extra]).unwrap();
        let ring = ReadRing::open(file.path(), SUBBUF).unwrap();
        (file, ring)
    }

    /// A batch is four sub-buffers of this size.
    #[test]
    fn a_drain_ends_with_a_short_batch_or_a_sparse_sub_buffer() {
        const FULL: u32 = 16_000;
        const HALF: u32 = 8192;
        for (data_sizes, chunks_of_each_drain) in [
            (&[][..], &[0][..]),
            (&[FULL; 4], &[4, 0]),
            (&[FULL; 6], &[6, 0]),
            (&[FULL, FULL, FULL, HALF - 1, FULL], &[4, 1, 0]),
            (&[FULL, FULL, FULL, HALF, FULL], &[5, 0]),
            (&[0, 0, 0, FULL, FULL], &[5, 0]),
        ] {
            let (_file, mut ring) = ring(data_sizes, 0);
            for &chunks in chunks_of_each_drain {
                let mut arena = Arena::new();
                let drained = ring.drain(&mut arena, 100).unwrap();
                assert_eq!(drained, Drained { chunks, end: End::CaughtUp }, "{data_sizes:?}");
                assert_eq!(arena.used_bytes(), chunks * SUBBUF);
            }
        }
    }

    #[test]
    fn what_is_not_whole_sub_buffers_is_an_error() {
        let (_file, mut ring) = ring(&[1], 4096);
        let error = ring.drain(&mut Arena::new(), 100).unwrap_err();
        assert!(matches!(error, Error::Resized { got: 20_480, subbuf_size: 16_384, .. }));
    }
}
