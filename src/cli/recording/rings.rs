//! A trace.dat: which of its rings, and what it tells of itself.

use std::collections::HashSet;
use std::fs::File;
use std::path::Path;

use crate::event::Cpu;
use crate::pipeline::Offline;
use crate::trace_file::{Buffer, TraceFile};
use crate::tracefs::{CpuStats, Step, walk};

use super::super::exit::Usage;
use super::super::notes::Notes;
use super::super::saved_run::SavedRun;
use super::{BEGIN, Recording, Source, Told, formats};

/// As much of each ring is looked at to find out which buffer has such events.
const LOOK_BYTES: usize = 1 << 20;

/// The rings of a trace.dat.
#[derive(Debug)]
pub(super) struct Rings {
    pub(super) file: TraceFile,
    pub(super) buffer: Buffer,
}

impl Recording {
    pub(super) fn of_rings(
        file: File,
        path: &Path,
        buffer: Option<&str>,
    ) -> anyhow::Result<Recording> {
        let mut file = TraceFile::of(file, path)?;
        let formats = formats(&file.texts);
        let begin = formats.iter().find(|format| format.name == BEGIN).map(|format| format.id);
        let buffer = choose(&file, buffer, begin)?;
        let saved = file.options.ftlock.take().and_then(|text| SavedRun::parse(&text));
        let told = told(&file, &buffer, saved.as_ref());
        let source = Source::Rings(Box::new(Rings { file, buffer }));
        Ok(Recording { saved, path: path.to_owned(), told, formats, source })
    }
}

fn told(file: &TraceFile, buffer: &Buffer, saved: Option<&SavedRun>) -> Told {
    let uname = |number| file.options.uname.as_deref()?.split_whitespace().nth(number);
    let own = |field: fn(&SavedRun) -> &String| saved.map(|saved| field(saved).as_str());
    let clock = buffer.clock.as_deref().or(file.options.clock.as_deref());
    let kernel = own(|saved| &saved.run.kernel).or(uname(2));
    let host = own(|saved| &saved.run.host).or(uname(1));
    let command = saved.iter().flat_map(|saved| &saved.run.command);
    Told {
        clock: clock.map(str::to_owned),
        kernel: kernel.map(str::to_owned),
        host: host.map(str::to_owned),
        cpus: buffer.cpus.iter().filter(|extent| is_of_run(saved, Cpu(extent.cpu))).count(),
        command: command.map(|word| word.0.clone()).collect(),
        start: saved.and_then(|saved| saved.start),
    }
}

/// Rings of further CPUs are empty: the writer has room for them.
fn is_of_run(saved: Option<&SavedRun>, cpu: Cpu) -> bool {
    saved.is_none_or(|saved| saved.run.cpus.contains(&cpu.0))
}

impl Rings {
    /// Reads them from their beginning.
    pub(super) fn offline(&self, saved: Option<&SavedRun>) -> Offline {
        let Rings { file, buffer } = self;
        let Some(saved) = saved else {
            return Offline::of_rings(file, buffer, None, &[], Vec::new(), false);
        };
        let cpus: HashSet<Cpu> = saved.run.cpus.iter().map(|&cpu| Cpu(cpu)).collect();
        let (gaps, tidings) = (&saved.gaps, saved.tidings.clone());
        Offline::of_rings(file, buffer, Some(&cpus), gaps, tidings, saved.forgot)
    }

    /// The kernel's own counters, if all that they count is in the file.
    pub(super) fn stats(&self, saved: Option<&SavedRun>) -> Vec<(Cpu, Option<CpuStats>)> {
        let end = saved.and_then(|saved| saved.end.as_ref());
        if !end.is_some_and(|end| end.is_all_saved) || !self.file.notes.is_empty() {
            return Vec::new();
        }
        let stats = self.file.options.cpu_stats.iter().filter_map(|text| {
            let cpu = text.strip_prefix("CPU: ")?.lines().next()?.trim().parse().ok()?;
            Some((Cpu(cpu), CpuStats::parse(text).ok()))
        });
        stats.collect()
    }

    /// Says what the file lacks.
    pub(super) fn tell_lacks(&self, path: &Path, notes: &mut Notes) {
        for note in &self.file.notes.first {
            notes.say(format!("{}: {note}", path.display()));
        }
        if self.file.notes.more > 0 {
            notes.say(format!("{}: {} more of that kind", path.display(), self.file.notes.more));
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
