//! The end of a run: where the report goes, and the exit status.

use std::io::{self, Write};
use std::time::Duration;

use crate::event::Cpu;
use crate::output::{Summary, json, table};
use crate::pipeline::{
    Ended, Format, Results, Stream, StreamTexts, open_waits, quality, status_code,
};
use crate::report::{Column, DEFAULT_FIELDS, Quality, Row, RowKey, select};
use crate::symbols::Kallsyms;
use crate::tracefs::CpuStats;

use super::config::RecordConfig;
use super::exit::{self, DONE, FAILED, INCOMPLETE};
use super::run::Ending;

/// All that a run left.
pub(super) struct Outcome<'a> {
    pub(super) config: &'a RecordConfig,
    /// Why it ended.
    pub(super) traced: anyhow::Result<Ending>,
    /// What the instance said at the end, if it was asked.
    pub(super) ended: anyhow::Result<Option<Ended>>,
    pub(super) stream: Option<Stream<'a>>,
    pub(super) symbols: &'a Kallsyms,
    pub(super) texts: &'a StreamTexts,
    pub(super) duration: Duration,
    pub(super) results: Results,
}

/// Prints the report where someone can read it; returns the exit status.
pub(super) fn conclude(outcome: Outcome<'_>) -> anyhow::Result<u8> {
    let Outcome { config, traced, ended, stream, symbols, texts, duration, results } = outcome;
    let (dropped_lines, streamed) = match stream {
        Some(stream) => stream.finish(),
        None => (0, Ok(())),
    };
    let (ended, end_error) = match ended {
        Ok(ended) => (ended, None),
        Err(error) => (None, Some(error)),
    };
    let stats = ended.as_ref().map_or(&[][..], |ended| &ended.stats);
    let quality = quality(&results, stats, dropped_lines, config.plan.stacks);
    let rows = rows(config, &results);
    let open = open_waits(&results);
    let columns: Vec<_> = DEFAULT_FIELDS.iter().filter_map(|id| Column::find(id)).collect();
    let summary = Summary {
        by: &config.by,
        columns: &columns,
        rows: &rows,
        totals: results.kept.rows,
        open: &open,
        quality: &quality,
        duration_ns: u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX),
        symbols,
        cgroups: texts.cgroups.as_deref(),
    };
    let printed = print(config, &summary, streamed.is_ok());
    let mut status = status(config, &quality, &traced);
    if disturbed(ended.as_ref(), &results, stats) {
        status = FAILED;
    }
    let write_error = streamed.and(printed).err();
    let write_error = write_error.filter(|error| error.kind() != io::ErrorKind::BrokenPipe);
    let write_error = write_error.map(|error| anyhow::anyhow!("cannot write to stdout: {error}"));
    for error in traced.err().into_iter().chain(end_error).chain(write_error) {
        status = exit::tell(&error);
    }
    Ok(status)
}

/// The rows to show, in order; the overflow rows behind them.
fn rows(config: &RecordConfig, results: &Results) -> Vec<Row> {
    let rows = results.rows.rows.iter().map(|&(key, stats)| Row { key, stats });
    let overflow = results.rows.overflow.iter().enumerate();
    let overflow = overflow.map(|(bucket, &stats)| Row { key: RowKey::of_bucket(bucket), stats });
    let all = rows.chain(overflow.filter(|row| row.stats.waits() > 0)).collect();
    select(all, config.sort_by, config.entries)
}

/// To stdout; the table to stderr if nobody reads stdout.
fn print(config: &RecordConfig, summary: &Summary<'_>, stdout_works: bool) -> io::Result<()> {
    let detail = if config.verbose { table::Detail::Everything } else { table::Detail::Notable };
    let mut text = Vec::new();
    match config.stream {
        Some(Format::Json) => json::summary(summary, &mut text)?,
        Some(Format::Text) => {
            text.push(b'\n');
            table::write(summary, detail, &mut text)?;
        }
        None => table::write(summary, detail, &mut text)?,
    }
    let mut stdout = io::stdout().lock();
    let printed = match stdout_works {
        true => stdout.write_all(&text).and_then(|()| stdout.flush()),
        false => Err(io::ErrorKind::BrokenPipe.into()),
    };
    if printed.is_err() && !config.quiet {
        table::write(summary, detail, &mut io::stderr().lock())?;
    }
    printed
}

fn status(config: &RecordConfig, quality: &Quality, traced: &anyhow::Result<Ending>) -> u8 {
    let status = match traced {
        Ok(Ending::Command(status)) => status_code(*status),
        Ok(Ending::Signal(signal)) if !config.command.is_empty() => {
            u8::try_from(128 + signal).unwrap_or(FAILED)
        }
        Ok(Ending::StreamFailed) | Err(_) => FAILED,
        Ok(Ending::Signal(_) | Ending::TargetsGone | Ending::Unread) => DONE,
    };
    if status == DONE && config.strict && !quality.is_complete() { INCOMPLETE } else { status }
}

/// Whether someone else meddled with our rings; says so.
fn disturbed(ended: Option<&Ended>, results: &Results, stats: &[(Cpu, Option<CpuStats>)]) -> bool {
    let changes =
        ended.map_or(&[][..], |ended| &ended.disturbances).iter().map(ToString::to_string);
    // Of a damaged sub-buffer we have not read all events either.
    let whole = results.read.iter().zip(stats).filter(|((_, read), _)| read.faults.is_empty());
    let stolen = whole.filter_map(|((cpu, read), (_, stats))| {
        let taken = stats.as_ref()?.read_events.checked_sub(read.events).filter(|&n| n > 0)?;
        Some(format!("someone else read {taken} events from the ring of cpu {}", cpu.0))
    });
    let told: Vec<String> = changes.chain(stolen).collect();
    for what in &told {
        let _ = writeln!(io::stderr(), "ftlock: {what}; the results are incomplete").is_ok();
    }
    !told.is_empty()
}
