//! `ftlock check`: what this kernel, mount and user allow, by trying it.

use std::io::{self, Write};
use std::path::Path;

use crate::cmdline_cache::proc::{PidNamespace, pid_namespace};
use crate::pipeline::{self, FUTEX_EVENTS, LOCK_EVENTS, TASK_EVENTS};
use crate::symbols::{Availability, Kallsyms};
use crate::tracefs::{self, Config, Instance, Leftovers, Reader, Tracefs, remove_leftovers};

use super::args::CheckArgs;
use super::exit::{CANNOT_TRACE, DONE};

/// How much of the work a finding allows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Verdict {
    /// All of it.
    Ok,
    /// It works, with something less.
    Limited,
    /// Nothing goes without it.
    Missing,
}

/// One requirement, what was found, and the command that mends it.
#[derive(Debug)]
struct Finding {
    what: &'static str,
    verdict: Verdict,
    found: String,
    hint: Option<String>,
}

/// Runs `ftlock check`.
pub(super) fn run(args: &CheckArgs) -> anyhow::Result<u8> {
    let mut findings = vec![kernel()];
    match Tracefs::find(args.tracefs.as_deref()) {
        Ok(tracefs) => look_into(&tracefs, args.clean, &mut findings),
        Err(error) => findings.push(Finding::missing("tracefs", &error)),
    }
    findings.push(symbols());
    findings.push(namespace());
    let mut out = io::stdout().lock();
    for finding in &findings {
        finding.write(&mut out)?;
    }
    let traceable = findings.iter().all(|finding| finding.verdict != Verdict::Missing);
    Ok(if traceable { DONE } else { CANNOT_TRACE })
}

fn look_into(tracefs: &Tracefs, clean: bool, findings: &mut Vec<Finding>) {
    let how = if tracefs.mounted_here() { ", mounted just now" } else { "" };
    findings.push(Finding::ok("tracefs", format!("{}{how}", tracefs.root().display())));
    if clean {
        findings.push(leftovers(remove_leftovers(tracefs)));
    }
    let instance = match Instance::create(tracefs, &Config::default()) {
        Ok(instance) => instance,
        Err(error) => return findings.push(Finding::missing("own instance", &error)),
    };
    findings.push(Finding::ok("own instance", rings(&instance)));
    findings.push(events("lock events", &instance, &LOCK_EVENTS));
    findings.push(events("task events", &instance, &TASK_EVENTS));
    findings.push(futexes(&instance));
    findings.push(lockdep(&instance));
    stacks(instance, findings);
}

fn kernel() -> Finding {
    let uname = rustix::system::uname();
    let [release, machine] = [uname.release(), uname.machine()].map(|text| text.to_string_lossy());
    Finding::ok("kernel", format!("{release} {machine}"))
}

fn rings(instance: &Instance) -> String {
    let cpus = instance.cpus().map_or(0, |cpus| cpus.len());
    let (ring_kb, sub_buffer_kb) = (instance.buffer_size_kb(), instance.subbuf_size() / 1024);
    let clock = instance.clock().name();
    format!("{cpus} CPUs, {ring_kb} KiB each in sub-buffers of {sub_buffer_kb} KiB, clock {clock}")
}

fn events(what: &'static str, instance: &Instance, events: &[(&str, &str)]) -> Finding {
    for (system, event) in events {
        if let Err(error) = instance.event_format(system, event) {
            return Finding::missing(what, &error);
        }
    }
    let names: Vec<_> = events.iter().map(|(_, event)| *event).collect();
    Finding::ok(what, names.join(", "))
}

/// Which system calls of futexes `--futex` sees: the newer ones come with kernels that have them.
fn futexes(instance: &Instance) -> Finding {
    let [exit, enter, ..] = FUTEX_EVENTS;
    match events("futex calls", instance, &[exit, enter]) {
        Finding { verdict: Verdict::Ok, .. } => {
            let there = |(system, event): &&(&str, &str)| instance.has_event(system, event);
            let names: Vec<_> =
                FUTEX_EVENTS.iter().filter(there).map(|(_, event)| *event).collect();
            Finding::ok("futex calls", names.join(", "))
        }
        missing => Finding { verdict: Verdict::Limited, ..missing },
    }
}

/// With CONFIG_DEBUG_LOCK_ALLOC a mutex has no fast path (kernel/locking/mutex.c, 6.18).
fn lockdep(instance: &Instance) -> Finding {
    match instance.event_format("lock", "lock_acquire") {
        Err(_) => Finding::ok("lock debugging", "off".to_owned()),
        Ok(_) => Finding {
            what: "lock debugging",
            verdict: Verdict::Limited,
            found: "on: every mutex_lock is recorded as a wait, contended or not".to_owned(),
            hint: Some("use a kernel without CONFIG_DEBUG_LOCK_ALLOC".to_owned()),
        },
    }
}

/// Stacks, and whether rings can be mapped; the instance is needed no more after that.
fn stacks(mut instance: Instance, findings: &mut Vec<Finding>) {
    findings.push(match instance.record_stacks("lock", "contention_begin", None) {
        Ok(()) => Finding::ok("kernel stacks", "stacktrace trigger".to_owned()),
        Err(error) => Finding::limited("kernel stacks", &error),
    });
    let first = instance.cpus().ok().and_then(|cpus| cpus.first().copied()).unwrap_or(0);
    findings.push(match instance.open_ring(first, Reader::Mapped) {
        Ok(_) => Finding::ok("mapped rings", "can be had with --reader mmap".to_owned()),
        Err(error) => Finding::ok("mapped rings", format!("{error}; readv is used anyway")),
    });
    if let Err(error) = instance.remove() {
        findings.push(Finding::limited("own instance", &error));
    }
}

fn symbols() -> Finding {
    const WHAT: &str = "kernel symbols";
    let symbols = match Kallsyms::read(Path::new("/proc/kallsyms")) {
        Ok(symbols) => symbols,
        Err(error) => {
            let found = error.to_string();
            return Finding { what: WHAT, verdict: Verdict::Limited, found, hint: None };
        }
    };
    let availability = symbols.availability();
    let hint = availability.hint().map(str::to_owned);
    match (availability, availability.note()) {
        (Availability::Full, _) | (_, None) => Finding::ok(WHAT, "functions and data".to_owned()),
        (_, Some(note)) => {
            Finding { what: WHAT, verdict: Verdict::Limited, found: note.to_owned(), hint }
        }
    }
}

fn namespace() -> Finding {
    const WHAT: &str = "pid namespace";
    match pid_namespace() {
        Ok(PidNamespace::Initial) => Finding::ok(WHAT, "the initial one".to_owned()),
        Ok(PidNamespace::Nested) => Finding {
            what: WHAT,
            verdict: Verdict::Limited,
            found: pipeline::NESTED.to_owned(),
            hint: Some(pipeline::NESTED_HINT.to_owned()),
        },
        Err(error) => Finding {
            what: WHAT,
            verdict: Verdict::Missing,
            found: error.to_string(),
            hint: Some(error.hint().to_owned()),
        },
    }
}

fn leftovers(found: Result<Leftovers, tracefs::Error>) -> Finding {
    const WHAT: &str = "leftovers";
    match found {
        Ok(found) if found.stuck.is_empty() => Finding::ok(
            WHAT,
            match found.removed.is_empty() {
                true => "none".to_owned(),
                false => format!("removed {}", found.removed.join(", ")),
            },
        ),
        Ok(found) => {
            let stuck = found.stuck.iter().map(|left| format!("{}: {}", left.name, left.source));
            let found = format!("cannot remove {}", stuck.collect::<Vec<_>>().join(", "));
            Finding { what: WHAT, verdict: Verdict::Limited, found, hint: None }
        }
        Err(error) => Finding::limited(WHAT, &error),
    }
}

impl Finding {
    fn ok(what: &'static str, found: String) -> Finding {
        Finding { what, verdict: Verdict::Ok, found, hint: None }
    }

    fn limited(what: &'static str, error: &tracefs::Error) -> Finding {
        Finding { what, verdict: Verdict::Limited, found: error.to_string(), hint: error.hint() }
    }

    fn missing(what: &'static str, error: &tracefs::Error) -> Finding {
        Finding { verdict: Verdict::Missing, ..Finding::limited(what, error) }
    }

    fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        let verdict = match self.verdict {
            Verdict::Ok => "ok",
            Verdict::Limited => "limited",
            Verdict::Missing => "MISSING",
        };
        writeln!(out, "{:<15} {verdict:<8} {}", self.what, self.found)?;
        match &self.hint {
            Some(hint) => writeln!(out, "{:<15} {:<8} hint: {hint}", "", ""),
            None => Ok(()),
        }
    }
}
