//! `record --save`: what is told in the file beside the rings, and how saving ends.

use std::fs;
use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::Context;

use crate::cmdline_cache::SeededTask;
use crate::cmdline_cache::proc::PidNamespace;
use crate::event::{Stamp, Tid};
use crate::pipeline::{Beside, Blocked, Ended, Engine, Lasting, Live, SaveError, Saver, Stopped};

use crate::tracefs::SubbufLayout;

use super::byte_text::ByteText;
use super::config::{RecordConfig, SaveConfig};
use super::exit::{self, DONE, INCOMPLETE};
use super::facts::Facts;
use super::notes::{Notes, tell};
use super::run::Ending;
use super::saved_names::LastingLine;
use super::saved_run::{End, GivenUp, HierarchyLine, Line, Run, SCHEMA, Start};

/// Room that is kept for the last line.
const END_BYTES: usize = 16 << 10;

/// Room that names of user space's locks leave to what matters more.
const BUT_NAMES_BYTES: usize = 256 << 10;

/// A trace that is set up.
pub(super) struct Started<'a> {
    pub(super) live: &'a mut Live,
    /// Who was there, each with the instant just before it was looked at.
    pub(super) tasks: &'a [(SeededTask, Stamp)],
    pub(super) own: Tid,
    pub(super) namespace: PidNamespace,
    pub(super) layout: SubbufLayout,
}

/// Creates the file; `engine` knows more of those who were there.
pub(super) fn create(
    config: &RecordConfig,
    save: &SaveConfig,
    started: Started<'_>,
    engine: Option<&mut Engine>,
    facts: &Facts,
) -> anyhow::Result<Saver> {
    let run = Line::Run(Box::new(run(config, &started, facts)));
    let tasks = started.tasks.iter().map(Line::of_task);
    let looks = engine.map(Engine::take_looks).unwrap_or_default();
    let looks = looks.into_iter().map(Line::of_look);
    let lines = std::iter::once(run).chain(tasks).chain(looks);
    let kallsyms = config.kallsyms.as_ref().map(fs::read).transpose();
    let uname = rustix::system::uname();
    let words = [uname.sysname(), uname.nodename(), uname.release(), uname.machine()];
    let beside = Beside {
        version: save.version,
        uname: words.map(|word| word.to_string_lossy()).join(" "),
        ftlock: lines.flat_map(|line| line.text()).collect(),
        kallsyms: kallsyms.context("cannot read the file of --kallsyms")?,
        names: names(started.tasks),
        bound: save.bound,
    };
    let saver = Saver::create(&save.path, beside, started.layout, started.live, &config.plan);
    // Each has its own exit status and hint.
    saver.map_err(|error| match error {
        SaveError::File(error) => error.into(),
        SaveError::Tracefs(error) => error.into(),
    })
}

fn run(config: &RecordConfig, started: &Started<'_>, facts: &Facts) -> Run {
    let uname = rustix::system::uname();
    let text = |word: &std::ffi::CStr| word.to_string_lossy().into_owned();
    let bytes = |word: &std::ffi::OsString| ByteText(word.as_encoded_bytes().to_vec());
    let only_cpus = config.cpus.as_ref().map(|cpus| cpus.iter().map(|cpu| cpu.0).collect());
    let plan = &config.plan;
    let cgroups =
        facts.hierarchy().map(|it| HierarchyLine { id: it.id(), is_nested: it.is_nested() });
    Run {
        schema: SCHEMA,
        ftlock: env!("CARGO_PKG_VERSION").to_owned(),
        kernel: text(uname.release()),
        host: text(uname.nodename()),
        clock: plan.instance.clock.name().to_owned(),
        cpus: started.live.cpus().map(|cpu| cpu.0).collect(),
        own_tid: started.own.0,
        is_nested: started.namespace == PidNamespace::Nested,
        command: config.command.iter().map(bytes).collect(),
        whose: config.whose.clone(),
        only_cpus,
        stacks: plan.stacks,
        mmap_lock: plan.mmap_lock,
        extras: plan.extras,
        flags: plan.flags.iter().map(|flags| flags.0).collect(),
        cgroups,
        cmdlines: config.wanted.cmdline().is_some(),
    }
}

fn names(tasks: &[(SeededTask, Stamp)]) -> Vec<u8> {
    let line = |(task, _): &(SeededTask, Stamp)| {
        [task.tid.to_string().as_bytes(), b" ", task.comm.as_bytes(), b"\n"].concat()
    };
    tasks.iter().flat_map(line).collect()
}

/// Locks are traced from here on.
pub(super) fn tell_start(live: &mut Live, at_ns: u64, date: SystemTime) {
    let date = date.duration_since(UNIX_EPOCH).unwrap_or_default();
    let date_ns = u64::try_from(date.as_nanos()).unwrap_or(u64::MAX);
    if let Some(saver) = live.saver() {
        saver.add(&Line::Start(Start { at_ns, date_ns }).text(), END_BYTES);
    }
}

/// What was learned since this was last called.
pub(super) fn tell_news(live: &mut Live, engine: Option<&mut Engine>) {
    let Some(saver) = live.saver() else { return };
    if saver.take_forgot() {
        saver.add(&Line::Forgot.text(), END_BYTES);
    }
    for gap in saver.take_gaps() {
        saver.add(&Line::of_gap(gap).text(), END_BYTES);
    }
    let Some(engine) = engine else { return };
    let looks = engine.take_looks().into_iter();
    let looks = looks.map(|look| (look.at.ts_ns, Line::of_look(look), END_BYTES));
    let names = engine.take_name_news().into_iter();
    // What holds behind the end is of no interest.
    let names = names.filter(|news| news.since_ns < u64::MAX);
    let names = names.map(|news| (news.since_ns, Line::of_name_news(news), BUT_NAMES_BYTES));
    // What was seen in a window comes before what holds behind it.
    let mut news: Vec<_> = looks.chain(names).collect();
    news.sort_by_key(|(at_ns, ..)| *at_ns);
    for (_, line, reserve) in news {
        saver.add(&line.text(), reserve);
    }
}

/// Waits that were told of before they are over, behind the window that ended at an instant.
pub(super) fn tell_lasting(live: &mut Live, at_ns: u64, waits: &[Lasting]) {
    if let Some(saver) = live.saver().filter(|_| !waits.is_empty()) {
        saver.add(&Line::Lasting(LastingLine::new(at_ns, waits)).text(), END_BYTES);
    }
}

/// Tasks that were blocked all the time.
pub(super) fn tell_blocked(live: &mut Live, blocked: &[Blocked]) {
    let Some(saver) = live.saver() else { return };
    for blocked in blocked {
        saver.add(&Line::of_blocked(blocked).text(), END_BYTES);
    }
}

/// Names were given up to an instant, some of them in doubt.
pub(super) fn tell_window(live: &mut Live, up_to_ns: u64) {
    if let Some(saver) = live.saver() {
        saver.add(&Line::Window { up_to_ns }.text(), END_BYTES);
    }
}

/// Tasks that were looked at anew.
pub(super) fn tell_tasks(live: &mut Live, tasks: &[(SeededTask, Stamp)]) {
    let Some(saver) = live.saver() else { return };
    for task in tasks {
        saver.add(&Line::of_task(task).text(), END_BYTES);
    }
}

/// Where the beginning was given up, names of the beginning are not certain: looks who is there now.
pub(super) fn tell_last_tasks(live: &mut Live, namespace: PidNamespace) {
    if live.saver().is_some_and(|saver| saver.forgot()) && namespace == PidNamespace::Initial {
        // Without them more names are unconfirmed.
        tell_tasks(live, &live.tasks().unwrap_or_default());
    }
}

/// What the run could not learn of processes.
pub(super) fn given_up(engine: &Engine) -> GivenUp {
    let (facts, names) = engine.given_up();
    GivenUp {
        looks_put_off: facts.put_off + names.put_off,
        user_spaces_unread: names.unread,
        user_names_dropped: names.dropped,
    }
}

/// Finishes the file, and says how it came out. Returns what failed.
pub(super) fn finish(
    save: &SaveConfig,
    mut saver: Saver,
    end: End,
    notes: &mut Notes,
) -> Option<anyhow::Error> {
    saver.add(
        &Line::End(End { is_all_saved: saver.is_saving() && !saver.forgot(), ..end }).text(),
        0,
    );
    let path = save.path.display();
    let left_out = saver.left_out();
    let saved = saver.finish();
    let (finished, failed) = match (saved.finished, saved.stopped) {
        (finished, Some(Stopped::Failed(error))) => (finished.ok(), Some(error)),
        (Err(error), _) => (None, Some(error)),
        (Ok(finished), stopped) => {
            if let Some(Stopped::Full) = stopped {
                notes.say(format!(
                    "{path} is as large as --max-size allows: it lacks the end of the run"
                ));
            }
            (Some(finished), None)
        }
    };
    if left_out > 0 {
        notes.say(format!("{path} lacks {left_out} tidings from /proc, for want of room"));
    }
    if let Some(finished) = finished {
        let names = match finished.names_left_out_bytes {
            0 => "",
            _ => ", without all names for other readers",
        };
        notes.say(format!("saved {path}, {} bytes{names}", finished.size_bytes));
    }
    failed.map(anyhow::Error::from)
}

/// The end of a run that was only saved: says what the kernel counted; returns the exit status.
pub(super) fn conclude(
    config: &RecordConfig,
    traced: anyhow::Result<Ending>,
    ended: anyhow::Result<Option<Ended>>,
    notes: &mut Notes,
) -> u8 {
    let ended = ended.map(Option::unwrap_or_default);
    let stats = ended.iter().flat_map(|ended| &ended.stats).filter_map(|(_, stats)| *stats);
    let (mut events, mut lost) = (0, 0);
    for stats in stats {
        events += stats.read_events;
        lost += stats.overrun + stats.dropped_events;
    }
    notes.say(format!("{events} events saved, {lost} lost"));
    let mut status = traced.as_ref().map_or(exit::FAILED, |ending| ending.status(config));
    if status == DONE && config.strict && lost > 0 {
        status = INCOMPLETE;
    }
    for disturbance in ended.iter().flat_map(|ended| &ended.disturbances) {
        status = exit::FAILED;
        tell(format!("{disturbance}; the file is incomplete"));
    }
    for error in traced.err().into_iter().chain(ended.err()) {
        status = exit::tell(&error);
    }
    status
}
