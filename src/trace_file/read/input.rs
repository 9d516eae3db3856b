//! Numbers, texts and names of a file, each only as far as the file reaches.

use std::io::{self, Read};

use super::super::error::Fault;
use super::super::limits::{MAX_NAME_BYTES, MAX_PART_BYTES};
use crate::tracefs::{Abi, Endian};

/// Bytes that are read in order: of the file itself, or of an unpacked section.
#[derive(Debug)]
pub(super) struct Input<R> {
    reader: R,
    abi: Abi,
    position: u64,
    end: u64,
}

impl<'a> Input<&'a [u8]> {
    /// Over an unpacked section or an option's data.
    pub(super) fn over(bytes: &'a [u8], endian: Endian) -> Input<&'a [u8]> {
        Input::new(bytes, endian, 0, bytes.len() as u64)
    }
}

impl<R: Read> Input<R> {
    /// From a reader that stands at `position` of what ends at `end`.
    pub(super) fn new(reader: R, endian: Endian, position: u64, end: u64) -> Input<R> {
        // Numbers come with their width: no word size is involved.
        Input { reader, abi: Abi { endian, long_size_bytes: 8 }, position, end }
    }

    pub(super) fn endian(&self) -> Endian {
        self.abi.endian
    }

    pub(super) fn set_endian(&mut self, endian: Endian) {
        self.abi.endian = endian;
    }

    pub(super) fn position(&self) -> u64 {
        self.position
    }

    pub(super) fn array<const N: usize>(&mut self, part: &'static str) -> Result<[u8; N], Fault> {
        let mut bytes = [0; N];
        self.reader.read_exact(&mut bytes).map_err(|error| self.fault(error, part))?;
        self.position = self.position.saturating_add(N as u64);
        Ok(bytes)
    }

    pub(super) fn u8(&mut self, part: &'static str) -> Result<u8, Fault> {
        Ok(u8::from_ne_bytes(self.array(part)?))
    }

    pub(super) fn u16(&mut self, part: &'static str) -> Result<u16, Fault> {
        let bytes = self.array(part)?;
        Ok(match self.abi.endian {
            Endian::Little => u16::from_le_bytes(bytes),
            Endian::Big => u16::from_be_bytes(bytes),
        })
    }

    pub(super) fn u32(&mut self, part: &'static str) -> Result<u32, Fault> {
        let bytes = self.array(part)?;
        Ok(match self.abi.endian {
            Endian::Little => u32::from_le_bytes(bytes),
            Endian::Big => u32::from_be_bytes(bytes),
        })
    }

    pub(super) fn u64(&mut self, part: &'static str) -> Result<u64, Fault> {
        let bytes = self.array(part)?;
        Ok(match self.abi.endian {
            Endian::Little => u64::from_le_bytes(bytes),
            Endian::Big => u64::from_be_bytes(bytes),
        })
    }

    /// The next `size_bytes`, if the file has them and no bound is in the way.
    pub(super) fn block(&mut self, size_bytes: u64, part: &'static str) -> Result<Vec<u8>, Fault> {
        self.bounded_block(size_bytes, MAX_PART_BYTES, part)
    }

    pub(super) fn bounded_block(
        &mut self,
        size_bytes: u64,
        limit: u64,
        part: &'static str,
    ) -> Result<Vec<u8>, Fault> {
        let offset = self.position;
        if size_bytes > self.end.saturating_sub(offset) {
            return Err(Fault::Cut { part, offset });
        }
        if size_bytes > limit {
            return Err(Fault::TooLarge { part, offset, claimed: size_bytes, limit });
        }
        let mut bytes = Vec::new();
        let read = self.reader.by_ref().take(size_bytes).read_to_end(&mut bytes);
        read.map_err(|error| self.fault(error, part))?;
        if bytes.len() as u64 != size_bytes {
            return Err(Fault::Cut { part, offset });
        }
        self.position = offset.saturating_add(size_bytes);
        Ok(bytes)
    }

    /// A text behind its length of 8 bytes.
    pub(super) fn text(&mut self, part: &'static str) -> Result<String, Fault> {
        let size_bytes = self.u64(part)?;
        Ok(lossy(self.block(size_bytes, part)?))
    }

    /// A name that ends with a NUL.
    pub(super) fn name(&mut self, part: &'static str) -> Result<String, Fault> {
        let offset = self.position;
        let mut name = Vec::new();
        loop {
            match self.u8(part)? {
                0 => return Ok(lossy(name)),
                byte => name.push(byte),
            }
            if name.len() > MAX_NAME_BYTES {
                return Err(Fault::Malformed { part, offset });
            }
        }
    }

    /// Bytes that must be these.
    pub(super) fn expect(&mut self, expected: &[u8], part: &'static str) -> Result<(), Fault> {
        let offset = self.position;
        let found = self.block(expected.len() as u64, part)?;
        if found == expected { Ok(()) } else { Err(Fault::Malformed { part, offset }) }
    }

    fn fault(&self, error: io::Error, part: &'static str) -> Fault {
        match error.kind() {
            io::ErrorKind::UnexpectedEof => Fault::Cut { part, offset: self.position },
            _ => Fault::Read(error),
        }
    }
}

pub(super) fn lossy(bytes: Vec<u8>) -> String {
    String::from_utf8(bytes).unwrap_or_else(|error| {
        let bytes = error.into_bytes();
        String::from_utf8_lossy(&bytes).into_owned()
    })
}
