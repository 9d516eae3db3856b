//! How sections and rings of version 7 are packed.

use std::io::Read as _;

use flate2::read::ZlibDecoder;
use ruzstd::decoding::StreamingDecoder;

/// A compression by its name in the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Compression {
    /// Nothing is packed.
    None,
    /// zlib streams.
    Zlib,
    /// Zstandard frames.
    Zstd,
}

impl Compression {
    /// From the file's spelling.
    pub fn from_name(name: &str) -> Option<Compression> {
        match name {
            "none" => Some(Compression::None),
            "zlib" => Some(Compression::Zlib),
            "zstd" => Some(Compression::Zstd),
            _ => None,
        }
    }

    /// Unpacks what claims to be `size_bytes` long, and must be.
    ///
    /// Memory grows with what really is unpacked, not with what is claimed.
    pub(super) fn unpack(self, packed: &[u8], size_bytes: u64) -> Result<Vec<u8>, String> {
        let mut bytes = Vec::new();
        let limit = size_bytes.saturating_add(1);
        let read = match self {
            Compression::None => return Err("the file says it packs nothing".to_owned()),
            Compression::Zlib => ZlibDecoder::new(packed).take(limit).read_to_end(&mut bytes),
            Compression::Zstd => {
                let decoder = StreamingDecoder::new(packed).map_err(|error| error.to_string())?;
                decoder.take(limit).read_to_end(&mut bytes)
            }
        };
        read.map_err(|error| error.to_string())?;
        if bytes.len() as u64 == size_bytes {
            Ok(bytes)
        } else {
            Err(format!("{} bytes instead of {size_bytes}", bytes.len()))
        }
    }
}
