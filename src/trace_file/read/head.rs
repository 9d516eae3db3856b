//! The first bytes of a file, and the texts that both versions store the same way.

use std::io::Read;
use std::ops::RangeInclusive;

use super::super::compression::Compression;
use super::super::error::Fault;
use super::super::limits::{MAX_FORMATS, MAX_SUB_BUFFER_BYTES};
use super::super::option_id;
use super::super::texts::{EventText, Texts, Version};
use super::input::{Input, lossy};
use crate::tracefs::Endian;

pub(super) const MAGIC: &[u8] = b"\x17\x08\x44tracing";

/// How a file is to be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Head {
    /// The format's version.
    pub version: Version,
    /// The traced machine's byte order, and that of all numbers in the file.
    pub endian: Endian,
    /// The word size of the *program* that wrote it: 4 or 8, and sometimes wrong. The kernel's is
    /// in its `header_page`.
    pub user_long_size_bytes: u8,
    /// The size of a sub-buffer, header included, where a buffer does not say otherwise.
    pub page_size_bytes: u32,
    /// How what is packed is packed.
    pub compression: Compression,
}

impl Head {
    /// Reads it, and the offset of the first options that follows it in version 7 (in version 6: 0).
    pub(super) fn read<R: Read>(input: &mut Input<R>) -> Result<(Head, u64), Fault> {
        let magic = input.expect(MAGIC, "the magic");
        magic.map_err(|fault| match fault {
            Fault::Read(error) => Fault::Read(error),
            _ => Fault::NotTraceFile,
        })?;
        let version = match input.name("the version")?.as_str() {
            "6" => Version::V6,
            "7" => Version::V7,
            other => return Err(Fault::Version(other.to_owned())),
        };
        let endian = match input.u8("the byte order")? {
            0 => Endian::Little,
            _ => Endian::Big,
        };
        input.set_endian(endian);
        let user_long_size_bytes = input.u8("the word size")?;
        let page_size_bytes = page_size(input)?;
        let mut head = Head {
            version,
            endian,
            user_long_size_bytes,
            page_size_bytes,
            compression: Compression::None,
        };
        if version == Version::V6 {
            return Ok((head, 0));
        }
        let name = input.name("the compression")?;
        input.name("the compression")?; // Its version, which no reader needs.
        head.compression = Compression::from_name(&name).ok_or(Fault::Compression(name))?;
        Ok((head, input.u64("the offset of the options")?))
    }
}

/// A size of sub-buffers that can be.
pub(super) fn page_size<R: Read>(input: &mut Input<R>) -> Result<u32, Fault> {
    let offset = input.position();
    match count(input, MAX_SUB_BUFFER_BYTES, "the page size")? {
        0 => Err(Fault::Malformed { part: "a page size", offset }),
        size => Ok(size),
    }
}

/// The texts by the number of their section, in the order of version 6.
pub(super) const TEXT_PARTS: RangeInclusive<u16> = option_id::HEADER_INFO..=option_id::CMDLINES;

/// Reads one of [`TEXT_PARTS`].
pub(super) fn text_part<R: Read>(
    id: u16,
    input: &mut Input<R>,
    texts: &mut Texts,
) -> Result<(), Fault> {
    match id {
        option_id::HEADER_INFO => header_info(input, texts),
        option_id::FTRACE_EVENTS => ftrace_formats(input, texts),
        option_id::EVENT_FORMATS => event_formats(input, texts),
        option_id::KALLSYMS => kallsyms(input, texts),
        option_id::PRINTK => printk_formats(input, texts),
        _ => saved_cmdlines(input, texts),
    }
}

/// `header_page` and `header_event`.
fn header_info<R: Read>(input: &mut Input<R>, texts: &mut Texts) -> Result<(), Fault> {
    input.expect(b"header_page\0", "header_page")?;
    texts.header_page = input.text("header_page")?;
    input.expect(b"header_event\0", "header_event")?;
    texts.header_event = input.text("header_event")?;
    Ok(())
}

/// The formats of the system `ftrace`.
fn ftrace_formats<R: Read>(input: &mut Input<R>, texts: &mut Texts) -> Result<(), Fault> {
    const PART: &str = "the ftrace formats";
    for _ in 0..count(input, MAX_FORMATS, PART)? {
        texts.ftrace_formats.push(input.text(PART)?);
    }
    Ok(())
}

/// The formats of all other systems.
fn event_formats<R: Read>(input: &mut Input<R>, texts: &mut Texts) -> Result<(), Fault> {
    const PART: &str = "the event formats";
    let mut left = MAX_FORMATS;
    for _ in 0..count(input, MAX_FORMATS, PART)? {
        let system = input.name(PART)?;
        let events = count(input, left, PART)?;
        left -= events;
        for _ in 0..events {
            let text = input.text(PART)?;
            texts.event_formats.push(EventText { system: system.clone(), text });
        }
    }
    Ok(())
}

/// A number of things, of which there are at most `limit`.
pub(super) fn count<R: Read>(
    input: &mut Input<R>,
    limit: u32,
    part: &'static str,
) -> Result<u32, Fault> {
    let offset = input.position();
    let count = input.u32(part)?;
    if count <= limit {
        return Ok(count);
    }
    Err(Fault::TooLarge { part, offset, claimed: count.into(), limit: limit.into() })
}

fn kallsyms<R: Read>(input: &mut Input<R>, texts: &mut Texts) -> Result<(), Fault> {
    let size_bytes = input.u32("kallsyms")?;
    texts.kallsyms = input.block(size_bytes.into(), "kallsyms")?;
    Ok(())
}

fn printk_formats<R: Read>(input: &mut Input<R>, texts: &mut Texts) -> Result<(), Fault> {
    let size_bytes = input.u32("printk_formats")?;
    texts.printk_formats = input.block(size_bytes.into(), "printk_formats")?;
    Ok(())
}

fn saved_cmdlines<R: Read>(input: &mut Input<R>, texts: &mut Texts) -> Result<(), Fault> {
    let size_bytes = input.u64("saved_cmdlines")?;
    texts.saved_cmdlines = input.block(size_bytes, "saved_cmdlines")?;
    Ok(())
}

/// The clock in use: the word in brackets of `trace_clock`, or the only word there is.
pub(super) fn clock_of(text: Vec<u8>) -> Option<String> {
    let text = lossy(text);
    let text = text.trim_matches(['\0', '\n', ' ']);
    let bracketed = text.split_once('[').and_then(|(_, rest)| rest.split_once(']'));
    let clock = bracketed.map_or(text, |(clock, _)| clock);
    (!clock.is_empty() && !clock.contains(' ')).then(|| clock.to_owned())
}
