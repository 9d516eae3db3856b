//! `ftlock report`: the stages of `record` over a saved trace.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use crate::cmdline_cache::Hierarchy;
use crate::event::{Cpu, LockFlags};
use crate::output::{ReportInfo, RunInfo};
use crate::pipeline::{Blocked, Ended, Engine, Extras, Offline, Outputs, Results, Tiding};

use super::args::ReportArgs;
use super::common_args::{CommonArgs, TargetArgs};
use super::config::{RecordConfig, Whose, cpus};
use super::exit::{self, FAILED, Lacking, Usage};
use super::exports::outputs;
use super::facts::Facts;
use super::notes::Notes;
use super::outcome::{Outcome, conclude};
use super::record::report_file;
use super::recording::Recording;
use super::run::Ending;
use super::saved_run::{End, SavedRun};
use super::stages::engine;

/// Runs `ftlock report`.
pub(super) fn run(args: &ReportArgs) -> anyhow::Result<u8> {
    let path = args.input.as_ref().unwrap_or(&args.file);
    let recording = Recording::open(path, args.buffer.as_deref())?;
    let common = &args.common;
    let config = configure(View { targets: &args.targets, common }, &recording)?;
    let streams = common.output.stream.is_some() || config.raw;
    let stream = config.stream.filter(|_| streams);
    let config = RecordConfig { stream, ..config };
    show(&config, &recording, read_all)
}

/// What is asked for of a recording.
#[derive(Clone, Copy)]
pub(super) struct View<'a> {
    pub(super) targets: &'a TargetArgs,
    pub(super) common: &'a CommonArgs,
}

/// What was asked for, and what the run was asked for that recorded it.
pub(super) fn configure(args: View<'_>, recording: &Recording) -> anyhow::Result<RecordConfig> {
    let View { targets, common } = args;
    let TargetArgs { all_cpus, pid, tid, cpu } = targets;
    let whose = match targets {
        _ if !pid.is_empty() => Some(Whose::Processes(pid.clone())),
        _ if !tid.is_empty() => Some(Whose::Threads(tid.clone())),
        _ if *all_cpus => Some(Whose::All),
        _ => None,
    };
    if common.trace.no_stack {
        return Err(Usage("--no-stack: what was recorded is in the file".to_owned()).into());
    }
    if !common.output.event.is_empty() {
        return Err(Usage("-e: --raw shows every event of the file".to_owned()).into());
    }
    let asked = whose.is_some() || cpu.is_some();
    let config =
        RecordConfig::new(whose.unwrap_or(Whose::All), cpus(cpu.as_deref())?, Vec::new(), common)?;
    let config = match &recording.saved {
        Some(saved) if !asked => with_targets(config, saved),
        _ => config,
    };
    Ok(of_recording(config, recording)?)
}

/// Whose waits the run was asked for.
fn with_targets(config: RecordConfig, saved: &SavedRun) -> RecordConfig {
    let cpus = saved.run.only_cpus.as_ref();
    let cpus = cpus.map(|cpus| cpus.iter().map(|&cpu| Cpu(cpu)).collect());
    RecordConfig { whose: saved.run.whose.clone(), cpus, ..config }
}

/// What the recording holds is as it is: refuses what it lacks.
pub(super) fn of_recording(
    mut config: RecordConfig,
    recording: &Recording,
) -> Result<RecordConfig, Lacking> {
    let asked = config.plan.extras;
    let saved = recording.saved.as_ref();
    let recorded = saved.map_or_else(|| extras_of(recording), |saved| saved.run.extras);
    let has_waits = recording.has_locks() || asked.futexes || asked.sleeps;
    if !has_waits && !config.raw {
        let what = "the file has no lock:contention_begin, and so no waits; --raw shows its events";
        let hint = "trace-cmd record -e lock -e task -e sched, or ftlock record --save";
        return Err(Lacking { what: what.to_owned(), hint: hint.to_owned() });
    }
    let not_recorded = |what: &str, option: &str| Lacking {
        what: format!("{what} was not recorded"),
        hint: recording.how_to_record(option),
    };
    if let Some((what, option)) = lacking(asked, recorded) {
        return Err(not_recorded(what, option));
    }
    if config.plan.cgroups && saved.is_none_or(|saved| saved.run.cgroups.is_none()) {
        return Err(not_recorded("in which cgroups tasks were", "--by cgroup"));
    }
    if config.wanted.cmdline().is_some() && saved.is_none_or(|saved| !saved.run.cmdlines) {
        return Err(not_recorded("the processes' command lines", "--cmdline ''"));
    }
    if let Some(saved) = saved {
        config.plan.extras = saved.run.extras;
        config.plan.flags = saved.run.flags.iter().map(|&flags| LockFlags(flags)).collect();
        config.plan.stacks = saved.run.stacks;
    } else {
        config.plan.flags = Vec::new();
        config.plan.stacks = false;
    }
    Ok(config)
}

/// What can be in a recording of somebody else.
fn extras_of(recording: &Recording) -> Extras {
    let (switch, waking) = (recording.has("sched_switch"), recording.has("sched_waking"));
    Extras {
        split: switch && waking,
        holders: waking,
        holder_stacks: waking,
        futexes: waking && recording.has("sys_enter_futex") && recording.has("sys_exit_futex"),
        sleeps: switch && waking,
    }
}

/// The first thing that is asked for and not there, and how to record it.
fn lacking(asked: Extras, recorded: Extras) -> Option<(&'static str, &'static str)> {
    let things = [
        (asked.split, recorded.split, ("where the time of waits went", "--sched")),
        (
            asked.holder_stacks,
            recorded.holder_stacks,
            ("where holders let locks go", "--holder-stack"),
        ),
        (asked.holders, recorded.holders, ("who had the locks", "--sched")),
        (asked.futexes, recorded.futexes, ("waiting for user space's locks", "--futex")),
        (asked.sleeps, recorded.sleeps, ("sleeping", "--sleep")),
    ];
    things.into_iter().find(|(asked, recorded, _)| *asked && !recorded).map(|(.., what)| what)
}

/// What is being read, and what comes of it.
pub(super) struct Reading<'a, 's> {
    pub(super) offline: Offline,
    pub(super) engine: Engine,
    pub(super) outputs: Outputs<'s>,
    pub(super) notes: &'a mut Notes,
}

/// Reads the recording by `read`, and prints what it came to; returns the exit status.
pub(super) fn show(
    config: &RecordConfig,
    recording: &Recording,
    read: impl FnOnce(&mut Reading<'_, '_>) -> anyhow::Result<Ending>,
) -> anyhow::Result<u8> {
    match process(config, recording, read, conclude)? {
        (exit::DONE, Extent::Part) => Ok(FAILED),
        (status, _) => Ok(status),
    }
}

/// How much of a recording could be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Extent {
    /// All of it.
    Whole,
    /// Not all of it, which has been said.
    Part,
}

/// Reads the recording by `read`, and hands to `finish` what it came to.
pub(super) fn process<T>(
    config: &RecordConfig,
    recording: &Recording,
    read: impl FnOnce(&mut Reading<'_, '_>) -> anyhow::Result<Ending>,
    finish: impl FnOnce(Outcome<'_>) -> anyhow::Result<T>,
) -> anyhow::Result<(T, Extent)> {
    let mut notes = Notes::new(config.quiet, config.stream.is_some());
    recording.tell_lacks(&mut notes);
    let saved = recording.saved.as_ref();
    let symbols = recording.symbols(config, &mut notes)?;
    let hierarchy = saved.and_then(|saved| saved.run.cgroups).filter(|_| config.plan.cgroups);
    let hierarchy = hierarchy.map(|it| Hierarchy::of_recording(it.id, it.is_nested));
    let facts = Facts::of_recording(config, hierarchy);
    let filters = facts.filters(config, &symbols)?;
    let mut file = report_file(config)?;
    let offline = recording.offline()?;
    let traced = recording.traced(&mut notes)?;
    let cpus = offline.cpus().into_iter();
    let mut engine = engine(config, traced, cpus, &symbols, filters, &facts);
    if let Some(saved) = saved {
        engine.seed(saved.tasks.iter().copied());
        engine.tell(saved.looks.iter().cloned());
        // Those at the end, whose names hold for what was kept.
        let mut seeded = saved.tidings.iter().rev().filter(|_| saved.forgot);
        let last = seeded.find_map(|tiding| match tiding {
            Tiding::Tasks { tasks, .. } => Some(tasks),
            _ => None,
        });
        engine.seed(last.into_iter().flatten().copied());
    }
    let command = recording.command();
    let info = RunInfo {
        clock: recording.clock()?,
        kernel: recording.kernel(),
        cpus: recording.cpus(),
        command: &command,
    };
    let start = recording.start();
    let end = saved.and_then(|saved| saved.end.as_ref());
    let info = ReportInfo {
        run: info,
        host: recording.host(),
        date: start.map(|start| date(start.date_ns)),
        start_ns: start.map(|start| start.at_ns),
        end_ns: end.and_then(|end| end.at_ns),
    };
    let outputs = outputs(config, &symbols, &facts, &info, &mut file)?;
    let mut reading = Reading { offline, engine, outputs, notes: &mut notes };
    let ending = read(&mut reading);
    let Reading { offline, mut engine, outputs, .. } = reading;
    notes.clear();
    if let Some(end) = end {
        engine.tell_known_up_to(end.known_up_to_ns);
    }
    let mut results = with_given_up(engine.finish(), end);
    results.unread = offline.unread();
    let faults = offline.faults();
    let extent = if faults.is_empty() { Extent::Whole } else { Extent::Part };
    faults.iter().for_each(|fault| notes.say(fault));
    let stats = if extent == Extent::Whole { recording.stats() } else { Vec::new() };
    let fill = end.map(|end| end.fill).unwrap_or_default();
    let blocked = blocked_before(saved, &config.whose);
    let done = finish(Outcome {
        config,
        info,
        traced: ending,
        ended: Ok(Some(Ended { stats, fill, ..Ended::default() })),
        outputs,
        file,
        symbols: &symbols,
        texts: facts.texts(),
        duration: duration(saved, &offline, &results),
        own_cpu_ns: end.map(|end| end.own_cpu_ns),
        blocked: &blocked,
        sampling: end.and_then(|end| end.sampling),
        results,
    })?;
    Ok((done, extent))
}

/// What the run could not learn cannot be told by its file either.
fn with_given_up(mut results: Results, end: Option<&End>) -> Results {
    let given_up = end.map(|end| end.given_up).unwrap_or_default();
    results.facts.put_off += given_up.looks_put_off;
    results.user_names.unread += given_up.user_spaces_unread;
    results.user_names.dropped += given_up.user_names_dropped;
    results
}

/// The tasks that were blocked all the time, of those that are asked for.
fn blocked_before(saved: Option<&SavedRun>, whose: &Whose) -> Vec<Blocked> {
    let blocked = saved.map(|saved| saved.blocked.clone()).unwrap_or_default();
    blocked.into_iter().filter(|blocked| whose.has(blocked)).collect()
}

fn date(ns: u64) -> SystemTime {
    UNIX_EPOCH + Duration::from_nanos(ns)
}

/// How long was traced: as the recorder measured it, else up to the last event.
fn duration(saved: Option<&SavedRun>, offline: &Offline, results: &Results) -> Duration {
    let measured = saved.and_then(|saved| saved.end.as_ref()).map(|end| end.duration_ns);
    let start = saved.and_then(|saved| saved.start).map(|start| start.at_ns);
    let start = start.or(offline.first_ns()).unwrap_or(results.end_ns);
    Duration::from_nanos(measured.unwrap_or(results.end_ns.saturating_sub(start)))
}

/// Reads as fast as it goes.
pub(super) fn read_all(reading: &mut Reading<'_, '_>) -> anyhow::Result<Ending> {
    let Reading { offline, engine, outputs, notes } = reading;
    loop {
        offline.read(engine);
        let up_to_ns = offline.read_up_to_ns();
        offline.process(engine, up_to_ns, outputs);
        outputs.flush_and_wait();
        if let Some(kind) = outputs.failed() {
            return Ok(Ending::of_write(kind));
        }
        if up_to_ns == u64::MAX {
            return Ok(Ending::TargetsGone);
        }
        let waits = engine.waits();
        notes.status(|| format!("ftlock: {} % read, {waits} waits", offline.percent()));
    }
}
