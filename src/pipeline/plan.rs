//! What to trace: the events that are needed for what is asked.

use serde::{Deserialize, Serialize};

use crate::contention::Begins;
use crate::event::LockFlags;
use crate::tracefs::{Config, Reader};

/// Who was born, renamed, replaced or left: needed for names, and on before anything else.
pub const TASK_EVENTS: [(&str, &str); 5] = [
    ("task", "task_newtask"),
    ("task", "task_rename"),
    ("sched", "sched_process_fork"),
    ("sched", "sched_process_exec"),
    ("sched", "sched_process_exit"),
];

/// End and begin of waits, in the order of enabling, which takes the kernel milliseconds for each:
/// a begin whose end is not recorded yet would wait for ever.
pub const LOCK_EVENTS: [(&str, &str); 2] =
    [("lock", "contention_end"), ("lock", "contention_begin")];

/// Who moved to another cgroup.
pub const CGROUP_EVENTS: [(&str, &str); 2] =
    [("cgroup", "cgroup_attach_task"), ("cgroup", "cgroup_transfer_tasks")];

/// The record of a kernel stack. It is not enabled: a trigger makes it.
pub(super) const STACK_EVENT: (&str, &str) = ("ftrace", "kernel_stack");

/// Which address space's lock was taken. It is recorded only in the moment behind a wait's end,
/// since any page fault or mapping may raise it: the lock's release ends that moment.
pub(super) const MMAP_LOCK_EVENT: (&str, &str) = ("mmap_lock", "mmap_lock_acquire_returned");
pub(super) const MMAP_LOCK_FROM: (&str, &str) = ("lock", "contention_end");
pub(super) const MMAP_LOCK_UNTIL: (&str, &str) = ("mmap_lock", "mmap_lock_released");

/// Who runs where, and who wakes whom.
pub(super) const SWITCH_EVENT: (&str, &str) = ("sched", "sched_switch");
pub(super) const WAKING_EVENT: (&str, &str) = ("sched", "sched_waking");

/// Who lets a lock go that others wait for; from 7.2 on.
const RELEASE_EVENT: (&str, &str) = ("lock", "contended_release");

/// Of the wakings those that may let a lock go have a stack recorded: an interrupt (0x08, 0x10 of
/// `common_flags`) or the idle task has none.
pub(super) const MAY_HOLD_LOCKS: &str = "!(common_flags & 24) && common_pid != 0";

/// The calls that wait for user space's locks. Ends before begins, as with locks. The first pair is
/// on every kernel with system call events, the others came with 5.16 and 6.7.
pub const FUTEX_EVENTS: [(&str, &str); 6] = [
    ("syscalls", "sys_exit_futex"),
    ("syscalls", "sys_enter_futex"),
    ("syscalls", "sys_exit_futex_waitv"),
    ("syscalls", "sys_enter_futex_waitv"),
    ("syscalls", "sys_exit_futex_wait"),
    ("syscalls", "sys_enter_futex_wait"),
];

/// Which records of those calls are left out: begins of operations that cannot wait, by the bits of the
/// waiting ones (0, 6, 9, 11 and 13), and the ends that tell how many tasks were woken.
const FUTEX_FILTERS: [((&str, &str), &str); 2] = [
    (("syscalls", "sys_exit_futex"), "ret < 1"),
    (
        ("syscalls", "sys_enter_futex"),
        "(op & 1 && op & 8) || (!(op & 1) && (!(op & 14) || (op & 2 && op & 4)))",
    ),
];

/// What can be traced beside the kernel's locks.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Extras {
    /// What waiters do: where a wait's time goes.
    pub split: bool,
    /// Who lets locks go.
    pub holders: bool,
    /// With the stacks of those.
    pub holder_stacks: bool,
    /// Waits for locks of user space.
    pub futexes: bool,
    /// All other sleeps.
    pub sleeps: bool,
}

/// Whether a kernel must have an event that is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Need {
    /// Without it there is nothing to show.
    Must,
    /// Where it is, it is used.
    May,
}

/// What to trace, and how.
#[derive(Debug, Clone)]
pub struct Plan {
    /// The instance's settings.
    pub instance: Config,
    /// How rings are read.
    pub reader: Reader,
    /// Whether a kernel stack is recorded with each begin.
    pub stacks: bool,
    /// How much of a CPU's time those may cost, from 0 to 1.
    pub stack_limit: Option<f64>,
    /// Whether moves between cgroups are recorded.
    pub cgroups: bool,
    /// Begins with these flags only; with any if empty. An end whose begin is left out is recorded
    /// all the same, since it carries no flags.
    pub flags: Vec<LockFlags>,
    /// What is traced beside the kernel's locks.
    pub extras: Extras,
    /// Whether to learn from the kernel which locks are an address space's `mmap_lock`.
    pub mmap_lock: bool,
    /// Further events, by system and name.
    pub further: Vec<(String, String)>,
}

impl Plan {
    /// Which begins the trace has.
    pub fn begins(&self) -> Begins {
        if self.flags.is_empty() { Begins::All } else { Begins::Filtered }
    }

    /// The events of what is traced beside locks, in the order of enabling.
    pub(super) fn extra_events(&self) -> Vec<((&'static str, &'static str), Need)> {
        let Extras { split, holders, futexes, sleeps, .. } = self.extras;
        let mut events = Vec::new();
        if split || sleeps {
            events.push((SWITCH_EVENT, Need::Must));
        }
        if split || holders || futexes || sleeps {
            events.push((WAKING_EVENT, Need::Must));
        }
        if holders {
            events.push((RELEASE_EVENT, Need::May));
        }
        if futexes {
            let [exit, enter, newer @ ..] = FUTEX_EVENTS;
            events.extend([exit, enter].map(|event| (event, Need::Must)));
            events.extend(newer.map(|event| (event, Need::May)));
        }
        events
    }

    /// Kernel-side filters on those events.
    pub(super) fn extra_filters(&self) -> &'static [((&'static str, &'static str), &'static str)] {
        if self.extras.futexes { &FUTEX_FILTERS } else { &[] }
    }

    /// The events that tell of tasks.
    pub(super) fn task_events(&self) -> impl Iterator<Item = (&'static str, &'static str)> {
        TASK_EVENTS.into_iter().chain(CGROUP_EVENTS.into_iter().filter(|_| self.cgroups))
    }

    /// The kernel-side filter on begins. A mutex's phases go together: the first one may spin.
    pub(super) fn condition(&self) -> Option<String> {
        let mutex = |flags: &&LockFlags| flags.is_mutex();
        let both = ["flags == 32", "flags == 33"].map(str::to_owned);
        let phases = self.flags.iter().any(|flags| flags.is_mutex()).then_some(both);
        let others = self.flags.iter().filter(|flags| !mutex(flags));
        let terms = others.map(|flags| format!("flags == {}", flags.0));
        let terms: Vec<String> = terms.chain(phases.into_iter().flatten()).collect();
        (!terms.is_empty()).then(|| terms.join(" || "))
    }
}
