//! The end of a run: where the report goes, and the exit status.

use std::fs::File;
use std::io;
use std::time::Duration;

use crate::event::Cpu;
use crate::output::{ReportInfo, Section, Summary};
use crate::pipeline::{
    Blocked, Ended, Export, Outputs, Results, RingFill, Stacks, StreamTexts, open_waits, quality,
    stream_blocked,
};
use crate::report::{Quality, Row, RowKey, StackSampling, Table, select};
use crate::symbols::Kallsyms;
use crate::tracefs::CpuStats;

use super::config::RecordConfig;
use super::exit::{self, DONE, FAILED, INCOMPLETE};
use super::notes::tell;
use super::print::{Printed, print};
use super::run::Ending;

/// All that a run left.
pub(super) struct Outcome<'a> {
    pub(super) config: &'a RecordConfig,
    pub(super) info: ReportInfo<'a>,
    /// Why it ended.
    pub(super) traced: anyhow::Result<Ending>,
    /// What the instance said at the end, if it was asked.
    pub(super) ended: anyhow::Result<Option<Ended>>,
    pub(super) outputs: Outputs<'a>,
    /// Where the report goes; to stdout if not given.
    pub(super) file: Option<File>,
    pub(super) symbols: &'a Kallsyms,
    pub(super) texts: &'a StreamTexts,
    pub(super) duration: Duration,
    /// CPU time of ours in it; none for a recording.
    pub(super) own_cpu_ns: Option<u64>,
    /// Tasks that were blocked all the time.
    pub(super) blocked: &'a [Blocked],
    /// For how much of the time there are stacks, where their cost was limited.
    pub(super) sampling: Option<StackSampling>,
    pub(super) results: Results,
}

/// Prints the report where someone can read it; returns the exit status.
pub(super) fn conclude(outcome: Outcome<'_>) -> anyhow::Result<u8> {
    let Outcome { config, traced, ended, outputs, symbols, texts, results, .. } = outcome;
    let (dropped_lines, streamed) = match outputs.stream {
        Some(stream) => stream.finish(),
        None => (0, Ok(())),
    };
    let (exported, profile) = match outputs.export {
        Some(Export::Waits(report)) => (report.finish(&results.open, &results.stacks), None),
        Some(Export::Profile(profile)) => ((0, Ok(())), Some(profile)),
        None => ((0, Ok(())), None),
    };
    let (dropped_waits, exported) = exported;
    let (ended, end_error) = match ended {
        Ok(ended) => (ended, None),
        Err(error) => (None, Some(error)),
    };
    let stats = ended.as_ref().map_or(&[][..], |ended| &ended.stats);
    let Outcome { duration, blocked, sampling, .. } = outcome;
    let stacks = stacks(config, sampling);
    let quality = quality(&results, stats, dropped_lines + dropped_waits, stacks);
    let fill = ended.as_ref().map(|ended| ended.fill).filter(|fill| *fill != RingFill::default());
    let quality = Quality {
        own_cpu_ns: outcome.own_cpu_ns,
        ring_peak_percent: fill.map(|fill| fill.peak_percent),
        hurried: fill.map_or(0, |fill| fill.hurried),
        stack_sampling: sampling,
        ..quality
    };
    let results = &results;
    let came = Came { config, symbols, texts, duration, blocked, results, quality };
    let printed = came.lend(|summary| {
        let all = Printed { info: &outcome.info, summary, profile: profile.as_ref() };
        print(config, &all, outcome.file, streamed.is_ok())
    });
    let mut status = status(config, &came.quality, &traced);
    if disturbed(ended.as_ref(), results, stats) {
        status = FAILED;
    }
    let streamed = streamed.map_err(|error| ("stdout".to_owned(), error));
    let exported = exported.map_err(|error| (place(config), error));
    let write_error = streamed.and(exported).and(printed).err();
    let write_error = write_error.filter(|(_, error)| error.kind() != io::ErrorKind::BrokenPipe);
    let write_error =
        write_error.map(|(place, error)| anyhow::anyhow!("cannot write to {place}: {error}"));
    for error in traced.err().into_iter().chain(end_error).chain(write_error) {
        status = exit::tell(&error);
    }
    Ok(status)
}

/// Lends what a run came to, with nothing printed.
pub(super) fn lend<T>(
    outcome: Outcome<'_>,
    read: impl FnOnce(&ReportInfo<'_>, &Summary<'_>) -> T,
) -> anyhow::Result<T> {
    let Outcome { config, info, symbols, texts, duration, blocked, sampling, results, .. } =
        outcome;
    outcome.traced?;
    let ended = outcome.ended?;
    let stats = ended.as_ref().map_or(&[][..], |ended| &ended.stats);
    disturbed(ended.as_ref(), &results, stats);
    let quality = quality(&results, stats, 0, stacks(config, sampling));
    let results = &results;
    let came = Came { config, symbols, texts, duration, blocked, results, quality };
    Ok(came.lend(|summary| read(&info, summary)))
}

/// What a run came to.
struct Came<'a> {
    config: &'a RecordConfig,
    symbols: &'a Kallsyms,
    texts: &'a StreamTexts,
    duration: Duration,
    blocked: &'a [Blocked],
    results: &'a Results,
    quality: Quality,
}

impl Came<'_> {
    /// Lends it in the form that writers take.
    fn lend<T>(&self, read: impl FnOnce(&Summary<'_>) -> T) -> T {
        let Came { config, symbols, texts, results, .. } = *self;
        let blocked: Vec<_> = self.blocked.iter().map(stream_blocked).collect();
        read(&Summary {
            table: Table::Locks,
            split: config.plan.extras.split,
            holders: config.plan.extras.holders,
            further: &further(config, results),
            by: &config.by,
            columns: &config.columns,
            rows: &rows(config, results, Table::Locks),
            totals: results.totals(Table::Locks),
            open: &open_waits(results),
            blocked: &blocked,
            quality: &self.quality,
            duration_ns: u64::try_from(self.duration.as_nanos()).unwrap_or(u64::MAX),
            lock_names: &results.lock_names,
            futex_names: &results.futex_names,
            chains: &results.chains,
            symbols,
            stacks: &results.stacks,
            cgroups: texts.cgroups.as_deref(),
        })
    }
}

/// Whether a wait without a stack lacks one.
fn stacks(config: &RecordConfig, sampling: Option<StackSampling>) -> Stacks {
    match sampling.filter(StackSampling::is_partial) {
        _ if !config.plan.stacks => Stacks::Unwanted,
        Some(_) => Stacks::Sampled,
        None => Stacks::Wanted,
    }
}

/// Where the report goes.
pub(super) fn place(config: &RecordConfig) -> String {
    config.output.as_ref().map_or_else(|| "stdout".to_owned(), |path| path.display().to_string())
}

/// The tables that have any waits, but for the first one.
fn further<'a>(config: &'a RecordConfig, results: &'a Results) -> Vec<Section<'a>> {
    let tables = Table::ALL.into_iter().skip(1).map(|table| Section {
        table,
        by: table.keys(&config.by),
        rows: rows(config, results, table),
        totals: results.totals(table),
        columns: if table.is_of_sleeps() { &config.sleep_columns } else { &config.columns },
    });
    tables.filter(|section| section.totals.waits() > 0).collect()
}

/// The rows of a table to show, in order; the overflow rows behind them.
fn rows(config: &RecordConfig, results: &Results, table: Table) -> Vec<Row> {
    let rows = results.rows.rows.iter().map(|(key, stats)| (*key, stats));
    let overflow = results.rows.overflow.iter().enumerate();
    let overflow = overflow.map(|(bucket, stats)| (RowKey::of_bucket(bucket), stats));
    let all = rows.chain(overflow.filter(|(_, stats)| stats.waits() > 0));
    let all = all.filter(|(key, _)| key.table() == table);
    let all = all.map(|(key, stats)| Row { key, stats: stats.clone() }).collect();
    select(all, config.sort_by, results.totals(table), config.entries)
}

fn status(config: &RecordConfig, quality: &Quality, traced: &anyhow::Result<Ending>) -> u8 {
    let status = traced.as_ref().map_or(FAILED, |ending| ending.status(config));
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
        tell(format!("{what}; the results are incomplete"));
    }
    !told.is_empty()
}
