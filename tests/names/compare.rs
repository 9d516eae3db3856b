//! The kernel's events from its text, and the comparison of its names with ours.

use std::fmt;

use ftlock::cmdline_cache::{Certainty, CmdlineCache};
use ftlock::event::{Comm, Context, Cpu, Head, Stamp, TaskEvent, Tid};

use super::text::{Record, between, comm, id, rcut};

/// The text's own order is the events' order: its times are rounded.
pub(crate) fn stamp(place: usize) -> Stamp {
    Stamp::before(place as u64 + 2)
}

pub(crate) fn task_event(record: &Record) -> Option<TaskEvent> {
    const CLONE_THREAD: u64 = 0x10000;
    let fields = &record.fields;
    match record.event.as_str() {
        "task_newtask" => {
            let flags = between(fields, " clone_flags=", " oom_score_adj=")?;
            let flags = u64::from_str_radix(str::from_utf8(flags).ok()?, 16).ok()?;
            let tid = Tid(str::from_utf8(between(fields, "pid=", " comm=")?).ok()?.parse().ok()?);
            let comm = comm(fields, " comm=", " clone_flags=")?;
            let thread = flags & CLONE_THREAD != 0;
            Some(TaskEvent::New { tid, comm, thread, own_cgroup: false })
        }
        "task_rename" => {
            let old = comm(fields, " oldcomm=", " newcomm=")?;
            let new = comm(fields, " newcomm=", " oom_score_adj=")?;
            let tid = str::from_utf8(fields.strip_prefix(b"pid=")?.split(|&b| b == b' ').next()?);
            Some(TaskEvent::Rename { tid: Tid(tid.ok()?.parse().ok()?), old, new })
        }
        "sched_process_fork" => Some(TaskEvent::Fork {
            parent: id(between(fields, "comm=", " child_comm=")?, " pid=")?,
            child: id(fields, " child_pid=")?,
            child_comm: comm(fields, " child_comm=", " child_pid=")?,
        }),
        "sched_process_exec" => {
            let tid = id(between(fields, "filename=", " old_pid=")?, " pid=")?;
            let old_tid = id(fields, " old_pid=")?;
            Some(TaskEvent::Exec { tid, old_tid, filename: None })
        }
        "sched_process_exit" => Some(TaskEvent::Exit { tid: id(fields, " pid=")? }),
        _ => None,
    }
}

/// What a switch says: who goes (and in which state), who comes.
pub(crate) fn switched(record: &Record) -> Option<[(Tid, Comm); 2]> {
    if record.event != "sched_switch" {
        return None;
    }
    let fields = &record.fields;
    let prev = between(fields, "prev_comm=", " ==> next_comm=")?;
    let prev = (id(prev, " prev_pid=")?, Comm::new(rcut(prev, b" prev_pid=")?.0));
    let next = rcut(fields, b" ==> next_comm=")?.1;
    let next = (id(next, " next_pid=")?, Comm::new(rcut(next, b" next_pid=")?.0));
    Some([prev, next])
}

pub(crate) fn apply_all(cache: &mut CmdlineCache, records: &[Record]) {
    for (place, record) in records.iter().enumerate() {
        if let Some(event) = task_event(record) {
            let (stamp, cpu, tid) = (stamp(place), Cpu(record.cpu), record.current);
            let head = Head { stamp, ts_ns: stamp.ts_ns, cpu, tid, context: Context::Task };
            cache.apply(&head, &event);
        }
    }
}

#[derive(Default)]
pub(crate) struct Tally {
    pub(crate) known: usize,
    pub(crate) unconfirmed: usize,
    pub(crate) unknown: usize,
    /// Wrong though known, and wrong at all.
    pub(crate) wrong_known: Vec<String>,
    pub(crate) wrong: Vec<String>,
}

/// Compares the names of every switch with ours, from a record on.
pub(crate) fn compare(cache: &CmdlineCache, records: &[Record], from: usize) -> Tally {
    let mut tally = Tally::default();
    for (place, record) in records.iter().enumerate().skip(from) {
        for (tid, truth) in switched(record).into_iter().flatten() {
            let name = cache.name_at(tid, Cpu(record.cpu), stamp(place));
            match name.certainty {
                Certainty::Known => tally.known += 1,
                Certainty::Unconfirmed => tally.unconfirmed += 1,
                Certainty::Unknown => tally.unknown += 1,
            }
            if name.comm != truth {
                let line = format!("record {place}: {tid} is {truth:?}, not {name:?}");
                if name.certainty == Certainty::Known {
                    tally.wrong_known.push(line.clone());
                }
                tally.wrong.push(line);
            }
        }
    }
    tally
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (known, unconfirmed, unknown) = (self.known, self.unconfirmed, self.unknown);
        let wrong = self.wrong.len();
        write!(f, "{known} known, {unconfirmed} unconfirmed, {unknown} unknown, {wrong} wrong")
    }
}
