//! Where the report goes, and in which format.

use std::fs::File;
use std::io::{self, Write};

#[cfg(feature = "flamegraph")]
use crate::output::flamegraph;
use crate::output::table::View;
use crate::output::{
    ReportInfo, Summary, csv, folded, footer, html, json, latency_stats, perf_csv, table,
};
use crate::pipeline::Format;
use crate::report::{Column, Profile};

use super::config::RecordConfig;
use super::formats::Report;
use super::outcome::place;
use super::terminal::{plain, view};

/// What there is to print.
pub(super) struct Printed<'a> {
    pub(super) info: &'a ReportInfo<'a>,
    pub(super) summary: &'a Summary<'a>,
    /// Where the report has pictures.
    pub(super) profile: Option<&'a Profile>,
}

/// To the file if there is one, else to stdout; to stderr if nobody reads stdout, as a table. An
/// error comes with the place that could not be written to.
pub(super) fn print(
    config: &RecordConfig,
    all: &Printed<'_>,
    file: Option<File>,
    stdout_works: bool,
) -> Result<(), (String, io::Error)> {
    let summary = all.summary;
    let mut of_stream = Vec::new();
    if config.stream == Some(Format::Json) {
        json::summary(summary, &mut of_stream).map_err(on_stdout)?;
    }
    if config.format.of_waits().is_some() && config.output.is_some() {
        // It is there already.
        return to_stdout(&of_stream, stdout_works).map_err(on_stdout);
    }
    if let Some(mut file) = file {
        let written = report(config, all, plain(config)).and_then(|text| file.write_all(&text));
        written.map_err(|error| (place(config), error))?;
        return to_stdout(&of_stream, stdout_works).map_err(on_stdout);
    }
    let text = match config.stream {
        Some(Format::Json) => of_stream,
        Some(Format::Text) => {
            let text = report(config, all, view(&io::stdout(), config));
            [b"\n".to_vec(), text.map_err(on_stdout)?].concat()
        }
        None => report(config, all, view(&io::stdout(), config)).map_err(on_stdout)?,
    };
    let printed = to_stdout(&text, stdout_works);
    let plain = plain(config);
    let said = match printed {
        Err(_) if !config.quiet => table::write(summary, plain, &mut io::stderr().lock()),
        Ok(()) if config.format.is_bare() && !plain.detail.is_bare(summary.quality) => {
            footer::write(summary, plain, &mut io::stderr().lock())
        }
        _ => Ok(()),
    };
    // If stderr is gone there is nobody to tell.
    let _ = said.is_ok();
    printed.map_err(on_stdout)
}

/// How wide a stack is: what the rows are sorted by if that adds up, else how long was waited.
fn weight(config: &RecordConfig) -> &'static Column {
    let wait_total = || Column::find("wait_total");
    let sum = Some(config.sort_by).filter(|column| column.is_sum());
    sum.or_else(wait_total).unwrap_or(config.sort_by)
}

fn on_stdout(error: io::Error) -> (String, io::Error) {
    ("stdout".to_owned(), error)
}

fn to_stdout(text: &[u8], works: bool) -> io::Result<()> {
    if !works {
        return Err(io::ErrorKind::BrokenPipe.into());
    }
    let mut stdout = io::stdout().lock();
    stdout.write_all(text).and_then(|()| stdout.flush())
}

fn report(config: &RecordConfig, all: &Printed<'_>, view: View) -> io::Result<Vec<u8>> {
    let Printed { info, summary, profile } = *all;
    let mut text = Vec::new();
    match &config.format {
        // It has been written.
        Report::Perfetto => {}
        #[cfg(feature = "parquet")]
        Report::Parquet => {}
        Report::Html => {
            let none = Profile::default();
            html::write(info, summary, profile.unwrap_or(&none), view.detail, &mut text)?;
        }
        Report::Table => table::write(summary, view, &mut text)?,
        Report::Perf(separator) => perf_csv::write(summary, separator, view.detail, &mut text)?,
        Report::Csv => csv::write(summary, &mut text)?,
        Report::Json => json::report(info, summary, &mut text)?,
        Report::LatencyStats => latency_stats::write(summary, &mut text)?,
        Report::Folded => folded::write(summary, weight(config), &mut text)?,
        #[cfg(feature = "flamegraph")]
        Report::Flamegraph => flamegraph::write(info, summary, weight(config), &mut text)?,
    }
    Ok(text)
}
