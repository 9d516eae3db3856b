//! Waits get their names: of tasks, callers, locks, holders.

use crate::cmdline_cache::{CmdlineCache, TaskName};
use crate::contention::{Cause, Holder, OpenWait, Process, Wait};
use crate::event::{Head, StackId};
use crate::report::Table;
use crate::symbols::{LockName, SleepReason, StackTable, Waiter};

use super::mmap_locks::MmapLocks;
use super::named::{NamedHolder, NamedWait, OpenNamed};
use super::spaces::{Spaces, process};

/// What is known when a window's waits are named.
#[derive(Debug, Clone, Copy)]
pub(super) struct Naming<'a> {
    pub(super) cache: &'a CmdlineCache,
    pub(super) stacks: &'a StackTable,
    pub(super) mmap_locks: &'a MmapLocks,
    pub(super) spaces: &'a Spaces,
    /// Whether anybody asks what a finished wait's lock is known as.
    lock_names: bool,
}

impl<'a> Naming<'a> {
    pub(super) fn new(
        cache: &'a CmdlineCache,
        stacks: &'a StackTable,
        mmap_locks: &'a MmapLocks,
        spaces: &'a Spaces,
        lock_names: bool,
    ) -> Naming<'a> {
        Naming { cache, stacks, mmap_locks, spaces, lock_names }
    }
}

impl Naming<'_> {
    /// The name that a task had at an event of it.
    pub(super) fn name(&self, head: &Head) -> TaskName {
        self.cache.name_at(head.tid, head.cpu, head.stamp)
    }

    /// A finished wait under the name of its task.
    #[inline]
    pub(super) fn named(&self, wait: &Wait, name: TaskName) -> NamedWait {
        let begin = &wait.begin;
        let process = self.process(wait.cause, begin);
        let sleep = self.sleep_reason(wait.cause, wait.stack);
        NamedWait {
            wait: *wait,
            table: table(wait, sleep),
            name,
            caller: self.caller(wait.stack, wait.cause),
            lock_name: self
                .lock_names
                .then(|| self.lock_name(process, begin, wait.lock, wait.cause, wait.stack))
                .flatten(),
            process,
            holder: wait.holder.map(|holder| self.holder(holder)),
            chain: None,
            reason: sleep.map(|sleep| sleep.reason),
            cgroup: self.cache.cgroup_at(begin.tid, &name, begin.stamp),
            cmdline: self.cache.cmdline_at(begin.tid, &name, begin.stamp),
        }
    }

    /// An open wait under the name of its task, as it is at `now_ns`.
    pub(super) fn open(&self, wait: &OpenWait, name: TaskName, now_ns: u64) -> OpenNamed {
        let begin = &wait.begin;
        let process = self.process(wait.cause, begin);
        OpenNamed {
            wait: *wait,
            age_ns: now_ns.saturating_sub(wait.begin.ts_ns),
            name,
            caller: self.caller(wait.stack, wait.cause),
            lock_name: self.lock_name(process, begin, wait.lock, wait.cause, wait.stack),
            holder: wait.holder.map(|holder| self.holder(holder)),
            reason: self.sleep_reason(wait.cause, wait.stack).map(|sleep| sleep.reason),
        }
    }

    /// What a sleep is for; what is no sleep has no reason.
    pub(super) fn sleep_reason(&self, cause: Cause, stack: Option<StackId>) -> Option<SleepReason> {
        let Cause::Sleep(left_as) = cause else { return None };
        let known = stack.and_then(|stack| self.stacks.sleep_reason(stack));
        Some(known.unwrap_or_else(|| SleepReason::of_state(left_as)))
    }

    fn caller(&self, stack: Option<StackId>, cause: Cause) -> Option<u64> {
        stack.and_then(|stack| self.stacks.caller(stack, waiter(cause)))
    }

    /// Whose futex it is, if it is for one.
    fn process(&self, cause: Cause, begin: &Head) -> Option<Process> {
        cause.is_futex().then(|| process(begin, self.cache))
    }

    fn lock_name(
        &self,
        of: Option<Process>,
        begin: &Head,
        lock: u64,
        cause: Cause,
        stack: Option<StackId>,
    ) -> Option<LockName> {
        if let Some(process) = of {
            return self.spaces.name(process, begin, lock);
        }
        let kind = cause.kind();
        let derived = || self.stacks.lock_name(stack?, kind).map(LockName::Derived);
        self.mmap_locks.name(lock, kind).or_else(derived)
    }

    /// The holder's name is that of the moment at which it let the lock go. Where it did is the first
    /// frame that is not the lock's own, as it is for waiters.
    fn holder(&self, holder: Holder) -> NamedHolder {
        let Holder { head, stack, .. } = holder;
        NamedHolder {
            holder,
            name: self.name(&head),
            caller: stack.and_then(|stack| self.stacks.caller(stack, Waiter::Waker)),
        }
    }
}

/// How the lock is waited for.
pub(super) fn waiter(cause: Cause) -> Waiter {
    if cause.is_spinning() { Waiter::Spinning } else { Waiter::of(cause.kind()) }
}

fn table(wait: &Wait, sleep: Option<SleepReason>) -> Table {
    match wait.cause {
        Cause::Lock(_) => Table::Locks,
        Cause::Futex(_) if wait.idle => Table::IdleFutexes,
        Cause::Futex(_) => Table::Futexes,
        Cause::Sleep(_) if sleep.is_some_and(|sleep| sleep.idle) => Table::IdleSleeps,
        Cause::Sleep(_) => Table::Sleeps,
    }
}
