//! The options of `record` that keep the trace in a file.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ValueEnum};

use crate::trace_file::Version;

use super::arg_values::parse_size;

/// Whether and how the trace is kept.
#[derive(Debug, Args)]
#[command(next_help_heading = "Saving")]
pub struct SaveArgs {
    /// Save the trace to this file, for `ftlock report` and for readers of trace.dat (docs/saved.md)
    #[arg(long, value_name = "FILE")]
    pub save: Option<PathBuf>,
    /// The version of trace.dat; 6 for older readers
    #[arg(long, value_enum, value_name = "N", default_value_t = FileVersion::V7, requires = "save")]
    pub file_version: FileVersion,
    /// Stop saving before the file's rings are larger than this together, such as 2G; the run goes on
    #[arg(long, value_name = "SIZE", value_parser = parse_size, requires = "save")]
    pub max_size: Option<u64>,
    /// Keep only the last part of the trace, such as 64M, whatever the length of the run
    #[arg(long, value_name = "SIZE", value_parser = parse_size, requires = "save", conflicts_with = "max_size")]
    pub ring: Option<u64>,
    /// With --ring: keep what surrounds the first wait that is longer than this and passes the filters, and
    /// then save no more
    #[arg(long, value_name = "TIME", value_parser = humantime::parse_duration, requires = "ring", conflicts_with_all = ["no_report", "raw"])]
    pub when_wait: Option<Duration>,
    /// Only save: nothing is decoded, streamed or summed up, which costs least. Rings are read when they
    /// are a quarter full, and twice a second
    #[arg(long, requires = "save", conflicts_with_all = ["raw", "stream", "format", "field_separator", "output"])]
    pub no_report: bool,
}

/// A version of trace.dat.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum FileVersion {
    /// trace-cmd 1 and later
    #[value(name = "6")]
    V6,
    /// trace-cmd 3 and later
    #[value(name = "7")]
    V7,
}

impl FileVersion {
    pub(super) fn version(self) -> Version {
        match self {
            FileVersion::V6 => Version::V6,
            FileVersion::V7 => Version::V7,
        }
    }
}
