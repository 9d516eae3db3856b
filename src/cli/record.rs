//! `ftlock record`: trace, stream, and print what it came to.

use std::fs::File;
use std::io::{self, IsTerminal};
use std::os::unix::ffi::OsStrExt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use anyhow::{Context, anyhow};

use crate::cmdline_cache::proc::PidNamespace;
use crate::output::{ReportInfo, RunInfo};
use crate::pipeline::{
    self, Asked, Ended, Engine, Live, NESTED, Session, Signals, SinceBefore, StackSampler, Watched,
    Workload, enter,
};
use crate::symbols::{Availability, Kallsyms};

use super::args::RecordArgs;
use super::config::{RecordConfig, Whose};
use super::exit::{self, Usage};
use super::exports::outputs;
use super::facts::Facts;
use super::meter::Meter;
use super::notes::Notes;
use super::outcome::{Outcome, conclude};
use super::replay;
use super::run::Run;
use super::save::{self, Started};
use super::saved_run::End;
use super::stages::{Traced, engine};

/// Runs `ftlock record`.
pub(super) fn run(args: &RecordArgs) -> anyhow::Result<u8> {
    match &args.replay {
        Some(file) => replay::run(args, file),
        None => record(&RecordConfig::of_record(args)?),
    }
}

/// Records as configured; returns the exit status.
pub(super) fn record(config: &RecordConfig) -> anyhow::Result<u8> {
    let signals = Signals::take_over().context("cannot handle signals")?;
    let mut notes = Notes::new(config.quiet, talks_on_terminal(config));
    for note in &config.notes {
        notes.say(note);
    }
    let watched = watched(config)?;
    let symbols = Arc::new(kernel_symbols(config, &mut notes)?);
    let facts = Facts::new(config)?;
    let filters = facts.filters(config, &symbols)?;
    let mut file = report_file(config)?;
    let Session { mut live, layout, decoder, own, tasks, namespace, frame_ns } =
        start(config, &mut notes)?;
    check_cpus(config, &live)?;
    let traced = Traced { layout, decoder, own, namespace, is_live: true, hearsay: Vec::new() };
    let mut engine = engine(config, traced, live.cpus(), &symbols, filters, &facts);
    if config.save.is_some() {
        engine.keep_news();
    }
    engine.seed(tasks.iter().copied());
    let mut engine = Some(engine);
    if let Some(save) = &config.save {
        let started = Started { live: &mut live, tasks: &tasks, own, namespace, layout };
        let saver = save::create(config, save, started, engine.as_mut(), &facts)?;
        live.save_to(saver);
        engine.take_if(|_| !save.reports);
    }
    drop(tasks);
    live.wake_on(signals.wake())?;
    live.wake_when_unread(&io::stdout());
    live.trace_locks(&config.plan)?;
    let sampler = sampler(config, &mut live, frame_ns)?;
    let blocked = blocked_before(&config.whose);
    let start_ns = live.now_ns().ok();
    let meter = Meter::start();
    save::tell_start(&mut live, start_ns.unwrap_or(0), meter.date);
    let workload = config.command.split_first();
    let workload = workload.map(|(program, arguments)| Workload::start(program, arguments));
    let workload = workload.transpose()?;
    let release = rustix::system::uname().release().to_string_lossy().into_owned();
    let command: Vec<&[u8]> = config.command.iter().map(|word| word.as_bytes()).collect();
    let info = RunInfo {
        clock: config.plan.instance.clock.name(),
        kernel: &release,
        cpus: live.cpus().count(),
        command: &command,
    };
    let host = rustix::system::uname().nodename().to_string_lossy().into_owned();
    let (host, date) = (Some(&*host), Some(meter.date));
    let info = ReportInfo { run: info, host, date, start_ns, end_ns: None };
    let mut outputs = outputs(config, &symbols, &facts, &info, &mut file)?;
    let mut run = Run {
        config,
        signals,
        workload,
        watched,
        signalled: None,
        namespace,
        when_wait: config.save.as_ref().and_then(|save| save.when_wait),
        gaps: 0,
        forgot: Instant::now(),
        notes,
        meter,
        symbols: &symbols,
        blocked,
        blocked_told: false,
        sampler,
    };
    let traced = catch_unwind(AssertUnwindSafe(|| run.trace(&mut live, &mut engine, &mut outputs)));
    let traced = traced.unwrap_or_else(|_| Err(anyhow!("internal error, as told above")));
    run.notes.clear();
    let (duration, end_ns) = (run.meter.elapsed(), live.now_ns().ok());
    let sampled = run.sampler.take().map(StackSampler::end).transpose();
    save::tell_last_tasks(&mut live, namespace);
    let ended = match &traced {
        Ok(_) => live.stop(engine.as_mut(), &mut outputs).map(Some).map_err(anyhow::Error::from),
        // Whatever failed may fail again: remove the instance, keep what was seen.
        Err(_) => Ok(None),
    };
    save::tell_news(&mut live, engine.as_mut());
    let blocked = run.blocked.look_again();
    save::tell_blocked(&mut live, blocked);
    let saver = live.take_saver();
    let removed = live.remove().map_err(anyhow::Error::from);
    let ended = ended.and_then(|ended| removed.map(|()| ended));
    run.signals.let_the_next_one_kill();
    let own_cpu_ns = run.meter.cpu_ns();
    let (sampling, ended) = match sampled {
        Ok(sampling) => (sampling, ended),
        Err(error) => (None, Err(error.into())),
    };
    let end = End {
        at_ns: end_ns,
        known_up_to_ns: engine.as_ref().map_or(0, Engine::known_up_to_ns),
        duration_ns: u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX),
        own_cpu_ns,
        is_all_saved: true,
        disturbances: disturbances(ended.as_ref().ok().and_then(Option::as_ref)),
        fill: ended
            .as_ref()
            .ok()
            .and_then(Option::as_ref)
            .map(|ended| ended.fill)
            .unwrap_or_default(),
        sampling,
        given_up: engine.as_ref().map(save::given_up).unwrap_or_default(),
    };
    let saved = config.save.as_ref().zip(saver);
    let not_saved = saved.and_then(|(to, saver)| save::finish(to, saver, end, &mut run.notes));
    let Some(engine) = engine else {
        let status = save::conclude(config, traced, ended, &mut run.notes);
        return Ok(not_saved.map_or(status, |error| exit::tell(&error)));
    };
    let status = conclude(Outcome {
        config,
        info: ReportInfo { end_ns, ..info },
        traced,
        ended,
        outputs,
        file,
        symbols: &symbols,
        texts: facts.texts(),
        duration,
        own_cpu_ns: Some(own_cpu_ns),
        blocked,
        sampling,
        results: engine.finish(),
    })?;
    Ok(not_saved.map_or(status, |error| exit::tell(&error)))
}

fn disturbances(ended: Option<&Ended>) -> Vec<String> {
    ended.iter().flat_map(|ended| &ended.disturbances).map(ToString::to_string).collect()
}

/// What keeps the cost of stacks below the limit, if there is one.
fn sampler(
    config: &RecordConfig,
    live: &mut Live,
    frame_ns: Option<f64>,
) -> anyhow::Result<Option<StackSampler>> {
    let Some((limit, frame_ns)) = config.plan.stack_limit.zip(frame_ns) else {
        return Ok(None);
    };
    let sampler = StackSampler::start(live.instance().stack_switches(), frame_ns, limit);
    sampler.map(Some).context("cannot start the thread that samples stacks")
}

/// The tasks that are blocked already, of those that were asked for. Of a command that has not started
/// none is, so /proc need not be walked.
fn blocked_before(whose: &Whose) -> SinceBefore {
    match whose {
        Whose::Command => SinceBefore::default(),
        _ => SinceBefore::look(|blocked| whose.has(blocked)),
    }
}

/// Whether something else writes to the terminal while we trace: the stream shows by itself that
/// the run lives, and a command's lines would run into ours.
fn talks_on_terminal(config: &RecordConfig) -> bool {
    let streams = config.stream.is_some() && io::stdout().is_terminal();
    streams || !config.command.is_empty()
}

fn watched(config: &RecordConfig) -> anyhow::Result<Vec<Watched>> {
    let (numbers, asked) = match &config.whose {
        Whose::Processes(pids) => (pids, Asked::Process),
        Whose::Threads(tids) => (tids, Asked::Thread),
        Whose::All | Whose::Command => return Ok(Vec::new()),
    };
    Ok(numbers.iter().map(|&number| Watched::find(number, asked)).collect::<Result<_, _>>()?)
}

/// Waits on a CPU that is not there would never come.
fn check_cpus(config: &RecordConfig, live: &Live) -> Result<(), Usage> {
    let asked = config.cpus.iter().flatten();
    let absent = asked.filter(|asked| !live.cpus().any(|cpu| cpu == **asked)).min();
    match absent {
        Some(cpu) => Err(Usage(format!("-C {}: this machine has no such CPU", cpu.0))),
        None => Ok(()),
    }
}

/// Callers and locks are shown by address where the kernel's symbols cannot be had; a list that
/// was asked for must be there.
fn kernel_symbols(config: &RecordConfig, notes: &mut Notes) -> anyhow::Result<Kallsyms> {
    let read = match &config.kallsyms {
        Some(path) => Ok(Kallsyms::read(path)?),
        None => Kallsyms::read(Path::new("/proc/kallsyms")),
    };
    let symbols = match read {
        Ok(symbols) => symbols,
        Err(error) => {
            notes.say(format!("{error}: addresses are shown instead"));
            return Ok(Kallsyms::parse(b""));
        }
    };
    let availability = symbols.availability();
    // That locks lack symbols is common, and rules name most of them.
    let is_told = availability != Availability::TextOnly || config.verbose;
    if let Some(note) = availability.note().filter(|_| is_told) {
        let hint = availability.hint().map(|hint| format!("; hint: {hint}")).unwrap_or_default();
        notes.say(format!("{note}{hint}"));
    }
    Ok(symbols)
}

/// Opened before anything is traced: a report without a place to go would be lost.
pub(super) fn report_file(config: &RecordConfig) -> anyhow::Result<Option<File>> {
    let Some(path) = &config.output else { return Ok(None) };
    File::create(path).map(Some).with_context(|| format!("cannot create {}", path.display()))
}

fn start(config: &RecordConfig, notes: &mut Notes) -> Result<Session, pipeline::Error> {
    let (tracefs, leftovers) = enter(config.tracefs.as_deref())?;
    if tracefs.mounted_here() {
        notes.say(format!("mounted tracefs at {}", tracefs.root().display()));
    }
    for name in leftovers.removed {
        notes.say(format!("removed {name}, left behind by a run that died"));
    }
    for left in leftovers.stuck {
        notes.say(format!("cannot remove {}, left behind: {}", left.name, left.source));
    }
    let by_number = matches!(config.whose, Whose::Processes(_) | Whose::Threads(_));
    let session = Session::start(&tracefs, &config.plan)?;
    match session.namespace {
        PidNamespace::Initial => Ok(session),
        PidNamespace::Nested if by_number => Err(pipeline::Error::Nested),
        PidNamespace::Nested => {
            notes.say(format!("the pid namespace is {NESTED}"));
            Ok(session)
        }
    }
}
