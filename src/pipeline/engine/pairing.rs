//! A window: its events paired, its waits named, summed and streamed.

use crate::contention::Wait;
use crate::event::{Body, Stamp};

use super::super::merge::merge;
use super::super::results::Sink;
use super::super::workers::on_each;
use super::Engine;

impl Engine {
    /// Processes all events up to the watermark; those behind it stay for a later window.
    pub fn window(&mut self, watermark_ns: u64, sink: &mut dyn Sink) {
        let counts: Vec<usize> = self.lanes.iter().map(|lane| lane.before(watermark_ns)).collect();
        let events = counts.iter().sum();
        self.pair_spinners(&counts, events);
        self.merge_the_rest(sink);
        self.learn(watermark_ns);
        self.name_and_sum(events);
        match self.raw {
            true => self.stream_events(&counts, sink),
            false => self.stream_waits(sink),
        }
        for (lane, count) in self.lanes.iter_mut().zip(counts) {
            lane.forget(count);
        }
        self.waits.clear();
        self.slept.clear();
        self.named.clear();
        self.processed_ns = self.processed_ns.max(watermark_ns);
    }

    fn pair_spinners(&mut self, counts: &[usize], events: usize) {
        let mut work: Vec<_> = self.lanes.iter_mut().zip(counts.iter().copied()).collect();
        on_each(&mut work, events, |(lane, count)| {
            for event in lane.events.iter().take(*count) {
                lane.mmap_locks.take(event);
                lane.spinners.take(event, &mut lane.waits, &mut lane.forward);
            }
        });
        for lane in &mut self.lanes {
            self.mmap_locks.learn(&mut lane.mmap_locks);
        }
    }

    /// What concerns tasks, in the order of time over all CPUs: names, targets, sleeping waits.
    fn merge_the_rest(&mut self, sink: &mut dyn Sink) {
        let forwarded = self.lanes.iter().map(|lane| lane.forward.as_slice()).collect();
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
        self.spaces.learn(&self.cache, |head, name| self.keep.shows(head, name));
        if !self.cache.keeps_facts() {
            return;
        }
        let of_lanes = self.lanes.iter().flat_map(|lane| &lane.waits);
        for Wait { begin, .. } in of_lanes.chain(&self.waits).chain(&self.slept) {
            let name = self.cache.name_at(begin.tid, begin.cpu, begin.stamp);
            if self.keep.shows(begin, &name) {
                self.cache.take_note(begin.tid, begin.stamp);
            }
        }
        self.cache.learn(Stamp::behind(watermark_ns));
    }
}
