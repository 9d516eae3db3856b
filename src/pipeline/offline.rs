//! A saved trace as the source: its rings piece by piece, all CPUs at once, up to an instant that
//! every CPU has reached.

use std::collections::{HashMap, HashSet, VecDeque};

use crate::cmdline_cache::{Look, SeededTask};
use crate::event::{Cpu, Stamp};
use crate::trace_file::{Buffer, CpuData, Error, TraceFile};
use crate::tracefs::Abi;

use super::engine::{Engine, Lasting};
use super::results::Sink;
use super::save::SavedGap;
use super::setup::Chunk;
use super::user_names::NameNews;
use super::workers::{on_each, threads};

/// Bytes read of all rings at a time, and of one of them at least: what comes of them stays in a CPU's caches.
const READ_BYTES: usize = 1 << 19;
const LEAST_OF_ONE_BYTES: usize = 1 << 14;

/// Where several threads work: enough to be worth starting them.
const READ_BY_SEVERAL_BYTES: usize = 1 << 22;

/// Events of all CPUs that may wait for those of a CPU that lags behind.
const MOST_WAITING: usize = 1 << 19;

/// A saved trace that is being read.
#[derive(Debug)]
pub struct Offline {
    rings: Vec<OneRing>,
    abi: Abi,
    tidings: VecDeque<Tiding>,
    piece_bytes: usize,
    waiting: usize,
    size_bytes: u64,
    first_ns: Option<u64>,
    read_up_to_ns: u64,
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

/// What the recorder learned elsewhere than from events.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Tiding {
    /// A window ended here.
    Window(u64),
    /// Tasks that /proc showed, each with the instant just before, behind the window that ended at
    /// `window_ns`.
    Tasks {
        /// The window's end.
        window_ns: u64,
        /// The tasks.
        tasks: Vec<(SeededTask, Stamp)>,
    },
    /// What /proc said beyond names.
    Look(Look),
    /// What became known of the names of user space's locks.
    Names(NameNews),
    /// Waits that lasted, and who had their locks.
    Lasting {
        /// The window's end behind which that was found.
        window_ns: u64,
        /// The waits.
        waits: Vec<Lasting>,
    },
}

impl Tiding {
    fn at_ns(&self) -> u64 {
        match self {
            Tiding::Window(window_ns) | Tiding::Tasks { window_ns, .. } => *window_ns,
            Tiding::Lasting { window_ns, .. } => *window_ns,
            Tiding::Look(look) => look.at.ts_ns,
            Tiding::Names(news) => news.since_ns,
        }
    }
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

impl Offline {
    /// The rings of a buffer; of these CPUs only, if given. `tidings` in the order of time, those of
    /// before the first event left out.
    pub fn new(
        file: &TraceFile,
        buffer: &Buffer,
        cpus: Option<&HashSet<Cpu>>,
        gaps: &[SavedGap],
        tidings: Vec<Tiding>,
    ) -> Offline {
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
                is_behind_gap: false,
                is_done: false,
            }
        });
        let rings: Vec<OneRing> = rings.collect();
        let share = rings.len().max(1);
        let read_bytes = if threads(share) > 1 { READ_BY_SEVERAL_BYTES } else { READ_BYTES };
        Offline {
            abi: file.abi(),
            tidings: tidings.into(),
            piece_bytes: (read_bytes / share).max(LEAST_OF_ONE_BYTES),
            waiting: MOST_WAITING / share,
            size_bytes: extents.map(|extent| extent.size_bytes).sum(),
            first_ns: None,
            read_up_to_ns: 0,
            faults: Vec::new(),
            rings,
        }
    }

    /// The beginning of the trace is missing.
    pub fn beginning_is_missing(self) -> Offline {
        let mut rings = self.rings;
        rings.iter_mut().for_each(|ring| ring.is_behind_gap = true);
        Offline { rings, ..self }
    }

    /// The CPUs that have a ring, in the order the engine knows them.
    pub fn cpus(&self) -> impl Iterator<Item = Cpu> {
        self.rings.iter().map(|ring| ring.cpu)
    }

    /// The time of the first event, once something was read.
    pub fn first_ns(&self) -> Option<u64> {
        self.first_ns
    }

    /// Up to which instant every CPU has been read; the greatest there is when all is read.
    pub fn read_up_to_ns(&self) -> u64 {
        self.read_up_to_ns
    }

    /// How much of the rings was read, in percent.
    pub fn percent(&self) -> u64 {
        let left: u64 = self.rings.iter().map(|ring| ring.data.left_bytes()).sum();
        let read = self.size_bytes.saturating_sub(left);
        read.saturating_mul(100).checked_div(self.size_bytes).unwrap_or(100)
    }

    /// What of the rings cannot be read; each ring ends there.
    pub fn faults(&self) -> &[Error] {
        &self.faults
    }

    /// Whether everything that was read has been processed.
    pub fn is_processed(&self, engine: &Engine) -> bool {
        (0..self.rings.len()).all(|index| engine.pending(index) == 0)
    }

    /// Reads on where it is most behind, and decodes.
    pub fn read(&mut self, engine: &mut Engine) {
        let behind = self.read_up_to_ns;
        let (wanted, waiting, abi) = (self.piece_bytes, self.waiting, self.abi);
        let pieces = self.rings.iter_mut().enumerate().map(|(index, ring)| {
            let has_room = engine.last_ns(index) <= behind || engine.pending(index) < waiting;
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
        self.read_up_to_ns = reached.min().unwrap_or(u64::MAX);
    }

    /// Processes what was read, up to an instant that every CPU has reached, with what the recorder
    /// learned elsewhere by then.
    pub fn process(&mut self, engine: &mut Engine, up_to_ns: u64, sink: &mut dyn Sink) {
        // The windows end where they did when it was learned: so nothing is known too early.
        while let Some(tiding) = self.tidings.pop_front_if(|tiding| tiding.at_ns() <= up_to_ns) {
            let at_ns = tiding.at_ns();
            match tiding {
                Tiding::Window(_) => engine.window(at_ns, sink),
                Tiding::Tasks { tasks, .. } => {
                    engine.window(at_ns, sink);
                    engine.seed(tasks);
                }
                Tiding::Names(news) => {
                    engine.window(at_ns, sink);
                    engine.tell_name_news(news);
                }
                Tiding::Lasting { waits, .. } => {
                    engine.window(at_ns, sink);
                    for wait in waits {
                        if let Some(open) = engine.told_lasting(wait) {
                            sink.lasting(&open, engine.stacks());
                        }
                    }
                }
                Tiding::Look(look) => {
                    engine.tell([look]);
                    if self.tidings.front().is_none_or(|next| next.at_ns() != at_ns) {
                        engine.window(at_ns, sink);
                    }
                }
            }
        }
        engine.window(up_to_ns, sink);
        // Every CPU has been read up to here: nothing comes late.
        engine.forget_names(0);
    }
}
