//! What sources other than rings have of a CPU, one thing after the other.

use super::{Decoding, Lane};
use crate::event::{Body, Context, Event, Head, TaskEvent, Tid};
use crate::tracefs::Record;

/// Something that a source has of a CPU, in the order of its time.
#[derive(Debug, Clone, Copy)]
pub struct Item<'a> {
    /// When, in ns of the trace clock.
    pub at_ns: u64,
    /// What.
    pub what: What<'a>,
}

/// What a source has of a CPU.
#[derive(Debug, Clone, Copy)]
pub enum What<'a> {
    /// An event as the kernel wrote it, with its kernel stack, innermost frame first; empty where there is none.
    Record {
        /// From `common_type` on.
        payload: &'a [u8],
        /// The return addresses.
        frames: &'a [u64],
    },
    /// What becomes of a task, told by something that is no event.
    Task {
        /// The current task.
        by: Tid,
        /// What.
        event: TaskEvent,
    },
    /// Events of this CPU are missing, between what came before and this instant.
    Lost {
        /// How many, where that is known.
        missed: Option<u64>,
    },
}

impl Lane {
    /// Takes the next thing. What comes with a time at or before `processed_ns` comes late.
    pub(in super::super) fn take_item(
        &mut self,
        with: &Decoding,
        item: &Item<'_>,
        processed_ns: u64,
    ) {
        match item.what {
            What::Record { payload, frames } => {
                let record = Record { ts: item.at_ns, payload };
                let event = self.record(with, &record, processed_ns);
                if let Some(Event { head, .. }) = event.filter(may_have_stack) {
                    self.stack(with, &head, frames);
                }
            }
            What::Task { by, event } => {
                self.close_gap(item.at_ns);
                self.last_ns = self.last_ns.max(item.at_ns);
                self.push_beside(by, Context::Task, Body::Task(event));
            }
            What::Lost { missed } => {
                self.gap.get_or_insert(missed);
                self.close_gap(item.at_ns);
            }
        }
    }

    fn stack(&mut self, with: &Decoding, of: &Head, frames: &[u64]) {
        if let Some(stack) = with.stacks.intern(frames) {
            self.push_beside(of.tid, of.context, Body::Stack(stack));
        }
    }
}

/// Stacks of other events would only fill the table.
fn may_have_stack(event: &Event) -> bool {
    matches!(event.body, Body::LockBegin { .. } | Body::Switch { .. } | Body::Waking { .. })
}
