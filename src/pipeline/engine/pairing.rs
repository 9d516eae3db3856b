//! A window: its events paired, its waits named, summed and streamed.

use crate::contention::Wait;
use crate::event::{Body, Stamp};

use super::super::merge::merge;
use super::super::results::Sink;
use super::{Engine, Lane};

impl Engine {
    /// Processes all events up to the watermark; those behind it stay for a later window.
    pub fn window(&mut self, watermark_ns: u64, sink: &mut dyn Sink) {
        for lane in &mut self.lanes {
            lane.open_window(watermark_ns);
            self.mmap_locks.learn(&mut lane.mmap_locks, watermark_ns);
        }
        self.merge_the_rest(sink);
        self.learn(watermark_ns);
        let wants_waits = !self.raw && sink.wants_waits();
        self.name_and_sum(wants_waits);
        self.spaces.end_window(watermark_ns);
        match self.raw {
            true => self.stream_events(sink),
            false if wants_waits => {
                let stacks = &self.decoding.stacks;
                self.as_they_ended().into_iter().for_each(|named| sink.wait(named, stacks));
            }
            false => {}
        }
        self.lanes.iter_mut().for_each(Lane::close_window);
        self.waits.clear();
        self.slept.clear();
        self.sums.iter_mut().for_each(|sums| sums.named.clear());
        self.processed_ns = self.processed_ns.max(watermark_ns);
    }

    /// What concerns tasks, in the order of time over all CPUs: names, targets, sleeping waits.
    fn merge_the_rest(&mut self, sink: &mut dyn Sink) {
        let forwarded = self.lanes.iter().map(Lane::forwarded).collect();
        for (_, event) in merge(forwarded) {
            match &event.body {
                Body::Task(task) => {
                    self.cache.apply(&event.head, task);
                    self.spaces.follow(&event.head, task, &self.cache);
                    self.keep.targets.follow(&event.head, task, &self.cache);
                }
                Body::GapEnd(gap) => {
                    self.cache.mark_loss(Stamp::before(gap.after_ns), event.head.stamp);
                    sink.gap(event.head.cpu, gap, event.head.stamp.ts_ns);
                }
                Body::FutexEnter(call) => self.spaces.note(&event.head, call.address),
                _ => {}
            }
            if let Some(sleeps) = &mut self.sleeps {
                sleeps.take(event, &mut self.slept);
            }
            if let Some(wait) = self.sleepers.take(event) {
                self.waits.push(self.spaces.judged(wait, &self.cache));
            }
        }
    }

    /// What is asked for of the tasks that waited, beyond their names.
    fn learn(&mut self, watermark_ns: u64) {
        let window_ns = (self.processed_ns, watermark_ns);
        self.spaces.learn(window_ns, &self.cache, |head, name| self.keep.shows(head, name));
        if !self.cache.keeps_facts() {
            return;
        }
        let of_lanes = self.lanes.iter().flat_map(Lane::finished);
        for Wait { begin, .. } in of_lanes.chain(&self.waits).chain(&self.slept) {
            let name = self.cache.name_at(begin.tid, begin.cpu, begin.stamp);
            if self.keep.shows(begin, &name) {
                self.cache.take_note(begin.tid, begin.stamp);
            }
        }
        self.cache.learn(Stamp::behind(watermark_ns));
    }
}
