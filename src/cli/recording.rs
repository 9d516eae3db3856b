//! A saved trace: which of its rings, what it tells of itself, and what it lacks.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::cmdline_cache::proc::PidNamespace;
use crate::event::decode::{Decoder, DecoderError};
use crate::event::{Comm, Cpu, Tid};
use crate::symbols::Kallsyms;
use crate::trace_file::{Buffer, TraceFile};
use crate::tracefs::{Clock, CpuStats, EventFormat, Step, walk};

use super::config::RecordConfig;
use super::exit::Usage;
use super::notes::Notes;
use super::saved_run::SavedRun;
use super::stages::Traced;

/// The event without which there are no waits for locks.
const BEGIN: &str = "contention_begin";

/// As much of each ring is looked at to find out which buffer has such events.
const LOOK_BYTES: usize = 1 << 20;

/// A saved trace.
#[derive(Debug)]
pub(super) struct Recording {
    pub(super) file: TraceFile,
    pub(super) buffer: Buffer,
    /// What ftlock says about the run, if it recorded it.
    pub(super) saved: Option<SavedRun>,
    formats: Vec<EventFormat>,
    path: PathBuf,
}

impl Recording {
    /// Opens a file; `buffer` is the instance whose rings are meant, if it was said.
    pub(super) fn open(path: &Path, buffer: Option<&str>) -> anyhow::Result<Recording> {
        let mut file = TraceFile::open(path)?;
        // What cannot be read as a format counts where it turns up, as an unknown event.
        let formats: Vec<_> = file.texts.formats().flat_map(EventFormat::parse).collect();
        let begin = formats.iter().find(|format| format.name == BEGIN).map(|format| format.id);
        let buffer = choose(&file, buffer, begin)?;
        let saved = file.options.ftlock.take().and_then(|text| SavedRun::parse(&text));
        Ok(Recording { file, buffer, saved, formats, path: path.to_owned() })
    }

    /// Whether an event of this name can be in it.
    pub(super) fn has(&self, event: &str) -> bool {
        self.formats.iter().any(|format| format.name == event)
    }

    /// Whether waits for the kernel's locks can be in it.
    pub(super) fn has_locks(&self) -> bool {
        self.has(BEGIN)
    }

    /// The trace clock's name.
    ///
    /// # Errors
    /// If it does not count nanoseconds.
    pub(super) fn clock(&self) -> Result<&str, Usage> {
        let clock = self.buffer.clock.as_deref().or(self.file.options.clock.as_deref());
        let clock = clock.unwrap_or(Clock::Local.name());
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
        let word = |number| self.file.options.uname.as_deref()?.split_whitespace().nth(number);
        let saved = self.saved.as_ref().map(|saved| saved.run.kernel.as_str());
        saved.or(word(2)).unwrap_or("not known")
    }

    /// The host's name, where the file says.
    pub(super) fn host(&self) -> Option<&str> {
        let saved = self.saved.as_ref().map(|saved| saved.run.host.as_str());
        saved.or(self.file.options.uname.as_deref()?.split_whitespace().nth(1))
    }

    /// The kernel's own counters, if all that they count is in the file.
    pub(super) fn stats(&self) -> Vec<(Cpu, Option<CpuStats>)> {
        let end = self.saved.as_ref().and_then(|saved| saved.end.as_ref());
        if !end.is_some_and(|end| end.is_all_saved) || !self.file.notes.is_empty() {
            return Vec::new();
        }
        let stats = self.file.options.cpu_stats.iter().filter_map(|text| {
            let cpu = text.strip_prefix("CPU: ")?.lines().next()?.trim().parse().ok()?;
            Some((Cpu(cpu), CpuStats::parse(text).ok()))
        });
        stats.collect()
    }

    /// What the stages need to know of it.
    pub(super) fn traced(&self, notes: &mut Notes) -> Result<Traced, DecoderError> {
        let own = self.saved.as_ref().map_or(u32::MAX, |saved| saved.run.own_tid);
        let hearsay = match &self.saved {
            // The tasks themselves are told.
            Some(_) => Vec::new(),
            None => self
                .file
                .texts
                .saved_names()
                .map(|(tid, name)| (Tid(tid), Comm::new(name)))
                .collect(),
        };
        Ok(Traced {
            layout: self.file.layout(&self.buffer),
            decoder: self.decoder(notes)?,
            own: Tid(own),
            // Whatever /proc says now is of another time.
            namespace: PidNamespace::Nested,
            is_live: false,
            hearsay,
        })
    }

    /// Other kernels' events may lack what is looked for in ours: those are left out.
    fn decoder(&self, notes: &mut Notes) -> Result<Decoder, DecoderError> {
        let mut formats = self.formats.clone();
        loop {
            match Decoder::new(self.file.abi(), formats.iter().cloned()) {
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
        let symbols = match &config.kallsyms {
            Some(path) => Kallsyms::read(path)?,
            None => Kallsyms::parse(&self.file.texts.kallsyms),
        };
        if symbols.size_bytes() == 0 {
            notes.say(format!(
                "{} has no kernel symbols: addresses are shown instead",
                self.path.display()
            ));
        }
        Ok(Arc::new(symbols))
    }

    /// Says what the file lacks.
    pub(super) fn tell_lacks(&self, notes: &mut Notes) {
        let path = self.path.display();
        for note in &self.file.notes.first {
            notes.say(format!("{path}: {note}"));
        }
        if self.file.notes.more > 0 {
            notes.say(format!("{path}: {} more of that kind", self.file.notes.more));
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

/// The buffer of that name; else the one with lock events, or with any.
fn choose(file: &TraceFile, name: Option<&str>, begin: Option<u16>) -> Result<Buffer, Usage> {
    let names = |buffers: &[&Buffer]| {
        let names = buffers.iter().map(|buffer| format!("{:?}", buffer.name));
        names.collect::<Vec<_>>().join(", ")
    };
    let all: Vec<&Buffer> = file.buffers.iter().collect();
    if let Some(name) = name {
        let named = all.iter().find(|buffer| buffer.name == name).copied().cloned();
        return named.ok_or_else(|| {
            Usage(format!("--buffer {name:?}: no such buffer; there are {}", names(&all)))
        });
    }
    let filled = |buffer: &&Buffer| buffer.cpus.iter().any(|cpu| cpu.size_bytes > 0);
    let filled: Vec<&Buffer> = all.iter().copied().filter(filled).collect();
    let has_locks = |buffer: &&Buffer| begin.is_some_and(|begin| has_event(file, buffer, begin));
    let with_locks = match filled.len() {
        0 | 1 => Vec::new(),
        _ => filled.iter().copied().filter(has_locks).collect(),
    };
    match (&with_locks[..], &filled[..], &all[..]) {
        ([one], _, _) | ([], [one, ..], _) | ([], [], [one, ..]) => Ok((*one).clone()),
        ([], [], []) => Err(Usage("the file has no rings".to_owned())),
        (several, _, _) => {
            let names = names(several);
            Err(Usage(format!(
                "several buffers have lock events: choose one by --buffer, of {names}"
            )))
        }
    }
}

/// Whether the first events of a buffer are of this kind, among others.
fn has_event(file: &TraceFile, buffer: &Buffer, id: u16) -> bool {
    let (layout, abi) = (file.layout(buffer), file.abi());
    buffer.cpus.iter().any(|extent| {
        let mut ring = file.cpu_data(buffer, extent);
        let Ok(Some(bytes)) = ring.next(LOOK_BYTES) else { return false };
        let mut pages = bytes.chunks(layout.size_bytes().max(1));
        pages.any(|page| {
            walk(page, &layout, abi, None).any(|step| match step {
                Step::Record(record) => abi.uint(record.payload, 2) == Some(id.into()),
                _ => false,
            })
        })
    })
}
