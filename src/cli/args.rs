//! What the user typed.

use std::ffi::OsString;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::time::Duration;

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::{Args, Parser, Subcommand, ValueEnum};

use crate::report::{COLUMNS, Column, DEFAULT_FIELDS};

use super::perf_args::PerfArgs;

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
    Record(RecordArgs),
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
    /// Options that `demo` has too.
    #[command(flatten)]
    pub common: CommonArgs,
    /// Options of perf.
    #[command(flatten)]
    pub perf: PerfArgs,
    /// The command to trace, with its arguments
    #[arg(trailing_var_arg = true, value_name = "COMMAND")]
    pub command: Vec<OsString>,
}

/// Options of `record` and `demo`.
#[derive(Debug, Args)]
pub struct CommonArgs {
    /// How finished waits are streamed [default: text; none with -x, --format csv and json]
    #[arg(long, value_enum, default_missing_value = "text", num_args = 0..=1, value_name = "FORMAT")]
    pub stream: Option<StreamFormat>,
    /// How the report at the end looks [default: table]
    #[arg(long, value_enum, value_name = "FORMAT", conflicts_with = "field_separator")]
    pub format: Option<ReportFormat>,
    /// The report as perf's CSV with this separator (docs/report.md)
    #[arg(short = 'x', long, value_name = "SEP")]
    pub field_separator: Option<String>,
    /// Colours in the table; auto: on a terminal, unless NO_COLOR is set
    #[arg(long, value_enum, value_name = "WHEN", default_value_t = Color::Auto)]
    pub color: Color,
    /// Stream every event, not the finished waits: one line each as in trace_pipe, with the right name
    #[arg(short = 'D', long, alias = "dump-raw-trace")]
    pub raw: bool,
    /// A further event to stream, such as sched:sched_switch (with --raw; can be repeated)
    #[arg(short, long, value_name = "SYSTEM:EVENT", requires = "raw")]
    pub event: Vec<String>,
    /// What rows of the table are told apart by; up to four keys, such as comm,caller
    #[arg(long, value_enum, default_values_t = [By::Caller], value_delimiter = ',', value_name = "KEY,..")]
    pub by: Vec<By>,
    /// Rows by thread, as --by task
    #[arg(short = 't', long, conflicts_with_all = ["by", "lock_addr"])]
    pub threads: bool,
    /// Rows by lock, as --by lock
    #[arg(short = 'l', long, conflicts_with = "by")]
    pub lock_addr: bool,
    /// Columns of the table in this order, such as contended,p99; that of -k is added
    #[arg(short = 'F', long, value_name = "FIELD,..", value_delimiter = ',', value_parser = column(),
          default_values = DEFAULT_FIELDS, hide_possible_values = true)]
    pub field: Vec<&'static Column>,
    /// Rows by cgroup, as --by cgroup
    #[arg(long, conflicts_with_all = ["by", "threads", "lock_addr"])]
    pub lock_cgroup: bool,
    /// Sort the rows by this column, largest first
    #[arg(short, long, value_parser = column(), default_value = "wait_total")]
    pub key: &'static Column,
    /// Draw under each row of the table how its waits are spread
    #[arg(long)]
    pub hist: bool,
    /// Print at most N rows; 0 prints none (the footer still covers all)
    #[arg(short = 'E', long, value_name = "N")]
    pub entries: Option<usize>,
    /// Only these kinds of locks, such as mutex,rwsem:R (perf's names)
    #[arg(short = 'Y', long, value_name = "TYPE,..", value_delimiter = ',')]
    pub type_filter: Vec<String>,
    /// Only these locks: addresses, kernel symbols, or names as in rows by lock
    #[arg(short = 'L', long, value_name = "LOCK,..", value_delimiter = ',')]
    pub lock_filter: Vec<String>,
    /// Only waits whose stack has a symbol that contains one of these
    #[arg(
        short = 'S',
        long,
        value_name = "NAME,..",
        value_delimiter = ',',
        conflicts_with = "no_stack"
    )]
    pub callstack_filter: Vec<String>,
    /// Only tasks whose name matches
    #[arg(long, value_name = "REGEX")]
    pub comm: Option<regex::bytes::Regex>,
    /// Only processes whose command line matches, as ps shows it
    #[arg(long, value_name = "REGEX")]
    pub cmdline: Option<regex::bytes::Regex>,
    /// Only tasks that are in one of these cgroups, or below, when their wait begins
    #[arg(short = 'G', long, value_name = "PATH,..", value_delimiter = ',')]
    pub cgroup_filter: Vec<PathBuf>,
    /// Only callers (name+0xoffset) that match
    #[arg(long, value_name = "REGEX", conflicts_with = "no_stack")]
    pub caller: Option<regex::Regex>,
    /// Only waits of tasks themselves, or in interrupts on top of them
    #[arg(long, value_enum, value_name = "CONTEXT,..", value_delimiter = ',')]
    pub context: Vec<Context>,
    /// Leave out waits shorter than this, such as 10us or 1ms
    #[arg(long, value_name = "TIME", value_parser = humantime::parse_duration)]
    pub min_wait: Option<Duration>,
    /// Of a stack, keep the caller's frame and at most N in all
    #[arg(long, value_name = "N", conflicts_with = "no_stack")]
    pub max_stack: Option<NonZeroUsize>,
    /// Do not record kernel stacks: cheaper, and no callers
    #[arg(long)]
    pub no_stack: bool,
    /// Name mmap_lock by the kernel's own events about it, which is certain, and not by a rule. Costs
    /// some 8 % of the time of tasks that do nothing but map and unmap memory, others next to nothing
    #[arg(long)]
    pub learn_mmap_lock: bool,
    /// Rows that are kept apart; waits beyond go to overflow rows
    #[arg(short = 'M', long, value_name = "N", default_value_t = 16384)]
    pub map_nr_entries: usize,
    /// Size of the kernel's ring for each CPU, such as 8M
    #[arg(short = 'm', long, value_name = "SIZE", default_value = "8M", value_parser = parse_size)]
    pub mmap_size: u64,
    /// The trace clock; one that counts nanoseconds
    #[arg(long, value_name = "CLOCK", default_value = "mono")]
    pub clock: String,
    /// How often the rings are read at least
    #[arg(long, value_name = "TIME", default_value = "50ms", value_parser = parse_tick)]
    pub tick: Duration,
    /// How the rings are read
    #[arg(long, value_enum, default_value_t = Reader::Read)]
    pub reader: Reader,
    /// Name functions and locks by this copy of /proc/kallsyms
    #[arg(long, value_name = "FILE")]
    pub kallsyms: Option<PathBuf>,
    /// Where tracefs is mounted, if not where mountinfo says
    #[arg(long, value_name = "DIR")]
    pub tracefs: Option<PathBuf>,
    /// Write the report to this file; the stream stays on stdout
    #[arg(long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Exit with 5 where anything was lost or uncertain
    #[arg(long)]
    pub strict: bool,
    /// More detail: who waited longest in each row, all counters, and the accounting behind the table
    #[arg(short, long)]
    pub verbose: bool,
    /// No notes on stderr; of the table only the rows, unless something was lost or uncertain
    #[arg(short, long, conflicts_with = "verbose")]
    pub quiet: bool,
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

/// What rows are told apart by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum By {
    /// The function that wanted the lock, and the lock's kind
    Caller,
    /// The whole call stack, and the lock's kind
    Stack,
    /// The lock's address
    Lock,
    /// The thread, under each name it had
    Task,
    /// The process, under each name its leader had
    Process,
    /// The name, whoever bore it
    Comm,
    /// The cgroup that the task was in
    Cgroup,
    /// The lock's kind
    Type,
    /// The CPU a wait began on
    Cpu,
    /// Task, softirq, hardirq or nmi
    Context,
}

/// Where a wait happens.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Context {
    /// In a task's own work
    Task,
    /// In a softirq
    Softirq,
    /// In a hard interrupt
    Hardirq,
    /// In a non-maskable interrupt
    Nmi,
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
fn column() -> impl TypedValueParser<Value = &'static Column> {
    let names = COLUMNS.iter().map(|column| PossibleValue::new(column.id).help(column.about));
    let known = PossibleValuesParser::new(names);
    known.try_map(|name| Column::find(&name).ok_or_else(|| format!("no column {name}")))
}

fn parse_size(text: &str) -> Result<u64, String> {
    let binary = parse_size::Config::new().with_binary();
    binary.parse_size(text).map_err(|error| error.to_string())
}

/// The tick is the latency of the stream; below 1 ms the reader would trace mostly itself.
fn parse_tick(text: &str) -> Result<Duration, String> {
    let tick = humantime::parse_duration(text).map_err(|error| error.to_string())?;
    let (least, most) = (Duration::from_millis(1), Duration::from_secs(10));
    match (least..=most).contains(&tick) {
        true => Ok(tick),
        false => Err("the tick must lie between 1ms and 10s".to_owned()),
    }
}
