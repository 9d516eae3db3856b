//! A saved trace: of which kind, what it tells of itself, and what it lacks.

mod kind;
mod perf;
mod rings;

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::cmdline_cache::proc::PidNamespace;
use crate::event::decode::{Decoder, DecoderError};
use crate::event::{Comm, Cpu, Tid};
use crate::perf_data::PerfData;
use crate::pipeline::Offline;
use crate::symbols::Kallsyms;
use crate::trace_file::{self, Texts};
use crate::tracefs::{Abi, Clock, CpuStats, EventFormat, SubbufLayout};

use super::config::RecordConfig;
use super::exit::Usage;
use super::notes::Notes;
use super::saved_run::{SavedRun, Start};
use super::stages::Traced;
use kind::Kind;
use rings::Rings;

/// The event without which there are no waits for locks.
const BEGIN: &str = "contention_begin";

/// A saved trace.
#[derive(Debug)]
pub(super) struct Recording {
    /// What ftlock says about the run, if it recorded it.
    pub(super) saved: Option<SavedRun>,
    path: PathBuf,
    told: Told,
    formats: Vec<EventFormat>,
    source: Source,
}

/// What a recording of whichever kind says of itself.
#[derive(Debug, Default)]
struct Told {
    clock: Option<String>,
    kernel: Option<String>,
    host: Option<String>,
    cpus: usize,
    command: Vec<Vec<u8>>,
    start: Option<Start>,
}

/// Where its events are.
#[derive(Debug)]
enum Source {
    Rings(Box<Rings>),
    Perf(Box<PerfData>),
}

impl Recording {
    /// Opens a file; `buffer` is the instance whose rings are meant, if it was said.
    pub(super) fn open(path: &Path, buffer: Option<&str>) -> anyhow::Result<Recording> {
        let file = File::open(path).map_err(|source| trace_file::Error::Io {
            action: "open",
            path: path.to_owned(),
            source,
        })?;
        let kind = Kind::of(&file, path)?;
        if let (Some(buffer), Kind::Perf) = (buffer, kind) {
            let what = format!("--buffer {buffer:?}: only a trace.dat has several buffers");
            return Err(Usage(what).into());
        }
        Ok(match kind {
            Kind::Rings => Recording::of_rings(file, path, buffer)?,
            Kind::Perf => Recording::of_perf(file, path)?,
        })
    }

    /// Whether an event of this name can be in it.
    pub(super) fn has(&self, event: &str) -> bool {
        self.formats.iter().any(|format| format.name == event)
    }

    /// Whether waits for the kernel's locks can be in it.
    pub(super) fn has_locks(&self) -> bool {
        self.has(BEGIN)
    }

    /// What else would have to be recorded by whoever made it, and how.
    pub(super) fn how_to_record(&self, option: &str) -> String {
        match (&self.source, option) {
            (Source::Perf(_), "--sched" | "--holder-stack") => {
                "perf record -a -g -e lock:contention_begin -e lock:contention_end \
                 -e sched:sched_switch -e sched:sched_waking"
                    .to_owned()
            }
            _ => format!("ftlock record --save FILE {option}"),
        }
    }

    /// The trace clock's name.
    ///
    /// # Errors
    /// If it does not count nanoseconds.
    pub(super) fn clock(&self) -> Result<&str, Usage> {
        let clock = self.told.clock.as_deref().unwrap_or(Clock::Local.name());
        match Clock::from_name(clock) {
            Some(known) if !known.is_nanoseconds() => Err(Usage(format!(
                "{}: recorded with the clock {clock}, whose ticks have no known length",
                self.path.display()
            ))),
            _ => Ok(clock),
        }
    }

    /// The kernel's release, where the file says.
    pub(super) fn kernel(&self) -> &str {
        self.told.kernel.as_deref().unwrap_or("not known")
    }

    /// The host's name, where the file says.
    pub(super) fn host(&self) -> Option<&str> {
        self.told.host.as_deref()
    }

    /// How many CPUs were recorded.
    pub(super) fn cpus(&self) -> usize {
        self.told.cpus
    }

    /// What was recorded: the traced command, or perf's own command line.
    pub(super) fn command(&self) -> Vec<&[u8]> {
        self.told.command.iter().map(Vec::as_slice).collect()
    }

    /// An instant by the trace clock, and by the time of day.
    pub(super) fn start(&self) -> Option<Start> {
        self.told.start
    }

    /// Reads it from its beginning.
    pub(super) fn offline(&self) -> anyhow::Result<Offline> {
        Ok(match &self.source {
            Source::Rings(rings) => rings.offline(self.saved.as_ref()),
            Source::Perf(file) => Offline::of_perf(file)?,
        })
    }

    /// The kernel's own counters, if all that they count is in the file.
    pub(super) fn stats(&self) -> Vec<(Cpu, Option<CpuStats>)> {
        match &self.source {
            Source::Rings(rings) => rings.stats(self.saved.as_ref()),
            Source::Perf(_) => Vec::new(),
        }
    }

    /// What the stages need to know of it.
    pub(super) fn traced(&self, notes: &mut Notes) -> Result<Traced, DecoderError> {
        let own = self.saved.as_ref().map_or(u32::MAX, |saved| saved.run.own_tid);
        let hearsay = match &self.saved {
            // The tasks themselves are told.
            Some(_) => Vec::new(),
            None => {
                let names = self.texts().saved_names();
                names.map(|(tid, name)| (Tid(tid), Comm::new(name))).collect()
            }
        };
        Ok(Traced {
            layout: self.layout(),
            decoder: self.decoder(notes)?,
            own: Tid(own),
            // Whatever /proc says now is of another time.
            namespace: PidNamespace::Nested,
            is_live: false,
            hearsay,
        })
    }

    fn texts(&self) -> &Texts {
        match &self.source {
            Source::Rings(rings) => &rings.file.texts,
            Source::Perf(file) => &file.texts,
        }
    }

    fn abi(&self) -> Abi {
        match &self.source {
            Source::Rings(rings) => rings.file.abi(),
            Source::Perf(file) => file.abi(),
        }
    }

    fn layout(&self) -> SubbufLayout {
        match &self.source {
            Source::Rings(rings) => rings.file.layout(&rings.buffer),
            Source::Perf(file) => file.layout(),
        }
    }

    /// Other kernels' events may lack what is looked for in ours: those are left out.
    fn decoder(&self, notes: &mut Notes) -> Result<Decoder, DecoderError> {
        let mut formats = self.formats.clone();
        loop {
            match Decoder::new(self.abi(), formats.iter().cloned()) {
                Err(DecoderError::MissingField { event, field }) => {
                    let known = formats.len();
                    formats.retain(|format| format.name != event);
                    if formats.len() == known {
                        return Err(DecoderError::MissingField { event, field });
                    }
                    notes.say(format!("event {event} has no field {field:?}: it is left out"));
                }
                made => return made,
            }
        }
    }

    /// Its symbols, if no others were asked for.
    pub(super) fn symbols(
        &self,
        config: &RecordConfig,
        notes: &mut Notes,
    ) -> anyhow::Result<Arc<Kallsyms>> {
        let symbols = match (&config.kallsyms, &self.source) {
            (Some(path), _) => Kallsyms::read(path)?,
            (None, Source::Perf(file)) => perf::symbols(file),
            (None, Source::Rings(rings)) => Kallsyms::parse(&rings.file.texts.kallsyms),
        };
        if symbols.size_bytes() == 0 {
            notes.say(format!(
                "{} has no kernel symbols: addresses are shown instead{}",
                self.path.display(),
                match &self.source {
                    Source::Perf(_) =>
                        " (--kallsyms FILE, a copy of that machine's /proc/kallsyms)",
                    Source::Rings(_) => "",
                }
            ));
        }
        Ok(Arc::new(symbols))
    }

    /// Says what the file lacks.
    pub(super) fn tell_lacks(&self, notes: &mut Notes) {
        let path = self.path.display();
        if let Source::Rings(rings) = &self.source {
            rings.tell_lacks(&self.path, notes);
        }
        let Some(saved) = &self.saved else { return };
        match &saved.end {
            None => notes.say(format!(
                "{path}: the run that recorded it was killed; all up to then is here"
            )),
            Some(_) if saved.forgot => {
                notes.say(format!("{path}: only the last part of the run was kept"))
            }
            Some(end) if !end.is_all_saved => {
                notes.say(format!("{path}: saving stopped before the run ended"));
            }
            Some(_) => {}
        }
        for disturbance in saved.end.iter().flat_map(|end| &end.disturbances) {
            notes.say(format!("{path}: {disturbance}; the results are incomplete"));
        }
    }
}

/// What cannot be read as a format counts where it turns up, as an unknown event.
fn formats(texts: &Texts) -> Vec<EventFormat> {
    texts.formats().flat_map(EventFormat::parse).collect()
}
