//! What the user typed.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Parser, Subcommand, ValueEnum};

/// Lock contention from the kernel's own trace rings, without BPF.
#[derive(Debug, Parser)]
#[command(name = "ftlock", version, max_term_width = 100)]
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
    /// The command to trace, with its arguments
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "COMMAND")]
    pub command: Vec<OsString>,
}

/// Options of `record` and `demo`.
#[derive(Debug, Args)]
pub struct CommonArgs {
    /// How finished waits are streamed
    #[arg(long, value_enum, default_value_t = StreamFormat::Text, default_missing_value = "text",
          num_args = 0..=1, value_name = "FORMAT")]
    pub stream: StreamFormat,
    /// Stream every event, not the finished waits: one line each as in trace_pipe, with the right name
    #[arg(long)]
    pub raw: bool,
    /// A further event to stream, such as sched:sched_switch (with --raw; can be repeated)
    #[arg(short, long, value_name = "SYSTEM:EVENT", requires = "raw")]
    pub event: Vec<String>,
    /// What a row of the table stands for
    #[arg(long, value_enum, default_value_t = By::Caller, value_name = "KEY")]
    pub by: By,
    /// Rows by thread, as --by task
    #[arg(short = 't', long, conflicts_with_all = ["by", "lock_addr"])]
    pub threads: bool,
    /// Rows by lock, as --by lock
    #[arg(short = 'l', long, conflicts_with = "by")]
    pub lock_addr: bool,
    /// Sort the rows by this column, largest first
    #[arg(short, long, value_enum, default_value_t = SortKey::WaitTotal)]
    pub key: SortKey,
    /// Print at most N rows; 0 prints none (the footer still covers all)
    #[arg(short = 'E', long, value_name = "N")]
    pub entries: Option<usize>,
    /// Leave out waits shorter than this, such as 10us or 1ms
    #[arg(long, value_name = "TIME", value_parser = humantime::parse_duration)]
    pub min_wait: Option<Duration>,
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
    /// Where tracefs is mounted, if not where mountinfo says
    #[arg(long, value_name = "DIR")]
    pub tracefs: Option<PathBuf>,
    /// Exit with 5 where anything was lost or uncertain
    #[arg(long)]
    pub strict: bool,
    /// More detail: all counters and the accounting behind the table
    #[arg(short, long)]
    pub verbose: bool,
    /// No notes on stderr
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

/// What a row stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum By {
    /// The function that wanted the lock, and the lock's kind
    Caller,
    /// The lock's address
    Lock,
    /// The thread, under each name it had
    Task,
    /// The lock's kind
    Type,
}

/// Column to sort by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
#[value(rename_all = "snake_case")]
pub enum SortKey {
    /// How many waits got the lock
    Contended,
    /// Their time together
    WaitTotal,
    /// The longest of them
    WaitMax,
    /// The shortest of them
    WaitMin,
    /// Their mean
    AvgWait,
}

/// How the rings are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Reader {
    /// Whole sub-buffers by readv: the cheapest on kernels seen so far
    Read,
    /// Through the mapped ring (6.10 and later)
    Mmap,
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
