//! Where waits are drawn: a track for each thread, and for what runs on top of it one for each CPU.

use super::nesting::Nesting;
use super::proto::{ProcessDescriptor, ThreadDescriptor, TrackDescriptor};
use crate::event::{Comm, Context, Cpu, Tid};
use crate::output::escape::terminal;
use foldhash::fast::RandomState;
use std::collections::HashMap;
use std::collections::hash_map::Entry;

/// Tracks known at once; with more all are told anew.
const MAX_TRACKS: usize = 1 << 16;

/// Tracks below each other for waits of one task that do not nest, as may be where events were lost.
const MAX_LANES: usize = 16;

/// A task, as it was at an instant.
#[derive(Debug, Clone, Copy)]
pub struct Who {
    /// The thread.
    pub tid: Tid,
    /// Tells the tasks apart that bore the id in turn.
    pub incarnation: u32,
    /// Its process, where known.
    pub pid: Option<Tid>,
    /// Its name, where known.
    pub comm: Option<Comm>,
}

/// What has a track.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Place {
    Thread {
        tid: Tid,
        incarnation: u32,
        pid: Option<Tid>,
    },
    /// An interrupt context on a CPU; in the context of tasks its idle task.
    OnCpu(Cpu, Context),
    /// A CPU's lost events.
    Lost(Cpu),
}

impl Place {
    pub(super) fn of(who: &Who, cpu: Cpu, context: Context) -> Place {
        match context {
            Context::Task if who.tid != Tid(0) => {
                Place::Thread { tid: who.tid, incarnation: who.incarnation, pid: who.pid }
            }
            context => Place::OnCpu(cpu, context),
        }
    }
}

/// All tracks, each with a number of its own.
#[derive(Debug, Default)]
pub(super) struct Tracks {
    tracks: HashMap<Place, Track, RandomState>,
    /// The processes that have a name.
    processes: HashMap<Tid, (u64, Comm), RandomState>,
    uuids: Uuids,
    /// What is not told yet.
    fresh: Vec<TrackDescriptor>,
}

#[derive(Debug)]
struct Track {
    uuid: u64,
    comm: Option<Comm>,
    /// The track itself, and those below it.
    lanes: Vec<(u64, Nesting)>,
}

/// Counts up: no number is used twice in a trace.
#[derive(Debug, Default)]
struct Uuids(u64);

impl Uuids {
    fn next(&mut self) -> u64 {
        self.0 += 1;
        self.0
    }
}

impl Tracks {
    /// The track for a slice, under the name that its task had last. None where the slice nests with
    /// those on none of the place's tracks.
    pub(super) fn for_slice(
        &mut self,
        place: Place,
        comm: Option<Comm>,
        (begin_ns, end_ns): (u64, u64),
    ) -> Option<u64> {
        let parent_uuid = self.tell(place, comm);
        let track = self.tracks.get_mut(&place)?;
        for (uuid, nesting) in &mut track.lanes {
            if nesting.takes(begin_ns, end_ns) {
                return Some(*uuid);
            }
        }
        if track.lanes.len() >= MAX_LANES {
            return None;
        }
        let (uuid, mut nesting) = (self.uuids.next(), Nesting::default());
        nesting.takes(begin_ns, end_ns);
        track.lanes.push((uuid, nesting));
        self.fresh.push(TrackDescriptor {
            uuid: Some(uuid),
            parent_uuid: Some(parent_uuid),
            name: Some("overlapping waits".to_owned()),
            ..TrackDescriptor::default()
        });
        Some(uuid)
    }

    /// The track for an instant.
    pub(super) fn for_instant(&mut self, place: Place, comm: Option<Comm>) -> u64 {
        self.tell(place, comm)
    }

    /// A track that has nothing to do with tasks or CPUs.
    pub(super) fn another(&mut self, descriptor: TrackDescriptor) -> u64 {
        let uuid = self.uuids.next();
        self.fresh.push(TrackDescriptor { uuid: Some(uuid), ..descriptor });
        uuid
    }

    /// What has to stand before the packet that first uses it.
    pub(super) fn take_fresh(&mut self) -> Vec<TrackDescriptor> {
        std::mem::take(&mut self.fresh)
    }

    pub(super) fn is_full(&self) -> bool {
        self.tracks.len() + self.processes.len() >= MAX_TRACKS
    }

    /// As if none had been told: all get new numbers.
    pub(super) fn forget(&mut self) {
        let uuids = std::mem::take(&mut self.uuids);
        *self = Tracks { uuids, ..Tracks::default() };
    }

    /// Tells of a track that is new, or of a thread that has another name.
    fn tell(&mut self, place: Place, comm: Option<Comm>) -> u64 {
        // What runs on top of a task is not called as it is.
        let comm = comm.filter(|_| matches!(place, Place::Thread { .. }));
        if let (Place::Thread { tid, pid: Some(pid), .. }, Some(comm)) = (place, comm)
            && tid == pid
        {
            self.tell_process(pid, comm);
        }
        let track = match self.tracks.entry(place) {
            Entry::Occupied(known) if comm.is_none() || known.get().comm == comm => {
                return known.get().uuid;
            }
            Entry::Occupied(renamed) => renamed.into_mut(),
            Entry::Vacant(new) => {
                let uuid = self.uuids.next();
                new.insert(Track { uuid, comm, lanes: vec![(uuid, Nesting::default())] })
            }
        };
        track.comm = comm;
        self.fresh.push(descriptor(track.uuid, place, comm));
        track.uuid
    }

    fn tell_process(&mut self, pid: Tid, comm: Comm) {
        let uuid = match self.processes.get_mut(&pid) {
            Some((_, known)) if *known == comm => return,
            Some((uuid, known)) => {
                *known = comm;
                *uuid
            }
            None => {
                let uuid = self.uuids.next();
                self.processes.insert(pid, (uuid, comm));
                uuid
            }
        };
        self.fresh.push(TrackDescriptor {
            uuid: Some(uuid),
            process: Some(ProcessDescriptor {
                pid: i32::try_from(pid.0).ok(),
                process_name: Some(terminal(comm.as_bytes()).into_owned()),
            }),
            ..TrackDescriptor::default()
        });
    }
}

fn descriptor(uuid: u64, place: Place, comm: Option<Comm>) -> TrackDescriptor {
    let comm = comm.map(|comm| terminal(comm.as_bytes()).into_owned());
    let (name, thread) = match place {
        Place::Thread { tid, pid: Some(pid), .. } => {
            let thread = ThreadDescriptor {
                pid: i32::try_from(pid.0).ok(),
                tid: Some(tid.0.into()),
                thread_name: comm,
            };
            (None, Some(thread))
        }
        // A thread is one of a process; this is but a track.
        Place::Thread { tid, pid: None, .. } => {
            (Some(format!("{}-{tid}", comm.as_deref().unwrap_or("?"))), None)
        }
        Place::OnCpu(cpu, Context::Task) => (Some(format!("CPU {} idle", cpu.0)), None),
        Place::OnCpu(cpu, context) => (Some(format!("CPU {} {}", cpu.0, context.name())), None),
        Place::Lost(cpu) => (Some(format!("CPU {} lost events", cpu.0)), None),
    };
    TrackDescriptor { uuid: Some(uuid), name, thread, ..TrackDescriptor::default() }
}
