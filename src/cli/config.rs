//! Arguments become configuration: parsed, checked, with defaults filled in.

use std::collections::HashSet;
use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use crate::event::Cpu;
use crate::pipeline::{Format, Plan};
use crate::report::{self, Column, MAX_KEYS};
use crate::tracefs::{self, Clock, Config, parse_cpu_list};

use super::args::{By, CommonArgs, Reader, RecordArgs, SortKey, StreamFormat};
use super::exit::Usage;
use super::wanted::Wanted;

/// Whose waits.
#[derive(Debug, Clone, PartialEq, Eq)]
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

/// All that `record` needs to know.
#[derive(Debug)]
pub(super) struct RecordConfig {
    pub(super) whose: Whose,
    pub(super) cpus: Option<HashSet<Cpu>>,
    pub(super) command: Vec<OsString>,
    pub(super) plan: Plan,
    pub(super) stream: Option<Format>,
    pub(super) raw: bool,
    pub(super) by: Vec<report::By>,
    pub(super) sort_by: &'static Column,
    pub(super) entries: Option<usize>,
    pub(super) wanted: Wanted,
    pub(super) min_wait_ns: u64,
    pub(super) rows: usize,
    pub(super) tick: Duration,
    pub(super) tracefs: Option<PathBuf>,
    pub(super) strict: bool,
    pub(super) verbose: bool,
    pub(super) quiet: bool,
}

impl RecordConfig {
    /// What `record` was asked for.
    pub(super) fn of_record(args: &RecordArgs) -> Result<RecordConfig, Usage> {
        let cpus = args.cpu.as_deref().map(parse_cpu_list).transpose();
        let cpus = cpus.map_err(|error| Usage(format!("-C: {error}")))?;
        let whose = match args {
            _ if args.all_cpus => Whose::All,
            _ if !args.pid.is_empty() => Whose::Processes(args.pid.clone()),
            _ if !args.tid.is_empty() => Whose::Threads(args.tid.clone()),
            _ if !args.command.is_empty() => Whose::Command,
            _ => Whose::All,
        };
        let cpus = cpus.map(|cpus| cpus.into_iter().map(Cpu).collect());
        RecordConfig::new(whose, cpus, args.command.clone(), &args.common)
    }

    /// What `demo` was asked for: `command` is its workload.
    pub(super) fn of_demo(
        command: Vec<OsString>,
        args: &CommonArgs,
    ) -> Result<RecordConfig, Usage> {
        RecordConfig::new(Whose::Command, None, command, args)
    }

    fn new(
        whose: Whose,
        cpus: Option<HashSet<Cpu>>,
        command: Vec<OsString>,
        args: &CommonArgs,
    ) -> Result<RecordConfig, Usage> {
        let by = match args {
            _ if args.threads => vec![report::By::Task],
            _ if args.lock_addr => vec![report::By::Lock],
            _ if args.lock_cgroup => vec![report::By::Cgroup],
            _ => keys(&args.by)?,
        };
        let wanted = Wanted::new(args)?;
        let min_wait = args.min_wait.unwrap_or_default().as_nanos();
        Ok(RecordConfig {
            whose,
            cpus,
            command,
            plan: Plan {
                flags: wanted.flags().to_vec(),
                cgroups: by.contains(&report::By::Cgroup) || !wanted.cgroups().is_empty(),
                ..plan(args)?
            },
            stream: match args.stream {
                StreamFormat::Text => Some(Format::Text),
                StreamFormat::Json => Some(Format::Json),
                StreamFormat::None => None,
            },
            raw: args.raw,
            by,
            sort_by: column(args.key)?,
            entries: args.entries,
            wanted,
            min_wait_ns: u64::try_from(min_wait).unwrap_or(u64::MAX),
            rows: args.map_nr_entries,
            tick: args.tick,
            tracefs: args.tracefs.clone(),
            strict: args.strict,
            verbose: args.verbose,
            quiet: args.quiet,
        })
    }
}

fn plan(args: &CommonArgs) -> Result<Plan, Usage> {
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
    let further = args.event.iter().map(|event| {
        let parts =
            event.split_once(':').map(|(system, name)| (system.to_owned(), name.to_owned()));
        parts.ok_or_else(|| Usage(format!("-e {event}: an event is named SYSTEM:EVENT")))
    });
    Ok(Plan {
        instance: Config {
            clock,
            buffer_size_kb: args.mmap_size.div_ceil(1024),
            ..Config::default()
        },
        reader: match args.reader {
            Reader::Read => tracefs::Reader::Read,
            Reader::Mmap => tracefs::Reader::Mapped,
        },
        stacks: !args.no_stack,
        cgroups: false,
        flags: Vec::new(),
        further: further.collect::<Result<_, _>>()?,
    })
}

fn column(key: SortKey) -> Result<&'static Column, Usage> {
    let id = match key {
        SortKey::Contended => "contended",
        SortKey::WaitTotal => "wait_total",
        SortKey::WaitMax => "wait_max",
        SortKey::WaitMin => "wait_min",
        SortKey::AvgWait => "avg_wait",
    };
    Column::find(id).ok_or_else(|| Usage(format!("-k {id}: no such column")))
}

fn keys(asked: &[By]) -> Result<Vec<report::By>, Usage> {
    let keys: Vec<report::By> = asked
        .iter()
        .map(|by| match by {
            By::Caller => report::By::Caller,
            By::Stack => report::By::Stack,
            By::Lock => report::By::Lock,
            By::Task => report::By::Task,
            By::Process => report::By::Process,
            By::Comm => report::By::Comm,
            By::Cgroup => report::By::Cgroup,
            By::Type => report::By::Type,
            By::Cpu => report::By::Cpu,
            By::Context => report::By::Context,
        })
        .collect();
    let twice =
        keys.iter().enumerate().any(|(place, key)| keys.iter().take(place).any(|k| k == key));
    match keys.len() {
        _ if twice => Err(Usage("--by: each key once".to_owned())),
        1..=MAX_KEYS => Ok(keys),
        count => Err(Usage(format!("--by: {count} keys, of at most {MAX_KEYS}"))),
    }
}
