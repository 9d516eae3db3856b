//! Saving what is read from the rings, as it is; but what was read before a sub-buffer was full goes
//! together with what follows.

mod bound;

pub use bound::Bound;

use std::collections::{BTreeMap, VecDeque};
use std::fs;
use std::path::{Path, PathBuf};

use crate::event::Cpu;
use crate::trace_file::{self, Finished, Setup, Texts, Version, Writer, live_texts};
use crate::tracefs::{Abi, Arena, Endian, Instance, SubbufLayout, Tail, is_behind_loss};

use super::live::Live;
use super::plan::Plan;
use super::session::events;

/// Gaps that are remembered until they are taken.
const MOST_GAPS: usize = 1 << 12;

/// What to save beside the rings.
#[derive(Debug)]
pub struct Beside {
    /// The file format's version.
    pub version: Version,
    /// Kernel, host, release and machine.
    pub uname: String,
    /// What ftlock says about its run.
    pub ftlock: Vec<u8>,
    /// The symbols, if not those of /proc/kallsyms.
    pub kallsyms: Option<Vec<u8>>,
    /// A line for each thread known so far: its id, a blank, its name.
    pub names: Vec<u8>,
    /// How much of the rings is kept.
    pub bound: Bound,
}

/// Writes each ring's sub-buffers to a file, until something stops it.
#[derive(Debug)]
pub struct Saver {
    writer: Writer,
    layout: SubbufLayout,
    abi: Abi,
    rings: Vec<Ring>,
    bound: Bound,
    /// Whether the beginning was given up, and whether that was told.
    forgot: bool,
    told_forgot: bool,
    /// So much is still to be saved, behind what was waited for.
    left_bytes: Option<u64>,
    stopped: Option<Stopped>,
    gaps: Vec<SavedGap>,
    losses: u64,
    left_out: u64,
    /// Those at the start, and where the kernel has more.
    names: Vec<u8>,
    kernels_names: PathBuf,
}

/// One CPU's ring in the file.
#[derive(Debug)]
struct Ring {
    cpu: Cpu,
    /// The times of its sub-buffers.
    times: VecDeque<u64>,
    /// The end of the last one, if it takes more.
    tail: Option<Tail>,
}

/// Why saving stopped before the run ended.
#[derive(Debug)]
pub enum Stopped {
    /// The file is as large as it may be.
    Full,
    /// It has what it was to have.
    Enough,
    /// It cannot be written.
    Failed(trace_file::Error),
}

/// Events are missing before a sub-buffer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SavedGap {
    /// The CPU.
    pub cpu: Cpu,
    /// The time of the sub-buffer, in its header.
    pub at_ns: u64,
    /// Everything up to here was read before: the gap lies behind it.
    pub read_up_to_ns: u64,
}

/// How a file came out.
#[derive(Debug)]
pub struct Saved {
    /// The file as it is now, or why it could not be finished: it can be read all the same.
    pub finished: Result<Finished, trace_file::Error>,
    /// Why not all was saved.
    pub stopped: Option<Stopped>,
}

impl Saver {
    /// Creates the file for what `live` reads from now on, and `plan` makes it record.
    ///
    /// # Errors
    /// If it cannot be created, or the kernel does not tell its formats.
    pub fn create(
        path: &Path,
        beside: Beside,
        layout: SubbufLayout,
        live: &mut Live,
        plan: &Plan,
    ) -> Result<Saver, SaveError> {
        let cpus: Vec<Cpu> = live.cpus().collect();
        let instance = live.instance();
        let root = instance.path().ancestors().nth(2).unwrap_or(instance.path());
        let kernels_names = root.join("saved_cmdlines");
        // Those of ftrace itself are all stored anyway.
        let events = events(instance, plan).into_iter().filter(|(system, _)| *system != "ftrace");
        let mut texts = live_texts(instance, &events.collect::<Vec<_>>())?;
        texts.saved_cmdlines = merged(&[&beside.names, &texts.saved_cmdlines]);
        if let Some(kallsyms) = beside.kallsyms {
            texts.kallsyms = kallsyms;
        }
        let setup = Setup {
            version: beside.version,
            subbuf_size: u32::try_from(instance.subbuf_size()).unwrap_or(u32::MAX),
            cpus: cpus.iter().map(|cpu| cpu.0).collect(),
            clock: plan.instance.clock.name().to_owned(),
            uname: beside.uname,
            writer: format!("ftlock {}", env!("CARGO_PKG_VERSION")),
            ftlock: beside.ftlock,
            texts,
        };
        let ring = |cpu| Ring { cpu, times: VecDeque::new(), tail: None };
        Ok(Saver {
            writer: Writer::create(path, &setup)?,
            abi: Abi::new(Endian::NATIVE, &layout),
            layout,
            rings: cpus.into_iter().map(ring).collect(),
            bound: beside.bound,
            forgot: false,
            told_forgot: false,
            left_bytes: None,
            stopped: None,
            gaps: Vec::new(),
            losses: 0,
            left_out: 0,
            names: beside.names,
            kernels_names,
        })
    }

    /// Whether saving goes on.
    pub fn is_saving(&self) -> bool {
        self.stopped.is_none()
    }

    /// Bytes of rings so far.
    pub fn bytes(&self) -> u64 {
        self.writer.rings_bytes()
    }

    /// How many sub-buffers so far have events missing before them.
    pub fn losses(&self) -> u64 {
        self.losses
    }

    /// The gaps since this was last asked.
    pub fn take_gaps(&mut self) -> Vec<SavedGap> {
        std::mem::take(&mut self.gaps)
    }

    /// Adds to what ftlock says about its run, but for the last `reserve` bytes of its room.
    pub fn add(&mut self, text: &[u8], reserve: usize) {
        let room = self.writer.ftlock_room_bytes().saturating_sub(reserve);
        let added = text.len() <= room && self.writer.add_ftlock(text).is_ok();
        self.left_out += u64::from(!added);
    }

    /// How often there was no room for it.
    pub fn left_out(&self) -> u64 {
        self.left_out
    }

    /// Saves what a drain of a CPU's ring brought, everything before `read_up_to_ns` having been
    /// read before.
    pub(super) fn take(&mut self, cpu: Cpu, arena: &Arena, read_up_to_ns: u64) {
        for chunk in arena.chunks() {
            if self.stopped.is_none() {
                self.stopped = self.save(cpu, chunk.bytes, read_up_to_ns).err();
            }
        }
    }

    fn save(&mut self, cpu: Cpu, sub_buffer: &[u8], read_up_to_ns: u64) -> Result<(), Stopped> {
        let (layout, abi) = (&self.layout, self.abi);
        let Some(ring) = self.rings.iter_mut().find(|ring| ring.cpu == cpu) else { return Ok(()) };
        let joined = ring.tail.as_mut().and_then(|tail| tail.join(sub_buffer, layout, abi));
        if let Some(joined) = joined {
            let written = self.writer.write_into_last(cpu.0, joined.records_at, &joined.records);
            let word = || self.writer.write_into_last(cpu.0, joined.commit_at, &joined.commit);
            return written.and_then(|()| word()).map_err(Stopped::Failed);
        }
        let (at_ns, len) = (abi.uint(sub_buffer, 8).unwrap_or(0), sub_buffer.len() as u64);
        if is_behind_loss(sub_buffer, layout, abi) {
            self.losses += 1;
            if self.gaps.len() < MOST_GAPS {
                self.gaps.push(SavedGap { cpu, at_ns, read_up_to_ns });
            }
        }
        ring.tail = Tail::of(sub_buffer, layout, abi);
        self.make_room(len)?;
        self.writer.append(cpu.0, sub_buffer).map_err(Stopped::Failed)?;
        let ring = self.rings.iter_mut().find(|ring| ring.cpu == cpu);
        ring.into_iter().for_each(|ring| ring.times.push_back(at_ns));
        Ok(())
    }

    /// Stores the rings' counters, if everything they count was saved.
    pub(super) fn set_stats(&mut self, instance: &Instance) {
        for Ring { cpu, .. } in self.rings.iter().filter(|_| self.stopped.is_none() && !self.forgot)
        {
            // Without them the file tells less, and is whole all the same.
            let text = instance.stats_text(cpu.0);
            let _ = text.map(|text| self.writer.set_stats(cpu.0, &text)).is_ok();
        }
    }

    /// Finishes the file, with the names that the kernel knows now.
    pub fn finish(self) -> Saved {
        let now = fs::read(&self.kernels_names).unwrap_or_default();
        let names = merged(&[&self.names, &now]);
        Saved { finished: self.writer.finish(&names), stopped: self.stopped }
    }
}

/// Why nothing can be saved.
#[derive(Debug, thiserror::Error)]
pub enum SaveError {
    /// The file.
    #[error(transparent)]
    File(#[from] trace_file::Error),
    /// What the kernel should have told.
    #[error(transparent)]
    Tracefs(#[from] crate::tracefs::Error),
}

/// The lines of several lists of names: of each thread that of the last one.
fn merged(lists: &[&[u8]]) -> Vec<u8> {
    let texts = Texts { saved_cmdlines: lists.concat(), ..Texts::default() };
    let names: BTreeMap<u32, &[u8]> = texts.saved_names().collect();
    let line = |(tid, name): (u32, &[u8])| [format!("{tid} ").as_bytes(), name, b"\n"].concat();
    names.into_iter().flat_map(line).collect()
}
