//! Rings piece by piece, those of all CPUs at once.

use std::collections::{HashMap, HashSet};

use crate::event::Cpu;
use crate::trace_file::{Buffer, CpuData, Error, TraceFile};
use crate::tracefs::Abi;

use super::super::engine::Engine;
use super::super::save::SavedGap;
use super::super::setup::Chunk;
use super::super::workers::{on_each, threads};
use super::Source;

/// Bytes read of all rings at a time - what comes of them stays in a CPU's caches -, and of one of them.
const READ_BYTES: usize = 1 << 19;
const LEAST_OF_ONE_BYTES: usize = 1 << 14;

/// Where several threads work: enough to be worth starting them.
const READ_BY_SEVERAL_BYTES: usize = 1 << 22;

/// Events of all CPUs that may wait for those of a CPU that lags behind.
const MOST_WAITING: usize = 1 << 19;

/// The rings of a trace.dat.
#[derive(Debug)]
pub(super) struct Rings {
    rings: Vec<OneRing>,
    abi: Abi,
    piece_bytes: usize,
    waiting: usize,
    size_bytes: u64,
    first_ns: Option<u64>,
    faults: Vec<Error>,
}

#[derive(Debug)]
struct OneRing {
    cpu: Cpu,
    data: CpuData,
    sub_buffer_bytes: usize,
    /// Up to when everything was read before the sub-buffers that are behind a gap, by their times.
    gaps: HashMap<u64, u64>,
    /// What is next stands behind events that are missing.
    is_behind_gap: bool,
    is_done: bool,
}

/// A piece of a ring, on its way from the file.
struct Piece<'a> {
    ring: Option<&'a mut OneRing>,
    abi: Abi,
    chunks: Vec<Chunk<'a>>,
    fault: Option<Error>,
}

impl Piece<'_> {
    fn read(&mut self, wanted_bytes: usize) {
        let Some(OneRing { data, sub_buffer_bytes, gaps, is_behind_gap, is_done, .. }) =
            self.ring.take()
        else {
            return;
        };
        match data.next(wanted_bytes) {
            Ok(Some(bytes)) => {
                let chunks = bytes.chunks((*sub_buffer_bytes).max(1)).map(|sub_buffer| {
                    let at_ns = self.abi.uint(sub_buffer, 8).unwrap_or(0);
                    Chunk {
                        sub_buffer,
                        resumes: false,
                        read_up_to_ns: gaps.remove(&at_ns).unwrap_or(0),
                        is_behind_gap: std::mem::take(is_behind_gap),
                    }
                });
                self.chunks = chunks.collect();
            }
            Ok(None) => *is_done = true,
            Err(fault) => {
                *is_done = true;
                self.fault = Some(fault);
            }
        }
    }
}

impl Rings {
    /// The rings of a buffer; of these CPUs only, if given. `is_cut`: events before the first are missing.
    pub(super) fn new(
        file: &TraceFile,
        buffer: &Buffer,
        cpus: Option<&HashSet<Cpu>>,
        gaps: &[SavedGap],
        is_cut: bool,
    ) -> Rings {
        let sub_buffer_bytes = file.layout(buffer).size_bytes();
        let is_wanted = |cpu| cpus.is_none_or(|cpus| cpus.contains(&cpu));
        let extents = buffer.cpus.iter().filter(|extent| is_wanted(Cpu(extent.cpu)));
        let rings = extents.clone().map(|extent| {
            let of_it = gaps.iter().filter(|gap| gap.cpu == Cpu(extent.cpu));
            OneRing {
                cpu: Cpu(extent.cpu),
                data: file.cpu_data(buffer, extent),
                sub_buffer_bytes,
                gaps: of_it.map(|gap| (gap.at_ns, gap.read_up_to_ns)).collect(),
                is_behind_gap: is_cut,
                is_done: false,
            }
        });
        let rings: Vec<OneRing> = rings.collect();
        let share = rings.len().max(1);
        let read_bytes = if threads(share) > 1 { READ_BY_SEVERAL_BYTES } else { READ_BYTES };
        Rings {
            abi: file.abi(),
            piece_bytes: (read_bytes / share).max(LEAST_OF_ONE_BYTES),
            waiting: MOST_WAITING / share,
            size_bytes: extents.map(|extent| extent.size_bytes).sum(),
            first_ns: None,
            faults: Vec::new(),
            rings,
        }
    }
}

impl Source for Rings {
    fn cpus(&self) -> Vec<Cpu> {
        self.rings.iter().map(|ring| ring.cpu).collect()
    }

    fn read(&mut self, engine: &mut Engine, behind_ns: u64) -> u64 {
        let (wanted, waiting, abi) = (self.piece_bytes, self.waiting, self.abi);
        let pieces = self.rings.iter_mut().enumerate().map(|(index, ring)| {
            let has_room = engine.last_ns(index) <= behind_ns || engine.pending(index) < waiting;
            let ring = Some(ring).filter(|ring| has_room && !ring.is_done);
            Piece { ring, abi, chunks: Vec::new(), fault: None }
        });
        let mut pieces: Vec<Piece<'_>> = pieces.collect();
        on_each(&mut pieces, wanted, |piece| piece.read(wanted));
        self.faults.extend(pieces.iter_mut().filter_map(|piece| piece.fault.take()));
        if self.first_ns.is_none() {
            let first = pieces.iter().filter_map(|piece| piece.chunks.first());
            self.first_ns = first.filter_map(|chunk| self.abi.uint(chunk.sub_buffer, 8)).min();
        }
        engine.decode(pieces.into_iter().map(|piece| piece.chunks).collect());
        let lagging = self.rings.iter().enumerate().filter(|(_, ring)| !ring.is_done);
        let reached = lagging.map(|(index, _)| engine.last_ns(index));
        reached.min().unwrap_or(u64::MAX)
    }

    fn first_ns(&self) -> Option<u64> {
        self.first_ns
    }

    fn percent(&self) -> u64 {
        let left: u64 = self.rings.iter().map(|ring| ring.data.left_bytes()).sum();
        let read = self.size_bytes.saturating_sub(left);
        read.saturating_mul(100).checked_div(self.size_bytes).unwrap_or(100)
    }

    fn faults(&self) -> Vec<String> {
        let faults = self.faults.iter();
        faults.map(|fault| format!("{fault}: the rest of that ring is left out")).collect()
    }

    fn unread(&self) -> u64 {
        0
    }
}
