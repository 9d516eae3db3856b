//! Files put together piece by piece, in either byte order: also such as no program writes.

use std::io::Write as _;

use flate2::Compression;
use flate2::write::ZlibEncoder;
use ftlock::tracefs::Endian;

/// The beginning of a file of version 7 up to the offset of its options, which is at its end.
pub(crate) const OPTIONS_OFFSET_AT: usize = 18 + "zlib\0".len() + 1;

/// A file in the making.
pub(crate) struct File {
    pub(crate) bytes: Vec<u8>,
    endian: Endian,
}

impl File {
    pub(crate) fn new(endian: Endian, version: &str, page_size: u32) -> File {
        let mut file = File { bytes: b"\x17\x08\x44tracing".to_vec(), endian };
        file.bytes.extend(version.as_bytes());
        file.bytes.extend([0, u8::from(endian == Endian::Big), 8]);
        file.u32(page_size);
        if version == "7" {
            file.bytes.extend(b"zlib\0\0");
            file.u64(0);
        }
        file
    }

    pub(crate) fn offset(&self) -> u64 {
        self.bytes.len() as u64
    }

    pub(crate) fn u16(&mut self, number: u16) {
        let big = self.endian == Endian::Big;
        self.bytes.extend(if big { number.to_be_bytes() } else { number.to_le_bytes() });
    }

    pub(crate) fn u32(&mut self, number: u32) {
        let big = self.endian == Endian::Big;
        self.bytes.extend(if big { number.to_be_bytes() } else { number.to_le_bytes() });
    }

    pub(crate) fn count(&mut self, number: usize) {
        self.u32(u32::try_from(number).unwrap());
    }

    pub(crate) fn u64(&mut self, number: u64) {
        let big = self.endian == Endian::Big;
        self.bytes.extend(if big { number.to_be_bytes() } else { number.to_le_bytes() });
    }

    pub(crate) fn set_u64(&mut self, at: usize, number: u64) {
        let behind = self.bytes.split_off(at + 8);
        self.bytes.truncate(at);
        self.u64(number);
        self.bytes.extend(behind);
    }

    /// An option, its data written by `data`.
    pub(crate) fn option(&mut self, id: u16, data: impl Fn(&mut File)) {
        let data = self.part(data);
        self.u16(id);
        self.count(data.len());
        self.bytes.extend(data);
    }

    /// A section, packed or not; returns where it is.
    pub(crate) fn section(&mut self, id: u16, packed: bool, data: impl Fn(&mut File)) -> u64 {
        let (offset, mut data) = (self.offset(), self.part(data));
        if packed {
            let (len, bytes) = (data.len(), deflated(&data));
            data = self.part(|file| {
                file.count(bytes.len());
                file.count(len);
                file.bytes.extend(&bytes);
            });
        }
        self.section_header(id, packed, data.len() as u64);
        self.bytes.extend(data);
        offset
    }

    pub(crate) fn section_header(&mut self, id: u16, packed: bool, size_bytes: u64) {
        self.u16(id);
        self.u16(packed.into());
        self.u32(0);
        self.u64(size_bytes);
    }

    /// A ring packed in chunks of `chunk_bytes`; returns where it is and how long.
    pub(crate) fn packed_ring(&mut self, raw: &[u8], chunk_bytes: usize) -> (u64, u64) {
        let offset = self.offset();
        self.count(raw.len().div_ceil(chunk_bytes));
        for chunk in raw.chunks(chunk_bytes) {
            let packed = deflated(chunk);
            self.count(packed.len());
            self.count(chunk.len());
            self.bytes.extend(packed);
        }
        (offset, self.offset() - offset)
    }

    fn part(&self, write: impl Fn(&mut File)) -> Vec<u8> {
        let mut part = File { bytes: Vec::new(), endian: self.endian };
        write(&mut part);
        part.bytes
    }

    /// The texts that both versions have, as section `id` of version 7 or that part of version 6.
    pub(crate) fn texts(&mut self, id: u16, header_page: &str, formats: &[String]) {
        match id {
            16 => {
                self.bytes.extend(b"header_page\0");
                self.text(header_page);
                self.bytes.extend(b"header_event\0");
                self.text("# compressed entry header\n");
            }
            18 => {
                self.u32(1);
                self.bytes.extend(b"any\0");
                self.count(formats.len());
                formats.iter().for_each(|format| self.text(format));
            }
            21 => self.text("1 init\n"),
            _ => self.u32(0),
        }
    }

    fn text(&mut self, text: &str) {
        self.u64(text.len() as u64);
        self.bytes.extend(text.as_bytes());
    }
}

fn deflated(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}
