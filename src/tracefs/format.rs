//! Event formats, from the text of `events/SYSTEM/EVENT/format`.

#![deny(clippy::indexing_slicing, clippy::arithmetic_side_effects)]

#[cfg(test)]
mod tests;

use thiserror::Error;

use super::field::Field;

/// What one event's records hold.
///
/// Ids and offsets differ between kernels, builds and even boots: always from the files of the
/// kernel that wrote the records.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EventFormat {
    /// The event's name, without its system's.
    pub name: String,
    /// Its id: `common_type` in its records.
    pub id: u16,
    /// The fields every event of this kernel has, in the file's order.
    pub common: Vec<Field>,
    /// The event's own fields, in the file's order.
    pub fields: Vec<Field>,
    /// How the kernel prints it: what stands behind `print fmt:`, empty where there is none. It alone
    /// tells what the bits of some fields mean.
    pub print_format: String,
}

/// What is wrong with a format file.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum FormatError {
    /// There is no such line.
    #[error("event format has no \"{0}\" line")]
    Missing(&'static str),
    /// The id is not one.
    #[error("event format line {line}: not an event id: {text:?}")]
    BadId {
        /// The line's number, from 1.
        line: usize,
        /// The line.
        text: String,
    },
    /// A field's description cannot be read.
    #[error("event format line {line}: not a field description: {text:?}")]
    BadField {
        /// The line's number, from 1.
        line: usize,
        /// The line.
        text: String,
    },
}

impl EventFormat {
    /// From the text of a `format` file. Lines of unknown kinds are passed over; `print fmt`
    /// ends it.
    ///
    /// # Errors
    /// If there is no name or id, or a field's line cannot be read.
    pub fn parse(text: &str) -> Result<EventFormat, FormatError> {
        let mut name = None;
        let mut id = None;
        let mut common = Vec::new();
        let mut fields = Vec::new();
        let mut print_format = String::new();
        let mut in_common = true;
        for (text, line) in text.lines().zip(1..) {
            let trimmed = text.trim();
            if trimmed.is_empty() {
                in_common &= common.is_empty();
            } else if let Some(value) = trimmed.strip_prefix("name:") {
                name = Some(value.trim().to_owned());
            } else if let Some(value) = trimmed.strip_prefix("ID:") {
                let bad_id = |_| FormatError::BadId { line, text: text.to_owned() };
                id = Some(value.trim().parse().map_err(bad_id)?);
            } else if trimmed.starts_with("field:") {
                let field = FieldLine::parse(trimmed)
                    .ok_or_else(|| FormatError::BadField { line, text: text.to_owned() })?;
                if in_common { &mut common } else { &mut fields }.push(Field::new(&field));
            } else if let Some(format) = trimmed.strip_prefix("print fmt:") {
                print_format = format.trim().to_owned();
                break;
            }
        }
        Ok(EventFormat {
            name: name.ok_or(FormatError::Missing("name:"))?,
            id: id.ok_or(FormatError::Missing("ID:"))?,
            common,
            fields,
            print_format,
        })
    }

    /// The field of that name, own or common.
    pub fn field(&self, name: &str) -> Option<&Field> {
        self.fields.iter().chain(&self.common).find(|field| *field.name == *name)
    }
}

/// A line `field:TYPE NAME[LENGTH]; offset:N; size:N; signed:N;`, taken apart.
#[derive(Debug, Clone, Copy)]
pub(super) struct FieldLine<'a> {
    /// Everything of the declaration but name and length: `__data_loc char[]`, `void *`.
    pub(super) type_name: &'a str,
    pub(super) name: &'a str,
    /// What stands in the brackets behind the name, be it nothing or an expression.
    pub(super) array_length: Option<&'a str>,
    pub(super) offset: u32,
    pub(super) size_bytes: u32,
    /// Kernels before 2.6.3x do not say.
    pub(super) signed: Option<bool>,
}

impl<'a> FieldLine<'a> {
    pub(super) fn parse(line: &'a str) -> Option<FieldLine<'a>> {
        let mut parts = line.trim().strip_prefix("field:")?.split(';').map(str::trim);
        let (rest, array_length) = split_array(parts.next()?);
        let (type_name, name) = split_name(rest)?;
        let (mut offset, mut size_bytes, mut signed) = (None, None, None);
        for part in parts.filter(|part| !part.is_empty()) {
            match part.split_once(':')? {
                ("offset", number) => offset = Some(number.parse().ok()?),
                ("size", number) => size_bytes = Some(number.parse().ok()?),
                ("signed", number) => signed = Some(number != "0"),
                _ => {}
            }
        }
        Some(FieldLine {
            type_name,
            name,
            array_length,
            offset: offset?,
            size_bytes: size_bytes?,
            signed,
        })
    }
}

/// `u8 x[(int)sizeof(long[2])]` to `u8 x` and `(int)sizeof(long[2])`.
fn split_array(declaration: &str) -> (&str, Option<&str>) {
    let (mut rest, mut length) = (declaration, None);
    while let Some((before, inner)) = split_last_brackets(rest) {
        // Of several dimensions none tells how many elements there are.
        length = Some(if length.is_none() { inner } else { "" });
        rest = before;
    }
    (rest, length)
}

fn split_last_brackets(text: &str) -> Option<(&str, &str)> {
    let inner = text.strip_suffix(']')?;
    let mut open = 1_usize;
    for (at, bracket) in inner.rmatch_indices(['[', ']']) {
        open = if bracket == "]" { open.saturating_add(1) } else { open.saturating_sub(1) };
        if open == 0 {
            let (before, brackets) = inner.split_at(at);
            return Some((before.trim_end(), brackets.strip_prefix('[')?));
        }
    }
    None
}

/// The last identifier is the name.
fn split_name(declaration: &str) -> Option<(&str, &str)> {
    let is_part_of_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let type_name = declaration.trim_end_matches(is_part_of_name);
    let name = declaration.strip_prefix(type_name)?;
    (!name.is_empty()).then_some((type_name.trim_end(), name))
}
