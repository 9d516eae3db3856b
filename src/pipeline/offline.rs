//! A saved trace as the source: read piece by piece, up to an instant that every CPU has reached.

mod perf;
mod rings;

use std::collections::{HashSet, VecDeque};

use crate::cmdline_cache::{Look, SeededTask};
use crate::event::{Cpu, Stamp};
use crate::perf_data::{self, PerfData};
use crate::trace_file::{Buffer, TraceFile};

use super::engine::{Engine, Lasting};
use super::results::Sink;
use super::save::SavedGap;
use super::user_names::NameNews;
use perf::PerfSource;
use rings::Rings;

/// A saved trace that is being read.
#[derive(Debug)]
pub struct Offline {
    source: Box<dyn Source>,
    tidings: VecDeque<Tiding>,
    read_up_to_ns: u64,
}

/// What a saved trace is read from.
trait Source: std::fmt::Debug {
    /// The CPUs that are known before anything is read, in the order the engine knows them.
    fn cpus(&self) -> Vec<Cpu>;

    /// Reads on, having got to `behind_ns`, and decodes. Returns up to where every CPU has been read:
    /// the greatest number there is when all is.
    fn read(&mut self, engine: &mut Engine, behind_ns: u64) -> u64;

    /// The time of the first event, once something was read.
    fn first_ns(&self) -> Option<u64>;

    /// How much was read, in percent.
    fn percent(&self) -> u64;

    /// What cannot be read, and what is left out for it.
    fn faults(&self) -> Vec<String>;

    /// Records or lines that could not be read, each by itself.
    fn unread(&self) -> u64;
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

impl Offline {
    /// The rings of a buffer; of these CPUs only, if given. `tidings` in the order of time, those of
    /// before the first event left out. `is_cut`: the beginning of the trace is missing.
    pub fn of_rings(
        file: &TraceFile,
        buffer: &Buffer,
        cpus: Option<&HashSet<Cpu>>,
        gaps: &[SavedGap],
        tidings: Vec<Tiding>,
        is_cut: bool,
    ) -> Offline {
        let rings = Rings::new(file, buffer, cpus, gaps, is_cut);
        Offline { tidings: tidings.into(), ..Offline::of(rings) }
    }

    /// The records of perf.
    ///
    /// # Errors
    /// If the file has changed since it was opened.
    pub fn of_perf(file: &PerfData) -> Result<Offline, perf_data::Error> {
        Ok(Offline::of(PerfSource::new(file.reader()?, &file.cpus)))
    }

    fn of(source: impl Source + 'static) -> Offline {
        let source = Box::new(source);
        Offline { source, tidings: VecDeque::new(), read_up_to_ns: 0 }
    }

    /// The CPUs that are known from the start, in the order the engine is to know them.
    pub fn cpus(&self) -> Vec<Cpu> {
        self.source.cpus()
    }

    /// The time of the first event, once something was read.
    pub fn first_ns(&self) -> Option<u64> {
        self.source.first_ns()
    }

    /// Up to which instant every CPU has been read; the greatest there is when all is read.
    pub fn read_up_to_ns(&self) -> u64 {
        self.read_up_to_ns
    }

    /// How much of the file was read, in percent.
    pub fn percent(&self) -> u64 {
        self.source.percent()
    }

    /// What of the file cannot be read, and what is left out for it.
    pub fn faults(&self) -> Vec<String> {
        self.source.faults()
    }

    /// Records or lines of it that could not be read, each by itself.
    pub fn unread(&self) -> u64 {
        self.source.unread()
    }

    /// Reads on where it is most behind, and decodes.
    pub fn read(&mut self, engine: &mut Engine) {
        self.read_up_to_ns = self.source.read(engine, self.read_up_to_ns);
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
