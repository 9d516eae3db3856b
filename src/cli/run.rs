//! A run on its way: window after window, until something ends it.

use std::io;
use std::process::ExitStatus;
use std::time::{Duration, Instant};

use anyhow::Context;

use crate::cmdline_cache::proc::PidNamespace;
use crate::event::Head;
use crate::output::text;
use crate::pipeline::{
    Engine, Lasting, Live, Outputs, Saver, Signals, SinceBefore, Sink, StackSampler, Stream,
    Watched, Workload, futex_owner, status_code, stream_blocked, stream_open,
};
use crate::symbols::Kallsyms;

use super::config::RecordConfig;
use super::exit::{DONE, FAILED};
use super::meter::Meter;
use super::notes::Notes;
use super::save;
use super::trigger::Trigger;

/// Names are kept this long for events that come late.
const LATE_NS: u64 = 1_000_000_000;

/// How long a command gets to end by itself after the signal that ends us: on a terminal it got
/// the same one.
const BY_ITSELF: Duration = Duration::from_millis(100);

/// How long it gets after we have passed the signal on.
const AFTER_SIGNAL: Duration = Duration::from_secs(2);

/// A wait that takes longer than this is told of before it is over.
const LASTING_NS: u64 = 1_000_000_000;

/// How often rings are read at least where they are only saved: what a killed run lacks.
const SAVING: Duration = Duration::from_millis(500);

/// How often names that nothing needs are dropped.
const FORGET: Duration = Duration::from_secs(1);

/// Why a run ended.
#[derive(Debug)]
pub(super) enum Ending {
    /// A signal.
    Signal(i32),
    /// The traced command ended.
    Command(ExitStatus),
    /// Nobody who was asked for is left.
    TargetsGone,
    /// Nobody reads the stream any more.
    Unread,
    /// The stream cannot be written.
    StreamFailed,
    /// Saving was all there was to do, and ended.
    NothingSaved,
}

/// A run on its way.
pub(super) struct Run<'a> {
    pub(super) config: &'a RecordConfig,
    pub(super) signals: Signals,
    pub(super) workload: Option<Workload>,
    pub(super) watched: Vec<Watched>,
    /// A signal came while the command ran, and when we passed it on.
    pub(super) signalled: Option<(i32, Instant, bool)>,
    pub(super) namespace: PidNamespace,
    /// A wait longer than this is looked for.
    pub(super) when_wait: Option<Duration>,
    /// Gaps after which names have been looked up anew.
    pub(super) gaps: u64,
    pub(super) forgot: Instant,
    pub(super) notes: Notes,
    pub(super) meter: Meter,
    pub(super) symbols: &'a Kallsyms,
    /// Tasks that were blocked when the run began, and whether they have been told of.
    pub(super) blocked: SinceBefore,
    pub(super) blocked_told: bool,
    /// Where the cost of stacks is limited.
    pub(super) sampler: Option<StackSampler>,
}

impl Run<'_> {
    /// Window after window, until something ends it.
    pub(super) fn trace(
        &mut self,
        live: &mut Live,
        engine: &mut Option<Engine>,
        outputs: &mut Outputs<'_>,
    ) -> anyhow::Result<Ending> {
        let tick = match engine {
            Some(_) => self.config.tick,
            None => self.config.tick.max(SAVING),
        };
        loop {
            let unread = live.wait(tick)?;
            self.signals.drain();
            let than = self.when_wait;
            let mut sink = Trigger { outputs, than, found: None };
            live.pump(engine.as_mut(), &mut sink)?;
            if let Some(wait) = sink.found {
                self.found(live, wait);
            }
            if let (Some(sampler), Some(engine)) = (&mut self.sampler, &engine) {
                sampler.adapt(engine.frames());
            }
            save::tell_news(live, engine.as_mut());
            if let Some(engine) = engine {
                self.tell_lasting(live, engine, &mut outputs.stream);
            }
            // From a loss on until tasks are looked at anew.
            let in_doubt = |engine: &&Engine| {
                self.namespace == PidNamespace::Initial && engine.gaps() > self.gaps
            };
            if let Some(engine) = engine.as_ref().filter(in_doubt) {
                save::tell_window(live, engine.processed_ns());
            }
            outputs.flush();
            if let Some(kind) = outputs.failed() {
                return Ok(self.stop_command(Ending::of_write(kind)));
            }
            if unread && outputs.stream.is_some() {
                return Ok(self.stop_command(Ending::Unread));
            }
            if let Some(ending) = self.over()? {
                return Ok(ending);
            }
            if engine.is_none() && !live.saver().is_some_and(|saver| saver.is_saving()) {
                return Ok(self.stop_command(Ending::NothingSaved));
            }
            if self.forgot.elapsed() >= FORGET {
                self.look_after_names(live, engine)?;
            }
            let (notes, meter) = (&mut self.notes, &mut self.meter);
            notes.status(|| status(engine.as_ref(), live, meter));
        }
    }

    /// Waits that last are shown before they end: in the stream, or else on stderr.
    fn tell_lasting(
        &mut self,
        live: &mut Live,
        engine: &mut Engine,
        stream: &mut Option<Stream<'_>>,
    ) {
        if self.config.raw {
            return;
        }
        let mut told = Vec::new();
        for wait in engine.lasting(LASTING_NS) {
            let owner = futex_owner(&wait);
            let wait = owner.map_or(wait, |owner| engine.owner_found(&wait, owner));
            let Head { tid, ts_ns: begin_ns, .. } = wait.wait.begin;
            told.push(Lasting { tid, begin_ns, owner });
            match stream {
                Some(stream) => stream.lasting(&wait, engine.stacks()),
                None => {
                    let text = text::open_text(&stream_open(&wait), self.symbols);
                    self.notes.say(format!("still waiting: {text}"));
                }
            }
        }
        save::tell_lasting(live, engine.processed_ns(), &told);
    }

    /// The same of tasks that were blocked before: no event tells of them. The stream has none of them,
    /// since its waits are what events tell.
    fn tell_blocked(&mut self) {
        let blocked = self.blocked.look_again();
        if !std::mem::replace(&mut self.blocked_told, true) {
            for blocked in blocked {
                let task = stream_blocked(blocked);
                self.notes.say(format!("blocked since before the trace: {}", text::blocked(&task)));
            }
        }
    }

    /// What was waited for: the file is to keep what surrounds it.
    fn found(&mut self, live: &mut Live, wait: Duration) {
        self.when_wait = None;
        live.saver().into_iter().for_each(Saver::keep_what_surrounds_now);
        let wait = humantime::format_duration(wait);
        self.notes.say(format!("a wait of {wait}: what surrounds it is saved, and then no more"));
    }

    /// Drops names that nothing needs; after a loss, looks who is there now.
    fn look_after_names(
        &mut self,
        live: &mut Live,
        engine: &mut Option<Engine>,
    ) -> anyhow::Result<()> {
        self.forgot = Instant::now();
        self.tell_blocked();
        engine.iter_mut().for_each(|engine| engine.forget_names(LATE_NS));
        let gaps = match (&engine, live.saver()) {
            (Some(engine), _) => engine.gaps(),
            (None, saver) => saver.map_or(0, |saver| saver.losses()),
        };
        if gaps > self.gaps && self.namespace == PidNamespace::Initial {
            self.gaps = gaps;
            let tasks = live.tasks()?;
            save::tell_tasks(live, &tasks);
            engine.iter_mut().for_each(|engine| engine.seed(tasks.iter().copied()));
        }
        Ok(())
    }

    fn over(&mut self) -> anyhow::Result<Option<Ending>> {
        let Some(workload) = &mut self.workload else {
            let gone = !self.watched.is_empty() && !self.watched.iter().any(Watched::is_there);
            let signal = self.signals.ending().map(Ending::Signal);
            return Ok(signal.or(gone.then_some(Ending::TargetsGone)));
        };
        if let Some(status) = workload.ended().context("cannot wait for the command")? {
            return Ok(Some(Ending::Command(status)));
        }
        let Some(signal) = self.signals.ending() else { return Ok(None) };
        let (signal, since, passed_on) =
            self.signalled.unwrap_or_else(|| (signal, Instant::now(), false));
        self.signalled = Some((signal, since, passed_on));
        if !passed_on && since.elapsed() >= BY_ITSELF {
            workload.signal(signal);
            self.signalled = Some((signal, since, true));
        }
        Ok((since.elapsed() >= AFTER_SIGNAL).then_some(Ending::Signal(signal)))
    }

    /// Nobody reads on: what we started ends with us.
    fn stop_command(&self, ending: Ending) -> Ending {
        if let Some(workload) = &self.workload {
            workload.signal(signal_hook::consts::SIGTERM);
        }
        ending
    }
}

/// How the run fares.
fn status(engine: Option<&Engine>, live: &mut Live, meter: &mut Meter) -> String {
    let elapsed = humantime::format_duration(Duration::from_secs(meter.elapsed().as_secs()));
    let percent = meter.percent();
    let done = match engine {
        Some(engine) => format!("{} waits, {} events lost", engine.waits(), engine.missed()),
        None => {
            let bytes = live.saver().map_or(0, |saver| saver.bytes());
            format!("{} MB saved", bytes >> 20)
        }
    };
    format!("ftlock: {elapsed}, {done}, {percent:.1} % CPU; Ctrl-C ends it")
}

impl Ending {
    /// The exit status of a run whose data is complete.
    pub(super) fn status(&self, config: &RecordConfig) -> u8 {
        match *self {
            Ending::Command(status) => status_code(status),
            Ending::Signal(signal) if !config.command.is_empty() => {
                u8::try_from(128 + signal).unwrap_or(FAILED)
            }
            Ending::StreamFailed => FAILED,
            Ending::Signal(_) | Ending::TargetsGone | Ending::Unread | Ending::NothingSaved => DONE,
        }
    }

    pub(super) fn of_write(kind: io::ErrorKind) -> Ending {
        match kind {
            io::ErrorKind::BrokenPipe => Ending::Unread,
            _ => Ending::StreamFailed,
        }
    }
}
