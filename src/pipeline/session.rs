//! Setting a live trace up: the instance, the events, the formats, the names at the start.

use std::path::Path;

use crate::cmdline_cache::proc::{self, PidNamespace, SeededTask};
use crate::event::decode::Decoder;
use crate::event::{Stamp, SwitchStates, Tid};
use crate::tracefs::{self, Abi, Endian, EventFormat, Instance, Leftovers, SubbufLayout, Tracefs};

use super::error::Error;
use super::live::Live;
use super::nested;
use super::plan::{
    LOCK_EVENTS, MAY_HOLD_LOCKS, MMAP_LOCK_EVENT, MMAP_LOCK_FROM, MMAP_LOCK_UNTIL, Need, Plan,
    STACK_EVENT, SWITCH_EVENT, WAKING_EVENT,
};

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
    /// What it costs to record a frame of a stack, in ns, where that is limited.
    pub frame_ns: Option<f64>,
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
        let frame_ns = plan.stack_limit.map(|_| instance.measure_frame_ns()).transpose()?;
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
        Ok(Session { live, layout, decoder, own, tasks, namespace, frame_ns })
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
        if plan.stacks && plan.extras.sleeps {
            let (system, event) = SWITCH_EVENT;
            let states = SwitchStates::parse(&event_format(instance, system, event)?.print_format);
            instance.record_stacks(system, event, Some(&states.sleeps_condition()))?;
        }
        for &((system, event), condition) in plan.extra_filters() {
            instance.filter(system, event, condition)?;
        }
        for ((system, event), _) in present(instance, plan) {
            instance.enable(system, event)?;
        }
        if plan.extras.holder_stacks {
            let (system, event) = WAKING_EVENT;
            instance.record_stacks(system, event, Some(MAY_HOLD_LOCKS))?;
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

/// The further events that this kernel has, and those it must have.
fn present(
    instance: &Instance,
    plan: &Plan,
) -> impl Iterator<Item = ((&'static str, &'static str), Need)> + use<> {
    let is_there = |((system, event), need): &((&str, &str), Need)| {
        *need == Need::Must || instance.has_event(system, event)
    };
    plan.extra_events().into_iter().filter(is_there).collect::<Vec<_>>().into_iter()
}

/// The events that are recorded, by system and name.
pub(super) fn events<'a>(instance: &Instance, plan: &'a Plan) -> Vec<(&'a str, &'a str)> {
    let fixed = LOCK_EVENTS.into_iter().chain(plan.task_events()).chain([STACK_EVENT]);
    let extra = present(instance, plan).map(|(event, _)| event);
    let mmap_lock = plan.mmap_lock.then_some(MMAP_LOCK_EVENT);
    let mut events: Vec<(&'a str, &'a str)> = fixed.chain(extra).chain(mmap_lock).collect();
    events.extend(plan.further.iter().map(|(system, event)| (system.as_str(), event.as_str())));
    events
}

fn formats(instance: &Instance, plan: &Plan) -> Result<Vec<EventFormat>, Error> {
    let events = events(instance, plan).into_iter();
    events.map(|(system, event)| event_format(instance, system, event)).collect()
}

fn event_format(instance: &Instance, system: &str, event: &str) -> Result<EventFormat, Error> {
    let text = instance.event_format(system, event)?;
    EventFormat::parse(&text)
        .map_err(|source| Error::Format { event: format!("{system}:{event}"), source })
}
