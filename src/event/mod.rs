//! What ftlock understands of the kernel's events: instants, tasks, names, locks.
//!
//! Plain values without I/O. [`decode`] makes them from the records of a ring;
//! the cmdline cache, the pairing and the aggregate know these types and nothing
//! of tracefs.

mod comm;
pub mod decode;
mod futex;
mod lock;
mod reason;
mod switch;
mod texts;

pub use comm::Comm;
pub use futex::{FutexCall, FutexOp};
pub use lock::{LockFlags, WaitKind};
pub use reason::Reason;
pub use switch::{LeftAs, SwitchStates};
pub use texts::{TextId, Texts};

use std::fmt;

/// A thread id in the initial pid namespace, as `common_pid` carries it.
///
/// Zero is the idle task, which every CPU has: it means nothing without its CPU.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Tid(pub u32);

impl fmt::Display for Tid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// A CPU's number as in `per_cpu/cpuN`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Cpu(pub u16);

/// A place in the order of all events: time first, then CPU, then the order on that CPU.
///
/// Several records of a CPU may bear one time (a coarse clock); the pages' order still
/// tells them apart, so a name that changes between two of them is never confused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Stamp {
    /// Nanoseconds of the trace clock; never falls along one CPU's records.
    pub ts_ns: u64,
    order: u64,
}

impl Stamp {
    /// Before everything else.
    pub const MIN: Stamp = Stamp { ts_ns: 0, order: 0 };

    /// The stamp of a CPU's record number `seq` (the low 48 bits count).
    pub fn new(ts_ns: u64, cpu: Cpu, seq: u64) -> Stamp {
        Stamp { ts_ns, order: u64::from(cpu.0) << 48 | (seq & ((1 << 48) - 1)) }
    }

    /// Before every event of time `ts_ns`.
    pub fn before(ts_ns: u64) -> Stamp {
        Stamp { ts_ns, order: 0 }
    }

    /// Behind every event of time `ts_ns`.
    pub fn behind(ts_ns: u64) -> Stamp {
        Stamp { ts_ns, order: u64::MAX }
    }
}

/// The context an event came from. Begin and end of one wait share it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Context {
    /// A task's own work.
    Task,
    /// A softirq on top of some task.
    Softirq,
    /// A hard interrupt on top of some task or softirq.
    Hardirq,
    /// A non-maskable interrupt.
    Nmi,
}

impl Context {
    /// All of them, innermost last.
    pub const ALL: [Context; 4] = [Context::Task, Context::Softirq, Context::Hardirq, Context::Nmi];

    /// From `common_flags` (include/linux/trace_events.h, 6.1 to 7.3: 0x40 NMI, 0x08 hard
    /// interrupt, 0x10 softirq).
    pub fn from_common_flags(flags: u8) -> Context {
        if flags & 0x40 != 0 {
            Context::Nmi
        } else if flags & 0x08 != 0 {
            Context::Hardirq
        } else if flags & 0x10 != 0 {
            Context::Softirq
        } else {
            Context::Task
        }
    }

    /// `task`, `softirq`, `hardirq` or `nmi`.
    pub fn name(self) -> &'static str {
        match self {
            Context::Task => "task",
            Context::Softirq => "softirq",
            Context::Hardirq => "hardirq",
            Context::Nmi => "nmi",
        }
    }
}

/// What every event has: when, where, on top of whom.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Head {
    /// Its place in the order of all events.
    pub stamp: Stamp,
    /// The time as recorded, in ns; differs from the stamp's only where the clock fell back.
    pub ts_ns: u64,
    /// The CPU it was recorded on.
    pub cpu: Cpu,
    /// The current task: in interrupt context the one that was interrupted.
    pub tid: Tid,
    /// The context it came from.
    pub context: Context,
}

/// An event with its head.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Event {
    /// When, where, on top of whom.
    pub head: Head,
    /// What happened.
    pub body: Body,
}

/// What happened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Body {
    /// `lock:contention_begin`: left the fast path of a lock.
    LockBegin {
        /// The lock's address.
        lock: u64,
        /// What kind of lock, and which phase.
        flags: LockFlags,
    },
    /// `lock:contention_end`: got it, or gave up.
    LockEnd {
        /// The lock's address.
        lock: u64,
        /// Zero, or a negative errno where the lock was not taken.
        ret: i32,
    },
    /// A task was born, renamed, replaced or left.
    Task(TaskEvent),
    /// A kernel stack, which belongs to the event before it of the same task and context.
    Stack(StackId),
    /// The kernel stack of a waking, once it is known to be that.
    WakerStack {
        /// Who was woken.
        tid: Tid,
        /// The waker's stack.
        stack: StackId,
    },
    /// The kernel stack of a task that leaves its CPU, once it is known to be that.
    SleepStack(StackId),
    /// A gap in this CPU's records opens behind its last event: others may have gone on meanwhile.
    GapBegin,
    /// The gap closes with this CPU's next event.
    GapEnd(Gap),
    /// `sched:sched_switch`: another task runs on this CPU from here on.
    Switch {
        /// Who ran.
        prev: Tid,
        /// As what it left.
        left_as: LeftAs,
        /// Who runs now.
        next: Tid,
    },
    /// `sched:sched_waking`: the current task, or an interrupt on top of it, wakes a task.
    Waking {
        /// Who is woken.
        tid: Tid,
    },
    /// `lock:contended_release` (7.2): the current task lets a lock go that others wait for.
    Released {
        /// The lock's address.
        lock: u64,
    },
    /// A futex system call that may wait begins.
    FutexEnter(FutexCall),
    /// A futex system call is over, whether it could wait or not.
    FutexExit {
        /// What it returned: a negative errno if it failed.
        ret: i64,
    },
    /// `mmap_lock:mmap_lock_acquire_returned`: tried to take an address space's `mmap_lock`.
    MmapLock {
        /// The address of the `mm_struct`.
        mm: u64,
    },
    /// An event that is only shown, never understood.
    Other,
}

/// An interned kernel stack.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct StackId(pub u32);

/// A gap in one CPU's records: events that the kernel wrote and nobody read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Gap {
    /// How many events are missing, where the kernel could say.
    pub missed: Option<u64>,
    /// From here on, in ns, events may be missing.
    pub after_ns: u64,
}

/// What happens to a task's identity.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TaskEvent {
    /// `task:task_newtask`, raised by the parent: the birth of a thread id.
    New {
        /// The child.
        tid: Tid,
        /// Its name, inherited from the parent.
        comm: Comm,
        /// True: a further thread of the parent's process (`CLONE_THREAD`).
        thread: bool,
        /// True: into a cgroup of its own choice, not its parent's (`CLONE_INTO_CGROUP`).
        own_cgroup: bool,
    },
    /// `sched:sched_process_fork`, raised by the parent behind `New`.
    Fork {
        /// The parent's thread.
        parent: Tid,
        /// The child.
        child: Tid,
        /// The child's name.
        child_comm: Comm,
    },
    /// `PERF_RECORD_FORK`: a birth without a name, which is the parent's at that instant.
    Heir {
        /// The child.
        tid: Tid,
        /// Its process.
        tgid: Tid,
        /// The parent's thread.
        parent: Tid,
    },
    /// `PERF_RECORD_COMM`: what a task is called from here on; what it was called before is not told.
    Named {
        /// The task.
        tid: Tid,
        /// Its process.
        tgid: Tid,
        /// Its name from here on.
        comm: Comm,
    },
    /// `task:task_rename`: raised just before the name changes, by whoever changes it.
    Rename {
        /// The task that is renamed (not always the current one).
        tid: Tid,
        /// Its name up to here.
        old: Comm,
        /// Its name from here on.
        new: Comm,
    },
    /// `sched:sched_process_exec`: a process runs another program. Its name has changed already.
    Exec {
        /// The process's leader id, which the calling thread has now.
        tid: Tid,
        /// The id that thread had before; another one if it was not the leader.
        old_tid: Tid,
        /// The program's file, where command lines are kept.
        filename: Option<TextId>,
    },
    /// `cgroup:cgroup_attach_task` and `cgroup:cgroup_transfer_tasks`: a task is in another cgroup,
    /// since a moment before.
    ///
    /// Of a process that moved the event names the leader only, and nothing tells whether its other
    /// threads moved with it (kernel/cgroup/cgroup.c, `cgroup_attach_task`, 6.1 to 6.18).
    Moved {
        /// The task; the leader, where a process moved.
        tid: Tid,
        /// The cgroup's path; none where it is not kept.
        cgroup: Option<TextId>,
    },
    /// `sched:sched_process_exit`: the task begins to leave. It still runs, and contends, after this.
    Exit {
        /// The task that leaves.
        tid: Tid,
    },
}
