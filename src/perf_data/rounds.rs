//! Records of all CPUs in the order of time.
//!
//! perf writes what its buffers hold one after the other, a round through all of them at a time:
//! nothing in a round but the next one is older than the newest in this (tools/perf/util/session.c,
//! `process_finished_round`, 6.18).
//!
//! ```text
//!   file:    round 1           | round 2           | round 3 ..
//!   kept:                        all of round 1, and of round 2 what is not newer
//! ```

use super::Error;
use super::error::Fault;
use super::moments::{Held, HeldWhat, Kept, Reading};
use super::records::kind;
use super::unpack::Records;
use crate::event::{Cpu, TaskEvent, Tid};
use std::path::PathBuf;

/// A round ends here at the latest, as far as memory goes. Where rounds are larger, or their ends are
/// not told, events may come late, which is counted.
const MOST_OF_ROUND_BYTES: usize = 64 << 20;

/// Something that happened on a CPU.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Moment<'a> {
    /// When, in ns of the trace clock; 0 for what perf knew when it started.
    pub at_ns: u64,
    /// Where.
    pub cpu: Cpu,
    /// What.
    pub what: MomentWhat<'a>,
}

/// What happened on a CPU.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MomentWhat<'a> {
    /// An event.
    Event {
        /// As the kernel's own trace has it, from `common_type` on.
        payload: &'a [u8],
        /// Its kernel stack, innermost first; empty where there is none.
        frames: &'a [u64],
    },
    /// A task was born, named, or left.
    Task {
        /// The current task.
        by: Tid,
        /// What became of which.
        event: TaskEvent,
    },
    /// Events are missing between what came before on this CPU and this.
    Lost {
        /// How many, where that is known.
        missed: Option<u64>,
    },
}

/// A recording that is being read.
#[derive(Debug)]
pub struct Reader {
    path: PathBuf,
    records: Records,
    reading: Reading,
    size_bytes: u64,
    old: Round,
    new: Round,
    /// What is in order now: whether of the new round, and where there.
    due: Vec<(bool, usize)>,
    complete_up_to_ns: u64,
    is_done: bool,
    fault: Option<Error>,
}

/// A round's records, and their order: what was handed out is in front.
#[derive(Debug, Default)]
struct Round {
    kept: Kept,
    order: Vec<(u64, usize)>,
    handed_out: usize,
    newest_ns: u64,
}

impl Round {
    fn clear(&mut self) {
        self.kept.clear();
        self.order.clear();
        self.handed_out = 0;
    }

    fn sort(&mut self) {
        let times = self.kept.held.iter().map(|held| held.at_ns);
        self.order.extend(times.zip(0..));
        self.order.sort_unstable();
        self.newest_ns = self.order.last().map_or(self.newest_ns, |&(at_ns, _)| at_ns);
    }

    /// What is next, if it is not newer than that.
    fn next(&self, up_to_ns: u64) -> Option<(u64, usize)> {
        self.order.get(self.handed_out).copied().filter(|&(at_ns, _)| at_ns <= up_to_ns)
    }

    fn moment(&self, place: usize) -> Option<Moment<'_>> {
        let Held { at_ns, cpu, what } = self.kept.held.get(place)?;
        let what = match what {
            HeldWhat::Sample { payload, frames } => MomentWhat::Event {
                payload: self.kept.payloads.get(payload.clone())?,
                frames: self.kept.frames.get(frames.clone())?,
            },
            &HeldWhat::Task { by, event } => MomentWhat::Task { by, event },
            &HeldWhat::Lost { missed } => MomentWhat::Lost { missed },
        };
        Some(Moment { at_ns: *at_ns, cpu: *cpu, what })
    }
}

impl Reader {
    pub(super) fn new(path: PathBuf, records: Records, reading: Reading) -> Reader {
        Reader {
            path,
            size_bytes: records.left_bytes(),
            records,
            reading,
            old: Round::default(),
            new: Round::default(),
            due: Vec::new(),
            complete_up_to_ns: 0,
            is_done: false,
            fault: None,
        }
    }

    /// Reads on to the end of a round; then [`Reader::moments`] are others.
    pub fn read(&mut self) {
        self.old.clear();
        std::mem::swap(&mut self.old, &mut self.new);
        self.due.clear();
        let up_to_ns = match self.read_round() {
            Ok(true) => self.old.newest_ns,
            Ok(false) => self.end(),
            Err(fault) => {
                self.fault = Some(Error { path: self.path.clone(), fault });
                self.records.stop();
                self.end()
            }
        };
        self.new.sort();
        self.new.newest_ns = self.new.newest_ns.max(self.old.newest_ns);
        self.merge(up_to_ns);
        // Others of that very time may still come.
        self.complete_up_to_ns = if self.is_done { u64::MAX } else { up_to_ns.saturating_sub(1) };
    }

    /// What the last call brought into order, oldest first.
    pub fn moments(&self) -> impl Iterator<Item = Moment<'_>> {
        self.due.iter().filter_map(|&(is_new, place)| {
            if is_new { self.new.moment(place) } else { self.old.moment(place) }
        })
    }

    /// Nothing up to here comes later, in ns; the greatest number there is at the end.
    pub fn complete_up_to_ns(&self) -> u64 {
        self.complete_up_to_ns
    }

    /// How much has been read, in percent.
    pub fn percent(&self) -> u64 {
        let read = self.size_bytes.saturating_sub(self.records.left_bytes());
        read.saturating_mul(100).checked_div(self.size_bytes).unwrap_or(100)
    }

    /// Records that could not be read.
    pub fn unread(&self) -> u64 {
        self.reading.unread
    }

    /// Why the rest is left out, if any is.
    pub fn fault(&self) -> Option<&Error> {
        self.fault.as_ref()
    }

    /// Whether a further round follows.
    fn read_round(&mut self) -> Result<bool, Fault> {
        while let Some(place) = self.records.advance()? {
            if place.kind == kind::FINISHED_ROUND {
                return Ok(true);
            }
            self.reading.take(&self.records.record(&place), &mut self.new.kept);
            if self.new.kept.size_bytes() >= MOST_OF_ROUND_BYTES {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// The last round was read: what was lost behind it is told.
    fn end(&mut self) -> u64 {
        self.is_done = true;
        let last_ns = self.new.kept.held.iter().map(|held| held.at_ns).max();
        let at_ns = last_ns.unwrap_or(0).max(self.old.newest_ns);
        let mut lost: Vec<_> = self.reading.lost_at_end().collect();
        lost.sort_unstable();
        for (cpu, missed) in lost {
            let what = HeldWhat::Lost { missed: Some(missed) };
            self.new.kept.held.push(Held { at_ns, cpu, what });
        }
        u64::MAX
    }

    fn merge(&mut self, up_to_ns: u64) {
        loop {
            let (old, new) = (self.old.next(up_to_ns), self.new.next(up_to_ns));
            let is_new = match (old, new) {
                (None, None) => return,
                (Some((old_ns, _)), Some((new_ns, _))) => new_ns < old_ns,
                (old, _) => old.is_none(),
            };
            let round = if is_new { &mut self.new } else { &mut self.old };
            round.handed_out += 1;
            self.due.extend(if is_new { new } else { old }.map(|(_, place)| (is_new, place)));
        }
    }
}
