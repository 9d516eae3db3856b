//! What the user typed.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Parser, Subcommand};

use super::arg_values::parse_speed;
use super::common_args::{CommonArgs, KernelArgs, TargetArgs};
use super::diff_args::{DIFF_HELP, DiffArgs};
use super::perf_args::PerfArgs;
use super::save_args::SaveArgs;

/// Lock contention from the kernel's own trace rings, without BPF.
#[derive(Debug, Parser)]
#[command(name = "ftlock", version, max_term_width = 100)]
// As perf reads its command line: long options may be cut short, and the last one wins.
#[command(infer_long_args = true, args_override_self = true)]
pub struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// The sub-commands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Trace, stream each finished lock wait as it happens, and print a table at the end
    #[command(after_help = RECORD_HELP)]
    Record(Box<RecordArgs>),
    /// Print the table of a saved trace, or stream its waits: one of ftlock, trace-cmd or perf
    #[command(after_help = REPORT_HELP)]
    Report(ReportArgs),
    /// Hold one saved run against another: what waits more, and what less
    #[command(after_help = DIFF_HELP)]
    Diff(Box<DiffArgs>),
    /// Show what this kernel, mount and user allow, and how to mend what is missing
    Check(CheckArgs),
    /// Record a built-in workload that fights over a directory, a pipe and an address space
    Demo(DemoArgs),
    /// The workload of `demo`
    #[command(hide = true)]
    DemoWorkload(DemoWorkloadArgs),
}

const RECORD_HELP: &str = "\
With COMMAND: that process and its descendants, until it ends. With -p, --tid or -C: those. With \
none of them, or -a: the whole system, until Ctrl-C.

Exit status: 0 done; 1 failed, or someone else disturbed the trace; 2 usage; 3 cannot trace here; \
5 with --strict, data incomplete. With COMMAND its own status, 128+N if signal N ended it, 127 or \
126 where it could not start.";

/// Options of `record`.
#[derive(Debug, Args)]
pub struct RecordArgs {
    /// Trace all tasks on all CPUs (the default without COMMAND, -p, --tid and -C)
    #[arg(short = 'a', long)]
    pub all_cpus: bool,
    /// Trace these processes, with all their threads, later ones too
    #[arg(short, long, value_name = "PID,..", value_delimiter = ',', conflicts_with_all = ["tid", "command"])]
    pub pid: Vec<u32>,
    /// Trace these threads
    #[arg(long, value_name = "TID,..", value_delimiter = ',', conflicts_with = "command")]
    pub tid: Vec<u32>,
    /// Only waits that begin on these CPUs, such as 0,3-7
    #[arg(short = 'C', long, value_name = "CPULIST")]
    pub cpu: Option<String>,
    /// Show a saved trace as if it happened now, instead of tracing
    #[arg(long, value_name = "FILE", conflicts_with_all = ["command", "save"])]
    pub replay: Option<PathBuf>,
    /// How fast a replayed trace goes by; 0: as fast as it can be read
    #[arg(long, value_name = "X", default_value_t = 1.0, value_parser = parse_speed, requires = "replay")]
    pub speed: f64,
    /// The command to trace, with its arguments
    #[arg(trailing_var_arg = true, value_name = "COMMAND")]
    pub command: Vec<OsString>,
    /// Options that `demo` and `report` have too.
    #[command(flatten)]
    pub common: CommonArgs,
    /// How the kernel is asked.
    #[command(flatten)]
    pub kernel: KernelArgs,
    /// Whether the trace is kept.
    #[command(flatten)]
    pub save: SaveArgs,
    /// Options of perf.
    #[command(flatten)]
    pub perf: PerfArgs,
}

const REPORT_HELP: &str = "\
A file of `ftlock record --save` gives the table that the run itself gave with the same options: whose waits, \
on which CPUs, and what was traced of them are those of the run, unless -a, -p, --tid or -C say otherwise. In \
another file, a trace.dat or a perf.data, task names that no event tells are taken from its own list, and count \
as unconfirmed.

Exit status: 0 done; 1 failed, or some of the file cannot be read; 2 usage; 5 with --strict, data incomplete.";

/// Options of `report`.
#[derive(Debug, Args)]
pub struct ReportArgs {
    /// The file
    #[arg(value_name = "FILE", default_value = "trace.dat")]
    pub file: PathBuf,
    /// The file, as perf has it
    #[arg(short, long, value_name = "FILE", hide = true, conflicts_with = "file")]
    pub input: Option<PathBuf>,
    /// Of several instances' rings those of this one; an empty name is the top level's
    #[arg(long, value_name = "NAME")]
    pub buffer: Option<String>,
    /// Whose waits.
    #[command(flatten)]
    pub targets: TargetArgs,
    /// The options that `record` has too.
    #[command(flatten)]
    pub common: CommonArgs,
}

/// Options of `check`.
#[derive(Debug, Args)]
pub struct CheckArgs {
    /// Remove what dead runs left behind
    #[arg(long)]
    pub clean: bool,
    /// Where tracefs is mounted, if not where mountinfo says
    #[arg(long, value_name = "DIR")]
    pub tracefs: Option<PathBuf>,
}

/// Options of `demo`.
#[derive(Debug, Args)]
pub struct DemoArgs {
    /// How long the workload runs
    #[arg(long, value_name = "TIME", default_value = "3s", value_parser = humantime::parse_duration)]
    pub duration: Duration,
    /// The options of `record`.
    #[command(flatten)]
    pub common: CommonArgs,
    /// How the kernel is asked.
    #[command(flatten)]
    pub kernel: KernelArgs,
}

/// Options of the hidden workload.
#[derive(Debug, Args)]
pub struct DemoWorkloadArgs {
    /// How long it runs
    #[arg(long, value_parser = humantime::parse_duration, default_value = "3s")]
    pub duration: Duration,
    /// The directory to fight over; a child that was exec'd under another name gets it
    #[arg(long)]
    pub worker: Option<PathBuf>,
}
