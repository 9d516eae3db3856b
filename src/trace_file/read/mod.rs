//! Reading a trace.dat.

mod buffer;
mod cpu_data;
mod head;
mod input;
mod memory;
mod notes;
mod options;
mod perf;
mod source;
mod v6;
mod v7;

use std::fs::File;
use std::path::Path;
use std::sync::Arc;

pub use buffer::{Buffer, CpuExtent};
pub use cpu_data::CpuData;
pub use head::Head;
pub use notes::{Note, Notes};
pub use options::{Guest, Options, TscToNs};
pub use perf::perf_texts;

use super::error::{Error, Fault};
use super::limits::{MAX_OPTIONS_BYTES, MAX_RINGS};
use super::texts::{Texts, Version};
use crate::tracefs::{Abi, Endian, SubbufLayout};
use memory::Memory;
use options::{EndsWith, Raw};
use source::{FileInput, Source};

/// A recording in a file: all of it but the rings' contents, which [`TraceFile::cpu_data`] reads.
#[derive(Debug)]
pub struct TraceFile {
    /// How it is to be read.
    pub head: Head,
    /// What it says about the recording.
    pub options: Options,
    /// The traced kernel's texts.
    pub texts: Texts,
    /// The tracing instances recorded, each with its rings; the top level's has no name.
    pub buffers: Vec<Buffer>,
    /// What could not be read, or is not all there.
    pub notes: Notes,
    layout: SubbufLayout,
    file: Arc<File>,
    path: Arc<Path>,
    memory: Memory,
}

/// What is gathered on the way through a file.
#[derive(Debug)]
struct Found {
    options: Options,
    texts: Texts,
    buffers: Vec<Buffer>,
    notes: Notes,
    /// How much more data options may have.
    option_bytes_left: u64,
    /// How many more rings there may be.
    rings_left: usize,
}

/// What an option takes beside its data: its number and its size.
const OPTION_HEAD_BYTES: u64 = 6;

impl Found {
    /// The next option, within the bounds of all.
    fn option(&mut self, input: &mut FileInput<'_>, ends: EndsWith) -> Result<Raw, Fault> {
        let (offset, limit) = (input.position(), self.option_bytes_left);
        let option = Raw::read(input, ends, limit)?;
        // Sections may lie over one another: each byte counts as often as it is read.
        let claimed = OPTION_HEAD_BYTES.saturating_add(option.data.len() as u64);
        let part = "the options";
        let left = limit.checked_sub(claimed);
        self.option_bytes_left = left.ok_or(Fault::TooLarge { part, offset, claimed, limit })?;
        Ok(option)
    }

    /// Whether there may be so many more rings, as is said at `offset`.
    fn has_room(&self, rings: usize, offset: u64) -> Result<(), Fault> {
        let (part, limit) = ("the table of rings", self.rings_left as u64);
        match rings > self.rings_left {
            true => Err(Fault::TooLarge { part, offset, claimed: rings as u64, limit }),
            false => Ok(()),
        }
    }

    /// Takes a buffer in, for whose rings there is room.
    fn add(&mut self, mut buffer: Buffer, file_end: u64) {
        self.rings_left = self.rings_left.saturating_sub(buffer.cpus.len());
        buffer.clip(file_end, &mut self.notes);
        self.buffers.push(buffer);
    }
}

impl TraceFile {
    /// Reads everything but the rings' contents.
    ///
    /// # Errors
    /// If it cannot be read, is no trace.dat of version 6 or 7, is compressed in an unknown way,
    /// holds the text of a latency tracer, or lacks the texts without which no event can be
    /// decoded. What else is missing is in [`TraceFile::notes`].
    pub fn open(path: &Path) -> Result<TraceFile, Error> {
        let file = File::open(path).map_err(|source| Error::io("open", path, source))?;
        TraceFile::of(file, path)
    }

    /// The same of a file that is open; `path` is what it is called in errors.
    ///
    /// # Errors
    /// As [`TraceFile::open`].
    pub fn of(file: File, path: &Path) -> Result<TraceFile, Error> {
        let source = Source::new(&file).map_err(|source| Error::io("read", path, source))?;
        let (head, layout, found) = read(&source).map_err(|fault| Error::of(path, fault))?;
        let Found { options, texts, mut buffers, mut notes, .. } = found;
        buffer::leave_out_shared(&mut buffers, &mut notes);
        let (file, path, memory) = (Arc::new(file), path.into(), Memory::default());
        Ok(TraceFile { head, options, texts, buffers, notes, layout, file, path, memory })
    }

    /// How the traced kernel lays out numbers: the word size is that of `header_page`, whatever
    /// the file's head says.
    pub fn abi(&self) -> Abi {
        Abi::new(self.head.endian, &self.layout)
    }

    /// How a buffer's sub-buffers are laid out. Their size is the buffer's: the file's one
    /// `header_page` may be that of another instance.
    pub fn layout(&self, buffer: &Buffer) -> SubbufLayout {
        let size_bytes = buffer.page_size_bytes as usize;
        let data_size_bytes = size_bytes.saturating_sub(self.layout.data_offset);
        SubbufLayout { data_size_bytes, ..self.layout }
    }

    /// One CPU's ring of a buffer, from its beginning. Any number can be read at the same time.
    pub fn cpu_data(&self, buffer: &Buffer, extent: &CpuExtent) -> CpuData {
        let (file, path) = (Arc::clone(&self.file), Arc::clone(&self.path));
        let held = self.memory.for_one();
        CpuData::new((file, path), self.head, buffer.page_size_bytes, extent, held)
    }
}

fn read(source: &Source<'_>) -> Result<(Head, SubbufLayout, Found), Fault> {
    let mut input = source.input(0, Endian::Little);
    let (head, options_offset) = Head::read(&mut input)?;
    let mut found = Found {
        options: Options::default(),
        texts: Texts::default(),
        buffers: Vec::new(),
        notes: Notes::default(),
        option_bytes_left: MAX_OPTIONS_BYTES,
        rings_left: MAX_RINGS,
    };
    match head.version {
        Version::V6 => v6::read(source, head, input, &mut found)?,
        Version::V7 => v7::read(source, head, options_offset, &mut found)?,
    }
    let layout = SubbufLayout::parse(&found.texts.header_page).map_err(Fault::HeaderPage)?;
    Ok((head, layout, found))
}
