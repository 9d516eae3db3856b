//! What the values of options may be.

use std::time::Duration;

use clap::ValueEnum;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};

use crate::event::Context;
use crate::report::{By, COLUMNS, Column};

/// How waits are streamed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum StreamFormat {
    /// A line each, for people
    Text,
    /// A JSON object each, for programs (docs/stream.md)
    Json,
    /// Not at all
    None,
}

/// How the report looks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ReportFormat {
    /// For people, in the shape of perf's
    Table,
    /// Column names, then a line for each row, quoted where it must be (docs/report.md)
    Csv,
    /// One object with all there is (docs/report.md)
    Json,
    /// Sleeps by stack, as /proc/latency_stats had them; implies --sleep
    #[value(name = "latency_stats", alias = "latency-stats")]
    LatencyStats,
    /// A line for each stack, as flame graphs are made of; rows by stack unless --by says otherwise
    Folded,
    /// A flame graph (SVG) of the same, as wide as was waited
    #[cfg(feature = "flamegraph")]
    Flamegraph,
    /// A page for a browser, all in one file: tables, how waits are spread, when, and from where
    Html,
    /// Each wait on its thread's track, a trace for ui.perfetto.dev
    Perfetto,
    /// A row for each wait, a Parquet file for DuckDB, pandas, Spark, .. (feature parquet)
    Parquet,
}

/// How two runs side by side look.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum DiffFormat {
    /// For people
    Table,
    /// A line for each row (docs/diff.md)
    Csv,
    /// One object with every column of every row (docs/diff.md)
    Json,
}

/// When there are colours.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Color {
    /// On a terminal
    Auto,
    /// On stdout, whatever it is
    Always,
    /// Nowhere
    Never,
}

/// How the rings are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Reader {
    /// Whole sub-buffers by readv: the cheapest on kernels seen so far
    Read,
    /// Through the mapped ring (6.10 and later)
    Mmap,
}

/// The name of a column.
pub(super) fn column() -> impl TypedValueParser<Value = &'static Column> {
    one_of_columns(COLUMNS.iter())
}

/// The name of a column that rows can be sorted by.
pub(super) fn number_column() -> impl TypedValueParser<Value = &'static Column> {
    one_of_columns(COLUMNS.iter().filter(|column| column.is_number()))
}

fn one_of_columns(
    columns: impl Iterator<Item = &'static Column>,
) -> impl TypedValueParser<Value = &'static Column> {
    let names = columns.map(|column| PossibleValue::new(column.id).help(column.about));
    let known = PossibleValuesParser::new(names);
    known.try_map(|name| Column::find(&name).ok_or_else(|| format!("no column {name}")))
}

/// What rows are told apart by.
pub(super) fn by() -> impl TypedValueParser<Value = By> {
    one_of(&By::ALL, By::name, By::about)
}

/// Where a wait happens.
pub(super) fn context() -> impl TypedValueParser<Value = Context> {
    one_of(&Context::ALL, Context::name, |context| match context {
        Context::Task => "In a task's own work",
        Context::Softirq => "In a softirq",
        Context::Hardirq => "In a hard interrupt",
        Context::Nmi => "In a non-maskable interrupt",
    })
}

fn one_of<T: Copy + Send + Sync + 'static>(
    all: &'static [T],
    name: fn(T) -> &'static str,
    about: fn(T) -> &'static str,
) -> impl TypedValueParser<Value = T> {
    let names = all.iter().map(|&value| PossibleValue::new(name(value)).help(about(value)));
    let known = PossibleValuesParser::new(names);
    known.try_map(move |given| {
        let named = all.iter().copied().find(|&value| name(value) == given);
        named.ok_or_else(|| format!("no {given}"))
    })
}

pub(super) fn parse_size(text: &str) -> Result<u64, String> {
    let binary = parse_size::Config::new().with_binary();
    binary.parse_size(text).map_err(|error| error.to_string())
}

/// The tick is the latency of the stream; below 1 ms the reader would trace mostly itself.
pub(super) fn parse_tick(text: &str) -> Result<Duration, String> {
    let tick = humantime::parse_duration(text).map_err(|error| error.to_string())?;
    let (least, most) = (Duration::from_millis(1), Duration::from_secs(10));
    match (least..=most).contains(&tick) {
        true => Ok(tick),
        false => Err("the tick must lie between 1ms and 10s".to_owned()),
    }
}

/// A part of a whole: `20%`, or `20`.
pub(super) fn parse_percent(text: &str) -> Result<f64, String> {
    let number = text.strip_suffix('%').unwrap_or(text);
    match number.trim_end().parse::<f64>() {
        Ok(percent) if percent >= 0.0 && percent.is_finite() => Ok(percent),
        Ok(_) => Err("it must be 0 % or more".to_owned()),
        Err(error) => Err(error.to_string()),
    }
}

/// Seconds of a trace that go by in a second.
pub(super) fn parse_speed(text: &str) -> Result<f64, String> {
    let speed = text.parse::<f64>().map_err(|error| error.to_string())?;
    match (0.0..=1e6).contains(&speed) {
        true => Ok(speed),
        false => Err("the speed must lie between 0 and 1000000".to_owned()),
    }
}
