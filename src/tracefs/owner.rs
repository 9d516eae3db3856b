//! Whose instance is this: the pid and start time in its name.

use procfs::process::Process;

use super::error::Error;

const PREFIX: &str = "ftlock-";

/// The process that made an instance. Pids are reused; together with the start time they are not.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Owner {
    /// Its pid.
    pub pid: i32,
    /// Its start in clock ticks since boot: field 22 of /proc/PID/stat.
    pub start_time_ticks: u64,
}

impl Owner {
    /// This process.
    pub fn this_process() -> Result<Owner, Error> {
        let stat = Process::myself().and_then(|process| process.stat());
        let stat = stat.map_err(|error| Error::OwnStartTime(error.to_string()))?;
        Ok(Owner { pid: stat.pid, start_time_ticks: stat.starttime })
    }

    /// The name of its instance number `number`, which counts from 1.
    pub(super) fn instance_name(self, number: u32) -> String {
        let Owner { pid, start_time_ticks } = self;
        match number {
            1 => format!("{PREFIX}{pid}-{start_time_ticks}"),
            _ => format!("{PREFIX}{pid}-{start_time_ticks}-{number}"),
        }
    }

    /// The owner by an instance's name; `None` where the name is not one of ours.
    pub fn of_instance(name: &str) -> Option<Owner> {
        let mut parts = name.strip_prefix(PREFIX)?.split('-');
        let pid = parts.next()?.parse().ok().filter(|&pid| pid > 0)?;
        let start_time_ticks = parts.next()?.parse().ok()?;
        if let Some(number) = parts.next() {
            number.parse::<u32>().ok()?;
        }
        parts.next().is_none().then_some(Owner { pid, start_time_ticks })
    }

    /// Whether the process still runs, by a function that knows each pid's start time.
    pub(super) fn lives(self, start_time_ticks_of: impl Fn(i32) -> Option<u64>) -> bool {
        start_time_ticks_of(self.pid) == Some(self.start_time_ticks)
    }
}

/// A running process's start time; `None` where there is no such process. One that has ended
/// runs no more, even if its parent has not asked for its status yet.
pub(super) fn start_time_ticks_of(pid: i32) -> Option<u64> {
    let stat = Process::new(pid).ok()?.stat().ok()?;
    (!matches!(stat.state, 'Z' | 'X' | 'x')).then_some(stat.starttime)
}

#[cfg(test)]
mod tests {
    use super::{Owner, start_time_ticks_of};

    #[test]
    fn names_lead_back_to_their_owner() {
        let owner = Owner { pid: 4711, start_time_ticks: 98765 };
        assert_eq!(owner.instance_name(1), "ftlock-4711-98765");
        assert_eq!(owner.instance_name(2), "ftlock-4711-98765-2");
        for number in [1, 2, 64] {
            assert_eq!(Owner::of_instance(&owner.instance_name(number)), Some(owner));
        }
        for other in [
            "ftlock-",
            "ftlock-1",
            "ftlock-x-1",
            "ftlock-1-2-x",
            "ftlock-1-2-3-4",
            "ftlock--1-2",
            "ftlock-0-1",
            "perf-1-2",
        ] {
            assert_eq!(Owner::of_instance(other), None, "{other}");
        }
    }

    #[test]
    fn a_pid_that_was_reused_is_another_process() {
        let owner = Owner { pid: 7, start_time_ticks: 100 };
        for (running, lives) in [(Some(100), true), (Some(101), false), (None, false)] {
            assert_eq!(owner.lives(|pid| running.filter(|_| pid == 7)), lives, "{running:?}");
        }
    }

    #[test]
    fn this_process_lives() {
        let own = Owner::this_process().unwrap();
        assert_eq!(own.pid, i32::try_from(std::process::id()).unwrap());
        assert!(own.lives(start_time_ticks_of));
    }
}
