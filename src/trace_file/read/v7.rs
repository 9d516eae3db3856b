//! Version 7: sections in any order, found through options.

use std::collections::{BTreeMap, BTreeSet};

use super::super::error::Fault;
use super::super::limits::{MAX_BUFFERS, MAX_CPUS, MAX_OPTION_SECTIONS, MAX_PART_BYTES};
use super::super::option_id;
use super::Found;
use super::buffer::{Buffer, CpuExtent};
use super::head::{self, Head};
use super::input::Input;
use super::notes::Note;
use super::options::EndsWith;
use super::source::{FileInput, Source};

/// A section's flags: it is packed.
const PACKED: u16 = 1;

/// Sections by their number; of several the last one counts.
type Sections = BTreeMap<u16, u64>;

/// Reads what the options from `options_offset` on lead to.
pub(super) fn read(
    source: &Source<'_>,
    head: Head,
    options_offset: u64,
    found: &mut Found,
) -> Result<(), Fault> {
    if options_offset == 0 {
        // Its writer ended before it wrote where they are.
        return Err(Fault::Missing("options"));
    }
    let mut sections = Sections::new();
    let whole = all_options(source, head, options_offset, &mut sections, found);
    for id in head::TEXT_PARTS {
        let Some(&offset) = sections.get(&id) else { continue };
        let read = Section::open(source, head, offset, id)
            .and_then(|(section, mut input)| section.data(head, &mut input))
            .and_then(|bytes| {
                head::text_part(id, &mut Input::over(&bytes, head.endian), &mut found.texts)
            });
        match read {
            Err(fault) if !is_needed(id) => found.notes.add(Note::LeftOut(fault)),
            read => read?,
        }
    }
    if let Err(fault) = whole {
        if found.buffers.is_empty() || !sections.contains_key(&option_id::HEADER_INFO) {
            return Err(fault);
        }
        found.notes.add(Note::OptionsEnd(fault));
    }
    if found.texts.header_page.is_empty() {
        return Err(Fault::Missing("header_page"));
    }
    let holds_text = |note: &Note| matches!(note, Note::Text { .. });
    if found.buffers.is_empty() {
        let is_text = found.notes.first.iter().any(holds_text);
        return Err(if is_text { Fault::Text } else { Fault::Missing("buffer") });
    }
    Ok(())
}

/// Without these nothing can be decoded.
fn is_needed(id: u16) -> bool {
    matches!(id, option_id::HEADER_INFO | option_id::EVENT_FORMATS)
}

/// Follows the options from section to section.
fn all_options(
    source: &Source<'_>,
    head: Head,
    first_offset: u64,
    sections: &mut Sections,
    found: &mut Found,
) -> Result<(), Fault> {
    let mut offset = first_offset;
    let mut seen = BTreeSet::new();
    while offset != 0 {
        // A section that was seen before would lead round and round.
        if !seen.insert(offset) || seen.len() > MAX_OPTION_SECTIONS {
            return Err(Fault::Malformed { part: "further options", offset });
        }
        let (section, mut input) = Section::open(source, head, offset, option_id::DONE)?;
        if section.is_packed {
            return Err(Fault::Malformed { part: "plain options", offset });
        }
        offset = options(&mut input, source, head, sections, found)?;
    }
    Ok(())
}

/// One section of options. Returns where the next is; 0 for none.
fn options(
    input: &mut FileInput<'_>,
    source: &Source<'_>,
    head: Head,
    sections: &mut Sections,
    found: &mut Found,
) -> Result<u64, Fault> {
    loop {
        let option = found.option(input, EndsWith::Data)?;
        let mut data = Input::over(&option.data, head.endian);
        match option.id {
            option_id::DONE => return data.u64("the next options"),
            option_id::HEADER_INFO..=option_id::CMDLINES => match data.u64("a section's offset") {
                Ok(offset) => _ = sections.insert(option.id, offset),
                Err(_) => found.options.malformed += 1,
            },
            option_id::BUFFER => {
                let offset = input.position();
                let read = buffer(&mut data, source, head)
                    .and_then(|buffer| found.has_room(buffer.cpus.len(), offset).map(|()| buffer));
                match read {
                    Ok(buffer) if found.buffers.len() < MAX_BUFFERS => {
                        found.add(buffer, source.end());
                    }
                    Ok(_) => found.options.malformed += 1,
                    Err(fault) => found.notes.add(Note::LeftOut(fault)),
                }
            }
            option_id::BUFFER_TEXT => {
                let name = data.u64("BUFFER_TEXT").and_then(|_| data.name("BUFFER_TEXT"));
                found.notes.add(Note::Text { buffer: name.unwrap_or_default() });
            }
            _ => found.options.add(option, head.endian),
        }
    }
}

/// A buffer from its option.
fn buffer(data: &mut Input<&[u8]>, source: &Source<'_>, head: Head) -> Result<Buffer, Fault> {
    const PART: &str = "BUFFER";
    let section_offset = data.u64(PART)?;
    let (name, clock) = (data.name(PART)?, data.name(PART)?);
    let page_size_bytes = head::page_size(data)?;
    let count = head::count(data, MAX_CPUS, PART)?;
    let (section, _) = Section::open(source, head, section_offset, option_id::BUFFER)?;
    let is_packed = section.is_packed;
    let mut cpus = Vec::new();
    for _ in 0..count {
        let offset = data.position();
        let cpu = u16::try_from(data.u32(PART)?);
        let cpu = cpu.map_err(|_| Fault::Malformed { part: "the number of a CPU", offset })?;
        let (offset, size_bytes) = (data.u64(PART)?, data.u64(PART)?);
        cpus.push(CpuExtent { cpu, offset, size_bytes, is_packed });
    }
    let clock = Some(clock).filter(|clock| !clock.is_empty());
    Ok(Buffer { name, clock, page_size_bytes, cpus })
}

/// A section's header.
#[derive(Debug)]
struct Section {
    id: u16,
    is_packed: bool,
    size_bytes: u64,
}

impl Section {
    /// Opens the section at `offset`, which must be of that number, to read what follows its header.
    fn open<'f>(
        source: &Source<'f>,
        head: Head,
        offset: u64,
        id: u16,
    ) -> Result<(Section, FileInput<'f>), Fault> {
        let part = name(id);
        let mut input = source.input(offset, head.endian);
        let (found, flags) = (input.u16(part)?, input.u16(part)?);
        input.u32(part)?; // The number of a string that describes it.
        let size_bytes = input.u64(part)?;
        if found != id {
            return Err(Fault::Malformed { part, offset });
        }
        Ok((Section { id, is_packed: flags & PACKED != 0, size_bytes }, input))
    }

    /// All of its data, unpacked.
    fn data(&self, head: Head, input: &mut FileInput<'_>) -> Result<Vec<u8>, Fault> {
        let part = name(self.id);
        if !self.is_packed {
            return input.block(self.size_bytes, part);
        }
        let (packed_bytes, size_bytes) = (input.u32(part)?.into(), input.u32(part)?.into());
        let offset = input.position();
        if size_bytes > MAX_PART_BYTES {
            let (claimed, limit) = (size_bytes, MAX_PART_BYTES);
            return Err(Fault::TooLarge { part, offset, claimed, limit });
        }
        let packed = input.block(packed_bytes, part)?;
        let unpacked = head.compression.unpack(&packed, size_bytes);
        unpacked.map_err(|reason| Fault::Unpack { part, offset, reason })
    }
}

fn name(id: u16) -> &'static str {
    match id {
        option_id::DONE => "options",
        option_id::BUFFER => "buffer",
        option_id::HEADER_INFO => "header_page",
        option_id::FTRACE_EVENTS => "the ftrace formats",
        option_id::EVENT_FORMATS => "the event formats",
        option_id::KALLSYMS => "kallsyms",
        option_id::PRINTK => "printk_formats",
        _ => "saved_cmdlines",
    }
}
