//! Tasks that were asked for by number, and whether any is left.

use procfs::process::{Process, Stat};

use crate::event::Tid;

/// What a number of the user's stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Asked {
    /// A process, with all its threads.
    Process,
    /// One thread.
    Thread,
}

/// A number that stands for no such task.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum NotThere {
    /// Nobody has it.
    #[error("no {what} {number}: nobody has that number")]
    Nobody {
        /// What was looked for.
        what: &'static str,
        /// Its number.
        number: u32,
    },
    /// A thread has it that is no process.
    #[error("{number} is a thread of process {tgid}, and no process")]
    Thread {
        /// The number asked for.
        number: u32,
        /// The thread's process.
        tgid: u32,
    },
}

/// A task, told from a later one of the same number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Watched {
    /// Its number.
    pub tid: Tid,
    start_time: u64,
}

impl Watched {
    /// Finds a task that is there now.
    pub fn find(number: u32, asked: Asked) -> Result<Watched, NotThere> {
        let what = match asked {
            Asked::Process => "process",
            Asked::Thread => "thread",
        };
        let nobody = NotThere::Nobody { what, number };
        // /proc/N opens for every thread, though only processes are listed.
        let process = i32::try_from(number).ok().and_then(|pid| Process::new(pid).ok());
        let Some(process) = process else { return Err(nobody) };
        let (Ok(status), Ok(stat)) = (process.status(), process.stat()) else { return Err(nobody) };
        if !is_alive(&stat) {
            return Err(nobody);
        }
        let tgid = status.tgid.unsigned_abs();
        match asked {
            Asked::Process if tgid != number => Err(NotThere::Thread { number, tgid }),
            _ => Ok(Watched { tid: Tid(number), start_time: stat.starttime }),
        }
    }

    /// Whether it is still there. A zombie is not: it waits for nothing any more.
    pub fn is_there(&self) -> bool {
        let process = i32::try_from(self.tid.0).ok().and_then(|pid| Process::new(pid).ok());
        let stat = process.and_then(|process| process.stat().ok());
        stat.is_some_and(|stat| stat.starttime == self.start_time && is_alive(&stat))
    }
}

fn is_alive(stat: &Stat) -> bool {
    !matches!(stat.state, 'Z' | 'X' | 'x')
}

#[cfg(test)]
mod tests {
    use std::process::{self, Command};
    use std::sync::mpsc::channel;
    use std::thread;

    use super::{Asked, NotThere, Watched};

    #[test]
    fn a_process_is_there_until_it_ends_even_if_nobody_reaps_it() {
        let mut child = Command::new("cat").stdin(process::Stdio::piped()).spawn().unwrap();
        let watched = Watched::find(child.id(), Asked::Process).unwrap();
        assert!(watched.is_there());
        drop(child.stdin.take());
        // Ended, and a zombie until it is waited for below.
        let pid = rustix::process::Pid::from_child(&child);
        let how = rustix::process::WaitIdOptions::EXITED | rustix::process::WaitIdOptions::NOWAIT;
        rustix::process::waitid(rustix::process::WaitId::Pid(pid), how).unwrap();
        assert!(!watched.is_there());
        child.wait().unwrap();
        assert!(!watched.is_there());
    }

    #[test]
    fn a_thread_is_no_process_and_nobody_is_neither() {
        let (tell, tid) = channel();
        let (end, wait) = channel::<()>();
        let thread = thread::spawn(move || {
            tell.send(rustix::thread::gettid().as_raw_nonzero().get().unsigned_abs()).unwrap();
            wait.recv().unwrap_err();
        });
        let number = tid.recv().unwrap();
        assert!(Watched::find(number, Asked::Thread).unwrap().is_there());
        let found = Watched::find(number, Asked::Process).unwrap_err();
        assert_eq!(found, NotThere::Thread { number, tgid: process::id() });
        drop(end);
        thread.join().unwrap();
        let nobody = Watched::find(1 << 30, Asked::Process).unwrap_err();
        assert_eq!(nobody, NotThere::Nobody { what: "process", number: 1 << 30 });
    }
}
