//! The records of a perf.data.

use std::collections::HashMap;

use crate::cmdline_cache::SeededTask;
use crate::event::{Cpu, Stamp, TaskEvent};
use crate::perf_data::{Moment, MomentWhat, Reader};

use super::super::engine::Engine;
use super::super::lane::{Item, What};
use super::Source;

/// A perf.data that is being read.
#[derive(Debug)]
pub(super) struct PerfSource {
    reader: Reader,
    /// The places of the CPUs that were met, in the order the engine knows them.
    places: HashMap<Cpu, usize>,
    first_ns: Option<u64>,
}

impl PerfSource {
    /// `cpus`: those that are known from the start.
    pub(super) fn new(reader: Reader, cpus: &[Cpu]) -> PerfSource {
        let places = cpus.iter().copied().zip(0..).collect();
        PerfSource { reader, places, first_ns: None }
    }
}

impl Source for PerfSource {
    fn cpus(&self) -> Vec<Cpu> {
        let mut cpus: Vec<_> = self.places.iter().map(|(&cpu, &place)| (place, cpu)).collect();
        cpus.sort_unstable();
        cpus.into_iter().map(|(_, cpu)| cpu).collect()
    }

    fn read(&mut self, engine: &mut Engine, _behind_ns: u64) -> u64 {
        let PerfSource { reader, places, first_ns } = self;
        reader.read();
        let mut items: Vec<Vec<Item<'_>>> = places.iter().map(|_| Vec::new()).collect();
        for moment in reader.moments() {
            let Some(item) = item(&moment) else {
                engine.seed(known_before(&moment).map(|task| (task, Stamp::MIN)));
                continue;
            };
            first_ns.get_or_insert(item.at_ns);
            let next = places.len();
            let place = *places.entry(moment.cpu).or_insert(next);
            if place == next {
                engine.add_cpu(moment.cpu);
                items.push(Vec::new());
            }
            items.get_mut(place).into_iter().for_each(|items| items.push(item));
        }
        engine.take(&items);
        reader.complete_up_to_ns()
    }

    fn first_ns(&self) -> Option<u64> {
        self.first_ns
    }

    fn percent(&self) -> u64 {
        self.reader.percent()
    }

    fn faults(&self) -> Vec<String> {
        let fault = self.reader.fault();
        fault.map(|fault| format!("{fault}: the rest is left out")).into_iter().collect()
    }

    fn unread(&self) -> u64 {
        self.reader.unread()
    }
}

/// What happened while perf recorded.
fn item<'a>(moment: &Moment<'a>) -> Option<Item<'a>> {
    let Moment { at_ns: at_ns @ 1.., what, .. } = *moment else { return None };
    let what = match what {
        MomentWhat::Event { payload, frames } => What::Record { payload, frames },
        MomentWhat::Task { by, event } => What::Task { by, event },
        MomentWhat::Lost { missed } => What::Lost { missed },
    };
    Some(Item { at_ns, what })
}

/// perf tells of the tasks that were there when it started as if they were born and named then.
fn known_before(moment: &Moment<'_>) -> Option<SeededTask> {
    let MomentWhat::Task { event, .. } = moment.what else { return None };
    let TaskEvent::Named { tid, tgid, comm } = event else { return None };
    Some(SeededTask { tid, tgid, comm, start_time: 0, kernel_thread: false })
}
