//! The options that several sub-commands have, under the headings of `--help`.

use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::time::Duration;

use clap::Args;

use crate::event::Context;
use crate::report::{By, Column, DEFAULT_FIELDS};

use super::arg_values::{
    Color, Reader, ReportFormat, StreamFormat, by, column, context, number_column, parse_percent,
    parse_size, parse_tick,
};

/// Options of `record`, `demo` and `report`.
#[derive(Debug, Args)]
pub struct CommonArgs {
    /// Which waits are looked at.
    #[command(flatten)]
    pub filters: FilterArgs,
    /// What the table, CSV or JSON at the end consists of.
    #[command(flatten)]
    pub rows: RowArgs,
    /// What is printed, where and how.
    #[command(flatten)]
    pub output: OutputArgs,
    /// What waits consist of.
    #[command(flatten)]
    pub trace: TraceArgs,
}

/// Whose waits of a recording, where not those that the run itself was asked for.
#[derive(Debug, Args)]
pub struct TargetArgs {
    /// Waits of all tasks on all CPUs, whatever was asked for when it was recorded
    #[arg(short = 'a', long)]
    pub all_cpus: bool,
    /// Waits of these processes
    #[arg(short, long, value_name = "PID,..", value_delimiter = ',', conflicts_with = "tid")]
    pub pid: Vec<u32>,
    /// Waits of these threads
    #[arg(long, value_name = "TID,..", value_delimiter = ',')]
    pub tid: Vec<u32>,
    /// Only waits that begin on these CPUs, such as 0,3-7
    #[arg(short = 'C', long, value_name = "CPULIST")]
    pub cpu: Option<String>,
}

/// Which waits are looked at.
#[derive(Debug, Args)]
#[command(next_help_heading = "Filters")]
pub struct FilterArgs {
    /// Only these kinds of locks, such as mutex,rwsem:R (perf's names)
    #[arg(short = 'Y', long, value_name = "TYPE,..", value_delimiter = ',')]
    pub type_filter: Vec<String>,
    /// Only these locks: addresses, kernel symbols, or names as in rows by lock; with --futex variables
    /// of programs too
    #[arg(short = 'L', long, value_name = "LOCK,..", value_delimiter = ',')]
    pub lock_filter: Vec<String>,
    /// Only waits whose stack has a symbol that contains one of these
    #[arg(short = 'S', long, value_name = "NAME,..", value_delimiter = ',')]
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
    #[arg(long, value_name = "REGEX")]
    pub caller: Option<regex::Regex>,
    /// Only waits of tasks themselves, or in interrupts on top of them
    #[arg(long, value_parser = context(), value_name = "CONTEXT,..", value_delimiter = ',')]
    pub context: Vec<Context>,
    /// Leave out waits shorter than this, such as 10us or 1ms
    #[arg(long, value_name = "TIME", value_parser = humantime::parse_duration)]
    pub min_wait: Option<Duration>,
}

/// What the table, CSV or JSON at the end consists of.
#[derive(Debug, Args)]
#[command(next_help_heading = "Rows and columns")]
pub struct RowArgs {
    /// What rows of the table are told apart by; up to four keys, such as comm,caller [default: caller;
    /// stack with --format folded and flamegraph]
    #[arg(long, value_parser = by(), value_delimiter = ',', value_name = "KEY,..")]
    pub by: Vec<By>,
    /// Rows by thread, as --by task
    #[arg(short = 't', long, conflicts_with_all = ["by", "lock_addr"])]
    pub threads: bool,
    /// Rows by lock, as --by lock
    #[arg(short = 'l', long, conflicts_with = "by")]
    pub lock_addr: bool,
    /// Rows by the thread that made others wait, as --by owner
    #[arg(short = 'o', long, conflicts_with_all = ["by", "lock_addr"])]
    pub lock_owner: bool,
    /// Rows by cgroup, as --by cgroup
    #[arg(long, conflicts_with_all = ["by", "threads", "lock_addr", "lock_owner"])]
    pub lock_cgroup: bool,
    /// Columns of the table in this order, such as contended,p99; that of -k is added
    #[arg(short = 'F', long, value_name = "FIELD,..", value_delimiter = ',', value_parser = column(),
          default_values = DEFAULT_FIELDS, hide_possible_values = true)]
    pub field: Vec<&'static Column>,
    /// Sort the rows by this column, largest first
    #[arg(short, long, value_parser = number_column(), default_value = "wait_total")]
    pub key: &'static Column,
    /// Print at most N rows; 0 prints none (the footer still covers all)
    #[arg(short = 'E', long, value_name = "N")]
    pub entries: Option<usize>,
    /// Draw under each row of the table how its waits are spread
    #[arg(long)]
    pub hist: bool,
    /// Of a stack, keep the caller's frame and at most N in all
    #[arg(long, value_name = "N", conflicts_with = "no_stack")]
    pub max_stack: Option<NonZeroUsize>,
    /// Rows that are kept apart; waits beyond go to overflow rows
    #[arg(short = 'M', long, value_name = "N", default_value_t = 16384)]
    pub map_nr_entries: usize,
}

/// What is printed, where and how.
#[derive(Debug, Args)]
#[command(next_help_heading = "Output")]
pub struct OutputArgs {
    /// How finished waits are streamed [default: text; none with -x, and each --format but table]
    #[arg(long, value_enum, default_missing_value = "text", num_args = 0..=1, value_name = "FORMAT")]
    pub stream: Option<StreamFormat>,
    /// Memory for lines of the stream that wait for their reader; what finds no room is dropped, and counted
    #[arg(long, value_name = "SIZE", default_value = "128M", value_parser = parse_size)]
    pub stream_buffer: u64,
    /// Stream every event, not the finished waits: one line each as in trace_pipe, with the right name
    #[arg(short = 'D', long, alias = "dump-raw-trace")]
    pub raw: bool,
    /// A further event to stream, such as sched:sched_switch (with --raw; can be repeated)
    #[arg(short, long, value_name = "SYSTEM:EVENT", requires = "raw")]
    pub event: Vec<String>,
    /// How the report at the end looks [default: table]
    #[arg(long, value_enum, value_name = "FORMAT", conflicts_with = "field_separator")]
    pub format: Option<ReportFormat>,
    /// The report as perf's CSV with this separator (docs/report.md)
    #[arg(short = 'x', long, value_name = "SEP")]
    pub field_separator: Option<String>,
    /// Colours in the table; auto: on a terminal, unless NO_COLOR is set
    #[arg(long, value_enum, value_name = "WHEN", default_value_t = Color::Auto)]
    pub color: Color,
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

/// What waits consist of: what is recorded of them, or looked for in a recording.
#[derive(Debug, Args)]
#[command(next_help_heading = "Tracing")]
pub struct TraceArgs {
    /// Split each wait into spinning, blocked, runnable (woken, without a CPU) and preempted, and find out
    /// who had the lock. Columns spin, blocked, runnable, preempted. Costs hackbench, which does little
    /// else than sleep and wake, 2 to 4 % of CPU time beside what locks cost
    #[arg(long)]
    pub sched: bool,
    /// Record where holders let locks go: column holder_caller. Implies to look for holders. A stack for
    /// each waking costs hackbench some 5 % more
    #[arg(long, conflicts_with = "no_stack")]
    pub holder_stack: bool,
    /// Also trace waits for locks of user space (futexes), and who ended them: in tables of their own,
    /// with idle waiting apart. Costs hackbench some 4 to 8 % of CPU time, nearly all of it for wakings
    #[arg(long)]
    pub futex: bool,
    /// Also every sleep of a task, by what it sleeps for: page fault, disk read, pipe, .. in a table of its
    /// own; idle waiting, such as timers and poll, in another. Costs hackbench, which does little else
    /// than sleep, 3 to 5 % of CPU time beside what locks cost
    #[arg(long)]
    pub sleep: bool,
    /// Do not record kernel stacks: cheaper, and no callers
    #[arg(long, conflicts_with_all = ["callstack_filter", "caller"])]
    pub no_stack: bool,
    /// Name functions and locks by this copy of /proc/kallsyms
    #[arg(long, value_name = "FILE")]
    pub kallsyms: Option<PathBuf>,
}

/// How the kernel is asked.
#[derive(Debug, Args)]
#[command(next_help_heading = "Tracing")]
pub struct KernelArgs {
    /// Name mmap_lock by the kernel's own events about it, which is certain, and not by a rule. Costs
    /// some 8 % of the time of tasks that do nothing but map and unmap memory, others next to nothing
    #[arg(long)]
    pub learn_mmap_lock: bool,
    /// Record stacks for a part of the time only, where they would take more than this of a CPU's time, such as
    /// 1%: the other waits are counted in full, in a row without a caller
    #[arg(long, value_name = "PERCENT", value_parser = parse_percent)]
    pub max_overhead: Option<f64>,
    /// Size of the kernel's ring for each CPU, such as 8M
    #[arg(short = 'm', long, value_name = "SIZE", default_value = "8M", value_parser = parse_size)]
    pub mmap_size: u64,
    /// The trace clock; one that counts nanoseconds
    #[arg(long, value_name = "CLOCK", default_value = "mono")]
    pub clock: String,
    /// How often the rings are read at least; more often while one is half full when it is read
    #[arg(long, value_name = "TIME", default_value = "50ms", value_parser = parse_tick)]
    pub tick: Duration,
    /// How the rings are read
    #[arg(long, value_enum, default_value_t = Reader::Read)]
    pub reader: Reader,
    /// Where tracefs is mounted, if not where mountinfo says
    #[arg(long, value_name = "DIR")]
    pub tracefs: Option<PathBuf>,
}
