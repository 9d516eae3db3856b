//! One CPU's ring, mapped: no copy by the kernel, but a walk over every event with
//! interrupts off at each step. Needs Linux 6.10.
//!
//! The kernel writes to the mapping at any time. So nothing here is ever a `&[u8]` of it:
//! words are loaded atomically, and a sub-buffer is copied before anyone looks at it.
#![expect(unsafe_code, reason = "loads from a mapping that the kernel writes to, and one ioctl")]

use std::fs::File;
use std::os::fd::{AsFd, BorrowedFd};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering, fence};

use memmap2::{MmapOptions, MmapRaw};
use rustix::io::Errno;
use rustix::ioctl;

use super::arena::Arena;
use super::error::{Error, Unmappable};
use super::ring::{self, Drained, End};

/// `TRACE_MMAP_IOCTL_GET_READER` (include/uapi/linux/trace_mmap.h, 6.10): swaps in the next
/// sub-buffer and marks it read as far as it is written.
const GET_READER: ioctl::Opcode = ioctl::opcode::none(b'R', 0x20);

/// The part of `struct trace_buffer_meta` that is needed.
const META_LEN: usize = 64;

/// Timestamp and commit of a 64-bit kernel; a 32-bit one may have 4 bytes less.
const HEADER_LEN: usize = 16;

/// The bits of a commit word: data size, and the two marks of lost events.
const SIZE_MASK: u32 = (1 << 27) - 1;
const LOST_COUNT_STORED: u32 = 1 << 30;
const LOST: u32 = 1 << 31;

/// A ring drained through its mapping.
#[derive(Debug)]
pub struct MappedRing {
    file: File,
    path: PathBuf,
    mapping: Mapping,
    seen: Meta,
}

impl MappedRing {
    /// Maps a `trace_pipe_raw` whose sub-buffers have `subbuf_size` bytes, header included.
    ///
    /// [`Error::Unmappable`] says why where this is not to be had; asking is the way to find out.
    pub fn open(path: &Path, subbuf_size: usize) -> Result<MappedRing, Error> {
        let file = ring::open(path)?;
        let unmappable = |reason| Error::Unmappable { path: path.to_owned(), reason };
        let page = Mapping::new(&file, rustix::param::page_size()).map_err(unmappable)?;
        let meta = page.meta().ok_or_else(|| unmappable(Unmappable::Layout { len: 0 }))?;
        if meta.struct_len < META_LEN {
            return Err(unmappable(Unmappable::Layout { len: meta.struct_len }));
        }
        let len = meta.mapping_len().filter(|_| meta.subbuf_size == subbuf_size);
        let len = len.ok_or_else(|| Error::CorruptMeta { path: path.to_owned() })?;
        drop(page);
        let mapping = Mapping::new(&file, len).map_err(unmappable)?;
        Ok(MappedRing { file, path: path.to_owned(), mapping, seen: meta })
    }

    /// See [`Ring::drain`](super::Ring::drain).
    ///
    /// The kernel holds a sub-buffer until all of it is read: what was not written yet at one
    /// drain comes with the next, as a chunk that resumes.
    pub fn drain(&mut self, arena: &mut Arena, max_subbufs: usize) -> Result<Drained, Error> {
        for chunks in 0..max_subbufs {
            get_reader(&self.file).map_err(|errno| Error::at("read", &self.path, errno.into()))?;
            let meta = self.mapping.meta().filter(|meta| meta.agrees_with(&self.seen));
            let meta = meta.ok_or_else(|| Error::CorruptMeta { path: self.path.clone() })?;
            let seen = std::mem::replace(&mut self.seen, meta);
            let same = meta.reader_id == seen.reader_id;
            if meta.events_read < seen.events_read || (same && meta.reader_read < seen.reader_read)
            {
                return Err(Error::Emptied { path: self.path.clone() });
            }
            let resume_from = if same { seen.reader_read } else { 0 };
            let fresh = meta.reader_read.saturating_sub(resume_from);
            if fresh == 0 {
                return Ok(Drained { chunks, end: End::CaughtUp });
            }
            self.copy_reader(arena, meta, resume_from)?;
            // As with `readv`: do not chase the writer.
            if chunks > 0 && fresh < meta.subbuf_size / 2 {
                return Ok(Drained { chunks: chunks + 1, end: End::CaughtUp });
            }
        }
        Ok(Drained { chunks: max_subbufs, end: End::Capped })
    }

    /// Copies the reader's sub-buffer as far as it counts as read, and makes the copy's commit
    /// word say just that: the kernel may have written on meanwhile.
    fn copy_reader(&self, arena: &mut Arena, meta: Meta, resume_from: usize) -> Result<(), Error> {
        let corrupt = || Error::CorruptMeta { path: self.path.clone() };
        let offset = meta.reader_offset().ok_or_else(corrupt)?;
        let mut header = [0; HEADER_LEN];
        self.mapping.copy(offset, &mut header).ok_or_else(corrupt)?;
        let (commit, stored_len) = commit_as_read(&header, meta.reader_read, resume_from);
        let len = (HEADER_LEN + meta.reader_read + stored_len).min(meta.subbuf_size);
        let copy = arena.spare(len);
        self.mapping.copy(offset, copy).ok_or_else(corrupt)?;
        if let Some(word) = copy.get_mut(8..12) {
            word.copy_from_slice(&commit.to_le_bytes());
        }
        arena.keep(len, resume_from);
        Ok(())
    }
}

/// The commit word for a copy with `read` bytes of data, and the bytes of a lost count behind them.
///
/// Lost events are told with a sub-buffer's first part only. The kernel marks a sub-buffer only
/// when it is complete, and then it is read in one part (`ring_buffer_map_get_reader`, 6.18).
fn commit_as_read(header: &[u8; HEADER_LEN], read: usize, resume_from: usize) -> (u32, usize) {
    let [_, _, _, _, _, _, _, _, a, b, c, d, ..] = *header;
    let commit = u32::from_le_bytes([a, b, c, d]);
    let size = u32::try_from(read).unwrap_or(SIZE_MASK) & SIZE_MASK;
    if resume_from > 0 || commit & LOST == 0 {
        return (size, 0);
    }
    let complete = commit & SIZE_MASK == size;
    let stored = if complete { commit & LOST_COUNT_STORED } else { 0 };
    (size | LOST | stored, if stored == 0 { 0 } else { 8 })
}

impl AsFd for MappedRing {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }
}

/// What the meta page says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Meta {
    /// Bytes before the first sub-buffer.
    meta_page_size: usize,
    struct_len: usize,
    subbuf_size: usize,
    subbufs: usize,
    reader_id: usize,
    /// Bytes of data of the reader's sub-buffer that count as read.
    reader_read: usize,
    events_read: u64,
}

impl Meta {
    fn parse(bytes: &[u8; META_LEN]) -> Option<Meta> {
        let word = |at: usize| {
            Some(bytes.get(at..at + 4)?.try_into().map(u32::from_ne_bytes).ok()? as usize)
        };
        Some(Meta {
            meta_page_size: word(0)?,
            struct_len: word(4)?,
            subbuf_size: word(8)?,
            subbufs: word(12)?,
            reader_id: word(24)?,
            reader_read: word(28)?,
            events_read: bytes.get(56..64)?.try_into().map(u64::from_ne_bytes).ok()?,
        })
    }

    /// The geometry of a mapping never changes, and the reader stays within it.
    fn agrees_with(&self, seen: &Meta) -> bool {
        let geometry = |meta: &Meta| (meta.meta_page_size, meta.subbuf_size, meta.subbufs);
        geometry(self) == geometry(seen)
            && self.reader_id < self.subbufs
            && self.reader_read <= self.subbuf_size
    }

    fn mapping_len(&self) -> Option<usize> {
        self.meta_page_size.checked_add(self.subbufs.checked_mul(self.subbuf_size)?)
    }

    fn reader_offset(&self) -> Option<usize> {
        self.meta_page_size.checked_add(self.reader_id.checked_mul(self.subbuf_size)?)
    }
}

const WORD: usize = size_of::<usize>();

/// A read-only mapping that the kernel writes to.
#[derive(Debug)]
struct Mapping(MmapRaw);

impl Mapping {
    fn new(file: &File, len: usize) -> Result<Mapping, Unmappable> {
        // The length has to be given: the file's size is 0.
        let mapped = MmapOptions::new().len(len).map_raw_read_only(file);
        mapped.map(Mapping).map_err(|error| match Errno::from_io_error(&error) {
            Some(Errno::NODEV) => Unmappable::Kernel,
            Some(Errno::INVAL) => Unmappable::Offline,
            Some(Errno::BUSY) => Unmappable::Snapshot,
            _ => Unmappable::System(error),
        })
    }

    fn meta(&self) -> Option<Meta> {
        let mut bytes = [0; META_LEN];
        self.copy(0, &mut bytes)?;
        Meta::parse(&bytes)
    }

    /// Copies from a word-aligned offset; `None` where that is not within the mapping.
    fn copy(&self, offset: usize, into: &mut [u8]) -> Option<()> {
        let end = offset.checked_add(into.len().checked_next_multiple_of(WORD)?)?;
        if !offset.is_multiple_of(WORD) || end > self.0.len() {
            return None;
        }
        let (words, rest) = into.as_chunks_mut::<WORD>();
        let mut at = offset;
        for word in words {
            *word = self.load(at).to_ne_bytes();
            at += WORD;
        }
        if !rest.is_empty() {
            rest.copy_from_slice(self.load(at).to_ne_bytes().get(..rest.len())?);
        }
        // What is loaded from here on is at least as new.
        fence(Ordering::Acquire);
        Some(())
    }

    /// One word of the mapping. `offset` is aligned and within it: see `copy`, the only caller.
    fn load(&self, offset: usize) -> usize {
        debug_assert!(offset.is_multiple_of(WORD) && offset + WORD <= self.0.len());
        // SAFETY: the mapping begins at a page and `offset` is a multiple of the word size, so the
        // pointer is aligned; `copy` has checked that the word lies within the mapping, which
        // lives as long as `self`. The kernel's writes do not race with an atomic load, and a
        // relaxed load of a word is allowed on memory that is mapped read-only.
        let word = unsafe { &*self.0.as_ptr().add(offset).cast::<AtomicUsize>() };
        word.load(Ordering::Relaxed)
    }
}

fn get_reader(file: &File) -> Result<(), Errno> {
    // SAFETY: GET_READER takes no argument and touches no memory of this process but the
    // mapping, which is only ever loaded from atomically.
    unsafe { ioctl::ioctl(file, ioctl::NoArg::<GET_READER>::new()) }
}

#[cfg(test)]
mod tests;
