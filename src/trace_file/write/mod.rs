//! Writing a trace.dat while it is being recorded, such that it can be read at every moment.
//!
//! A file holds each CPU's ring in one piece, and how long the pieces get is not known before.
//! trace-cmd therefore records into a file for each CPU and puts them together in the end: a
//! recorder that is killed, or finds no room for the second copy, leaves no trace.dat.
//!
//! Here the file is whole from the start. Every text and table is written first, then each ring
//! gets a place of its own, so far from the next that it does not run into it: what lies between
//! them is a hole, which takes no room on disk. [`Writer::append`] writes sub-buffers where they
//! belong and then, behind them, how many there are (16 bytes within the table, whose room is
//! allocated). So at every moment, after SIGKILL or with the disk full, `trace-cmd report` and
//! [`TraceFile`](super::TraceFile) read everything appended up to then. Only `ls` shows a large
//! size: `du` shows the real one. A machine that crashes is not covered: nothing is synced.
//!
//! [`Writer::finish`] moves the rings together, each only when its copy is complete, and cuts the
//! file to size; without room for a copy the ring stays where it is.
//!
//! The texts come first in both versions, since in version 6 nothing may follow the rings. What is
//! known only in the end (names, the rings' counters) has room reserved among them.
//!
//! Sub-buffers of any size are fine: trace-cmd 3.1.6 takes it from the file's head (version 6) or
//! the buffer (version 7), if `header_page` is that of the same instance. Time stamps stay as
//! recorded, of the clock that is named: no DATE is stored, which trace-cmd would add to them.

mod compact;
mod encode;
mod layout;
mod live;
mod room;
#[cfg(test)]
mod tests;

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};

pub use live::live_texts;

use super::error::Error;
use super::texts::{Texts, Version};
use layout::Layout;

/// What is to be recorded, and by whom.
#[derive(Debug, Clone)]
pub struct Setup {
    /// The format's version.
    pub version: Version,
    /// The size of a sub-buffer, header included.
    pub subbuf_size: u32,
    /// The CPUs that have a ring.
    pub cpus: Vec<u16>,
    /// The name of the trace clock.
    pub clock: String,
    /// Kernel, host, release and machine.
    pub uname: String,
    /// The program that records.
    pub writer: String,
    /// What ftlock itself says about its run, without a NUL; there is room to add more.
    pub ftlock: Vec<u8>,
    /// The kernel's texts; `saved_cmdlines` as far as known at the start.
    pub texts: Texts,
}

/// A file that is being written.
#[derive(Debug)]
pub struct Writer {
    file: File,
    path: PathBuf,
    layout: Layout,
    subbuf_size: u64,
    rings: Vec<Ring>,
}

/// One CPU's ring in the file.
#[derive(Debug)]
struct Ring {
    cpu: u16,
    /// Where its entry in the table is.
    entry_at: u64,
    offset: u64,
    size_bytes: u64,
    /// Where the next ring's place begins.
    place_end: u64,
}

/// How a file was finished.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Finished {
    /// The file's size.
    pub size_bytes: u64,
    /// Rings that stayed where they were, behind a hole, for want of room.
    pub unmoved_rings: usize,
    /// Bytes of names for which there was no room.
    pub names_left_out_bytes: usize,
}

impl Writer {
    /// Creates the file, or empties it, and writes everything but the rings.
    ///
    /// # Errors
    /// If it cannot be created, is no regular file, or its file system keeps no holes.
    pub fn create(path: &Path, setup: &Setup) -> Result<Writer, Error> {
        let file = File::options().read(true).write(true).create(true).truncate(true).open(path);
        let file = file.map_err(|source| Error::io("create", path, source))?;
        let subbuf_size = u64::from(setup.subbuf_size.max(1));
        let (bytes, layout) = encode::head(setup);
        let room = room::ring_room_bytes(&file, path, setup.cpus.len(), subbuf_size)?;
        let first = (bytes.len() as u64).next_multiple_of(subbuf_size);
        let places = layout.entries_at.iter().zip(&setup.cpus);
        let rings = places.zip(0_u64..).map(|((&entry_at, &cpu), number)| Ring {
            cpu,
            entry_at,
            offset: first + number * room,
            size_bytes: 0,
            place_end: first + (number + 1) * room,
        });
        let rings = rings.collect();
        let writer = Writer { file, path: path.to_owned(), layout, subbuf_size, rings };
        writer.write(&bytes, 0)?;
        for ring in &writer.rings {
            writer.write_entry(ring)?;
        }
        Ok(writer)
    }

    /// Appends whole sub-buffers to a CPU's ring, each of the full size, as read from the ring (not
    /// mapped). What is left behind them is not counted in.
    ///
    /// # Errors
    /// If the system refuses, for want of room for instance: sub-buffers that were written wholly
    /// stay, and [`Writer::finish`] still works. If the CPU has no ring, or its place is full.
    pub fn append(&mut self, cpu: u16, subbufs: &[u8]) -> Result<(), Error> {
        let len = subbufs.len() as u64;
        let has_room = |ring: &Ring| ring.offset + ring.size_bytes + len <= ring.place_end;
        let mut rings = self.rings.iter_mut();
        let Some(ring) = rings.find(|ring| ring.cpu == cpu && has_room(ring)) else {
            return Err(Error::NoPlace { path: self.path.clone(), cpu });
        };
        let (written, end) = write_some(&self.file, subbufs, ring.offset + ring.size_bytes);
        ring.size_bytes += written - written % self.subbuf_size;
        let (entry, entry_at) = (layout::entry(ring.offset, ring.size_bytes), ring.entry_at);
        // The table tells of what was written even if it was not all.
        self.write(&entry, entry_at)?;
        end.map_err(|source| Error::io("write", &self.path, source))
    }

    /// Gives up the first sub-buffer of a CPU's ring, and its room on disk.
    ///
    /// # Errors
    /// If the system refuses to write, or the ring is empty.
    pub fn forget_first(&mut self, cpu: u16) -> Result<(), Error> {
        let size = self.subbuf_size;
        let mut rings = self.rings.iter_mut();
        let Some(ring) = rings.find(|ring| ring.cpu == cpu && ring.size_bytes >= size) else {
            return Err(Error::NoPlace { path: self.path.clone(), cpu });
        };
        let first = ring.offset;
        ring.offset += size;
        ring.size_bytes -= size;
        let (entry, entry_at) = (layout::entry(ring.offset, ring.size_bytes), ring.entry_at);
        self.write(&entry, entry_at)?;
        self.free(first, size);
        Ok(())
    }

    /// Writes into the last sub-buffer of a CPU's ring, from its byte `at` on.
    ///
    /// # Errors
    /// If the system refuses, or there is no sub-buffer that these bytes lie in.
    pub fn write_into_last(&self, cpu: u16, at: usize, bytes: &[u8]) -> Result<(), Error> {
        let end = (at as u64).saturating_add(bytes.len() as u64);
        let ring = self.rings.iter().find(|ring| ring.cpu == cpu && end <= self.subbuf_size);
        let last = ring.and_then(|ring| {
            let before = ring.size_bytes.checked_sub(self.subbuf_size)?;
            Some(ring.offset + before)
        });
        match last {
            Some(last) => self.write(bytes, last + at as u64),
            None => Err(Error::NoPlace { path: self.path.clone(), cpu }),
        }
    }

    /// Bytes of rings so far.
    pub fn rings_bytes(&self) -> u64 {
        self.rings.iter().map(|ring| ring.size_bytes).sum()
    }

    /// Stores the text of a CPU's `stats`, in place of what was stored before.
    pub fn set_stats(&self, cpu: u16, stats: &str) -> Result<(), Error> {
        let number = self.rings.iter().position(|ring| ring.cpu == cpu);
        match number.and_then(|number| self.layout.stats_at.get(number)) {
            Some(&at) => self.write(&layout::stats(cpu, stats), at),
            None => Err(Error::NoPlace { path: self.path.clone(), cpu }),
        }
    }

    /// Stores names of threads (`saved_cmdlines`), in place of those stored before; whole lines
    /// as far as there is room. Returns how many bytes were left out.
    pub fn set_names(&self, saved_cmdlines: &[u8]) -> Result<usize, Error> {
        let room = self.layout.names_bytes;
        let names = layout::names(saved_cmdlines, room);
        self.write(&names.bytes, self.layout.names_at)?;
        Ok(names.left_out_bytes)
    }

    /// How many more bytes [`Writer::add_ftlock`] takes.
    pub fn ftlock_room_bytes(&self) -> usize {
        self.layout.ftlock_room_bytes
    }

    /// Adds to what ftlock says about its run.
    ///
    /// # Errors
    /// If the system refuses, or there is no room for all of it: then nothing was added.
    pub fn add_ftlock(&mut self, bytes: &[u8]) -> Result<(), Error> {
        let left = self.layout.ftlock_room_bytes.checked_sub(bytes.len());
        let no_room = || Error::io("write", &self.path, io::ErrorKind::WriteZero.into());
        let left = left.ok_or_else(no_room)?;
        self.write(bytes, self.layout.ftlock_end)?;
        self.layout.ftlock_end += bytes.len() as u64;
        self.layout.ftlock_room_bytes = left;
        Ok(())
    }

    /// Stores the last names, moves the rings together and cuts the file to size.
    pub fn finish(mut self, saved_cmdlines: &[u8]) -> Result<Finished, Error> {
        let names_left_out_bytes = self.set_names(saved_cmdlines)?;
        let unmoved_rings = self.compact()?;
        let ends = self.rings.iter().map(|ring| ring.offset + ring.size_bytes);
        let size_bytes = ends.max().unwrap_or(0).max(self.layout.head_bytes);
        let cut = self.file.set_len(size_bytes);
        cut.map_err(|source| Error::io("cut", &self.path, source))?;
        Ok(Finished { size_bytes, unmoved_rings, names_left_out_bytes })
    }

    fn write_entry(&self, ring: &Ring) -> Result<(), Error> {
        self.write(&layout::entry(ring.offset, ring.size_bytes), ring.entry_at)
    }

    fn write(&self, bytes: &[u8], at: u64) -> Result<(), Error> {
        let written = self.file.write_all_at(bytes, at);
        written.map_err(|source| Error::io("write", &self.path, source))
    }
}

/// Writes as much as the system takes: how many bytes, and why not all.
fn write_some(file: &File, bytes: &[u8], at: u64) -> (u64, io::Result<()>) {
    let mut written = 0;
    while let Some(rest) = bytes.get(written..).filter(|rest| !rest.is_empty()) {
        match file.write_at(rest, at + written as u64) {
            Ok(0) => return (written as u64, Err(io::ErrorKind::WriteZero.into())),
            Ok(count) => written += count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return (written as u64, Err(error)),
        }
    }
    (written as u64, Ok(()))
}
