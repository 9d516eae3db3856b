//! What the report's format needs beside the rows.

use std::fs::File;
use std::io::{self, Write};

use anyhow::Context;

use crate::output::ReportInfo;
#[cfg(feature = "parquet")]
use crate::output::parquet::WaitFile;
use crate::output::perfetto::Trace;
#[cfg(feature = "parquet")]
use crate::pipeline::ParquetExport;
use crate::pipeline::{Export, Exporter, Extras, Outputs, PerfettoExport, Queue, Shows};
use crate::report::Profile;
use crate::symbols::Kallsyms;

use super::config::RecordConfig;
use super::facts::Facts;
use super::formats::Report;
use super::stages::stream;

/// Where waits go while the run lasts; a report that is written then takes the file.
pub(super) fn outputs<'a>(
    config: &RecordConfig,
    symbols: &'a Kallsyms,
    facts: &Facts,
    info: &ReportInfo<'_>,
    file: &mut Option<File>,
) -> anyhow::Result<Outputs<'a>> {
    Ok(Outputs {
        stream: stream(config, symbols, facts, &info.run)?,
        export: export(config, symbols, facts, info, file)?,
    })
}

fn export<'a>(
    config: &RecordConfig,
    symbols: &'a Kallsyms,
    facts: &Facts,
    info: &ReportInfo<'_>,
    file: &mut Option<File>,
) -> anyhow::Result<Option<Export<'a>>> {
    if config.format == Report::Html {
        return Ok(Some(Export::Profile(Profile::default())));
    }
    if config.format.of_waits().is_none() {
        return Ok(None);
    }
    let out: Box<dyn Write + Send> = match file.take() {
        Some(file) => Box::new(file),
        None => Box::new(io::stdout()),
    };
    let queue = Queue::new(out, config.stream_bytes).context("cannot start the report's thread")?;
    let Extras { split, holders, .. } = config.plan.extras;
    let told = (facts.texts(), Shows { split, holders });
    let report: Box<dyn Exporter + 'a> = match config.format {
        #[cfg(feature = "parquet")]
        Report::Parquet => Box::new(ParquetExport::new(WaitFile::new(info)?, symbols, told, queue)),
        _ => Box::new(PerfettoExport::new(Trace::new(info), symbols, told, queue)),
    };
    Ok(Some(Export::Waits(report)))
}
