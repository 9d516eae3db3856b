//! A run on its way: window after window, until something ends it.

use std::io;
use std::process::ExitStatus;
use std::time::{Duration, Instant};

use anyhow::Context;

use crate::cmdline_cache::proc::PidNamespace;
use crate::output::text;
use crate::pipeline::{
    Engine, Live, Outputs, Signals, SinceBefore, Stream, Watched, Workload, futex_owner,
    stream_blocked, stream_open,
};
use crate::symbols::Kallsyms;

use super::config::RecordConfig;
use super::meter::Meter;
use super::notes::Notes;

/// How long a command gets to end by itself after the signal that ends us: on a terminal it got
/// the same one.
const BY_ITSELF: Duration = Duration::from_millis(100);

/// How long it gets after we have passed the signal on.
const AFTER_SIGNAL: Duration = Duration::from_secs(2);

/// A wait that takes longer than this is told of before it is over.
const LASTING_NS: u64 = 1_000_000_000;

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
    /// Gaps after which names have been looked up anew.
    pub(super) gaps: u64,
    pub(super) forgot: Instant,
    pub(super) notes: Notes,
    pub(super) meter: Meter,
    pub(super) symbols: &'a Kallsyms,
    /// Tasks that were blocked when the run began, and whether they have been told of.
    pub(super) blocked: SinceBefore,
    pub(super) blocked_told: bool,
}

impl Run<'_> {
    /// Window after window, until something ends it.
    pub(super) fn trace(
        &mut self,
        live: &mut Live,
        engine: &mut Engine,
        outputs: &mut Outputs<'_>,
    ) -> anyhow::Result<Ending> {
        loop {
            let unread = live.wait(self.config.tick)?;
            self.signals.drain();
            live.pump(engine, outputs)?;
            self.tell_lasting(engine, &mut outputs.stream);
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
            if self.forgot.elapsed() >= FORGET {
                self.look_after_names(live, engine)?;
            }
            let (notes, meter) = (&mut self.notes, &mut self.meter);
            notes.status(|| status(engine, meter));
        }
    }

    /// Waits that last are shown before they end: in the stream, or else on stderr.
    fn tell_lasting(&mut self, engine: &mut Engine, stream: &mut Option<Stream<'_>>) {
        if self.config.raw {
            return;
        }
        for wait in engine.lasting(LASTING_NS) {
            let owner = futex_owner(&wait);
            let wait = owner.map_or(wait, |owner| engine.owner_found(&wait, owner));
            let wait = stream_open(&wait);
            match stream {
                Some(stream) => stream.open(&wait, engine.stacks()),
                None => {
                    let text = text::open_text(&wait, self.symbols);
                    self.notes.say(format!("still waiting: {text}"));
                }
            }
        }
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

    /// Drops names that nothing needs; after a loss, looks who is there now.
    fn look_after_names(&mut self, live: &Live, engine: &mut Engine) -> anyhow::Result<()> {
        self.forgot = Instant::now();
        self.tell_blocked();
        engine.forget_names();
        if engine.gaps() > self.gaps && self.namespace == PidNamespace::Initial {
            self.gaps = engine.gaps();
            engine.seed(live.tasks()?);
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
fn status(engine: &Engine, meter: &mut Meter) -> String {
    let elapsed = humantime::format_duration(Duration::from_secs(meter.elapsed().as_secs()));
    let (waits, lost, percent) = (engine.waits(), engine.missed(), meter.percent());
    format!(
        "ftlock: {elapsed}, {waits} waits, {lost} events lost, {percent:.1} % CPU; Ctrl-C ends it"
    )
}

impl Ending {
    fn of_write(kind: io::ErrorKind) -> Ending {
        match kind {
            io::ErrorKind::BrokenPipe => Ending::Unread,
            _ => Ending::StreamFailed,
        }
    }
}
