//! Version 6: everything in a fixed order.

use super::super::error::Fault;
use super::super::limits::{MAX_BUFFERS, MAX_CPUS};
use super::super::option_id;
use super::buffer::{Buffer, CpuExtent};
use super::head::{self, Head, clock_of};
use super::input::Input;
use super::notes::Note;
use super::options::{EndsWith, Raw};
use super::source::{FileInput, Source};
use super::{Found, Notes};

/// A buffer that an option names.
#[derive(Debug)]
struct Named {
    offset: u64,
    name: String,
}

/// What is gathered of options.
#[derive(Debug)]
struct State {
    /// CPUs of each table: those of the header, unless an option says otherwise.
    cpus: u32,
    /// Whether a table is followed by its clock.
    has_clock: bool,
    named: Vec<Named>,
}

/// Reads from behind the head.
pub(super) fn read(
    source: &Source<'_>,
    head: Head,
    mut input: FileInput<'_>,
    found: &mut Found,
) -> Result<(), Fault> {
    for id in head::TEXT_PARTS {
        head::text_part(id, &mut input, &mut found.texts)?;
    }
    let cpus = head::count(&mut input, MAX_CPUS, "the number of CPUs")?;
    let mut state = State { cpus, has_clock: false, named: Vec::new() };

    let top = buffer(&mut input, head, String::new(), &mut state, found)?;
    found.options.clock = found.options.clock.take().or(top.clock.clone());
    found.options.cpu_count = found.options.cpu_count.or(Some(state.cpus));
    found.add(top, source.end());
    let named = std::mem::take(&mut state.named);
    for Named { offset, name } in named {
        let mut input = source.input(offset, head.endian);
        match buffer(&mut input, head, name.clone(), &mut state, found) {
            Ok(buffer) => found.add(buffer, source.end()),
            Err(Fault::Text) => found.notes.add(Note::Text { buffer: name }),
            Err(fault) => found.notes.add(Note::LeftOut(fault)),
        }
    }
    Ok(())
}

/// A buffer's options, where it has some, and the table of its rings.
fn buffer(
    input: &mut FileInput<'_>,
    head: Head,
    name: String,
    state: &mut State,
    found: &mut Found,
) -> Result<Buffer, Fault> {
    const PART: &str = "the table of rings";
    let mut offset = input.position();
    let mut tag: [u8; 10] = input.array(PART)?;
    if tag.starts_with(b"options") {
        options(input, state, found)?;
        offset = input.position();
        tag = input.array(PART)?;
    }
    if tag.starts_with(b"latency") {
        return Err(Fault::Text);
    }
    if !tag.starts_with(b"flyrecord") {
        return Err(Fault::Malformed { part: PART, offset });
    }
    found.has_room(state.cpus as usize, offset)?;
    let mut cpus = Vec::new();
    for cpu in 0..state.cpus {
        let (offset, size_bytes) = (input.u64(PART)?, input.u64(PART)?);
        let cpu = u16::try_from(cpu).unwrap_or(u16::MAX);
        cpus.push(CpuExtent { cpu, offset, size_bytes, is_packed: false });
    }
    let clock = if state.has_clock { clock(input, &mut found.notes) } else { None };
    Ok(Buffer { name, clock, page_size_bytes: head.page_size_bytes, cpus })
}

/// The clock behind a table. Some writers left it out.
fn clock(input: &mut FileInput<'_>, notes: &mut Notes) -> Option<String> {
    let size_bytes = input.u64("the clock");
    match size_bytes.and_then(|size_bytes| input.block(size_bytes, "the clock")) {
        Ok(text) => clock_of(text),
        Err(fault) => {
            notes.add(Note::LeftOut(fault));
            None
        }
    }
}

fn options(input: &mut FileInput<'_>, state: &mut State, found: &mut Found) -> Result<(), Fault> {
    loop {
        let option = found.option(input, EndsWith::Id)?;
        match option.id {
            option_id::DONE => return Ok(()),
            option_id::BUFFER => match named(&option, input) {
                Ok(named) if state.named.len() < MAX_BUFFERS => state.named.push(named),
                _ => found.options.malformed += 1,
            },
            id => {
                state.has_clock |= id == option_id::TRACE_CLOCK;
                found.options.add(option, input.endian());
                if id == option_id::CPU_COUNT {
                    state.cpus = found.options.cpu_count.unwrap_or(state.cpus);
                }
            }
        }
    }
}

fn named(option: &Raw, input: &FileInput<'_>) -> Result<Named, Fault> {
    let mut data = Input::over(&option.data, input.endian());
    Ok(Named { offset: data.u64("BUFFER")?, name: data.name("BUFFER")? })
}
