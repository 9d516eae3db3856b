//! One CPU's ring, piece by piece.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt as _;
use std::path::Path;
use std::sync::Arc;

use super::super::error::{Error, Fault};
use super::super::limits::MAX_CHUNK_BYTES;
use super::buffer::CpuExtent;
use super::head::Head;
use super::memory::Held;
use crate::tracefs::Abi;

const PART: &str = "a ring";

/// A ring that is being read. Its memory is one piece, or one packed chunk of it.
#[derive(Debug)]
pub struct CpuData {
    file: Arc<File>,
    path: Arc<Path>,
    head: Head,
    page_size_bytes: usize,
    position: u64,
    end: u64,
    packed: Option<Packed>,
    /// Unpacked, and how much of it has been handed out.
    bytes: Vec<u8>,
    used: usize,
    held: Held,
}

/// Chunks still to come.
#[derive(Debug)]
enum Packed {
    /// Their number stands at the ring's beginning.
    Uncounted,
    Left(u32),
}

impl CpuData {
    pub(super) fn new(
        (file, path): (Arc<File>, Arc<Path>),
        head: Head,
        page_size_bytes: u32,
        extent: &CpuExtent,
        held: Held,
    ) -> CpuData {
        CpuData {
            file,
            path,
            head,
            page_size_bytes: page_size_bytes as usize,
            position: extent.offset,
            end: extent.offset.saturating_add(extent.size_bytes),
            packed: (extent.is_packed && extent.size_bytes > 0).then_some(Packed::Uncounted),
            bytes: Vec::new(),
            used: 0,
            held,
        }
    }

    /// Bytes of the file that were not read yet.
    pub fn left_bytes(&self) -> u64 {
        self.end.saturating_sub(self.position)
    }

    /// The next whole sub-buffers, at most `max_bytes` of them but at least one; none at the end.
    /// Where the file is cut within a sub-buffer, its beginning comes last.
    ///
    /// # Errors
    /// If the file cannot be read, or a packed ring is damaged: then nothing more comes.
    pub fn next(&mut self, max_bytes: usize) -> Result<Option<&[u8]>, Error> {
        let pages = (max_bytes / self.page_size_bytes.max(1)).max(1);
        let wanted = pages.saturating_mul(self.page_size_bytes);
        let filled = match self.packed {
            None => self.read(wanted),
            Some(_) => self.unpack(),
        };
        if let Err(fault) = filled {
            self.stop();
            return Err(Error::of(&self.path, fault));
        }
        let from = self.used;
        self.used = self.bytes.len().min(from.saturating_add(wanted));
        if !self.is_drained() {
            // A chunk's end within a sub-buffer waits for the next chunk.
            self.used -= (self.used - from) % self.page_size_bytes.max(1);
        }
        Ok(self.bytes.get(from..self.used).filter(|bytes| !bytes.is_empty()))
    }

    /// Nothing more comes.
    fn stop(&mut self) {
        self.position = self.end;
        self.packed = None;
        self.bytes = Vec::new();
        self.used = 0;
        self.held.give_back();
    }

    fn is_drained(&self) -> bool {
        match self.packed {
            None => self.position >= self.end,
            Some(Packed::Uncounted) => false,
            Some(Packed::Left(left)) => left == 0,
        }
    }

    fn read(&mut self, wanted: usize) -> Result<(), Fault> {
        let rest = self.end.saturating_sub(self.position);
        let len = usize::try_from(rest).map_or(wanted, |rest| rest.min(wanted));
        self.used = 0;
        self.held.change(len as u64, self.position)?;
        let memory = std::mem::take(&mut self.bytes);
        self.bytes = self.block(memory, len)?;
        Ok(())
    }

    /// Unpacks chunks until a sub-buffer is ready.
    fn unpack(&mut self) -> Result<(), Fault> {
        if let Some(Packed::Uncounted) = self.packed {
            self.packed = Some(Packed::Left(self.u32()?));
        }
        while self.bytes.len() - self.used < self.page_size_bytes {
            let Some(Packed::Left(left @ 1..)) = self.packed else { break };
            self.packed = Some(Packed::Left(left - 1));
            self.bytes.drain(..self.used);
            self.used = 0;
            let chunk = self.chunk()?;
            self.bytes.extend_from_slice(&chunk);
        }
        Ok(())
    }

    fn chunk(&mut self) -> Result<Vec<u8>, Fault> {
        let (packed_bytes, size_bytes) = (self.u32()?, self.u32()?);
        let offset = self.position;
        let claimed = u64::from(packed_bytes.max(size_bytes));
        if claimed > MAX_CHUNK_BYTES {
            return Err(Fault::TooLarge { part: PART, offset, claimed, limit: MAX_CHUNK_BYTES });
        }
        let held = (self.bytes.len() as u64).saturating_add(size_bytes.into());
        self.held.change(held, offset)?;
        let packed = self.block(Vec::new(), packed_bytes as usize)?;
        let unpacked = self.head.compression.unpack(&packed, size_bytes.into());
        unpacked.map_err(|reason| Fault::Unpack { part: PART, offset, reason })
    }

    fn u32(&mut self) -> Result<u32, Fault> {
        let bytes = self.block(Vec::new(), 4)?;
        let abi = Abi { endian: self.head.endian, long_size_bytes: 8 };
        let number = abi.uint(&bytes, 4).and_then(|number| u32::try_from(number).ok());
        number.ok_or(Fault::Cut { part: PART, offset: self.position })
    }

    /// The next `len` bytes of the file, into the memory of `bytes`.
    fn block(&mut self, mut bytes: Vec<u8>, len: usize) -> Result<Vec<u8>, Fault> {
        bytes.resize(len, 0);
        let read = self.file.read_exact_at(&mut bytes, self.position);
        read.map_err(|error| match error.kind() {
            io::ErrorKind::UnexpectedEof => Fault::Cut { part: PART, offset: self.position },
            _ => Fault::Read(error),
        })?;
        self.position = self.position.saturating_add(len as u64);
        Ok(bytes)
    }
}
