//! The tasks that were there before the events: `/proc`.

use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;

use procfs::process::{Process, Task, all_processes};
use procfs::{ProcError, ProcResult};

use crate::event::{Comm, Stamp, Tid};

/// A task as /proc shows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SeededTask {
    /// Its thread id.
    pub tid: Tid,
    /// Its process.
    pub tgid: Tid,
    /// Its name as the kernel keeps it and events carry it, without what /proc adds to a worker's.
    pub comm: Comm,
    /// When it was made, in clock ticks since boot: tells incarnations of one id apart.
    pub start_time: u64,
    /// Whether it is a thread of the kernel.
    pub kernel_thread: bool,
}

/// What a walk over /proc met.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct Walk {
    /// Tasks read.
    pub read: u64,
    /// Tasks that went away between being listed and being read.
    pub vanished: u64,
    /// Tasks that could not be read for another reason.
    pub unreadable: u64,
}

/// /proc could not be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The list of processes.
    #[error("cannot list the processes in /proc: {0}")]
    List(#[source] ProcError),
    /// The pid namespace.
    #[error("cannot tell the pid namespace from {path}: {source}")]
    Namespace {
        /// What was read.
        path: &'static str,
        /// What the system said.
        source: io::Error,
    },
}

impl Error {
    /// The command that mends it.
    pub fn hint(&self) -> &'static str {
        "mount -t proc proc /proc"
    }
}

/// Reads every task once. `now` gives the trace clock's time; `each` gets a task and the time
/// just before it was read.
///
/// # Errors
/// [`Error::List`] where /proc cannot be listed. A task that cannot be read is counted.
pub fn walk(
    now: impl Fn() -> Stamp,
    mut each: impl FnMut(&SeededTask, Stamp),
) -> Result<Walk, Error> {
    let mut walk = Walk::default();
    for process in all_processes().map_err(Error::List)? {
        let tasks = match process.and_then(|process| process.tasks()) {
            Ok(tasks) => tasks,
            Err(error) => {
                walk.missed(&error);
                continue;
            }
        };
        for task in tasks {
            let at = now();
            match task.and_then(|task| read(&task)) {
                Ok(task) => {
                    walk.read += 1;
                    each(&task, at);
                }
                Err(error) => walk.missed(&error),
            }
        }
    }
    Ok(walk)
}

impl Walk {
    fn missed(&mut self, error: &ProcError) {
        /// "No such process": the task left while its file was open.
        const ESRCH: i32 = 3;
        match error {
            ProcError::NotFound(_) => self.vanished += 1,
            ProcError::Io(error, _) if error.raw_os_error() == Some(ESRCH) => self.vanished += 1,
            _ => self.unreadable += 1,
        }
    }
}

/// The name's bytes come from `comm`, since `stat` has them escaped. The stat file is reached
/// through the directory that was opened first and read last: it fails if the id changed hands.
fn read(task: &Task) -> ProcResult<SeededTask> {
    let path = format!("/proc/{}/task/{}/comm", task.pid, task.tid);
    let shown = fs::read(&path).map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => ProcError::NotFound(Some(path.into())),
        _ => ProcError::Io(error, Some(path.into())),
    })?;
    let stat = task.stat()?;
    let shown = shown.strip_suffix(b"\n").unwrap_or(&shown);
    Ok(SeededTask {
        tid: Tid(task.tid.unsigned_abs()),
        tgid: Tid(task.pid.unsigned_abs()),
        comm: kernels_comm(shown, stat.flags),
        start_time: stat.starttime,
        kernel_thread: stat.flags & PF_KTHREAD != 0,
    })
}

/// include/linux/sched.h, 5.15 to 6.18.
const PF_WQ_WORKER: u32 = 0x20;
pub(super) const PF_KTHREAD: u32 = 0x0020_0000;

/// The bytes of a comm without its NUL (`TASK_COMM_LEN` - 1).
const COMM_BYTES: usize = 15;

/// The name in `task_struct`, from the one that /proc shows and the flags in `stat`.
///
/// fs/proc/array.c, `proc_task_name` (5.17 to 6.18): a kernel thread is shown with its full name,
/// a workqueue's worker with what it works on as well; the kernel keeps the first 15 bytes.
pub fn kernels_comm(shown: &[u8], flags: u32) -> Comm {
    let own = match flags & (PF_KTHREAD | PF_WQ_WORKER) {
        PF_KTHREAD => shown,
        both if both & PF_KTHREAD != 0 => without_work(shown),
        _ => return Comm::new(shown),
    };
    Comm::new(own.get(..COMM_BYTES).unwrap_or(own))
}

/// Cuts the work off a worker's name (kernel/workqueue.c, `wq_worker_comm`): `+` and what it is
/// working on, or `-` and what it worked on last.
///
/// A rescuer bears its queue's name, in which a dash may be, with `kworker/R-` before it from 6.7 on;
/// its work is that queue's, so what follows the sign begins as the name does.
fn without_work(shown: &[u8]) -> &[u8] {
    const RESCUER: &[u8] = b"kworker/R-";
    let pool_worker = shown.starts_with(b"kworker/") && !shown.starts_with(RESCUER);
    let is_sign = |place: usize| {
        let (name, rest) = shown.split_at(place);
        let queue = name.strip_prefix(RESCUER).unwrap_or(name);
        let Some((b'+' | b'-', work)) = rest.split_first() else { return false };
        pool_worker || !queue.is_empty() && work.starts_with(queue)
    };
    (0..shown.len())
        .find(|&place| is_sign(place))
        .and_then(|place| shown.get(..place))
        .unwrap_or(shown)
}

/// Whose thread ids /proc shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PidNamespace {
    /// Those that events carry.
    Initial,
    /// A container's own: its numbers are other tasks' in the events, so /proc names nobody.
    Nested,
}

/// Whether /proc shows the ids that events carry, which are the initial namespace's.
///
/// # Errors
/// [`Error::Namespace`] where /proc shows neither us nor any kernel thread.
pub fn pid_namespace() -> Result<PidNamespace, Error> {
    /// `PROC_PID_INIT_INO` (include/linux/proc_ns.h, 3.8 to 6.18).
    const INITIAL_INODE: u64 = 0xEFFF_FFFC;
    let path = "/proc/self/ns/pid";
    // Kernel threads live in the initial namespace only; the second task is their parent.
    let kthreadd = Process::new(2).and_then(|second| second.stat());
    if kthreadd.is_ok_and(|stat| stat.flags & PF_KTHREAD != 0) {
        return Ok(PidNamespace::Initial);
    }
    // `hidepid` may hide it. A task of the initial namespace sees itself in no other's /proc.
    match fs::metadata(path) {
        Ok(own) if own.ino() == INITIAL_INODE => Ok(PidNamespace::Initial),
        Ok(_) => Ok(PidNamespace::Nested),
        Err(source) => Err(Error::Namespace { path, source }),
    }
}

#[cfg(test)]
mod tests {
    use super::{PF_KTHREAD, PF_WQ_WORKER, kernels_comm};

    const WORKER: u32 = PF_KTHREAD | PF_WQ_WORKER;

    #[test]
    fn what_proc_adds_to_a_kernel_threads_name_is_taken_off_and_a_users_name_is_left() {
        let table: [(&[u8], u32, &[u8]); 16] = [
            (b"kworker/0:1-events", WORKER, b"kworker/0:1"),
            (b"kworker/u8:2+flush-8:0", WORKER, b"kworker/u8:2"),
            (b"kworker/0:1H-kblockd", WORKER, b"kworker/0:1H"),
            (b"kworker/12:0", WORKER, b"kworker/12:0"),
            (b"kworker/u256:12-events_unbound", WORKER, b"kworker/u256:12"),
            (b"kworker/R-kvfree_rcu_reclaim", WORKER, b"kworker/R-kvfre"),
            (b"kworker/R-kvfre+kvfree_rcu_reclaim", WORKER, b"kworker/R-kvfre"),
            (b"kworker/R-nam-name", WORKER, b"kworker/R-nam"),
            (b"kworker/R-ext4-rsv-conver", WORKER, b"kworker/R-ext4-"),
            (b"md-md", WORKER, b"md"),
            (b"ext4-rsv-conver", WORKER, b"ext4-rsv-conver"),
            (b"rcu_tasks_trace_kthread", PF_KTHREAD, b"rcu_tasks_trace"),
            (b"jbd2/vda1-8", PF_KTHREAD, b"jbd2/vda1-8"),
            (b"kworker/0:1-x", 0, b"kworker/0:1-x"),
            (b"kworker/0:1-x", PF_WQ_WORKER, b"kworker/0:1-x"),
            (b"x) S\n(\xff", 0, b"x) S\n(\xff"),
        ];
        for (shown, flags, kept) in table {
            assert_eq!(kernels_comm(shown, flags).as_bytes(), kept, "{}", shown.escape_ascii());
        }
    }
}
