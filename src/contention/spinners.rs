//! One CPU's spinning waits. They never leave their CPU and context.

use super::counts::CauseCounts;
use super::nest::{Matched, Nest};
use super::wait::{Cause, OpenWait, Wait};
use crate::event::{Body, Context, Event, Head, StackId, Tid};

/// Pairs the spinning waits of one CPU, by context, and forwards the rest.
///
/// Feed it that CPU's events in order. What belongs to tasks comes out again through `forward`,
/// still in order, for [`super::Sleepers`].
#[derive(Debug, Default)]
pub struct Spinners {
    contexts: [OneContext; Context::ALL.len()],
    /// Who runs on the CPU, by its last switch.
    running: Option<Tid>,
    /// Switches that were not recorded although no event was lost: a task left that had not come.
    pub switches_missing: u64,
    /// Where every begin and end taken here went.
    pub counts: CauseCounts,
}

#[derive(Debug, Default)]
struct OneContext {
    /// Whom the open waits belong to.
    tid: Option<Tid>,
    nest: Nest,
    /// The newest event that a stack may follow.
    newest: Option<Newest>,
    /// A begin was seen: an end without one no longer comes from before the start.
    begun: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Newest {
    tid: Tid,
    of: NewestOf,
}

/// What a stack that follows belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum NewestOf {
    /// A wait of this CPU.
    Here,
    /// A begin that was forwarded.
    Begin,
    /// The waking of a task.
    Waking(Tid),
    /// The task's leaving of its CPU.
    Switch,
}

impl Spinners {
    /// Takes the CPU's next event. A finished wait goes to `waits`; what may leave the CPU, and
    /// everything about tasks and gaps, to `forward`.
    pub fn take(&mut self, event: &Event, waits: &mut Vec<Wait>, forward: &mut Vec<Event>) {
        let head = &event.head;
        match event.body {
            Body::LockBegin { lock, flags } => {
                let stays = stays_here(head) || flags.is_spinning();
                let context = of(&mut self.contexts, head, &mut self.counts);
                if stays {
                    self.counts.locks.begins_read += 1;
                    context.begun = true;
                    context.tid = Some(head.tid);
                    context.note(head, NewestOf::Here);
                    context.nest.begin(head, lock, Cause::Lock(flags), &mut self.counts);
                } else {
                    context.note(head, NewestOf::Begin);
                    forward.push(*event);
                }
            }
            Body::LockEnd { lock, ret } => {
                let context = of(&mut self.contexts, head, &mut self.counts);
                match context.nest.end(head, lock, ret, &mut self.counts) {
                    Matched::Wait(wait) => waits.push(wait),
                    Matched::NoWait | Matched::Overflowed => {}
                    Matched::Nothing if stays_here(head) => match context.begun {
                        true => self.counts.locks.orphan_end += 1,
                        false => self.counts.locks.began_before_start += 1,
                    },
                    Matched::Nothing => return forward.push(*event),
                }
                self.counts.locks.ends_read += 1;
            }
            Body::Stack(stack) => self.stack(event, stack, forward),
            Body::Waking { tid } => {
                let context = of(&mut self.contexts, head, &mut self.counts);
                context.note(head, NewestOf::Waking(tid));
                forward.push(*event);
            }
            Body::Switch { prev, next, .. } => {
                let left_unseen = self.running.replace(next).is_some_and(|running| running != prev);
                self.switches_missing += u64::from(left_unseen);
                // A spinner stays on its CPU until it has the lock.
                let context = of(&mut self.contexts, head, &mut self.counts);
                context.nest.lose_all(&mut self.counts);
                context.note(head, NewestOf::Switch);
                forward.push(*event);
            }
            Body::GapBegin | Body::GapEnd(_) => {
                self.lose_all();
                forward.push(*event);
            }
            Body::Task(_)
            | Body::Released { .. }
            | Body::FutexEnter(_)
            | Body::FutexExit { .. }
            | Body::WakerStack { .. }
            | Body::SleepStack(_) => forward.push(*event),
            Body::MmapLock { .. } | Body::Other => {}
        }
    }

    fn stack(&mut self, event: &Event, stack: StackId, forward: &mut Vec<Event>) {
        let context = of(&mut self.contexts, &event.head, &mut self.counts);
        let newest = context.newest.take().filter(|newest| newest.tid == event.head.tid);
        let body = match newest.map(|newest| newest.of) {
            None => return,
            Some(NewestOf::Here) => return context.nest.stack(stack),
            Some(NewestOf::Begin) => event.body,
            Some(NewestOf::Waking(tid)) => Body::WakerStack { tid, stack },
            Some(NewestOf::Switch) => Body::SleepStack(stack),
        };
        forward.push(Event { body, ..*event });
    }

    /// The earliest begin of the waits that are open now.
    pub fn oldest(&self) -> Option<&Head> {
        let open = self.contexts.iter().flat_map(|context| context.nest.open());
        open.map(|wait| &wait.begin).min_by_key(|head| head.stamp)
    }

    /// The waits that are open now; counts them as such.
    pub fn finish(&mut self) -> Vec<OpenWait> {
        let open: Vec<_> =
            self.contexts.iter().flat_map(|context| context.nest.open()).copied().collect();
        self.counts.locks.open += open.len() as u64;
        open
    }

    fn lose_all(&mut self) {
        for context in &mut self.contexts {
            context.nest.lose_all(&mut self.counts);
            context.newest = None;
            // Whatever ends now may have begun in the gap.
            context.begun = true;
        }
        self.running = None;
    }
}

impl OneContext {
    fn note(&mut self, head: &Head, of: NewestOf) {
        self.newest = Some(Newest { tid: head.tid, of });
    }
}

/// An interrupt's waits, and the idle task's, belong to their CPU whatever the lock.
fn stays_here(head: &Head) -> bool {
    head.context != Context::Task || head.tid == Tid(0)
}

/// The event's context. A spinner holds preemption off: if another task is current in it now, the
/// ends of its waits were lost.
fn of<'a>(
    contexts: &'a mut [OneContext; Context::ALL.len()],
    head: &Head,
    counts: &mut CauseCounts,
) -> &'a mut OneContext {
    let [task, softirq, hardirq, nmi] = contexts;
    let context = match head.context {
        Context::Task => task,
        Context::Softirq => softirq,
        Context::Hardirq => hardirq,
        Context::Nmi => nmi,
    };
    if context.tid.is_some_and(|tid| tid != head.tid) {
        context.nest.lose_all(counts);
        context.tid = None;
    }
    context
}
