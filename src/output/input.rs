//! What the writers take: plain values, borrowed from whoever has them.

use crate::event::{Comm, Context, Cpu, StackId, Texts, Tid};
use crate::report::{
    By, Cause, Chains, Column, Evidence, FutexId, OffCpu, Quality, Reason, Row, RowStats, Table,
    cycles,
};
use crate::symbols::{Kallsyms, LockName, StackTable};
use std::collections::HashMap;
use std::time::SystemTime;

/// What a stream says about its run before anything else.
#[derive(Debug, Clone, Copy)]
pub struct RunInfo<'a> {
    /// The trace clock, as in `trace_clock`.
    pub clock: &'a str,
    /// The kernel's release.
    pub kernel: &'a str,
    /// CPUs traced.
    pub cpus: usize,
    /// The traced command; empty where there is none.
    pub command: &'a [&'a [u8]],
}

/// What a report says about its run. What is not known of a recording is none.
#[derive(Debug, Clone, Copy)]
pub struct ReportInfo<'a> {
    /// What a stream of it would say.
    pub run: RunInfo<'a>,
    /// The machine's name.
    pub host: Option<&'a str>,
    /// When tracing started.
    pub date: Option<SystemTime>,
    /// The same in ns of the trace clock.
    pub start_ns: Option<u64>,
    /// When it ended, in ns of the trace clock.
    pub end_ns: Option<u64>,
}

/// A wait that ended.
#[derive(Debug, Clone, Copy)]
pub struct StreamWait<'a> {
    /// When it began, in ns of the trace clock. The name and the stack are of this instant.
    pub begin_ns: u64,
    /// When it ended.
    pub end_ns: u64,
    /// Its length in ns.
    pub wait_ns: u64,
    /// The CPU it began on.
    pub cpu: Cpu,
    /// The waiting thread; in interrupt context the interrupted one.
    pub tid: Tid,
    /// Its process, where known.
    pub pid: Option<Tid>,
    /// Its name at the begin, where known.
    pub comm: Option<&'a Comm>,
    /// False: an event that changed the name may have been lost.
    pub comm_confirmed: bool,
    /// The lock's address.
    pub lock: u64,
    /// What it is known as, beside a symbol at its address.
    pub lock_name: Option<LockName>,
    /// Which table it is summed in.
    pub table: Table,
    /// What was waited for.
    pub cause: Cause,
    /// What it slept for, if it is a sleep.
    pub reason: Option<Reason>,
    /// Where its time went, where the scheduler's events were recorded.
    pub off_cpu: Option<OffCpu>,
    /// Whoever had the lock, where that was asked for; none inside where not known.
    pub holder: Option<Option<StreamHolder>>,
    /// Where it waited.
    pub context: Context,
    /// 0, or the negative errno the lock was not taken for.
    pub ret: i32,
    /// The code address that wanted the lock, where there was a stack.
    pub caller: Option<u64>,
    /// The path of the task's cgroup at the begin, where asked for; none inside where not known.
    pub cgroup: Option<Option<&'a [u8]>>,
    /// The command line of its process, likewise.
    pub cmdline: Option<Option<&'a [u8]>>,
    /// The end may be another wait's: `wait_ns` is an upper bound.
    pub uncertain: bool,
}

/// Whoever had a lock.
#[derive(Debug, Clone, Copy)]
pub struct StreamHolder {
    /// When it let the lock go, in ns of the trace clock.
    pub ts_ns: u64,
    /// The thread.
    pub tid: Tid,
    /// Its name then, where known.
    pub comm: Option<Comm>,
    /// How it is known.
    pub evidence: Evidence,
    /// Where it let the lock go, where there was a stack.
    pub caller: Option<u64>,
    /// How long it had the lock, in ns, where it had waited for it itself.
    pub held_ns: Option<u64>,
}

/// A wait that was still open when tracing stopped.
#[derive(Debug, Clone, Copy)]
pub struct StreamOpen {
    /// When it began, in ns of the trace clock.
    pub begin_ns: u64,
    /// How long it had lasted.
    pub age_ns: u64,
    /// The waiting thread; in interrupt context the interrupted one.
    pub tid: Tid,
    /// Its name at the begin, where known.
    pub comm: Option<Comm>,
    /// The CPU it began on.
    pub cpu: Cpu,
    /// The lock's address.
    pub lock: u64,
    /// What the lock is known as, beside a symbol at its address.
    pub lock_name: Option<LockName>,
    /// What is waited for.
    pub cause: Cause,
    /// Where it waits.
    pub context: Context,
    /// The code address that wants the lock, where there was a stack.
    pub caller: Option<u64>,
    /// The stack of its begin.
    pub stack: Option<StackId>,
    /// Whoever has the lock, probably.
    pub holder: Option<StreamHolder>,
    /// What it sleeps for, if it is a sleep.
    pub reason: Option<Reason>,
}

/// A task that was blocked before tracing began, and still when it stopped.
#[derive(Debug, Clone, Copy)]
pub struct StreamBlocked<'a> {
    /// The task.
    pub tid: Tid,
    /// Its name.
    pub comm: &'a Comm,
    /// Where it sleeps, innermost first; empty where that cannot be read.
    pub stack: &'a [String],
}

/// Events of one CPU that are missing.
#[derive(Debug, Clone, Copy)]
pub struct StreamLoss {
    /// The CPU.
    pub cpu: Cpu,
    /// How many, where the kernel could say.
    pub missed: Option<u64>,
    /// The last event before the gap, in ns; 0 where none was read.
    pub after_ns: u64,
    /// The first event behind it, in ns.
    pub before_ns: u64,
}

/// An event as it was read; its fields come beside it.
#[derive(Debug, Clone, Copy)]
pub struct RawEvent<'a> {
    /// When, in ns of the trace clock.
    pub ts_ns: u64,
    /// On which CPU.
    pub cpu: Cpu,
    /// The current task.
    pub tid: Tid,
    /// Its name at that instant, where known.
    pub comm: Option<&'a Comm>,
    /// `common_flags`.
    pub flags: u8,
    /// `common_preempt_count`.
    pub preempt_count: u8,
    /// The event's name.
    pub event: &'a str,
}

/// The value of one field of a raw event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FieldValue<'a> {
    /// A signed number.
    Signed(i64),
    /// An unsigned number.
    Unsigned(u64),
    /// An address.
    Address(u64),
    /// A place in the kernel's code, by symbol where there is one.
    Code(String),
    /// A string without its NUL, not necessarily UTF-8.
    Text(&'a [u8]),
    /// An array.
    List(Vec<FieldValue<'a>>),
    /// The record does not hold what its format promises.
    Fault,
}

/// One table of a report.
#[derive(Debug, Clone)]
pub struct Section<'a> {
    /// Which one.
    pub table: Table,
    /// What its rows stand for.
    pub by: Vec<By>,
    /// The rows to show, in order.
    pub rows: Vec<Row>,
    /// All its rows added up.
    pub totals: &'a RowStats,
    /// The columns, in order.
    pub columns: &'a [&'static Column],
}

/// What a run came to.
#[derive(Debug, Clone, Copy)]
pub struct Summary<'a> {
    /// The table that `by`, `rows` and `totals` are of.
    pub table: Table,
    /// Whether it is known where the time of waits went.
    pub split: bool,
    /// Whether it was asked who had the locks.
    pub holders: bool,
    /// Further tables behind it.
    pub further: &'a [Section<'a>],
    /// What the rows stand for.
    pub by: &'a [By],
    /// The columns, in order.
    pub columns: &'a [&'static Column],
    /// The rows to show, in order.
    pub rows: &'a [Row],
    /// All rows added up, those not shown and the overflow included.
    pub totals: &'a RowStats,
    /// The waits that were still open, oldest first.
    pub open: &'a [StreamOpen],
    /// The tasks that were blocked all the time.
    pub blocked: &'a [StreamBlocked<'a>],
    /// How good the data is.
    pub quality: &'a Quality,
    /// How long was traced, in ns.
    pub duration_ns: u64,
    /// What the locks of rows by lock are known as, by address.
    pub lock_names: &'a HashMap<u64, LockName>,
    /// What the futexes of rows by lock are known as.
    pub futex_names: &'a HashMap<FutexId, LockName>,
    /// The chains that rows stand for.
    pub chains: &'a Chains,
    /// Names for addresses.
    pub symbols: &'a Kallsyms,
    /// The stacks that the rows' witnesses name.
    pub stacks: &'a StackTable,
    /// The paths of cgroups, where rows are cgroups.
    pub cgroups: Option<&'a Texts>,
}

impl<'a> Summary<'a> {
    /// The same run with another of its tables in the first one's place.
    pub(super) fn with(&self, section: &'a Section<'a>) -> Summary<'a> {
        let Section { table, by, rows, totals, columns } = section;
        // A sleep is split or no sleep.
        let split = self.split || table.is_of_sleeps();
        Summary { table: *table, split, by, rows, totals, columns, further: &[], ..*self }
    }

    /// The open waits that wait for each other, by their places.
    pub(super) fn cycles(&self) -> Vec<Vec<usize>> {
        let holder = |wait: &StreamOpen| wait.holder.map(|holder| holder.tid);
        // Who sleeps waits for the lock around it: the sleep itself is nobody's.
        let waiter = |wait: &StreamOpen| wait.reason.map_or(wait.tid, |_| Tid(0));
        let waits: Vec<_> = self.open.iter().map(|wait| (waiter(wait), holder(wait))).collect();
        cycles(&waits)
    }

    /// Every table by itself.
    pub(super) fn tables(&self) -> impl Iterator<Item = Summary<'a>> {
        let first = Summary { further: &[], ..*self };
        let further: &'a [Section<'a>] = self.further;
        let this = *self;
        std::iter::once(first).chain(further.iter().map(move |section| this.with(section)))
    }
}
