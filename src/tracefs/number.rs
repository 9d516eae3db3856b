//! A number of a record, ready to be read again and again.

#![deny(clippy::indexing_slicing, clippy::arithmetic_side_effects)]

use super::abi::{Abi, Endian};
use super::field::Field;

/// Where one number of an event's records lies. Reads what [`Field::uint`] and [`Field::int`] read,
/// faster for the widths and the byte order that nearly all have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Number {
    offset: usize,
    size_bytes: usize,
    shape: Shape,
    abi: Abi,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Shape {
    Little32,
    Little64,
    Other,
}

impl Number {
    /// The field's, in records of a kernel with that ABI.
    pub fn new(field: &Field, abi: Abi) -> Number {
        let shape = match (abi.endian, field.size_bytes) {
            (Endian::Little, 4) => Shape::Little32,
            (Endian::Little, 8) => Shape::Little64,
            _ => Shape::Other,
        };
        let (offset, size_bytes) = (field.offset as usize, field.size_bytes as usize);
        Number { offset, size_bytes, shape, abi }
    }

    /// Without a sign. None if the record does not hold it, or it is not 1, 2, 4 or 8 bytes wide.
    #[inline]
    pub fn uint(&self, payload: &[u8]) -> Option<u64> {
        let bytes = payload.get(self.offset..)?;
        match self.shape {
            Shape::Little32 => Some(u64::from(u32::from_le_bytes(*bytes.first_chunk()?))),
            Shape::Little64 => Some(u64::from_le_bytes(*bytes.first_chunk()?)),
            Shape::Other => self.abi.uint(bytes, self.size_bytes),
        }
    }

    /// With a sign, whatever the format says of it.
    #[inline]
    pub fn int(&self, payload: &[u8]) -> Option<i64> {
        let bytes = payload.get(self.offset..)?;
        match self.shape {
            Shape::Little32 => Some(i64::from(i32::from_le_bytes(*bytes.first_chunk()?))),
            Shape::Little64 => Some(i64::from_le_bytes(*bytes.first_chunk()?)),
            Shape::Other => self.abi.int(bytes, self.size_bytes),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Abi, Endian, Number};
    use crate::tracefs::EventFormat;

    #[test]
    fn a_number_is_what_its_field_reads_of_any_width_order_and_record() {
        let text = |size: u32, offset: u32| {
            format!(
                "name: some\nID: 7\nformat:\n\tfield:int value;\toffset:{offset};\tsize:{size};\tsigned:1;\n\n\
                 print fmt: \"\"\n"
            )
        };
        let payload = [0x81, 0x82, 0x83, 0xf4, 0x05, 0x06, 0x07, 0x88, 0x99, 0xaa];
        for (endian, size, offset) in [Endian::Little, Endian::Big]
            .into_iter()
            .flat_map(|endian| [1u32, 2, 3, 4, 8].map(|size| (endian, size)))
            .flat_map(|(endian, size)| (0u32..12).map(move |offset| (endian, size, offset)))
        {
            let abi = Abi { endian, long_size_bytes: 8 };
            let format = EventFormat::parse(&text(size, offset)).unwrap();
            let field = format.field("value").unwrap();
            let number = Number::new(field, abi);
            let told = (number.uint(&payload), number.int(&payload));
            assert_eq!(
                told,
                (field.uint(&payload, abi), field.int(&payload, abi)),
                "{size} {offset}"
            );
        }
    }
}
