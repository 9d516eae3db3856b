//! The command line of `ftlock diff`.

use std::path::PathBuf;

use clap::Args;

use crate::report::{By, Column};

use super::arg_values::{Color, DiffFormat, by, number_column, parse_percent};
use super::common_args::{FilterArgs, TargetArgs};

pub(super) const DIFF_HELP: &str = "\
A and B are files of `ftlock record --save` or of trace-cmd, or reports of `--format json`. Filters and --by \
need traces: a report has the rows that it has. Rows are found in the other run by their names, since ids of \
tasks and addresses mean nothing there: what has the same name is one row. Where kernels differ, callers are \
functions, without the place in them.

Exit status: 0 done; 1 failed, or some of a file cannot be read; 2 usage; 6 with --fail-over, B waits longer.";

/// The columns where nobody says.
const FIELDS: [&str; 3] = ["contended", "wait_total", "p99"];

/// Options of `diff`.
#[derive(Debug, Args)]
pub struct DiffArgs {
    /// The run before
    #[arg(value_name = "A")]
    pub a: PathBuf,
    /// The run that is held against it
    #[arg(value_name = "B")]
    pub b: PathBuf,
    /// Exit with 6 where B exceeds A in the column of -k by more than this: all waits together, or a row
    /// that has at least 1 % of B's waiting time. Idle waiting does not count
    #[arg(long, value_name = "PERCENT", value_parser = parse_percent)]
    pub fail_over: Option<f64>,
    /// What counts is how much there was in each second, not in all: for runs of different length
    #[arg(long)]
    pub rate: bool,
    /// Whose waits.
    #[command(flatten)]
    pub targets: TargetArgs,
    /// Which waits are looked at, in both.
    #[command(flatten)]
    pub filters: FilterArgs,
    /// What is shown of them.
    #[command(flatten)]
    pub rows: DiffRowArgs,
    /// Where and how.
    #[command(flatten)]
    pub output: DiffOutputArgs,
}

/// What the rows and columns are.
#[derive(Debug, Args)]
#[command(next_help_heading = "Rows and columns")]
pub struct DiffRowArgs {
    /// What rows are told apart by; up to four keys, such as comm,caller [default: that of the reports;
    /// caller of traces]
    #[arg(long, value_parser = by(), value_delimiter = ',', value_name = "KEY,..")]
    pub by: Vec<By>,
    /// Columns in this order, such as contended,p99; that of -k is added
    #[arg(short = 'F', long, value_name = "FIELD,..", value_delimiter = ',', value_parser = number_column(),
          default_values = FIELDS, hide_possible_values = true)]
    pub field: Vec<&'static Column>,
    /// Sort the rows by the change of this column, the largest first
    #[arg(short, long, value_parser = number_column(), default_value = "wait_total")]
    pub key: &'static Column,
    /// Print at most N rows of each table
    #[arg(short = 'E', long, value_name = "N")]
    pub entries: Option<usize>,
    /// Rows that are kept apart of a trace; waits beyond go to overflow rows
    #[arg(short = 'M', long, value_name = "N", default_value_t = 16384)]
    pub map_nr_entries: usize,
}

/// Where it goes, and how it looks.
#[derive(Debug, Args)]
#[command(next_help_heading = "Output")]
pub struct DiffOutputArgs {
    /// How it looks
    #[arg(long, value_enum, value_name = "FORMAT", default_value_t = DiffFormat::Table)]
    pub format: DiffFormat,
    /// Colours in the table, red for more waiting and green for less; auto: on a terminal, unless NO_COLOR
    /// is set
    #[arg(long, value_enum, value_name = "WHEN", default_value_t = Color::Auto)]
    pub color: Color,
    /// Write it to this file
    #[arg(long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// The change of every column as a figure too, not only in percent
    #[arg(short, long)]
    pub verbose: bool,
    /// Nothing but the rows, and what --fail-over found
    #[arg(short, long, conflicts_with = "verbose")]
    pub quiet: bool,
}

impl DiffArgs {
    /// The columns to show, each once; that of the order among them.
    pub(super) fn columns(&self) -> Vec<&'static Column> {
        let mut columns: Vec<&'static Column> = Vec::new();
        for &column in self.rows.field.iter().chain([&self.rows.key]) {
            if !columns.iter().any(|known| known.id == column.id) {
                columns.push(column);
            }
        }
        columns
    }

    /// The first option that only a trace can answer.
    pub(super) fn needs_traces(&self) -> Option<&'static str> {
        let FilterArgs {
            type_filter,
            lock_filter,
            callstack_filter,
            comm,
            cmdline,
            cgroup_filter,
            caller,
            context,
            min_wait,
        } = &self.filters;
        let TargetArgs { all_cpus, pid, tid, cpu } = &self.targets;
        let given = [
            (*all_cpus, "-a"),
            (!pid.is_empty(), "-p"),
            (!tid.is_empty(), "--tid"),
            (cpu.is_some(), "-C"),
            (!type_filter.is_empty(), "-Y"),
            (!lock_filter.is_empty(), "-L"),
            (!callstack_filter.is_empty(), "-S"),
            (comm.is_some(), "--comm"),
            (cmdline.is_some(), "--cmdline"),
            (!cgroup_filter.is_empty(), "-G"),
            (caller.is_some(), "--caller"),
            (!context.is_empty(), "--context"),
            (min_wait.is_some(), "--min-wait"),
        ];
        given.into_iter().find(|(is_given, _)| *is_given).map(|(_, option)| option)
    }
}
