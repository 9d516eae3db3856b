//! Tasks that were blocked before the trace began, and are still: no event tells of them.

use std::fs;

use procfs::process::{Task, all_processes};

use crate::event::{Comm, Tid};

/// Tasks that are remembered.
const MAX_BLOCKED: usize = 1 << 12;

/// A task in uninterruptible sleep, as /proc shows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Blocked {
    /// The task.
    pub tid: Tid,
    /// Its process.
    pub tgid: Tid,
    /// Its name.
    pub comm: Comm,
    /// Where it sleeps, innermost first, below the functions of locks and of the scheduler, which the
    /// kernel leaves out. Empty where its stack cannot be read.
    pub stack: Vec<String>,
    start_time: u64,
}

impl Blocked {
    /// As it was seen once.
    pub fn told(tid: Tid, tgid: Tid, comm: Comm, stack: Vec<String>) -> Blocked {
        Blocked { tid, tgid, comm, stack, start_time: 0 }
    }
}

/// Tasks that have been blocked since they were first looked at.
#[derive(Debug, Default)]
pub struct SinceBefore(Vec<Blocked>);

impl SinceBefore {
    /// Those that are blocked now and meet a condition.
    pub fn look(is_asked: impl Fn(&Blocked) -> bool) -> SinceBefore {
        SinceBefore(blocked_now().into_iter().filter(is_asked).collect())
    }

    /// Those that have slept at one place since. Whoever goes on and comes back there between two
    /// looks looks the same, so several looks tell more.
    pub fn look_again(&mut self) -> &[Blocked] {
        if !self.0.is_empty() {
            let now = blocked_now();
            self.0.retain(|blocked| now.contains(blocked));
        }
        &self.0
    }
}

/// A task that cannot be read has ended, or is nobody's business.
fn blocked_now() -> Vec<Blocked> {
    let processes = all_processes().into_iter().flatten().flatten();
    let tasks = processes.filter_map(|process| process.tasks().ok()).flatten().flatten();
    tasks.filter_map(|task| blocked(&task)).take(MAX_BLOCKED).collect()
}

fn blocked(task: &Task) -> Option<Blocked> {
    let stat = task.stat().ok()?;
    let own = format!("/proc/{}/task/{}", task.pid, task.tid);
    let is_blocked = stat.state == 'D';
    // `stat` has the name's bytes escaped.
    let comm = || fs::read(format!("{own}/comm")).unwrap_or_default();
    is_blocked.then(|| Blocked {
        tid: Tid(task.tid.unsigned_abs()),
        tgid: Tid(task.pid.unsigned_abs()),
        comm: Comm::new(comm().trim_ascii_end()),
        stack: frames(&fs::read_to_string(format!("{own}/stack")).unwrap_or_default()),
        start_time: stat.starttime,
    })
}

/// `[<0>] name+0x2c/0x90` a line: without the address, which is hidden, and the function's size.
fn frames(stack: &str) -> Vec<String> {
    let frames = stack.lines().filter_map(|line| line.split_once("] "));
    frames.map(|(_, frame)| frame.split('/').next().unwrap_or(frame).to_owned()).collect()
}

#[cfg(test)]
mod tests {
    use super::frames;

    #[test]
    fn frames_are_as_elsewhere() {
        let stack = "[<0>] shmem_file_write_iter+0x2c/0x90\n[<0>] vfs_write+0x29c/0x4c0\n";
        assert_eq!(frames(stack), ["shmem_file_write_iter+0x2c", "vfs_write+0x29c"]);
        assert!(frames("").is_empty());
    }
}
