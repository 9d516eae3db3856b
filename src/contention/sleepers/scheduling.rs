//! What the scheduler's events say of open waits: where their time goes, and who ends them.

use super::super::holders::{Evidence, Holder};
use super::super::wait::{Cause, OpenWait, Wait};
use super::{Nest, Sleepers};
use crate::event::{Body, Context, Event, Head, LeftAs, StackId, Stamp, Tid};

impl Sleepers {
    /// Whoever raises an event runs. Not every switch is recorded: on some machines those from tasks
    /// that are not to be traced are not, and a task that is given its CPU so would never come back.
    pub(super) fn runs(&mut self, event: &Event) {
        let is_leaving = matches!(event.body, Body::Switch { .. } | Body::SleepStack(_));
        if event.head.context != Context::Task || is_leaving {
            return;
        }
        if let Some(nest) = self.waiters.get_mut(&event.head.tid) {
            nest.comes_back(event.head.ts_ns);
        }
    }

    pub(super) fn switch(&mut self, ns: u64, prev: Tid, left_as: LeftAs, next: Tid) {
        self.any_switch = true;
        if let Some(nest) = self.waiters.get_mut(&prev) {
            nest.leaves(ns, left_as);
        }
        if let Some(nest) = self.waiters.get_mut(&next) {
            nest.comes_back(ns);
        }
    }

    /// Whoever wakes a waiter has let its lock go, unless it is an interrupt: that has no lock to
    /// let go, and stands for a timer or a signal.
    pub(super) fn waking(&mut self, head: &Head, tid: Tid) {
        let Some(nest) = self.waiters.get_mut(&tid) else { return };
        nest.is_woken(head.ts_ns);
        let Some(lock) = nest.innermost().map(|wait| wait.lock) else { return };
        if head.context != Context::Task || head.tid == Tid(0) || head.tid == tid {
            return;
        }
        // A waiter that finds the lock free wakes those who can share it: their holder is its own.
        let waker = self.waiters.get(&head.tid).and_then(|nest| waits_for(nest, lock));
        let holder = match waker {
            Some(waker) => waker.holder,
            None => Some(self.holders.lets_go(lock, head, Evidence::Waking)),
        };
        if let Some(wait) = self.waiters.get_mut(&tid).and_then(Nest::innermost) {
            wait.holder = holder;
        }
    }

    /// The stack of the waking just before.
    pub(super) fn waker_stack(&mut self, head: &Head, tid: Tid, stack: StackId) {
        let wait = self.waiters.get_mut(&tid).and_then(Nest::innermost);
        let holder = wait.and_then(|wait| wait.holder.as_mut());
        if let Some(holder) = holder.filter(|holder| holder.head.tid == head.tid) {
            holder.stack.get_or_insert(stack);
        }
    }

    /// A finished wait with what is known of its holder. Who gave up was not let in by anybody.
    pub(super) fn finished(&mut self, wait: Wait, end: &Head) -> Wait {
        if wait.ret < 0 {
            return Wait { holder: None, ..wait };
        }
        let told = self.holders.released_since(wait.lock, &wait.begin);
        let told = told.filter(|holder| holder.head.tid != wait.begin.tid);
        self.holders.acquired(wait.lock, end);
        // The kernel's word outweighs the waker, whose stack it may lack.
        let stack = wait.holder.filter(|by| told.is_some_and(|told| told.head.tid == by.head.tid));
        let told = told.map(|told| Holder { stack: stack.and_then(|by| by.stack), ..told });
        Wait { holder: told.or(wait.holder), ..wait }
    }

    /// An open wait, with who probably has its lock: the last one known to have got it. Of a futex
    /// only the lock itself can tell: other processes have others at the same address.
    pub(super) fn with_likely_holder(&self, wait: OpenWait) -> OpenWait {
        let read = wait.holder.filter(|holder| holder.evidence == Evidence::Memory);
        let is_kernels = wait.cause.flags().is_some();
        let likely = || self.holders.likely(wait.lock, wait.begin.tid).filter(|_| is_kernels);
        OpenWait { holder: read.or_else(likely).or(wait.holder), ..wait }
    }

    /// The memory of the lock that `wait` is for says who has it, at `now`.
    pub fn owner_found(&mut self, wait: &OpenWait, now: Stamp, owner: Tid) -> OpenWait {
        let head = Head { stamp: now, ts_ns: now.ts_ns, tid: owner, ..wait.begin };
        let holder = Some(Holder { head, evidence: Evidence::Memory, stack: None, held_ns: None });
        let nest = self.waiters.get_mut(&wait.begin.tid);
        let open = nest.and_then(|nest| {
            nest.open_mut().iter_mut().find(|open| open.begin.stamp == wait.begin.stamp)
        });
        open.into_iter().for_each(|open| open.holder = holder);
        OpenWait { holder, ..*wait }
    }

    /// Locks whose holders were forgotten for want of room.
    pub fn holders_forgotten(&self) -> u64 {
        self.holders.forgotten
    }
}

fn waits_for(nest: &Nest, lock: u64) -> Option<&OpenWait> {
    let is_kernels = |wait: &&OpenWait| matches!(wait.cause, Cause::Lock(_));
    nest.open().iter().filter(is_kernels).find(|wait| wait.lock == lock)
}
