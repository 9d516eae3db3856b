//! The stages, wired: windows of decoded events in, named waits and sums out.
//!
//! No I/O and no clock: whoever holds the sub-buffers - a live trace, a recording - feeds them,
//! and says up to which instant everything has been read.

mod end;
mod items;
mod open;
mod pairing;
mod streaming;
mod summing;
mod told;

pub use told::Lasting;

use crate::aggregate::Aggregate;
use crate::cmdline_cache::CmdlineCache;
use crate::cmdline_cache::proc::SeededTask;
use crate::contention::{Sleepers, Sleeps, Wait};
use crate::event::{Cpu, Stamp};
use crate::report::{By, RowKey, Table, Witness};
use crate::symbols::StackTable;

use super::chaining::Chaining;
use super::keep::Keep;
use super::lane::{Decoding, Lane};
use super::lock_names::LockNames;
use super::mmap_locks::MmapLocks;
use super::naming::Naming;
use super::raw::RawStore;
use super::setup::{Chunk, Processes, Setup};
use super::spaces::Spaces;
use super::sums::{Summing, Sums};
use super::workers::{on_each, threads};

/// All stages with their state.
#[derive(Debug)]
pub struct Engine {
    decoding: Decoding,
    lanes: Vec<Lane>,
    sleepers: Sleepers,
    spaces: Spaces,
    /// Where they are asked for.
    sleeps: Option<Sleeps>,
    /// The sleepers' part of what every lane has for its spinners.
    waits: Vec<Wait>,
    /// The sleeps that ended.
    slept: Vec<Wait>,
    /// One for each worker; the first one sums what is no CPU's alone.
    sums: Vec<Sums>,
    cache: CmdlineCache,
    keep: Keep,
    mmap_locks: MmapLocks,
    /// Where holders are looked for.
    chaining: Option<Chaining>,
    /// Where rows are by lock.
    lock_names: Option<LockNames>,
    aggregate: Aggregate<RowKey, Witness>,
    processed_ns: u64,
    raw: bool,
}

impl Engine {
    /// Without any event yet.
    pub fn new(setup: Setup, cpus: impl IntoIterator<Item = Cpu>) -> Engine {
        let cpus: Vec<Cpu> = cpus.into_iter().collect();
        let raw = setup.raw;
        let store = || raw.then(RawStore::default);
        let by = &setup.keep.by;
        let has_futexes =
            setup.processes != Processes::Unknown && by.of(Table::Futexes).contains(&By::Lock);
        let by_lock = by.of(Table::Locks).contains(&By::Lock) || has_futexes;
        Engine {
            decoding: Decoding {
                layout: setup.layout,
                abi: setup.decoder.abi(),
                decoder: setup.decoder,
                stacks: setup.stacks,
                texts: setup.cache.event_texts(),
            },
            lanes: cpus.iter().map(|&cpu| Lane::new(cpu, store())).collect(),
            sleepers: Sleepers::new(setup.begins),
            spaces: Spaces::new(setup.processes),
            sleeps: setup.sleeps.then(Sleeps::default),
            waits: Vec::new(),
            slept: Vec::new(),
            sums: (0..threads(cpus.len())).map(|_| Sums::default()).collect(),
            cache: setup.cache,
            keep: setup.keep,
            mmap_locks: MmapLocks::default(),
            chaining: setup.chains.then(Chaining::default),
            lock_names: by_lock.then(|| LockNames::new(setup.rows)),
            aggregate: Aggregate::new(setup.rows),
            processed_ns: 0,
            raw,
        }
    }

    /// Decodes what was read of every CPU's ring since the last call, in the CPUs' order.
    pub fn decode(&mut self, chunks: Vec<Vec<Chunk<'_>>>) {
        let bytes = chunks.iter().flatten().map(|chunk| chunk.sub_buffer.len()).sum::<usize>();
        let mut work: Vec<_> = self.lanes.iter_mut().zip(chunks).collect();
        let (decoding, processed_ns) = (&self.decoding, self.processed_ns);
        // A contention event takes some 32 bytes.
        on_each(&mut work, bytes / 32, |(lane, chunks)| {
            for chunk in chunks {
                lane.set_read_up_to(chunk.read_up_to_ns);
                if chunk.is_behind_gap {
                    lane.begin_gap();
                }
                lane.decode(decoding, chunk.sub_buffer, chunk.resumes, processed_ns);
            }
        });
    }

    /// Says that everything was read of the `index`th CPU up to this instant.
    pub fn set_read_up_to(&mut self, index: usize, ts_ns: u64) {
        if let Some(lane) = self.lanes.get_mut(index) {
            lane.set_read_up_to(ts_ns);
        }
    }

    /// The time of the last event read of the `index`th CPU.
    pub fn last_ns(&self, index: usize) -> u64 {
        self.lanes.get(index).map_or(0, Lane::last_ns)
    }

    /// Up to where windows were processed.
    pub fn processed_ns(&self) -> u64 {
        self.processed_ns
    }

    /// How much of the `index`th CPU is decoded and in no window yet: waits, and events that are none of one
    /// CPU's alone.
    pub fn pending(&self, index: usize) -> usize {
        self.lanes.get(index).map_or(0, Lane::pending)
    }

    /// What waits are named by.
    fn naming(&self) -> Naming<'_> {
        Naming::new(&self.cache, &self.decoding.stacks, &self.mmap_locks, &self.spaces, true)
    }

    /// Where the stacks of waits are.
    pub fn stacks(&self) -> &StackTable {
        &self.decoding.stacks
    }

    /// How many waits have been kept so far.
    pub fn waits(&self) -> u64 {
        self.sums.iter().map(|sums| sums.kept.kept()).sum()
    }

    /// How many frames of stacks were recorded so far, on each CPU.
    pub fn frames(&self) -> impl Iterator<Item = u64> {
        self.lanes.iter().map(|lane| lane.read.frames)
    }

    /// How many gaps have been met so far.
    pub fn gaps(&self) -> u64 {
        self.lanes.iter().map(|lane| lane.read.gaps).sum()
    }

    /// How many events are known to be missing so far.
    pub fn missed(&self) -> u64 {
        self.lanes.iter().map(|lane| lane.read.missed).sum()
    }

    /// Every task that was alive when `seed` was read, each with the instant of its reading.
    pub fn seed(&mut self, tasks: impl IntoIterator<Item = (SeededTask, Stamp)>) {
        for (task, at) in tasks {
            self.cache.seed(&task, at);
        }
    }

    /// Drops names that no open wait needs any more, nor an event that comes up to `late_ns` behind its window.
    pub fn forget_names(&mut self, late_ns: u64) {
        let of_lanes = self.lanes.iter().filter_map(Lane::oldest);
        // A sleep's task keeps its name in its sleep, unless somebody else renames it.
        let renamed = self.sleeps.as_ref().and_then(Sleeps::oldest_renamed);
        let of_tasks = self.sleepers.oldest().into_iter().chain(renamed).map(|head| head.stamp);
        let oldest = of_lanes.chain(of_tasks).min();
        if let Some(chaining) = &mut self.chaining {
            chaining.forget_before(oldest.map_or(self.processed_ns, |oldest| oldest.ts_ns));
        }
        let processed = Stamp::before(self.processed_ns.saturating_sub(late_ns));
        self.cache.forget_before(oldest.map_or(processed, |oldest| oldest.min(processed)));
    }
}
