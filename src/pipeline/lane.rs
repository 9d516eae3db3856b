//! One CPU's way through the pipeline: sub-buffers to events and spinning waits.

mod items;

use std::collections::HashMap;

use crate::cmdline_cache::EventTexts;
use crate::contention::{Spinners, Wait};
use crate::event::decode::{Decoded, Decoder};
use crate::event::{Body, Context, Cpu, Event, Gap, Head, Stamp, TaskEvent, Tid};
use crate::symbols::StackTable;
use crate::tracefs::{Abi, PageFault, Record, Resume, Step, SubbufLayout, walk};

use super::mmap_locks::Taken;
use super::raw::RawStore;

pub use items::{Item, What};

/// What decoding needs to know; the same for every CPU.
#[derive(Debug)]
pub(super) struct Decoding {
    pub(super) layout: SubbufLayout,
    pub(super) abi: Abi,
    pub(super) decoder: Decoder,
    pub(super) stacks: StackTable,
    pub(super) texts: EventTexts,
}

/// One CPU's state.
#[derive(Debug)]
pub(super) struct Lane {
    pub(super) cpu: Cpu,
    /// Where every event is streamed: those in no window yet, sorted by stamp, with their bytes.
    pub(super) events: Vec<Event>,
    pub(super) raw: Option<RawStore>,
    pub(super) spinners: Spinners,
    pub(super) mmap_locks: Taken,
    /// What came of the events that are in no window yet: spinning waits, in the order of their ends, ..
    pub(super) waits: Vec<Wait>,
    /// .. and what goes to the sleepers, sorted by stamp.
    pub(super) forward: Vec<Event>,
    /// How many of each the current window has.
    pub(super) window: InWindow,
    pub(super) read: ReadCounts,
    resume: Option<Resume>,
    /// Time of the last record, as recorded and as ordered.
    last_ns: u64,
    seq: u64,
    gap: Option<Option<u64>>,
    /// Every event up to here has been read: a gap found later lies behind it.
    read_up_to_ns: u64,
    frames: Vec<u64>,
}

/// How many of the first are in a window.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct InWindow {
    pub(super) events: usize,
    pub(super) waits: usize,
    pub(super) forward: usize,
}

/// What one CPU's sub-buffers held.
#[derive(Debug, Clone, Default)]
pub struct ReadCounts {
    /// Events.
    pub events: u64,
    /// Sub-buffers.
    pub sub_buffers: u64,
    /// Gaps.
    pub gaps: u64,
    /// Events that are missing in them; of a gap without a number, none.
    pub missed: u64,
    /// Sub-buffers whose rest was given up, by what was wrong.
    pub faults: HashMap<PageFault, u64>,
    /// Events whose id has no format.
    pub unknown: u64,
    /// Events that lack a field of their format.
    pub malformed: u64,
    /// Frames of stacks.
    pub frames: u64,
    /// Events with a time before the one before.
    pub clock_backward: u64,
    /// Events read after their window was processed.
    pub late: u64,
}

impl Lane {
    pub(super) fn new(cpu: Cpu, raw: Option<RawStore>) -> Lane {
        Lane {
            cpu,
            events: Vec::new(),
            raw,
            spinners: Spinners::default(),
            mmap_locks: Taken::default(),
            waits: Vec::new(),
            forward: Vec::new(),
            window: InWindow::default(),
            read: ReadCounts::default(),
            resume: None,
            last_ns: 0,
            seq: 0,
            gap: None,
            read_up_to_ns: 0,
            frames: Vec::new(),
        }
    }

    /// Decodes one sub-buffer, or what has been added to it since it was last seen.
    ///
    /// `resumes`: the bytes are those of the sub-buffer before, grown. Events at or before
    /// `processed_ns` come late: their window is gone.
    pub(super) fn decode(
        &mut self,
        with: &Decoding,
        sub_buffer: &[u8],
        resumes: bool,
        processed_ns: u64,
    ) {
        let resume = self.resume.filter(|_| resumes);
        let mut steps = walk(sub_buffer, &with.layout, with.abi, resume);
        self.read.sub_buffers += u64::from(resume.is_none());
        loop {
            while let Some(record) = steps.next_short() {
                _ = self.record(with, &record, processed_ns);
            }
            match steps.next() {
                Some(Step::Lost { missed }) => self.gap = Some(missed),
                Some(Step::Record(record)) => _ = self.record(with, &record, processed_ns),
                Some(Step::Fault(fault)) => *self.read.faults.entry(fault).or_default() += 1,
                None => break,
            }
        }
        self.resume = Some(steps.resume());
    }

    /// Events are missing before the next one, nobody knows how many.
    pub(super) fn begin_gap(&mut self) {
        self.gap.get_or_insert(None);
    }

    /// Every event up to `ts_ns` has been read.
    pub(super) fn set_read_up_to(&mut self, ts_ns: u64) {
        self.read_up_to_ns = self.read_up_to_ns.max(ts_ns);
    }

    /// The time of the last record read.
    pub(super) fn last_ns(&self) -> u64 {
        self.last_ns
    }

    /// Up to when it is known what happened on this CPU.
    pub(super) fn known_ns(&self) -> u64 {
        self.last_ns.max(self.read_up_to_ns)
    }

    /// What was decoded and is in no window yet.
    pub(super) fn pending(&self) -> usize {
        self.waits.len() + self.forward.len() + self.events.len()
    }

    /// Puts into a window what happened at or before the watermark.
    pub(super) fn open_window(&mut self, watermark_ns: u64) {
        let is_in = |event: &Event| event.head.stamp.ts_ns <= watermark_ns;
        // Where the clock fell back, a wait's end says less than its begin's place.
        let is_over = |wait: &Wait| wait.end_ns.max(wait.begin.stamp.ts_ns) <= watermark_ns;
        self.window = InWindow {
            events: self.events.partition_point(is_in),
            waits: self.waits.iter().position(|wait| !is_over(wait)).unwrap_or(self.waits.len()),
            forward: self.forward.partition_point(is_in),
        };
    }

    /// The current window's part of what goes to the sleepers.
    pub(super) fn forwarded(&self) -> &[Event] {
        self.forward.get(..self.window.forward).unwrap_or(&[])
    }

    /// The current window's spinning waits.
    pub(super) fn finished(&self) -> &[Wait] {
        self.waits.get(..self.window.waits).unwrap_or(&[])
    }

    /// The earliest begin that still needs its name.
    pub(super) fn oldest(&self) -> Option<Stamp> {
        let unnamed = self.waits.iter().map(|wait| wait.begin.stamp);
        unnamed.chain(self.spinners.oldest().map(|begin| begin.stamp)).min()
    }

    /// The window is done with.
    pub(super) fn close_window(&mut self) {
        let InWindow { events, waits, forward } = std::mem::take(&mut self.window);
        self.events.drain(..events);
        if let Some(raw) = &mut self.raw {
            raw.forget(events);
        }
        self.waits.drain(..waits);
        self.forward.drain(..forward);
    }

    #[inline]
    fn record(&mut self, with: &Decoding, record: &Record<'_>, processed_ns: u64) -> Option<Event> {
        self.read.events += 1;
        let Some(raw_head) = with.decoder.head(record.payload) else {
            self.read.malformed += 1;
            return None;
        };
        if record.ts < self.last_ns {
            self.read.clock_backward += 1;
        }
        self.close_gap(record.ts);
        self.last_ns = self.last_ns.max(record.ts);
        self.read.late += u64::from(self.last_ns <= processed_ns);
        let head = Head {
            stamp: self.next_stamp(),
            ts_ns: record.ts,
            cpu: self.cpu,
            tid: raw_head.tid,
            context: Context::from_common_flags(raw_head.flags),
        };
        let body = match with.decoder.lock_event(raw_head.id, record.payload) {
            Some(body) => body,
            None => self.body(with, raw_head.id, record.payload),
        };
        let event = Event { head, body };
        self.take(&event);
        if let Some(raw) = &mut self.raw {
            self.events.push(event);
            raw.push(raw_head, record.payload);
        }
        Some(event)
    }

    fn body(&mut self, with: &Decoding, id: u16, payload: &[u8]) -> Body {
        match with.decoder.decode(id, payload) {
            Ok(Decoded::Plain(body)) => body,
            Ok(Decoded::Exec { tid, old_tid, filename }) => {
                let filename = filename.and_then(|filename| with.texts.filename(filename));
                Body::Task(TaskEvent::Exec { tid, old_tid, filename })
            }
            Ok(Decoded::Moved { hierarchy, tid, path }) => {
                let cgroup = with.texts.cgroup(hierarchy, path);
                let moved = cgroup.map(|cgroup| TaskEvent::Moved { tid, cgroup });
                moved.map_or(Body::Other, Body::Task)
            }
            Ok(Decoded::Stack(frames)) => {
                self.frames.clear();
                self.frames.extend(frames);
                self.read.frames += self.frames.len() as u64;
                with.stacks.intern(&self.frames).map_or(Body::Other, Body::Stack)
            }
            Ok(Decoded::Unknown) => {
                self.read.unknown += 1;
                Body::Other
            }
            Err(_) => {
                self.read.malformed += 1;
                Body::Other
            }
        }
    }

    /// A gap lies between what had been read for certain and the record at `next_ns`.
    fn close_gap(&mut self, next_ns: u64) {
        let Some(missed) = self.gap.take() else { return };
        self.read.gaps += 1;
        self.read.missed += missed.unwrap_or(0);
        let after_ns = self.last_ns.max(self.read_up_to_ns.min(next_ns));
        self.last_ns = after_ns;
        self.push_gap(Body::GapBegin);
        self.last_ns = after_ns.max(next_ns);
        self.push_gap(Body::GapEnd(Gap { missed, after_ns }));
    }

    fn push_gap(&mut self, body: Body) {
        self.push_beside(Tid(0), Context::Task, body);
    }

    /// Something that is no record by itself.
    fn push_beside(&mut self, tid: Tid, context: Context, body: Body) {
        let (stamp, ts_ns, cpu) = (self.next_stamp(), self.last_ns, self.cpu);
        let event = Event { head: Head { stamp, ts_ns, cpu, tid, context }, body };
        self.take(&event);
        if let Some(raw) = &mut self.raw {
            self.events.push(event);
            raw.push_nothing();
        }
    }

    /// One CPU's order is enough to pair what spins.
    fn take(&mut self, event: &Event) {
        self.mmap_locks.take(event);
        self.spinners.take(event, &mut self.waits, &mut self.forward);
    }

    fn next_stamp(&mut self) -> Stamp {
        self.seq += 1;
        Stamp::new(self.last_ns, self.cpu, self.seq)
    }
}
