//! Arguments become configuration: parsed, checked, with defaults filled in.

use std::collections::HashSet;
use std::ffi::OsString;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::event::Cpu;
use crate::pipeline::{Blocked, Bound, Extras, Format, Plan};
use crate::report::{By, Column, DEFAULT_FIELDS, MAX_KEYS, SLEEP_FIELDS, SPLIT_FIELDS};
use crate::trace_file::Version;
use crate::tracefs::{self, Clock, Config, parse_cpu_list};

use super::arg_values::{Color, Reader, ReportFormat};
use super::args::{DemoArgs, RecordArgs};
use super::common_args::{CommonArgs, KernelArgs, RowArgs};
use super::exit::Usage;
use super::formats::{Report, check_terminal, default_by, formats};
use super::save_args::SaveArgs;
use super::wanted::Wanted;

/// Whose waits.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Whose {
    /// Everybody's, until a signal.
    All,
    /// These processes', until all are gone.
    Processes(Vec<u32>),
    /// These threads', until all are gone.
    Threads(Vec<u32>),
    /// A command's and its descendants', until it ends.
    Command,
}

impl Whose {
    /// Whether a task that was there before the run is one of them.
    pub(super) fn has(&self, before: &Blocked) -> bool {
        match self {
            Whose::All => true,
            Whose::Processes(pids) => pids.contains(&before.tgid.0),
            Whose::Threads(tids) => tids.contains(&before.tid.0),
            Whose::Command => false,
        }
    }
}

/// All that `record` needs to know.
#[derive(Debug)]
pub(super) struct RecordConfig {
    pub(super) whose: Whose,
    pub(super) cpus: Option<HashSet<Cpu>>,
    pub(super) command: Vec<OsString>,
    pub(super) plan: Plan,
    pub(super) stream: Option<Format>,
    /// Room for what waits to be written.
    pub(super) stream_bytes: usize,
    pub(super) format: Report,
    pub(super) color: Color,
    pub(super) raw: bool,
    pub(super) by: Vec<By>,
    pub(super) columns: Vec<&'static Column>,
    /// Those of the tables of sleeps.
    pub(super) sleep_columns: Vec<&'static Column>,
    pub(super) sort_by: &'static Column,
    pub(super) hist: bool,
    pub(super) entries: Option<usize>,
    pub(super) wanted: Wanted,
    pub(super) min_wait_ns: u64,
    pub(super) max_stack: Option<NonZeroUsize>,
    pub(super) rows: usize,
    pub(super) tick: Duration,
    pub(super) kallsyms: Option<PathBuf>,
    pub(super) tracefs: Option<PathBuf>,
    pub(super) output: Option<PathBuf>,
    pub(super) strict: bool,
    pub(super) verbose: bool,
    pub(super) quiet: bool,
    pub(super) save: Option<SaveConfig>,
    /// What to say about the arguments themselves.
    pub(super) notes: Vec<&'static str>,
}

/// How a run is saved.
#[derive(Debug)]
pub(super) struct SaveConfig {
    pub(super) path: PathBuf,
    pub(super) version: Version,
    pub(super) bound: Bound,
    /// What surrounds a wait longer than this is all that is to be kept.
    pub(super) when_wait: Option<Duration>,
    /// Whether there is a report, or a stream, beside it.
    pub(super) reports: bool,
}

impl RecordConfig {
    /// What `record` was asked for.
    pub(super) fn of_record(args: &RecordArgs) -> Result<RecordConfig, Usage> {
        let cpus = cpus(args.cpu.as_deref())?;
        let whose = match args {
            _ if !args.pid.is_empty() => Whose::Processes(args.pid.clone()),
            _ if !args.tid.is_empty() => Whose::Threads(args.tid.clone()),
            // Tasks are narrower than the machine: perf lets them win too.
            _ if args.all_cpus => Whose::All,
            _ if !args.command.is_empty() => Whose::Command,
            _ => Whose::All,
        };
        args.perf.check()?;
        let save = save(&args.save, &args.kernel)?;
        let config = RecordConfig::new(whose, cpus, args.command.clone(), &args.common)?;
        let config = config.asking(&args.kernel)?;
        let stream = config.stream.filter(|_| save.as_ref().is_none_or(|save| save.reports));
        Ok(RecordConfig { stream, save, notes: args.perf.notes().collect(), ..config })
    }

    /// What `demo` was asked for: `command` is its workload.
    pub(super) fn of_demo(command: Vec<OsString>, args: &DemoArgs) -> Result<RecordConfig, Usage> {
        RecordConfig::new(Whose::Command, None, command, &args.common)?.asking(&args.kernel)
    }

    /// With the kernel asked so.
    fn asking(self, args: &KernelArgs) -> Result<RecordConfig, Usage> {
        Ok(RecordConfig {
            plan: plan(args, self.plan)?,
            tick: args.tick,
            tracefs: args.tracefs.clone(),
            ..self
        })
    }

    /// With the kernel asked in the usual way, or not at all.
    pub(super) fn new(
        whose: Whose,
        cpus: Option<HashSet<Cpu>>,
        command: Vec<OsString>,
        args: &CommonArgs,
    ) -> Result<RecordConfig, Usage> {
        let by = match args {
            _ if is_latency_stats(args) => by_stack_alone(args)?,
            _ if args.rows.lock_owner => vec![By::Owner],
            _ if args.rows.threads => vec![By::Task],
            _ if args.rows.lock_addr => vec![By::Lock],
            _ if args.rows.lock_cgroup => vec![By::Cgroup],
            _ if args.rows.by.is_empty() => vec![default_by(args.output.format)],
            _ => keys(&args.rows.by)?,
        };
        let (stream, format) = formats(&args.output)?;
        check_terminal(&format, args.output.output.as_deref())?;
        let wanted = Wanted::new(&args.filters)?;
        let min_wait = args.filters.min_wait.unwrap_or_default().as_nanos();
        Ok(RecordConfig {
            whose,
            cpus,
            command,
            plan: Plan {
                flags: wanted.flags().to_vec(),
                cgroups: by.contains(&By::Cgroup) || !wanted.cgroups().is_empty(),
                extras: extras(args, &by),
                instance: Config::default(),
                reader: tracefs::Reader::Read,
                stacks: !args.trace.no_stack,
                stack_limit: None,
                mmap_lock: false,
                further: further(&args.output.event)?,
            },
            stream,
            stream_bytes: usize::try_from(args.output.stream_buffer).unwrap_or(usize::MAX),
            format,
            color: args.output.color,
            raw: args.output.raw,
            by,
            columns: columns(args, &SPLIT_FIELDS, args.trace.sched),
            sleep_columns: columns(args, &SLEEP_FIELDS, true),
            sort_by: args.rows.key,
            hist: args.rows.hist,
            entries: args.rows.entries,
            wanted,
            min_wait_ns: u64::try_from(min_wait).unwrap_or(u64::MAX),
            max_stack: args.rows.max_stack,
            rows: args.rows.map_nr_entries,
            tick: Duration::ZERO,
            kallsyms: args.trace.kallsyms.clone(),
            tracefs: None,
            output: args.output.output.clone(),
            strict: args.output.strict,
            verbose: args.output.verbose,
            quiet: args.output.quiet,
            save: None,
            notes: Vec::new(),
        })
    }
}

/// CPUs as typed.
pub(super) fn cpus(list: Option<&str>) -> Result<Option<HashSet<Cpu>>, Usage> {
    let cpus = list.map(parse_cpu_list).transpose();
    let cpus = cpus.map_err(|error| Usage(format!("-C: {error}")))?;
    Ok(cpus.map(|cpus| cpus.into_iter().map(Cpu).collect()))
}

fn plan(args: &KernelArgs, plan: Plan) -> Result<Plan, Usage> {
    let clock = Clock::from_name(&args.clock).ok_or_else(|| {
        let known = Clock::ALL.map(Clock::name).join(", ");
        Usage(format!("--clock {}: no such clock; there are {known}", args.clock))
    })?;
    if !clock.is_nanoseconds() {
        let what = "its ticks have no known length, so waits would have no time";
        return Err(Usage(format!("--clock {clock}: {what}", clock = clock.name())));
    }
    if args.mmap_size == 0 {
        return Err(Usage("-m 0: a ring needs room for an event".to_owned()));
    }
    if args.max_overhead.is_some() && !plan.stacks {
        return Err(Usage("--max-overhead and --no-stack: stacks are what it limits".to_owned()));
    }
    Ok(Plan {
        stack_limit: args.max_overhead.map(|percent| percent / 100.0),
        instance: Config {
            clock,
            buffer_size_kb: args.mmap_size.div_ceil(1024),
            ..Config::default()
        },
        reader: match args.reader {
            Reader::Read => tracefs::Reader::Read,
            Reader::Mmap => tracefs::Reader::Mapped,
        },
        mmap_lock: args.learn_mmap_lock,
        ..plan
    })
}

fn further(events: &[String]) -> Result<Vec<(String, String)>, Usage> {
    let further = events.iter().map(|event| {
        let parts =
            event.split_once(':').map(|(system, name)| (system.to_owned(), name.to_owned()));
        parts.ok_or_else(|| Usage(format!("-e {event}: an event is named SYSTEM:EVENT")))
    });
    further.collect()
}

fn save(args: &SaveArgs, kernel: &KernelArgs) -> Result<Option<SaveConfig>, Usage> {
    let Some(path) = args.save.clone() else { return Ok(None) };
    if kernel.reader == Reader::Mmap {
        let why = "a mapped ring gives parts of sub-buffers, a file has whole ones";
        return Err(Usage(format!("--save and --reader mmap: {why}")));
    }
    let SaveArgs { file_version, max_size, ring, when_wait, no_report, .. } = *args;
    if no_report && kernel.max_overhead.is_some() {
        let why = "what stacks cost is seen in what is decoded";
        return Err(Usage(format!("--max-overhead and --no-report: {why}")));
    }
    let first = max_size.map_or(Bound::None, Bound::First);
    let (version, bound) = (file_version.version(), ring.map_or(first, Bound::Last));
    Ok(Some(SaveConfig { path, version, bound, when_wait, reports: !no_report }))
}

/// What has to be traced for what is asked.
fn extras(args: &CommonArgs, by: &[By]) -> Extras {
    let is_asked = |wanted: &dyn Fn(&Column) -> bool| {
        args.rows.field.iter().chain([&args.rows.key]).any(|&column| wanted(column))
    };
    let split = args.trace.sched || is_asked(&|column| SPLIT_FIELDS.contains(&column.id));
    let holder_stacks = args.trace.holder_stack || is_asked(&|column| column.id == "holder_caller");
    let futexes = args.trace.futex;
    let holders = split
        || holder_stacks
        || futexes
        || by.iter().any(|by| matches!(by, By::Owner | By::Chain))
        || is_asked(&|column| column.id == "holder");
    let sleeps = args.trace.sleep || is_latency_stats(args);
    Extras { split, holders, holder_stacks, futexes, sleeps }
}

fn is_latency_stats(args: &CommonArgs) -> bool {
    args.output.format == Some(ReportFormat::LatencyStats)
}

/// Its lines are stacks.
fn by_stack_alone(args: &CommonArgs) -> Result<Vec<By>, Usage> {
    let RowArgs { by, threads, lock_addr, lock_owner, lock_cgroup, .. } = &args.rows;
    let other = *threads || *lock_addr || *lock_owner || *lock_cgroup;
    let other = other || !by.is_empty() && *by != [By::Stack];
    match other || args.trace.no_stack {
        true => {
            Err(Usage("--format latency_stats: its lines are stacks, and nothing else".to_owned()))
        }
        false => Ok(vec![By::Stack]),
    }
}

/// Each column once, that of the order among them, as perf has it. What is traced beside locks adds
/// columns of its own, unless they were chosen.
fn columns(args: &CommonArgs, own: &[&str], is_traced: bool) -> Vec<&'static Column> {
    let chosen = args.rows.field.iter().map(|column| column.id).ne(DEFAULT_FIELDS);
    let own = own.iter().filter(|_| is_traced && !chosen);
    let split: Vec<_> = own.filter_map(|id| Column::find(id)).collect();
    let mut columns: Vec<&'static Column> = Vec::new();
    for &column in args.rows.field.iter().chain(&split).chain([&args.rows.key]) {
        if !columns.iter().any(|known| known.id == column.id) {
            columns.push(column);
        }
    }
    columns
}

fn keys(keys: &[By]) -> Result<Vec<By>, Usage> {
    let twice =
        keys.iter().enumerate().any(|(place, key)| keys.iter().take(place).any(|k| k == key));
    match keys.len() {
        _ if twice => Err(Usage("--by: each key once".to_owned())),
        1..=MAX_KEYS => Ok(keys.to_vec()),
        count => Err(Usage(format!("--by: {count} keys, of at most {MAX_KEYS}"))),
    }
}

#[cfg(test)]
mod tests {
    use super::super::args::{Cli, Command};
    use super::RecordConfig;
    use crate::report::By;
    use clap::Parser;

    fn columns(arguments: &[&str]) -> Result<Vec<&'static str>, String> {
        let cli = Cli::try_parse_from([&["ftlock", "record"], arguments].concat());
        match cli.map_err(|error| error.to_string())?.command {
            Command::Record(args) => {
                let config = RecordConfig::of_record(&args).map_err(|error| error.to_string())?;
                Ok(config.columns.iter().map(|column| column.id).collect())
            }
            other => Err(format!("{other:?}")),
        }
    }

    #[test]
    fn columns_are_those_asked_for_and_that_of_the_order() {
        let perfs = ["contended", "wait_total", "wait_max", "avg_wait"];
        let table: [(&[&str], &[&str]); 5] = [
            (&[], &perfs),
            (&["-k", "wait_max"], &perfs),
            (&["-F", "p99,contended,p99", "-k", "wait_min"], &["p99", "contended", "wait_min"]),
            (&["--field=share", "-k", "p50"], &["share", "p50"]),
            (&["-F", "wait_max"], &["wait_max", "wait_total"]),
        ];
        for (arguments, expected) in table {
            assert_eq!(columns(arguments).unwrap(), expected, "{arguments:?}");
        }
    }

    #[test]
    fn flame_graphs_are_made_of_stacks_unless_asked_otherwise() {
        let table = [
            ("", vec![By::Caller]),
            ("--format folded", vec![By::Stack]),
            ("--format folded --by comm,caller", vec![By::Comm, By::Caller]),
            ("--format folded -t", vec![By::Task]),
            ("--format csv", vec![By::Caller]),
        ];
        for (arguments, expected) in table {
            let words = ["ftlock", "record"].into_iter().chain(arguments.split_whitespace());
            let Command::Record(args) = Cli::parse_from(words).command else { panic!() };
            assert_eq!(RecordConfig::of_record(&args).unwrap().by, expected, "{arguments}");
        }
    }

    #[test]
    fn sleeps_are_traced_where_they_are_asked_for() {
        let of = |words: &[&str]| -> Result<(bool, Vec<By>), String> {
            let cli = Cli::try_parse_from([&["ftlock", "record"], words].concat());
            let Command::Record(args) = cli.map_err(|error| error.to_string())?.command else {
                return Err("no record".to_owned());
            };
            let config = RecordConfig::of_record(&args).map_err(|error| error.to_string())?;
            Ok((config.plan.extras.sleeps, config.by))
        };
        assert_eq!(of(&["-t"]), Ok((false, vec![By::Task])));
        assert_eq!(of(&["--sleep", "-t"]), Ok((true, vec![By::Task])));
        assert_eq!(of(&["--format", "latency_stats"]), Ok((true, vec![By::Stack])));
        assert_eq!(of(&["--format", "latency_stats", "--by=stack"]), Ok((true, vec![By::Stack])));
        for other in ["-t", "-l", "--by=comm", "--no-stack"] {
            let error = of(&["--format", "latency_stats", other]).unwrap_err();
            assert!(error.contains("its lines are stacks"), "{other}: {error}");
        }
    }

    #[test]
    fn an_unknown_column_is_refused_with_the_known_ones() {
        for arguments in [["-F", "wait_max,nope"], ["-F", ""], ["-k", "total wait"]] {
            let error = columns(&arguments).unwrap_err();
            assert!(error.contains("wait_total") && error.contains("share"), "{error}");
        }
    }
}
