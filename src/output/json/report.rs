//! The report as one object. `docs/report.md` describes it.

use super::line;
use super::summary::{JsonFound, JsonIdentity, JsonRow};
use crate::output::escape::json_name;
use crate::output::{ReportInfo, Summary};
use crate::report::{Bad, Overhead, Quality, Row, RowKey};
use serde::Serialize;
use std::borrow::Cow;
use std::io::{self, Write};

/// Raised where a field changes its meaning or goes; new fields do not raise it.
const SCHEMA: u32 = 1;

#[derive(Serialize)]
struct Report<'a> {
    schema: u32,
    run: Run<'a>,
    by: Vec<&'static str>,
    rows: Vec<JsonRow<'a>>,
    overflow: Vec<JsonRow<'a>>,
    waits: u64,
    #[serde(flatten)]
    found: JsonFound<'a>,
    loss: Loss,
    bad: Wrong,
    quality: &'a Quality,
    identities: Vec<JsonIdentity>,
    overhead: Option<Overhead>,
}

#[derive(Serialize)]
struct Run<'a> {
    ftlock: &'static str,
    command: Vec<Cow<'a, str>>,
    clock: &'a str,
    start: Option<u64>,
    end: Option<u64>,
    duration_ns: u64,
    date: Option<String>,
    kernel: &'a str,
    host: Option<&'a str>,
    cpus: usize,
}

#[derive(Serialize)]
struct Loss {
    events: u64,
    overrun: u64,
    dropped: u64,
    gaps: u64,
    complete: bool,
}

#[derive(Serialize)]
struct Wrong {
    total: u64,
    bad: u64,
    #[serde(flatten)]
    reasons: Bad,
}

/// The whole report, on one line.
///
/// # Errors
///
/// Those of `out`.
pub fn report(info: &ReportInfo<'_>, summary: &Summary<'_>, out: &mut dyn Write) -> io::Result<()> {
    let is_overflow = |row: &&Row| matches!(row.key, RowKey::Overflow(..));
    let (overflow, rows): (Vec<_>, Vec<_>) = summary.rows.iter().partition(is_overflow);
    let json = |row| JsonRow { row, summary };
    let further: Vec<Summary<'_>> = summary.tables().skip(1).collect();
    let quality = summary.quality;
    line(
        &Report {
            schema: SCHEMA,
            run: Run::new(info, summary.duration_ns),
            by: summary.by.iter().map(|by| by.name()).collect(),
            rows: rows.into_iter().map(json).collect(),
            overflow: overflow.into_iter().map(json).collect(),
            waits: summary.totals.waits(),
            found: JsonFound::new(summary, &further),
            loss: Loss::new(quality),
            bad: Wrong::new(quality),
            quality,
            identities: quality.identities().into_iter().map(JsonIdentity::from).collect(),
            overhead: quality.overhead(summary.duration_ns),
        },
        out,
    )
}

impl<'a> Run<'a> {
    fn new(info: &ReportInfo<'a>, duration_ns: u64) -> Run<'a> {
        Run {
            ftlock: env!("CARGO_PKG_VERSION"),
            command: info.run.command.iter().map(|word| json_name(word)).collect(),
            clock: info.run.clock,
            start: info.start_ns,
            end: info.end_ns,
            duration_ns,
            date: info.date.map(|date| humantime::format_rfc3339_millis(date).to_string()),
            kernel: info.run.kernel,
            host: info.host,
            cpus: info.run.cpus,
        }
    }
}

impl Loss {
    fn new(quality: &Quality) -> Loss {
        let cpus = &quality.cpus;
        Loss {
            events: quality.events_lost(),
            overrun: cpus.iter().fold(0, |sum, cpu| cpu.overrun.saturating_add(sum)),
            dropped: cpus.iter().fold(0, |sum, cpu| cpu.dropped.saturating_add(sum)),
            gaps: quality.gaps,
            complete: quality.is_complete(),
        }
    }
}

impl Wrong {
    fn new(quality: &Quality) -> Wrong {
        let reasons = quality.bad();
        Wrong { total: quality.total(), bad: reasons.count(), reasons }
    }
}

#[cfg(test)]
mod tests;
