//! One field of an event: where it lies in a record, and how to read it.

#![deny(clippy::indexing_slicing, clippy::arithmetic_side_effects)]

use thiserror::Error;

use super::abi::Abi;
use super::format::FieldLine;

/// One field of an event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Field {
    /// Its name.
    pub name: Box<str>,
    /// Where it (or the word that says where its bytes are) begins in a record, in bytes.
    pub offset: u32,
    /// How wide that is. Zero: it reaches to the record's end.
    pub size_bytes: u32,
    /// Its numbers have a sign.
    pub signed: bool,
    storage: Storage,
    pub(super) content: Content,
}

/// Where a field's bytes are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Storage {
    /// At the field's offset.
    Fixed,
    /// From the field's offset to the record's end.
    Trailing,
    /// `__data_loc`: where the word says, from the record's begin.
    FromRecord,
    /// `__rel_loc`: where the word says, from that word's end.
    FromField,
}

/// What a field's bytes are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Content {
    Number,
    Address,
    Text,
    Numbers(Width),
    Addresses,
}

/// How wide a list's elements are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Width {
    One,
    Two,
    Four,
    Eight,
    Long,
}

/// Why a record does not hold a field that its format promises.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Error)]
pub enum FieldFault {
    /// The record ends before or within the field.
    #[error("record ends within the field")]
    PastEnd,
    /// The field says its bytes lie where the record has none.
    #[error("field points outside the record")]
    PointsOutside,
    /// The word that should say where the bytes lie has an unknown width.
    #[error("field's location has an unknown width")]
    LocationWidth,
}

impl Field {
    pub(super) fn new(line: &FieldLine<'_>) -> Field {
        let (storage, type_name) = if let Some(rest) = line.type_name.strip_prefix("__data_loc") {
            (Storage::FromRecord, rest)
        } else if let Some(rest) = line.type_name.strip_prefix("__rel_loc") {
            (Storage::FromField, rest)
        } else if line.size_bytes == 0 {
            (Storage::Trailing, line.type_name)
        } else {
            (Storage::Fixed, line.type_name)
        };
        let is_list = storage != Storage::Fixed || line.array_length.is_some();
        Field {
            name: line.name.into(),
            offset: line.offset,
            size_bytes: line.size_bytes,
            signed: line.signed.unwrap_or_else(|| is_signed_type(type_name)),
            storage,
            content: if is_list { list_content(type_name, line) } else { content(type_name, line) },
        }
    }

    /// The number, its own width, without a sign. None if the record does not hold it, or it is
    /// not 1, 2, 4 or 8 bytes wide.
    #[inline]
    pub fn uint(&self, payload: &[u8], abi: Abi) -> Option<u64> {
        abi.uint_at(payload, self.offset as usize, self.size_bytes as usize)
    }

    /// The number, its own width, with a sign, whatever the format says of it.
    #[inline]
    pub fn int(&self, payload: &[u8], abi: Abi) -> Option<i64> {
        abi.int(payload.get(self.offset as usize..)?, self.size_bytes as usize)
    }

    /// The text up to its first NUL: of a fixed array, a trailing one, or wherever a
    /// `__data_loc` points. Not necessarily UTF-8.
    #[inline]
    pub fn text<'a>(&self, payload: &'a [u8], abi: Abi) -> Option<&'a [u8]> {
        self.bytes(payload, abi).ok().map(up_to_nul)
    }

    /// All the field's bytes, wherever they lie in the record.
    ///
    /// # Errors
    /// If the record does not hold them.
    pub fn bytes<'a>(&self, payload: &'a [u8], abi: Abi) -> Result<&'a [u8], FieldFault> {
        let from_field = payload.get(self.offset as usize..).ok_or(FieldFault::PastEnd)?;
        let base = match self.storage {
            Storage::Fixed => {
                return from_field.get(..self.size_bytes as usize).ok_or(FieldFault::PastEnd);
            }
            Storage::Trailing => return Ok(from_field),
            Storage::FromRecord => payload,
            Storage::FromField => {
                from_field.get(self.size_bytes as usize..).ok_or(FieldFault::PastEnd)?
            }
        };
        if !matches!(self.size_bytes, 2 | 4) {
            return Err(FieldFault::LocationWidth);
        }
        let location = self.uint(payload, abi).and_then(|word| u32::try_from(word).ok());
        let location = location.ok_or(FieldFault::PastEnd)?;
        let target = base.get((location & 0xffff) as usize..);
        match (self.size_bytes, location >> 16) {
            // The first kernels with such fields gave the offset alone.
            (2, _) => target.map(up_to_nul),
            // Nothing lies nowhere: the offset of an empty array means nothing.
            (_, 0) => Some([].as_slice()),
            (_, size_bytes) => target.and_then(|bytes| bytes.get(..size_bytes as usize)),
        }
        .ok_or(FieldFault::PointsOutside)
    }
}

pub(super) fn up_to_nul(bytes: &[u8]) -> &[u8] {
    bytes.split(|&byte| byte == 0).next().unwrap_or(&[])
}

fn content(type_name: &str, line: &FieldLine<'_>) -> Content {
    if is_pointer(type_name) {
        Content::Address
    } else if matches!(line.size_bytes, 1 | 2 | 4 | 8) {
        Content::Number
    } else {
        Content::Numbers(Width::One)
    }
}

fn list_content(type_name: &str, line: &FieldLine<'_>) -> Content {
    let element = type_name.trim().trim_end_matches("[]").trim_end();
    if words(element).all(|word| matches!(word, "char" | "const")) {
        Content::Text
    } else if words(element).any(|word| word == "cpumask_t") {
        Content::Numbers(Width::Long)
    } else if is_pointer(element) {
        Content::Addresses
    } else {
        let width = width_of_type(element).or_else(|| width_of_elements(line));
        Content::Numbers(width.unwrap_or(Width::One))
    }
}

fn is_pointer(type_name: &str) -> bool {
    type_name.ends_with('*')
}

fn words(type_name: &str) -> impl Iterator<Item = &str> {
    type_name.split_ascii_whitespace()
}

/// As wide as its C type is on every Linux.
fn width_of_type(type_name: &str) -> Option<Width> {
    let has = |names: &[&str]| words(type_name).any(|word| names.contains(&word));
    let longs = words(type_name).filter(|word| *word == "long").count();
    Some(if has(&["char", "u8", "s8", "__u8", "__s8", "uint8_t", "int8_t", "bool"]) {
        Width::One
    } else if has(&["short", "u16", "s16", "__u16", "__le16", "__be16", "uint16_t", "int16_t"]) {
        Width::Two
    } else if longs == 1 || has(&["size_t", "ssize_t", "uintptr_t"]) {
        Width::Long
    } else if longs > 1 || has(&["u64", "s64", "__u64", "__le64", "__be64", "uint64_t", "int64_t"])
    {
        Width::Eight
    } else if has(&["int", "unsigned", "u32", "s32", "__u32", "__le32", "__be32", "uint32_t"]) {
        Width::Four
    } else {
        return None;
    })
}

/// As wide as size and length say, where the length is a plain number.
fn width_of_elements(line: &FieldLine<'_>) -> Option<Width> {
    let length: u32 = line.array_length?.trim().parse().ok()?;
    match line.size_bytes.checked_div(length)? {
        2 => Some(Width::Two),
        4 => Some(Width::Four),
        8 => Some(Width::Eight),
        _ => None,
    }
}

/// C's rule, for formats that do not say.
fn is_signed_type(type_name: &str) -> bool {
    let is_signed = |word: &str| {
        matches!(word, "int" | "short" | "long" | "char" | "pid_t")
            || matches!(word.trim_start_matches('_'), "s8" | "s16" | "s32" | "s64")
    };
    !is_pointer(type_name)
        && words(type_name).any(is_signed)
        && words(type_name).all(|word| word != "unsigned")
}
