//! Waits under their names, and where they all went.

use crate::aggregate::{Sample, Split};
use crate::cmdline_cache::{Certainty, Fact, TaskName};
use crate::contention::{Cause, Evidence, Holder, OffCpu, OpenWait, Process, Wait};
use crate::event::{Comm, LeftAs, Reason};
use crate::report::{ChainId, Holders, ItsHolder, Series, Table, Witness};
use crate::symbols::LockName;

/// Whoever had the lock, under its name when it let it go.
#[derive(Debug, Clone, Copy)]
pub struct NamedHolder {
    /// Who, when, and how that is known.
    pub holder: Holder,
    /// Its name.
    pub name: TaskName,
    /// The code address at which it let the lock go, where a stack was recorded.
    pub caller: Option<u64>,
}

/// A finished wait under its name.
#[derive(Debug, Clone, Copy)]
pub struct NamedWait {
    /// The wait.
    pub wait: Wait,
    /// Which table it is summed in.
    pub table: Table,
    /// Who waited, at the instant the wait began.
    pub name: TaskName,
    /// The address of the call that wanted the lock, where a stack was recorded.
    pub caller: Option<u64>,
    /// What the lock is known as, beside its address and a symbol there.
    pub lock_name: Option<LockName>,
    /// Whose futex it is, if it is for one.
    pub process: Option<Process>,
    /// Whoever had the lock.
    pub holder: Option<NamedHolder>,
    /// The chain of waits that it begins, where chains are followed.
    pub chain: Option<ChainId>,
    /// What the task slept for, if it is a sleep.
    pub reason: Option<Reason>,
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
    /// How long it has lasted, in ns.
    pub age_ns: u64,
    /// Who waits.
    pub name: TaskName,
    /// The address of the call that wanted the lock, where a stack was recorded.
    pub caller: Option<u64>,
    /// What the lock is known as, beside its address and a symbol there.
    pub lock_name: Option<LockName>,
    /// Whoever has the lock, probably.
    pub holder: Option<NamedHolder>,
    /// What the task sleeps for, if it is a sleep.
    pub reason: Option<Reason>,
}

/// Where the finished waits went: every one is in exactly one of these.
#[derive(Debug, Clone, Default)]
pub struct Kept {
    /// In the rows, and streamed, by table.
    tables: [u64; Table::ALL.len()],
    /// Of the waits for the kernel's locks: who had them.
    pub holders: Holders,
    /// Of those in the rows: waits for a part of a lock that the task waits for anyway. Their time is in the
    /// outer wait's too.
    pub internal: u64,
    /// The time of those, in ns.
    pub internal_total_ns: u64,
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
    /// What it is drawn as over time.
    pub(super) fn series(&self) -> Series {
        Series { idle: self.table.is_idle(), kind: self.wait.cause.kind() }
    }

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
            holder: self.holder.as_ref().map(NamedHolder::kept),
        }
    }

    /// What of its time was spent off the CPU.
    pub(super) fn split(&self) -> Split {
        let OffCpu { blocked_ns, runnable_ns, preempted_ns } = self.wait.off_cpu;
        Split { blocked_ns, runnable_ns, preempted_ns }
    }
}

impl NamedHolder {
    fn kept(&self) -> ItsHolder {
        ItsHolder {
            tid: self.holder.head.tid,
            comm: known_comm(&self.name),
            evidence: self.holder.evidence,
            caller: self.caller,
        }
    }
}

impl Kept {
    /// Adds another part of the same run.
    pub(super) fn merge(&mut self, other: &Kept) {
        for (own, other) in self.tables.iter_mut().zip(&other.tables) {
            *own += other;
        }
        self.holders.add(&other.holders);
        self.internal += other.internal;
        self.internal_total_ns = self.internal_total_ns.saturating_add(other.internal_total_ns);
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

    /// Counts a wait that is kept.
    pub(super) fn count(&mut self, named: &NamedWait, sample: Sample) {
        if let Some(waits) = self.tables.get_mut(named.table.index()) {
            *waits += 1;
        }
        if named.wait.internal {
            self.internal += 1;
            if let Sample::Acquired(ns) = sample {
                self.internal_total_ns = self.internal_total_ns.saturating_add(ns);
            }
        }
        let certainty = named.name.certainty;
        self.name_unknown += u64::from(certainty == Certainty::Unknown);
        self.name_unconfirmed += u64::from(certainty == Certainty::Unconfirmed);
        let stackless = [LeftAs::Idle, LeftAs::Runnable, LeftAs::Dead];
        let may_have_stack = match named.wait.cause {
            Cause::Lock(_) => true,
            Cause::Futex(_) => false,
            Cause::Sleep(left_as) => !stackless.contains(&left_as),
        };
        self.no_stack += u64::from(may_have_stack && named.wait.stack.is_none());
        if let Sample::Acquired(ns) = sample {
            self.count_holder(named, ns);
        }
    }

    fn count_holder(&mut self, named: &NamedWait, ns: u64) {
        if !named.wait.slept || !matches!(named.wait.cause, Cause::Lock(_)) {
            return;
        }
        self.holders.slept += 1;
        self.holders.slept_ns = self.holders.slept_ns.saturating_add(ns);
        let Some(known) = &named.holder else { return };
        self.holders.known_ns = self.holders.known_ns.saturating_add(ns);
        match known.holder.evidence {
            Evidence::Release => self.holders.by_release += 1,
            Evidence::Waking | Evidence::Memory | Evidence::Acquired => {
                self.holders.by_waking += 1;
            }
        }
    }

    /// All waits that are kept, in whichever table.
    pub fn kept(&self) -> u64 {
        self.tables.iter().sum()
    }

    /// All waits that finished, whether kept or not.
    pub fn waits(&self) -> u64 {
        self.kept() + self.own + self.not_asked + self.short
    }
}

/// The name, where there is one.
pub(super) fn known_comm(name: &TaskName) -> Option<Comm> {
    (name.certainty != Certainty::Unknown).then_some(name.comm)
}
