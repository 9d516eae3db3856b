//! A run that was saved: as a trace, or as a report of it.

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};

use anyhow::Context;

use crate::output::diff::{Places, SharedTable, tables};
use crate::output::escape::json_name;
use crate::output::{ReportInfo, Summary};
use crate::report::{By, RunFacts};

use super::config::{RecordConfig, Whose};
use super::outcome::lend;
use super::recording::Recording;
use super::report::{Extent, View, configure, process, read_all};
use super::saved_report::SavedReport;
use super::saved_run::{Run, SavedRun};

/// A file that holds a run.
#[derive(Debug)]
pub(super) struct Input {
    path: PathBuf,
    saved: Saved,
}

#[derive(Debug)]
enum Saved {
    Trace(Box<Recording>),
    Report(Box<SavedReport>),
}

/// What a run came to.
#[derive(Debug)]
pub(super) struct RunOf {
    pub(super) facts: RunFacts,
    pub(super) tables: Vec<SharedTable>,
    /// Whether all of the file could be read.
    pub(super) extent: Extent,
}

impl Input {
    /// Opens a file. Errors name it, here as below.
    pub(super) fn open(path: &Path) -> anyhow::Result<Input> {
        let opened = || -> anyhow::Result<Saved> {
            let file =
                File::open(path).with_context(|| format!("cannot open {}", path.display()))?;
            let mut file = BufReader::new(file);
            // No trace begins so.
            let is_json =
                file.fill_buf().is_ok_and(|bytes| bytes.trim_ascii_start().starts_with(b"{"));
            Ok(match is_json {
                true => Saved::Report(Box::new(SavedReport::read(file)?)),
                false => Saved::Trace(Box::new(Recording::open(path, None)?)),
            })
        };
        let saved = opened().map_err(|error| named(error, path))?;
        Ok(Input { path: path.to_owned(), saved })
    }

    /// The file.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Release of its kernel.
    pub(super) fn kernel(&self) -> &str {
        match &self.saved {
            Saved::Trace(recording) => recording.kernel(),
            Saved::Report(report) => &report.run.kernel,
        }
    }

    /// What its rows are told apart by, if that is done already.
    pub(super) fn by(&self) -> anyhow::Result<Option<Vec<By>>> {
        match &self.saved {
            Saved::Trace(_) => Ok(None),
            Saved::Report(report) => {
                report.by().map(Some).map_err(|error| named(error.into(), &self.path))
            }
        }
    }

    /// Reads it.
    pub(super) fn run(self, view: View<'_>, places: Places) -> anyhow::Result<RunOf> {
        let path = self.path;
        let run = match self.saved {
            Saved::Trace(recording) => of_trace(&path, &recording, view, places),
            Saved::Report(report) => of_report(&path, &report, places),
        };
        run.map_err(|error| named(error, &path))
    }
}

fn of_report(path: &Path, report: &SavedReport, places: Places) -> anyhow::Result<RunOf> {
    let facts = report.facts(path.display().to_string());
    Ok(RunOf { facts, tables: report.tables(places)?, extent: Extent::Whole })
}

fn of_trace(
    path: &Path,
    recording: &Recording,
    view: View<'_>,
    places: Places,
) -> anyhow::Result<RunOf> {
    let config = RecordConfig { stream: None, entries: None, ..configure(view, recording)? };
    let traced = recording.saved.as_ref().map(traced);
    let read = |info: &ReportInfo<'_>, summary: &Summary<'_>| {
        let facts = RunFacts {
            file: path.display().to_string(),
            command: info.run.command.iter().map(|word| json_name(word).into_owned()).collect(),
            duration_ns: summary.duration_ns,
            kernel: info.run.kernel.to_owned(),
            host: info.host.map(str::to_owned),
            cpus: info.run.cpus as u64,
            lost: summary.quality.events_lost(),
            uncertain: summary.totals.uncertain,
            traced,
        };
        (facts, tables(summary, places))
    };
    let ((facts, tables), extent) =
        process(&config, recording, read_all, |outcome| lend(outcome, read))?;
    Ok(RunOf { facts, tables, extent })
}

/// What was traced and of whom, as far as it changes what there is to see.
fn traced(saved: &SavedRun) -> Vec<String> {
    let Run { whose, only_cpus, stacks, mmap_lock, extras, flags, .. } = &saved.run;
    let whose = match whose {
        Whose::All => "all tasks",
        Whose::Processes(_) => "some processes",
        Whose::Threads(_) => "some threads",
        Whose::Command => "a command",
    };
    let switches = [
        (extras.split, "--sched"),
        (extras.holders, "holders"),
        (extras.holder_stacks, "--holder-stack"),
        (extras.futexes, "--futex"),
        (extras.sleeps, "--sleep"),
        (*stacks, "stacks"),
        (*mmap_lock, "--learn-mmap-lock"),
    ];
    let switches = switches.into_iter().filter(|(is_on, _)| *is_on).map(|(_, name)| name);
    let words = [whose].into_iter().chain(switches).map(str::to_owned);
    let cpus = only_cpus.as_ref().map(|cpus| format!("only CPUs {cpus:?}"));
    let kinds = (!flags.is_empty()).then(|| format!("only flags {flags:?} (-Y)"));
    words.chain(cpus).chain(kinds).collect()
}

/// An error that tells which of the files it is about.
fn named(error: anyhow::Error, path: &Path) -> anyhow::Error {
    let name = path.display().to_string();
    match error.to_string().contains(&name) {
        true => error,
        false => error.context(name),
    }
}
