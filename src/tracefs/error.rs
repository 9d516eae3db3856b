//! What can go wrong with tracefs, and the command that mends it.

use std::io;
use std::path::{Path, PathBuf};

use rustix::io::Errno;

use super::stats::StatsError;

/// A failure at the kernel's interface: what was tried, on which path, in the system's words.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// No tracefs is mounted, and only root may mount it.
    #[error("no tracefs is mounted")]
    NotMounted,
    /// Root could not mount it either.
    #[error("cannot mount tracefs on {}: {source}", path.display())]
    Mount {
        /// Where it was to be mounted.
        path: PathBuf,
        /// The system's answer.
        source: io::Error,
    },
    /// A directory without `events` and `instances`.
    #[error("{} is not tracefs: it lacks the directories events and instances", path.display())]
    NotTracefs {
        /// The directory.
        path: PathBuf,
    },
    /// tracefs itself, with nothing in it: what `lockdown=confidentiality` leaves
    /// (security/lockdown and fs/tracefs/inode.c, 5.4 to 6.18).
    #[error("{} is tracefs but empty", path.display())]
    Empty {
        /// The mount point.
        path: PathBuf,
        /// The mode of /sys/kernel/security/lockdown, where that file is to be had.
        lockdown: Option<String>,
    },
    /// Not allowed (EACCES, EPERM or EROFS).
    #[error("cannot {action} {}: {source}", path.display())]
    Denied {
        /// What was tried, as a verb.
        action: &'static str,
        /// The file or directory.
        path: PathBuf,
        /// The system's answer.
        source: io::Error,
    },
    /// The process has too many files open (EMFILE).
    #[error("cannot open {}: {source}", path.display())]
    Descriptors {
        /// The file that could not be opened.
        path: PathBuf,
        /// The system's answer.
        source: io::Error,
    },
    /// The limit on open files is below what the CPUs need.
    #[error("{needed} open files are needed, the hard limit is {limit}")]
    DescriptorLimit {
        /// Descriptors needed.
        needed: u64,
        /// The hard limit.
        limit: u64,
    },
    /// Any other system error.
    #[error("cannot {action} {}: {source}", path.display())]
    Io {
        /// What was tried, as a verb.
        action: &'static str,
        /// The file or directory.
        path: PathBuf,
        /// The system's answer.
        source: io::Error,
    },
    /// The owner's pid and start time could not be read, so that no instance can be named.
    #[error("cannot read this process's start time: {0}")]
    OwnStartTime(String),
    /// Every name for an own instance is taken.
    #[error("every name from {} on is taken", path.display())]
    NamesTaken {
        /// The first name tried.
        path: PathBuf,
    },
    /// The kernel has no such event.
    #[error("this kernel has no event {system}:{event}")]
    MissingEvent {
        /// The event's system, `lock` for instance.
        system: String,
        /// The event's name.
        event: String,
    },
    /// The event offers no such trigger.
    #[error("{system}:{event} offers no {trigger} trigger")]
    MissingTrigger {
        /// The event's system.
        system: String,
        /// The event's name.
        event: String,
        /// The trigger's name.
        trigger: &'static str,
    },
    /// A setting was accepted but reads back otherwise.
    #[error("{} was set to {wanted} but reads {found}", path.display())]
    NotKept {
        /// The setting's file.
        path: PathBuf,
        /// What was written.
        wanted: String,
        /// What was read back.
        found: String,
    },
    /// The kernel refuses the trace clock.
    #[error("clock {clock} refused by {}: {source}", path.display())]
    Clock {
        /// The instance's `trace_clock`.
        path: PathBuf,
        /// The clock asked for.
        clock: &'static str,
        /// The clocks this kernel has.
        offered: Vec<String>,
        /// The system's answer.
        source: io::Error,
    },
    /// The rings do not fit into memory (ENOMEM).
    #[error(
        "no memory for {size_kb} KiB on each of {cpus} CPUs, {} MiB in all: {source}",
        size_kb.saturating_mul(*cpus) / 1024
    )]
    NoMemory {
        /// Asked for each CPU.
        size_kb: u64,
        /// CPUs that get a ring.
        cpus: u64,
        /// The system's answer.
        source: io::Error,
    },
    /// A setting's file holds no number.
    #[error("{} is not a size: {text:?}", path.display())]
    Size {
        /// The file.
        path: PathBuf,
        /// Its text.
        text: String,
    },
    /// A `stats` file that is not understood.
    #[error("{}: {source}", path.display())]
    Stats {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        source: StatsError,
    },
    /// A read that is not whole sub-buffers: someone has changed their size.
    #[error("{} gave {got} bytes, not whole sub-buffers of {subbuf_size}", path.display())]
    Resized {
        /// The ring.
        path: PathBuf,
        /// Bytes read.
        got: usize,
        /// The sub-buffer's size in bytes when the ring was opened.
        subbuf_size: usize,
    },
    /// The ring was emptied by someone else, by writing `trace` or `trace_clock`.
    #[error("{} was emptied by someone else", path.display())]
    Emptied {
        /// The ring.
        path: PathBuf,
    },
    /// The ring cannot be mapped.
    #[error("cannot map {}: {reason}", path.display())]
    Unmappable {
        /// The ring.
        path: PathBuf,
        /// Why not.
        reason: Unmappable,
    },
    /// The mapped ring's meta page says what cannot be.
    #[error("{}: its meta page is corrupt", path.display())]
    CorruptMeta {
        /// The ring.
        path: PathBuf,
    },
}

/// Why a ring cannot be mapped.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Unmappable {
    /// No `mmap` for this file: kernels before 6.10.
    #[error("this kernel cannot map its rings (6.10 and later can)")]
    Kernel,
    /// The CPU never was online (EINVAL).
    #[error("the CPU was never online")]
    Offline,
    /// A snapshot holds the buffer (EBUSY).
    #[error("a snapshot of the buffer is in use")]
    Snapshot,
    /// Any other answer of the system.
    #[error("{0}")]
    System(io::Error),
    /// A meta page of a layout that is not known.
    #[error("unknown meta page layout ({len} bytes)")]
    Layout {
        /// The meta page's own `meta_struct_len`.
        len: usize,
    },
}

impl Error {
    /// Gives a system error its place: what was tried, and on which path.
    pub(super) fn at(action: &'static str, path: &Path, source: io::Error) -> Error {
        let path = path.to_owned();
        match source.raw_os_error().map(Errno::from_raw_os_error) {
            Some(Errno::ACCESS | Errno::PERM | Errno::ROFS) => {
                Error::Denied { action, path, source }
            }
            Some(Errno::MFILE | Errno::NFILE) => Error::Descriptors { path, source },
            _ => Error::Io { action, path, source },
        }
    }

    /// The command, or failing that the step, that mends it.
    pub fn hint(&self) -> Option<String> {
        Some(match self {
            Error::NotMounted => "sudo mount -t tracefs nodev /sys/kernel/tracing".to_owned(),
            Error::Mount { .. } => {
                "grep CONFIG_TRACING= /boot/config-$(uname -r)  # in a container: bind \
                 /sys/kernel/tracing from the host"
                    .to_owned()
            }
            Error::NotTracefs { .. } => "findmnt -t tracefs".to_owned(),
            Error::Empty { lockdown: Some(mode), .. } => format!(
                "kernel lockdown is in mode {mode}: boot with lockdown=integrity or none to trace"
            ),
            Error::Empty { lockdown: None, .. } => {
                "sudo cat /sys/kernel/security/lockdown  # confidentiality forbids all tracing"
                    .to_owned()
            }
            Error::Denied { path, source, .. } => {
                denied_hint(path, source, rustix::process::geteuid().is_root())
            }
            Error::Descriptors { .. } => "ulimit -n $(ulimit -Hn)".to_owned(),
            Error::DescriptorLimit { needed, .. } => {
                format!("sudo prlimit --nofile={needed}:{needed} --pid $$")
            }
            Error::NamesTaken { path } => {
                format!("sudo rmdir {}*", path.display())
            }
            Error::MissingEvent { system, event }
                if system == "lock" && event.starts_with("contention_") =>
            {
                "uname -r  # lock:contention_begin needs Linux 5.19 or later".to_owned()
            }
            Error::MissingEvent { system, .. } => {
                format!("sudo grep '^{system}:' /sys/kernel/tracing/available_events")
            }
            Error::Clock { offered, .. } => format!("this kernel has: {}", offered.join(" ")),
            Error::NoMemory { size_kb, .. } => {
                format!("ask for less, {} KiB for instance", (size_kb / 4).max(64))
            }
            Error::Resized { .. } | Error::Emptied { .. } | Error::NotKept { .. } => {
                "sudo fuser -v /sys/kernel/tracing  # another tracer works on this instance"
                    .to_owned()
            }
            Error::Unmappable { .. } => "read the rings rather than map them".to_owned(),
            Error::Io { .. }
            | Error::OwnStartTime(_)
            | Error::MissingTrigger { .. }
            | Error::Size { .. }
            | Error::Stats { .. }
            | Error::CorruptMeta { .. } => return None,
        })
    }
}

/// Root is refused for other reasons than the rest of the world.
fn denied_hint(path: &Path, source: &io::Error, is_root: bool) -> String {
    if source.kind() == io::ErrorKind::ReadOnlyFilesystem {
        format!("sudo mount -o remount,rw $(findmnt -n -o TARGET -T {})", path.display())
    } else if is_root {
        "grep CapEff /proc/self/status  # root without CAP_DAC_OVERRIDE, or kernel lockdown"
            .to_owned()
    } else {
        "run it as root, with sudo".to_owned()
    }
}

#[cfg(test)]
mod tests;
