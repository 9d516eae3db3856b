//! How the traced kernel lays out numbers.

#![deny(clippy::indexing_slicing, clippy::arithmetic_side_effects)]

use super::header::SubbufLayout;

/// A byte order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Endian {
    /// Least significant byte first.
    Little,
    /// Most significant byte first.
    Big,
}

impl Endian {
    /// This machine's, and so that of any kernel traced live.
    pub const NATIVE: Endian =
        if cfg!(target_endian = "big") { Endian::Big } else { Endian::Little };
}

/// Byte order and word size of the *kernel* that wrote the bytes.
///
/// Never those of this program: a 32-bit program reads a 64-bit kernel's rings, and a saved
/// trace may come from anywhere.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Abi {
    /// The order of every word's bytes.
    pub endian: Endian,
    /// The size of `long` and of pointers: 4 or 8.
    pub long_size_bytes: usize,
}

impl Abi {
    /// The ABI of the kernel whose `events/header_page` is `layout`: `commit` is a `local_t`,
    /// which is as wide as `long` (include/asm-generic/local.h, 6.18).
    pub fn new(endian: Endian, layout: &SubbufLayout) -> Abi {
        Abi { endian, long_size_bytes: layout.commit_size_bytes }
    }

    /// The number in the first `size_bytes` (1, 2, 4 or 8) of `bytes`.
    ///
    /// None if `bytes` is shorter, or the size is another one.
    #[inline]
    pub fn uint(self, bytes: &[u8], size_bytes: usize) -> Option<u64> {
        Some(match (size_bytes, self.endian) {
            (1, _) => u64::from(*bytes.first()?),
            (2, Endian::Little) => u64::from(u16::from_le_bytes(*bytes.first_chunk()?)),
            (2, Endian::Big) => u64::from(u16::from_be_bytes(*bytes.first_chunk()?)),
            (4, Endian::Little) => u64::from(u32::from_le_bytes(*bytes.first_chunk()?)),
            (4, Endian::Big) => u64::from(u32::from_be_bytes(*bytes.first_chunk()?)),
            (8, Endian::Little) => u64::from_le_bytes(*bytes.first_chunk()?),
            (8, Endian::Big) => u64::from_be_bytes(*bytes.first_chunk()?),
            _ => return None,
        })
    }

    /// As [`Abi::uint`], with the sign of the number's own width.
    #[inline]
    pub fn int(self, bytes: &[u8], size_bytes: usize) -> Option<i64> {
        let unsigned = self.uint(bytes, size_bytes)?.cast_signed();
        let unused_bits = match size_bytes {
            1 => 56,
            2 => 48,
            4 => 32,
            _ => 0,
        };
        Some((unsigned << unused_bits) >> unused_bits)
    }

    /// The number `size_bytes` wide that stands `offset` bytes into `bytes`.
    #[inline]
    pub fn uint_at(self, bytes: &[u8], offset: usize, size_bytes: usize) -> Option<u64> {
        self.uint(bytes.get(offset..)?, size_bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::{Abi, Endian};

    #[test]
    fn numbers_follow_the_kernels_order_and_width() {
        let little = Abi { endian: Endian::Little, long_size_bytes: 8 };
        let big = Abi { endian: Endian::Big, long_size_bytes: 8 };
        let bytes = [0x81, 0x02, 0x03, 0x04, 0x05, 0x06, 0x07, 0x88, 0x99];
        let table: [(usize, u64, u64); 4] = [
            (1, 0x81, 0x81),
            (2, 0x0281, 0x8102),
            (4, 0x0403_0281, 0x8102_0304),
            (8, 0x8807_0605_0403_0281, 0x8102_0304_0506_0788),
        ];
        for (size, as_little, as_big) in table {
            assert_eq!(little.uint(&bytes, size), Some(as_little), "{size}");
            assert_eq!(big.uint(&bytes, size), Some(as_big), "{size}");
        }
        assert_eq!(little.int(&bytes, 1), Some(-127));
        assert_eq!(big.int(&bytes, 2), Some(-0x7efe));
        assert_eq!(little.int(&bytes, 4), Some(0x0403_0281));
        assert_eq!(little.int(&[0xff; 4], 4), Some(-1));
        assert_eq!(little.int(&[0xff; 8], 8), Some(-1));
        assert_eq!(little.uint_at(&bytes, 7, 2), Some(0x9988));
    }

    #[test]
    fn what_is_not_there_is_none() {
        let abi = Abi { endian: Endian::Little, long_size_bytes: 8 };
        for (bytes, size) in [(&[][..], 1), (&[1, 2, 3], 4), (&[0; 16], 0), (&[0; 16], 3)] {
            assert_eq!(abi.uint(bytes, size), None, "{size}");
            assert_eq!(abi.int(bytes, size), None, "{size}");
        }
        assert_eq!(abi.uint_at(&[0; 4], usize::MAX, 4), None);
    }
}
