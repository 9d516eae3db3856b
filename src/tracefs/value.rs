//! Any field of any event as a value, for showing events that nothing here understands.

#![deny(clippy::indexing_slicing, clippy::arithmetic_side_effects)]

use super::abi::Abi;
use super::field::{Content, Field, FieldFault, Width, up_to_nul};

/// A field's value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Value<'a> {
    /// A number with a sign.
    Signed(i64),
    /// A number without a sign.
    Unsigned(u64),
    /// A pointer's.
    Address(u64),
    /// Up to its first NUL. Not necessarily UTF-8.
    Text(&'a [u8]),
    /// The elements of an array, or the words of a CPU mask.
    List(List<'a>),
    /// The record does not hold the field.
    Fault(FieldFault),
}

/// The elements of an array, in order: [`Value::Signed`], [`Value::Unsigned`] or
/// [`Value::Address`]. Bytes that do not make up a whole element are left out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct List<'a> {
    bytes: &'a [u8],
    element: Element,
    element_size_bytes: usize,
    abi: Abi,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Element {
    Signed,
    Unsigned,
    Address,
}

impl Field {
    /// Its value in a record.
    pub fn value<'a>(&self, payload: &'a [u8], abi: Abi) -> Value<'a> {
        let element = match self.content {
            Content::Address | Content::Addresses => Element::Address,
            _ if self.signed => Element::Signed,
            _ => Element::Unsigned,
        };
        let bytes = match self.bytes(payload, abi) {
            Ok(bytes) => bytes,
            Err(fault) => return Value::Fault(fault),
        };
        match self.content {
            Content::Text => Value::Text(up_to_nul(bytes)),
            Content::Number | Content::Address => {
                element.value(bytes, bytes.len(), abi).unwrap_or(Value::Fault(FieldFault::PastEnd))
            }
            Content::Numbers(width) => {
                Value::List(List { bytes, element, element_size_bytes: width.size_bytes(abi), abi })
            }
            Content::Addresses => {
                Value::List(List { bytes, element, element_size_bytes: abi.long_size_bytes, abi })
            }
        }
    }
}

impl Element {
    fn value<'a>(self, bytes: &[u8], size_bytes: usize, abi: Abi) -> Option<Value<'a>> {
        Some(match self {
            Element::Signed => Value::Signed(abi.int(bytes, size_bytes)?),
            Element::Unsigned => Value::Unsigned(abi.uint(bytes, size_bytes)?),
            Element::Address => Value::Address(abi.uint(bytes, size_bytes)?),
        })
    }
}

impl Width {
    fn size_bytes(self, abi: Abi) -> usize {
        match self {
            Width::One => 1,
            Width::Two => 2,
            Width::Four => 4,
            Width::Eight => 8,
            Width::Long => abi.long_size_bytes,
        }
    }
}

impl<'a> Iterator for List<'a> {
    type Item = Value<'a>;

    fn next(&mut self) -> Option<Value<'a>> {
        let value = self.element.value(self.bytes, self.element_size_bytes, self.abi)?;
        self.bytes = self.bytes.get(self.element_size_bytes..)?;
        Some(value)
    }
}
