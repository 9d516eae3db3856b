//! A finished wait gets its name, and is kept or left out, each for a counted reason.

use std::collections::HashSet;
use std::num::NonZeroUsize;

use crate::aggregate::Sample;
use crate::cmdline_cache::{Certainty, CmdlineCache, Fact, TaskName};
use crate::contention::{Cause, Holder, OpenWait, Outcome, Wait, is_idle};
use crate::event::{Cpu, Head, StackId, Tid};
use crate::report::{By, RowKey, Table};
use crate::symbols::{LockName, SleepReason, StackTable, Waiter};

use super::filters::Filters;
use super::mmap_locks::MmapLocks;
use super::named::{Kept, NamedHolder, NamedWait, OpenNamed};
use super::parts::part;
use super::targets::Targets;

/// Which waits reach the rows and the stream. What is left out still counts in the pairing.
#[derive(Debug)]
pub struct Keep {
    /// Whose.
    pub targets: Targets,
    /// Begun on which CPUs; all if not given.
    pub cpus: Option<HashSet<Cpu>>,
    /// Not shorter than this.
    pub min_wait_ns: u64,
    /// Meeting these conditions.
    pub filters: Filters,
    /// Our own process, whose waits are never shown.
    pub own: Tid,
    /// What a row stands for.
    pub by: Vec<By>,
    /// Stacks in rows begin at the caller and have at most so many frames; all and whole if not
    /// given.
    pub max_stack: Option<NonZeroUsize>,
}

impl Keep {
    /// Names a wait, and says how it is summed; nothing if it is left out.
    pub(super) fn take(
        &self,
        wait: &Wait,
        cache: &CmdlineCache,
        stacks: &StackTable,
        mmap_locks: &MmapLocks,
        kept: &mut Kept,
    ) -> Option<(NamedWait, RowKey, Sample)> {
        let begin = &wait.begin;
        let name = cache.name_at(begin.tid, begin.cpu, begin.stamp);
        // Most waits of a machine end here where few tasks are asked for: the cheap questions first.
        if name.tgid == Some(self.own) {
            kept.own += 1;
            return None;
        }
        if !self.wants(begin, &name) {
            kept.not_asked += 1;
            return None;
        }
        let sleep = sleep_reason(wait.cause, wait.stack, stacks);
        let table = table(wait, sleep);
        let mut named = NamedWait {
            wait: *wait,
            table,
            name,
            caller: caller(wait.stack, wait.cause, stacks),
            lock_name: lock_name(wait.lock, wait.cause, wait.stack, stacks, mmap_locks),
            holder: wait.holder.map(|holder| named_holder(holder, cache, stacks)),
            reason: sleep.map(|sleep| sleep.reason),
            cgroup: cache.cgroup_at(begin.tid, &name, begin.stamp),
            cmdline: cache.cmdline_at(begin.tid, &name, begin.stamp),
        };
        if !self.passes(&named, stacks, kept) {
            kept.not_asked += 1;
            return None;
        }
        if wait.wait_ns() < self.min_wait_ns {
            kept.short += 1;
            return None;
        }
        named.wait.stack = self.cut(wait, stacks);
        let sample = sample(wait);
        kept.count(&named, sample);
        Some((named, self.row_key(&named, cache), sample))
    }

    /// Names an open wait; nothing if its task was not asked for.
    pub(super) fn open(
        &self,
        wait: &OpenWait,
        cache: &CmdlineCache,
        stacks: &StackTable,
        mmap_locks: &MmapLocks,
    ) -> Option<OpenNamed> {
        let begin = &wait.begin;
        let name = cache.name_at(begin.tid, begin.cpu, begin.stamp);
        let sleep = sleep_reason(wait.cause, wait.stack, stacks);
        // Who waits for something to do may well do so at the end.
        let is_idle = sleep.is_some_and(|sleep| sleep.idle);
        (!is_idle && self.shows(begin, &name)).then(|| OpenNamed {
            wait: *wait,
            name,
            caller: caller(wait.stack, wait.cause, stacks),
            lock_name: lock_name(wait.lock, wait.cause, wait.stack, stacks, mmap_locks),
            holder: wait.holder.map(|holder| named_holder(holder, cache, stacks)),
            reason: sleep.map(|sleep| sleep.reason),
        })
    }

    /// Whether an event of this task is streamed.
    pub(super) fn shows(&self, head: &Head, name: &TaskName) -> bool {
        name.tgid != Some(self.own) && self.wants(head, name)
    }

    fn cut(&self, wait: &Wait, stacks: &StackTable) -> Option<StackId> {
        let (Some(stack), Some(most)) = (wait.stack, self.max_stack) else { return wait.stack };
        Some(stacks.cut(stack, waiter(wait.cause), most.get()))
    }

    /// Whether a wanted wait passes the filters; what is not known of its task is counted before.
    fn passes(&self, named: &NamedWait, stacks: &StackTable, kept: &mut Kept) -> bool {
        let is = |fact: Option<Fact>, certainty| {
            u64::from(fact.is_some_and(|fact| fact.certainty == certainty))
        };
        let NamedWait { cgroup, cmdline, .. } = *named;
        kept.cgroup_unknown += is(cgroup, Certainty::Unknown);
        kept.cgroup_unconfirmed += is(cgroup, Certainty::Unconfirmed);
        kept.cmdline_unread +=
            is(cmdline, Certainty::Unknown) + is(cmdline, Certainty::Unconfirmed);
        self.filters.pass(named, stacks)
    }

    fn wants(&self, head: &Head, name: &TaskName) -> bool {
        self.targets.wants(head.tid, name)
            && self.cpus.as_ref().is_none_or(|cpus| cpus.contains(&head.cpu))
    }

    fn row_key(&self, named: &NamedWait, cache: &CmdlineCache) -> RowKey {
        let parts =
            |keys: &[By]| RowKey::of(named.table, keys.iter().map(|&by| part(by, named, cache)));
        match named.table {
            Table::Locks => parts(&self.by),
            other => parts(&other.keys(&self.by)),
        }
    }
}

fn caller(stack: Option<StackId>, cause: Cause, stacks: &StackTable) -> Option<u64> {
    stack.and_then(|stack| stacks.caller(stack, waiter(cause)))
}

fn waiter(cause: Cause) -> Waiter {
    if cause.is_spinning() { Waiter::Spinning } else { Waiter::of(cause.kind()) }
}

/// The holder's name is that of the moment at which it let the lock go. Where it did is the first
/// frame that is not the lock's own, as it is for waiters.
fn named_holder(holder: Holder, cache: &CmdlineCache, stacks: &StackTable) -> NamedHolder {
    let Holder { head, stack, .. } = holder;
    NamedHolder {
        holder,
        name: cache.name_at(head.tid, head.cpu, head.stamp),
        caller: stack.and_then(|stack| stacks.caller(stack, Waiter::Waker)),
    }
}

/// What a sleep is for; what is no sleep has no reason.
fn sleep_reason(cause: Cause, stack: Option<StackId>, stacks: &StackTable) -> Option<SleepReason> {
    let Cause::Sleep(left_as) = cause else { return None };
    let known = stack.and_then(|stack| stacks.sleep_reason(stack));
    Some(known.unwrap_or_else(|| SleepReason::of_state(left_as)))
}

fn table(wait: &Wait, sleep: Option<SleepReason>) -> Table {
    match wait.cause {
        Cause::Lock(_) => Table::Locks,
        Cause::Futex(call) if is_idle(&call, wait.ret) => Table::IdleFutexes,
        Cause::Futex(_) => Table::Futexes,
        Cause::Sleep(_) if sleep.is_some_and(|sleep| sleep.idle) => Table::IdleSleeps,
        Cause::Sleep(_) => Table::Sleeps,
    }
}

fn lock_name(
    lock: u64,
    cause: Cause,
    stack: Option<StackId>,
    stacks: &StackTable,
    mmap_locks: &MmapLocks,
) -> Option<LockName> {
    let kind = cause.kind();
    let derived = || stacks.lock_name(stack?, kind).map(LockName::Derived);
    mmap_locks.name(lock, kind).or_else(derived)
}

fn sample(wait: &Wait) -> Sample {
    let wait_ns = wait.wait_ns();
    match wait.outcome() {
        Outcome::Acquired => Sample::Acquired(wait_ns),
        Outcome::Failed(_) => Sample::Failed(wait_ns),
        Outcome::Uncertain => Sample::Uncertain(wait_ns),
    }
}
