//! A finished wait gets its name, and is kept or left out, each for a counted reason.

use std::collections::HashSet;
use std::num::NonZeroUsize;

use crate::aggregate::Sample;
use crate::cmdline_cache::{Certainty, CmdlineCache, Fact, TaskName};
use crate::contention::{OpenWait, Outcome, Wait};
use crate::event::{Comm, Context, Cpu, Head, LockFlags, StackId, Tid};
use crate::report::{By, Part, RowKey, RowStats, Witness};
use crate::symbols::{LockName, StackTable, Waiter};

use super::filters::Filters;
use super::mmap_locks::MmapLocks;
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

/// A finished wait under its name.
#[derive(Debug, Clone, Copy)]
pub struct NamedWait {
    /// The wait.
    pub wait: Wait,
    /// Who waited, at the instant the wait began.
    pub name: TaskName,
    /// The address of the call that wanted the lock, where a stack was recorded.
    pub caller: Option<u64>,
    /// What the lock is known as, beside its address and a symbol there.
    pub lock_name: Option<LockName>,
    /// The task's cgroup at that instant, where cgroups are kept.
    pub cgroup: Option<Fact>,
    /// Its process's command line, where they are kept.
    pub cmdline: Option<Fact>,
}

/// A wait that is still open, under its name.
#[derive(Debug, Clone, Copy)]
pub struct OpenNamed {
    /// The wait.
    pub wait: OpenWait,
    /// Who waits.
    pub name: TaskName,
    /// The address of the call that wanted the lock, where a stack was recorded.
    pub caller: Option<u64>,
}

/// Where the finished waits went: every one is in exactly one of these.
#[derive(Debug, Clone, Default)]
pub struct Kept {
    /// In the rows, and streamed.
    pub rows: RowStats,
    /// Of those: waits for a part of a lock that the task waits for anyway. Their time is in the
    /// outer wait's too.
    pub internal: RowStats,
    /// Our own.
    pub own: u64,
    /// Of tasks, on CPUs, for locks or from callers that were not asked for.
    pub not_asked: u64,
    /// Shorter than asked for.
    pub short: u64,
    /// Of those in the rows: under no name.
    pub name_unknown: u64,
    /// Of those in the rows: a loss may have swallowed a change of their name.
    pub name_unconfirmed: u64,
    /// Of those in the rows: without a stack.
    pub no_stack: u64,
    /// Of those that were wanted, filters aside: of a task whose cgroup was never learned.
    pub cgroup_unknown: u64,
    /// And whose cgroup is only likely.
    pub cgroup_unconfirmed: u64,
    /// And whose process's command line could not be read in time.
    pub cmdline_unread: u64,
}

impl NamedWait {
    /// What a row keeps of it if it is the row's longest.
    pub(super) fn witness(&self) -> Witness {
        let begin = &self.wait.begin;
        Witness {
            ts_ns: begin.ts_ns,
            tid: begin.tid,
            comm: known_comm(&self.name),
            cpu: begin.cpu,
            context: begin.context,
            stack: self.wait.stack,
        }
    }
}

impl Kept {
    /// Adds another part of the same run.
    pub(super) fn merge(&mut self, other: &Kept) {
        self.rows.merge(&other.rows);
        self.internal.merge(&other.internal);
        self.own += other.own;
        self.not_asked += other.not_asked;
        self.short += other.short;
        self.name_unknown += other.name_unknown;
        self.name_unconfirmed += other.name_unconfirmed;
        self.no_stack += other.no_stack;
        self.cgroup_unknown += other.cgroup_unknown;
        self.cgroup_unconfirmed += other.cgroup_unconfirmed;
        self.cmdline_unread += other.cmdline_unread;
    }

    /// All waits that finished, whether kept or not.
    pub fn waits(&self) -> u64 {
        self.rows.waits() + self.own + self.not_asked + self.short
    }
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
        let mut named = NamedWait {
            wait: *wait,
            name,
            caller: caller(wait.stack, wait.flags, stacks),
            lock_name: lock_name(wait, stacks, mmap_locks),
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
        let sample = count(&named, kept);
        Some((named, self.row_key(&named, cache), sample))
    }

    /// Names an open wait; nothing if its task was not asked for.
    pub(super) fn open(
        &self,
        wait: &OpenWait,
        cache: &CmdlineCache,
        stacks: &StackTable,
    ) -> Option<OpenNamed> {
        let begin = &wait.begin;
        let name = cache.name_at(begin.tid, begin.cpu, begin.stamp);
        let caller = caller(wait.stack, wait.flags, stacks);
        self.shows(begin, &name).then_some(OpenNamed { wait: *wait, name, caller })
    }

    /// Whether an event of this task is streamed.
    pub(super) fn shows(&self, head: &Head, name: &TaskName) -> bool {
        name.tgid != Some(self.own) && self.wants(head, name)
    }

    fn cut(&self, wait: &Wait, stacks: &StackTable) -> Option<StackId> {
        let (Some(stack), Some(most)) = (wait.stack, self.max_stack) else { return wait.stack };
        Some(stacks.cut(stack, waiter(wait.flags), most.get()))
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
        RowKey::of(self.by.iter().map(|&by| part(by, named, cache)))
    }
}

fn part(by: By, named: &NamedWait, cache: &CmdlineCache) -> Part {
    let NamedWait { wait, name, caller, .. } = named;
    let begin = &wait.begin;
    let kind = wait.flags.kind();
    let tid = begin.tid;
    match (by, begin.context) {
        (By::Caller, _) => Part::Caller(*caller, kind),
        (By::Stack, _) => Part::Stack(wait.stack, kind),
        (By::Lock, _) => Part::Lock(wait.lock, kind),
        (By::Type, _) => Part::Type(kind),
        (By::Cpu, _) => Part::Cpu(begin.cpu),
        (By::Context, context) => Part::Context(context),
        (By::Task, Context::Task) => {
            Part::Task { tid, incarnation: name.incarnation, comm: known_comm(name) }
        }
        (By::Task, context) => Part::Interrupt(context),
        (By::Cgroup, _) => Part::Cgroup(named.cgroup.and_then(|cgroup| cgroup.text)),
        (By::Comm, _) => Part::Comm(known_comm(name)),
        (By::Process, _) => {
            let leader = name.tgid.map(|tgid| cache.name_at(tgid, begin.cpu, begin.stamp));
            Part::Process {
                pid: name.tgid,
                incarnation: leader.map_or(0, |leader| leader.incarnation),
                comm: leader.as_ref().and_then(known_comm),
            }
        }
    }
}

/// The name, where there is one.
pub(super) fn known_comm(name: &TaskName) -> Option<Comm> {
    (name.certainty != Certainty::Unknown).then_some(name.comm)
}

fn caller(stack: Option<StackId>, flags: LockFlags, stacks: &StackTable) -> Option<u64> {
    stack.and_then(|stack| stacks.caller(stack, waiter(flags)))
}

fn waiter(flags: LockFlags) -> Waiter {
    if flags.is_spinning() { Waiter::Spinning } else { Waiter::Sleeping }
}

fn lock_name(wait: &Wait, stacks: &StackTable, mmap_locks: &MmapLocks) -> Option<LockName> {
    let kind = wait.flags.kind();
    let derived = || stacks.lock_name(wait.stack?, kind).map(LockName::Derived);
    mmap_locks.name(wait.lock, kind).or_else(derived)
}

fn count(named: &NamedWait, kept: &mut Kept) -> Sample {
    let wait_ns = named.wait.wait_ns();
    let sample = match named.wait.outcome() {
        Outcome::Acquired => Sample::Acquired(wait_ns),
        Outcome::Failed(_) => Sample::Failed(wait_ns),
        Outcome::Uncertain => Sample::Uncertain(wait_ns),
    };
    kept.rows.add(sample, named.witness());
    if named.wait.internal {
        kept.internal.add(sample, named.witness());
    }
    kept.name_unknown += u64::from(named.name.certainty == Certainty::Unknown);
    kept.name_unconfirmed += u64::from(named.name.certainty == Certainty::Unconfirmed);
    kept.no_stack += u64::from(named.caller.is_none());
    sample
}
