//! `record --replay`: a saved trace goes by as if it were traced now.

use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::Context;
use rustix::event::{PollFd, PollFlags, Timespec, poll};

use crate::pipeline::Signals;

use super::args::RecordArgs;
use super::common_args::TargetArgs;
use super::config::RecordConfig;
use super::recording::Recording;
use super::report::{Reading, View, configure, read_all, show};
use super::run::Ending;

/// Replays a file; returns the exit status.
pub(super) fn run(args: &RecordArgs, file: &Path) -> anyhow::Result<u8> {
    let recording = Recording::open(file, None)?;
    let RecordArgs { all_cpus, pid, tid, cpu, common, .. } = args;
    let (pid, tid, cpu) = (pid.clone(), tid.clone(), cpu.clone());
    let targets = TargetArgs { all_cpus: *all_cpus, pid, tid, cpu };
    let view = View { targets: &targets, common };
    let (config, speed, tick) = (configure(view, &recording)?, args.speed, args.kernel.tick);
    let stream = super::formats::formats(&common.output)?.0;
    let config = RecordConfig { stream, ..config };
    if speed == 0.0 {
        return show(&config, &recording, read_all);
    }
    let signals = Signals::take_over().context("cannot handle signals")?;
    show(&config, &recording, |reading| read_paced(reading, speed, tick, signals))
}

/// Reads so that `speed` seconds of the trace go by in each second.
fn read_paced(
    reading: &mut Reading<'_, '_>,
    speed: f64,
    tick: Duration,
    mut signals: Signals,
) -> anyhow::Result<Ending> {
    let Reading { offline, engine, outputs, notes } = reading;
    let started = Instant::now();
    offline.read(engine);
    let first_ns = offline.first_ns().unwrap_or(0);
    loop {
        let gone = started.elapsed().mul_f64(speed);
        let now_ns = first_ns.saturating_add(u64::try_from(gone.as_nanos()).unwrap_or(u64::MAX));
        while offline.read_up_to_ns() <= now_ns {
            let up_to_ns = offline.read_up_to_ns();
            offline.process(engine, up_to_ns, outputs);
            offline.read(engine);
        }
        let is_over = offline.read_up_to_ns() == u64::MAX && !engine.has_pending();
        offline.process(engine, if is_over { u64::MAX } else { now_ns }, outputs);
        outputs.flush();
        if let Some(kind) = outputs.failed() {
            return Ok(Ending::of_write(kind));
        }
        if is_over {
            return Ok(Ending::TargetsGone);
        }
        notes.status(|| format!("ftlock: {} % replayed; Ctrl-C ends it", offline.percent()));
        let mut wake = [PollFd::new(signals.wake(), PollFlags::IN)];
        let timeout = Timespec::try_from(tick).ok();
        // A signal interrupts it; then it is asked for.
        let _ = poll(&mut wake, timeout.as_ref()).is_ok();
        signals.drain();
        if let Some(signal) = signals.ending() {
            return Ok(Ending::Signal(signal));
        }
    }
}
