//! Setting a live trace up: the instance, the events, the formats, the names at the start.

use std::path::Path;

use crate::cmdline_cache::proc::{self, PidNamespace, SeededTask};
use crate::contention::Begins;
use crate::event::decode::Decoder;
use crate::event::{LockFlags, Stamp, Tid};
use crate::tracefs::{
    self, Abi, Config, Endian, EventFormat, Instance, Leftovers, Reader, SubbufLayout, Tracefs,
};

use super::error::Error;
use super::live::Live;
use super::nested;

/// Who was born, renamed, replaced or left: needed for names, and on before anything else.
pub const TASK_EVENTS: [(&str, &str); 5] = [
    ("task", "task_newtask"),
    ("task", "task_rename"),
    ("sched", "sched_process_fork"),
    ("sched", "sched_process_exec"),
    ("sched", "sched_process_exit"),
];

/// End and begin of waits, in the order of enabling, which takes the kernel milliseconds for each:
/// a begin whose end is not recorded yet would wait for ever.
pub const LOCK_EVENTS: [(&str, &str); 2] =
    [("lock", "contention_end"), ("lock", "contention_begin")];

/// Who moved to another cgroup.
pub const CGROUP_EVENTS: [(&str, &str); 2] =
    [("cgroup", "cgroup_attach_task"), ("cgroup", "cgroup_transfer_tasks")];

/// The record of a kernel stack. It is not enabled: a trigger makes it.
const STACK_EVENT: (&str, &str) = ("ftrace", "kernel_stack");

/// Which address space's lock was taken. It is recorded only in the moment behind a wait's end,
/// since any page fault or mapping may raise it: the lock's release ends that moment.
const MMAP_LOCK_EVENT: (&str, &str) = ("mmap_lock", "mmap_lock_acquire_returned");
const MMAP_LOCK_FROM: (&str, &str) = ("lock", "contention_end");
const MMAP_LOCK_UNTIL: (&str, &str) = ("mmap_lock", "mmap_lock_released");

/// What to trace, and how.
#[derive(Debug, Clone)]
pub struct Plan {
    /// The instance's settings.
    pub instance: Config,
    /// How rings are read.
    pub reader: Reader,
    /// Whether a kernel stack is recorded with each begin.
    pub stacks: bool,
    /// Whether moves between cgroups are recorded.
    pub cgroups: bool,
    /// Begins with these flags only; with any if empty. An end whose begin is left out is recorded
    /// all the same, since it carries no flags.
    pub flags: Vec<LockFlags>,
    /// Whether to learn from the kernel which locks are an address space's `mmap_lock`.
    pub mmap_lock: bool,
    /// Further events, by system and name.
    pub further: Vec<(String, String)>,
}

impl Plan {
    /// Which begins the trace has.
    pub fn begins(&self) -> Begins {
        if self.flags.is_empty() { Begins::All } else { Begins::Filtered }
    }

    /// The events that tell of tasks.
    fn task_events(&self) -> impl Iterator<Item = (&'static str, &'static str)> {
        TASK_EVENTS.into_iter().chain(CGROUP_EVENTS.into_iter().filter(|_| self.cgroups))
    }

    /// The kernel-side filter on begins. A mutex's phases go together: the first one may spin.
    fn condition(&self) -> Option<String> {
        let mutex = |flags: &&LockFlags| flags.is_mutex();
        let both = ["flags == 32", "flags == 33"].map(str::to_owned);
        let phases = self.flags.iter().any(|flags| flags.is_mutex()).then_some(both);
        let others = self.flags.iter().filter(|flags| !mutex(flags));
        let terms = others.map(|flags| format!("flags == {}", flags.0));
        let terms: Vec<String> = terms.chain(phases.into_iter().flatten()).collect();
        (!terms.is_empty()).then(|| terms.join(" || "))
    }
}

/// A trace that is set up: tasks are followed, locks not yet.
#[derive(Debug)]
pub struct Session {
    /// The rings.
    pub live: Live,
    /// The layout of their sub-buffers.
    pub layout: SubbufLayout,
    /// Decodes what is understood.
    pub decoder: Decoder,
    /// Our own process, under the number that events carry.
    pub own: Tid,
    /// Who was there at the start, each with the instant just before it was looked at.
    pub tasks: Vec<(SeededTask, Stamp)>,
    /// Whether /proc shows the ids that events carry.
    pub namespace: PidNamespace,
}

/// Finds tracefs, mounting it if need be, and removes what dead runs left.
pub fn enter(tracefs: Option<&Path>) -> Result<(Tracefs, Leftovers), tracefs::Error> {
    let found = Tracefs::find(tracefs)?;
    let leftovers = tracefs::remove_leftovers(&found)?;
    Ok((found, leftovers))
}

impl Session {
    /// Makes an instance, lets it follow tasks, and then looks at those that are there already:
    /// whatever changes meanwhile is in the rings.
    pub fn start(tracefs: &Tracefs, plan: &Plan) -> Result<Session, Error> {
        let mut instance = Instance::create(tracefs, &plan.instance)?;
        let layout = SubbufLayout::parse(&instance.header_page()?)?;
        // A live kernel has our byte order: it runs us.
        let native = if cfg!(target_endian = "big") { Endian::Big } else { Endian::Little };
        let abi = Abi::new(native, &layout);
        let formats = formats(&instance, plan)?;
        let decoder = Decoder::new(abi, formats)?;
        for (system, event) in plan.task_events() {
            instance.enable(system, event)?;
        }
        let mut live = Live::open(instance, plan.reader)?;
        live.instance().start()?;
        let namespace = proc::pid_namespace()?;
        let own_number = Tid(std::process::id());
        let (own, tasks) = match namespace {
            PidNamespace::Initial => (own_number, live.tasks()?),
            PidNamespace::Nested => {
                let own = nested::own_task(tracefs)?;
                let seeded = own.map(|task| (task, Stamp::before(live.now_ns().unwrap_or(0))));
                (own.map_or(own_number, |task| task.tid), seeded.into_iter().collect())
            }
        };
        Ok(Session { live, layout, decoder, own, tasks, namespace })
    }
}

impl Live {
    /// Everybody who is there now, each with the instant just before it was looked at.
    pub fn tasks(&self) -> Result<Vec<(SeededTask, Stamp)>, Error> {
        let mut tasks = Vec::new();
        // The clock was read a moment ago; if it fails now, the next window's reading says so.
        let now = || Stamp::before(self.now_ns().unwrap_or(0));
        proc::walk(now, |task, at| tasks.push((*task, at)))?;
        Ok(tasks)
    }

    /// Lets the instance follow locks, and whatever else was asked for.
    pub fn trace_locks(&mut self, plan: &Plan) -> Result<(), Error> {
        let instance = self.instance();
        let condition = plan.condition();
        if let Some(condition) = &condition {
            instance.filter("lock", "contention_begin", condition)?;
        }
        if plan.stacks {
            instance.record_stacks("lock", "contention_begin", condition.as_deref())?;
        }
        if plan.mmap_lock {
            instance.record_between(MMAP_LOCK_EVENT, MMAP_LOCK_FROM, MMAP_LOCK_UNTIL)?;
        }
        for (system, event) in &plan.further {
            instance.enable(system, event)?;
        }
        for (system, event) in LOCK_EVENTS {
            instance.enable(system, event)?;
        }
        Ok(())
    }
}

fn formats(instance: &Instance, plan: &Plan) -> Result<Vec<EventFormat>, Error> {
    let fixed = LOCK_EVENTS.into_iter().chain(plan.task_events()).chain([STACK_EVENT]);
    let fixed: Vec<(&str, &str)> = fixed.collect();
    let further = plan.further.iter().map(|(system, event)| (system.as_str(), event.as_str()));
    let mmap_lock = plan.mmap_lock.then_some(MMAP_LOCK_EVENT);
    let parsed = fixed.into_iter().chain(mmap_lock).chain(further).map(|(system, event)| {
        let text = instance.event_format(system, event)?;
        EventFormat::parse(&text)
            .map_err(|source| Error::Format { event: format!("{system}:{event}"), source })
    });
    parsed.collect()
}
