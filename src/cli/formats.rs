//! What goes to stdout: a stream with what ends it, or a report that a program reads.

use std::io::{self, IsTerminal};
use std::path::Path;

use crate::output::perf_csv::separator_fault;
use crate::pipeline::Format;
use crate::report::By;

use super::arg_values::{ReportFormat, StreamFormat};
use super::common_args::OutputArgs;
use super::exit::Usage;

/// How the report at the end looks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Report {
    /// A table; behind JSON lines the last of them.
    Table,
    /// perf's CSV with this separator.
    Perf(String),
    /// CSV.
    Csv,
    /// One JSON object.
    Json,
    /// The lines of `/proc/latency_stats`.
    LatencyStats,
    /// Folded stacks.
    Folded,
    /// A flame graph.
    #[cfg(feature = "flamegraph")]
    Flamegraph,
    /// A page for a browser.
    Html,
    /// A trace for Perfetto.
    Perfetto,
    /// A Parquet file of the waits.
    #[cfg(feature = "parquet")]
    Parquet,
}

impl Report {
    /// Whether it has no place for what there is to say about the data.
    pub(super) fn is_bare(&self) -> bool {
        !matches!(self, Report::Table | Report::Perf(_) | Report::Json | Report::Html)
    }

    /// Its option, where it is made of each wait, as they come, and no text.
    pub(super) fn of_waits(&self) -> Option<&'static str> {
        match self {
            Report::Perfetto => Some("--format perfetto"),
            #[cfg(feature = "parquet")]
            Report::Parquet => Some("--format parquet"),
            _ => None,
        }
    }
}

/// What rows are told apart by where nobody says: flame graphs are made of stacks.
pub(super) fn default_by(format: Option<ReportFormat>) -> By {
    match format {
        Some(ReportFormat::Folded) => By::Stack,
        #[cfg(feature = "flamegraph")]
        Some(ReportFormat::Flamegraph) => By::Stack,
        _ => By::Caller,
    }
}

/// The stream's format, if there is to be one, and the report's. Only one format has a place on
/// stdout; a report may go elsewhere.
pub(super) fn formats(args: &OutputArgs) -> Result<(Option<Format>, Report), Usage> {
    let (report, option) = match (&args.field_separator, args.format) {
        (Some(separator), _) => (Report::Perf(checked(separator)?), "-x"),
        (None, None) => (Report::Table, ""),
        (None, Some(ReportFormat::Table)) => (Report::Table, "--format table"),
        (None, Some(ReportFormat::Csv)) => (Report::Csv, "--format csv"),
        (None, Some(ReportFormat::Json)) => (Report::Json, "--format json"),
        (None, Some(ReportFormat::LatencyStats)) => {
            (Report::LatencyStats, "--format latency_stats")
        }
        (None, Some(ReportFormat::Folded)) => (Report::Folded, "--format folded"),
        #[cfg(feature = "flamegraph")]
        (None, Some(ReportFormat::Flamegraph)) => (Report::Flamegraph, "--format flamegraph"),
        (None, Some(ReportFormat::Html)) => (Report::Html, "--format html"),
        (None, Some(ReportFormat::Perfetto)) => (Report::Perfetto, "--format perfetto"),
        #[cfg(feature = "parquet")]
        (None, Some(ReportFormat::Parquet)) => (Report::Parquet, "--format parquet"),
        #[cfg(not(feature = "parquet"))]
        (None, Some(ReportFormat::Parquet)) => {
            return Err(Usage(
                "--format parquet is not in this build: cargo build --release --features parquet"
                    .to_owned(),
            ));
        }
    };
    let stream = match args.stream {
        None if report == Report::Table || args.raw => Some(Format::Text),
        Some(StreamFormat::Text) => Some(Format::Text),
        Some(StreamFormat::Json) => Some(Format::Json),
        None | Some(StreamFormat::None) => None,
    };
    let both = match stream {
        None => false,
        Some(Format::Text) => report != Report::Table,
        // Its last line takes the table's place, unless a table is asked for.
        Some(Format::Json) => !option.is_empty(),
    };
    if both && args.output.is_none() {
        let what = match args.stream {
            Some(StreamFormat::Json) => "--stream json",
            Some(_) => "--stream text",
            None => "--raw",
        };
        return Err(Usage(format!(
            "{what} and {option} would both go to stdout: leave one of them out, or see --output"
        )));
    }
    if args.raw && (report == Report::Html || report.of_waits().is_some()) {
        return Err(Usage(format!("--raw gives events, and {option} is made of waits")));
    }
    Ok((stream, report))
}

/// What is not text has no place on a terminal.
pub(super) fn check_terminal(report: &Report, output: Option<&Path>) -> Result<(), Usage> {
    let to_terminal = output.is_none() && io::stdout().is_terminal();
    match report.of_waits().filter(|_| to_terminal) {
        Some(option) => {
            Err(Usage(format!("{option} is not for a terminal: name a file with --output FILE")))
        }
        None => Ok(()),
    }
}

fn checked(separator: &str) -> Result<String, Usage> {
    match separator_fault(separator) {
        None => Ok(separator.to_owned()),
        Some(fault) => Err(Usage(format!("-x {separator:?} cannot separate: {fault}"))),
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::super::args::{Cli, Command};
    use super::{Report, formats};
    use crate::pipeline::Format;

    fn parsed(arguments: &str) -> Result<(Option<Format>, Report), String> {
        let words = ["ftlock", "record"].into_iter().chain(arguments.split_whitespace());
        match Cli::try_parse_from(words).map_err(|error| error.to_string())?.command {
            Command::Record(args) => {
                formats(&args.common.output).map_err(|error| error.to_string())
            }
            other => Err(format!("{other:?}")),
        }
    }

    #[test]
    fn a_report_for_programs_has_stdout_for_itself() {
        let perf = |separator: &str| Report::Perf(separator.to_owned());
        let table = [
            ("", (Some(Format::Text), Report::Table)),
            ("--stream", (Some(Format::Text), Report::Table)),
            ("--stream json", (Some(Format::Json), Report::Table)),
            ("--stream none", (None, Report::Table)),
            ("--format table", (Some(Format::Text), Report::Table)),
            ("--format csv", (None, Report::Csv)),
            ("--format json --stream none", (None, Report::Json)),
            ("--format latency_stats", (None, Report::LatencyStats)),
            ("--format folded", (None, Report::Folded)),
            #[cfg(feature = "flamegraph")]
            ("--format flamegraph --output f", (None, Report::Flamegraph)),
            ("--format html", (None, Report::Html)),
            ("--format perfetto --output f", (None, Report::Perfetto)),
            ("--format perfetto --stream json --output f", (Some(Format::Json), Report::Perfetto)),
            #[cfg(feature = "parquet")]
            ("--format parquet --stream json --output f", (Some(Format::Json), Report::Parquet)),
            ("-x ,", (None, perf(","))),
            ("-x ;; --stream=none", (None, perf(";;"))),
            ("--format csv --output f", (None, Report::Csv)),
            ("--format csv --stream json --output f", (Some(Format::Json), Report::Csv)),
            ("--raw --format json --output f", (Some(Format::Text), Report::Json)),
            ("--raw", (Some(Format::Text), Report::Table)),
        ];
        for (arguments, expected) in table {
            assert_eq!(parsed(arguments), Ok(expected), "{arguments}");
        }
    }

    #[test]
    fn what_cannot_go_together_is_refused() {
        for arguments in [
            "--stream json --format csv",
            "--stream text --format json",
            "--stream json --format table",
            "--stream -x ,",
            "--raw --format json",
            "--raw -x ,",
            "--format csv -x ,",
            "--stream text --format folded",
            "--stream text --format perfetto",
            "--raw --format perfetto --output f",
            "--raw --format html --output f",
            "--stream text --format parquet",
            "--raw --format parquet --output f",
            "-x :",
            "-x +",
            "-x .",
            "-x a",
            "-x 0",
            "-x \\",
            "--field-separator=",
        ] {
            assert!(parsed(arguments).is_err(), "{arguments}");
        }
        let error = parsed("--stream json --format csv").unwrap_err();
        assert_eq!(
            error,
            "--stream json and --format csv would both go to stdout: leave one of them out, or see --output"
        );
    }

    #[cfg(not(feature = "parquet"))]
    #[test]
    fn a_build_without_parquet_says_how_to_get_one_with_it() {
        let error = parsed("--format parquet --output f").unwrap_err();
        assert_eq!(
            error,
            "--format parquet is not in this build: cargo build --release --features parquet"
        );
    }
}
