//! Where tracefs is.

use std::ffi::OsString;
use std::fs;
use std::os::unix::ffi::OsStringExt as _;
use std::path::{Path, PathBuf};

use rustix::mount::MountFlags;

use super::error::Error;

/// Where tracefs belongs, and where root mounts it.
const USUAL: &str = "/sys/kernel/tracing";

/// `TRACEFS_MAGIC` (include/uapi/linux/magic.h).
const TRACEFS_MAGIC: u64 = 0x7472_6163;

/// A tracefs that is mounted and can be entered.
#[derive(Debug, Clone)]
pub struct Tracefs {
    root: PathBuf,
    mounted_here: bool,
}

impl Tracefs {
    /// Takes `dir` where one is given; else looks for a mount, and as root makes one.
    ///
    /// A directory counts only if `events` and `instances` are in it. Looked at in this order:
    /// /sys/kernel/tracing, other mounts of type tracefs, the `tracing` directory of debugfs.
    pub fn find(dir: Option<&Path>) -> Result<Tracefs, Error> {
        if let Some(dir) = dir {
            enter(dir)?;
            return Ok(Tracefs { root: dir.to_owned(), mounted_here: false });
        }
        let path = Path::new("/proc/self/mountinfo");
        let mountinfo = fs::read(path).map_err(|source| Error::at("read", path, source))?;
        match first_usable(candidates(&mountinfo))? {
            Some(root) => Ok(Tracefs { root, mounted_here: false }),
            None => mount(Path::new(USUAL)),
        }
    }

    /// The directory that holds `events` and `instances`.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Whether it was not mounted before: worth telling, since it stays mounted.
    pub fn mounted_here(&self) -> bool {
        self.mounted_here
    }
}

/// Checks that the directory is a tracefs with something in it, open to us.
fn enter(dir: &Path) -> Result<(), Error> {
    for name in ["events", "instances"] {
        let path = dir.join(name);
        match fs::metadata(&path) {
            Ok(metadata) if metadata.is_dir() => {}
            Err(source) if source.kind() != std::io::ErrorKind::NotFound => {
                return Err(Error::at("enter", &path, source));
            }
            _ if is_tracefs(dir) => {
                return Err(Error::Empty { path: dir.to_owned(), lockdown: lockdown() });
            }
            _ => return Err(Error::NotTracefs { path: dir.to_owned() }),
        }
    }
    Ok(())
}

/// By the file system itself: a mount point may be covered by another mount.
fn is_tracefs(dir: &Path) -> bool {
    rustix::fs::statfs(dir).is_ok_and(|stat| u64::try_from(stat.f_type) == Ok(TRACEFS_MAGIC))
}

/// The first that can be entered. One that is there but closed is an error only if no other is open.
fn first_usable(dirs: Vec<PathBuf>) -> Result<Option<PathBuf>, Error> {
    let mut closed = None;
    for dir in dirs {
        match enter(&dir) {
            Ok(()) => return Ok(Some(dir)),
            Err(Error::NotTracefs { .. }) => {}
            Err(error) => {
                closed.get_or_insert(error);
            }
        }
    }
    closed.map_or(Ok(None), Err)
}

fn mount(path: &Path) -> Result<Tracefs, Error> {
    if !rustix::process::geteuid().is_root() {
        return Err(Error::NotMounted);
    }
    let flags = MountFlags::NOSUID | MountFlags::NODEV | MountFlags::NOEXEC;
    rustix::mount::mount("nodev", path, "tracefs", flags, None)
        .map_err(|errno| Error::Mount { path: path.to_owned(), source: errno.into() })?;
    enter(path)?;
    Ok(Tracefs { root: path.to_owned(), mounted_here: true })
}

/// The mode in use of the kernel's lockdown, where it can be read.
fn lockdown() -> Option<String> {
    let text = fs::read_to_string("/sys/kernel/security/lockdown").ok()?;
    text.split_whitespace()
        .find_map(|word| Some(word.strip_prefix('[')?.strip_suffix(']')?.to_owned()))
}

/// The directories of a mountinfo that may be tracefs, best first.
fn candidates(mountinfo: &[u8]) -> Vec<PathBuf> {
    let mounts: Vec<Mount> =
        mountinfo.split(|&byte| byte == b'\n').filter_map(Mount::parse).collect();
    let of_type = |fs_type: &'static [u8]| {
        mounts.iter().filter(move |mount| mount.fs_type == fs_type).map(|mount| mount.point.clone())
    };
    let mut dirs: Vec<PathBuf> = of_type(b"tracefs").collect();
    dirs.sort_by_key(|dir| dir != Path::new(USUAL));
    dirs.extend(of_type(b"debugfs").map(|point| point.join("tracing")));
    dirs
}

struct Mount<'a> {
    fs_type: &'a [u8],
    point: PathBuf,
}

impl Mount<'_> {
    /// One line of mountinfo: the mount point is the 5th word, the type the first one behind a
    /// lone dash (Documentation/filesystems/proc.rst, 3.5).
    fn parse(line: &[u8]) -> Option<Mount<'_>> {
        let mut words = line.split(|&byte| byte == b' ');
        let point = words.nth(4)?;
        let fs_type = words.skip_while(|word| word != b"-").nth(1)?;
        Some(Mount { fs_type, point: OsString::from_vec(unescape(point)).into() })
    }
}

/// Undoes `\040` and the like, which stand for white space and the backslash.
fn unescape(word: &[u8]) -> Vec<u8> {
    let mut plain = Vec::with_capacity(word.len());
    let mut rest = word;
    while let Some((&byte, behind)) = rest.split_first() {
        let octal = match rest {
            [b'\\', a @ b'0'..=b'3', b @ b'0'..=b'7', c @ b'0'..=b'7', behind @ ..] => {
                Some(((a - b'0') << 6 | (b - b'0') << 3 | (c - b'0'), behind))
            }
            _ => None,
        };
        let (byte, behind) = octal.unwrap_or((byte, behind));
        plain.push(byte);
        rest = behind;
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::{Tracefs, candidates, first_usable};
    use crate::tracefs::Error;
    use std::fs;
    use std::path::PathBuf;

    #[test]
    fn mountinfo_gives_candidates_by_type_and_best_first() {
        let mountinfo = b"\
22 1 254:0 / / rw,relatime - ext4 /dev/root rw\n\
30 23 0:7 / /sys/kernel/debug rw - debugfs nodev rw\n\
41 23 0:13 / /mnt/t\\040f\\134x rw,relatime shared:7 master:2 - tracefs tracefs rw,gid=1000\n\
42 23 0:13 / /sys/kernel/tracing rw,relatime - tracefs nodev rw\n\
43 23 0:14 / /tracefs rw - tmpfs tracefs rw\n\
44 23 0:13 / /odd\\9 rw - tracefs\n\
garbage\n\
45 23 0:13 / /cut rw,relatime shared:1\n";
        let dirs: Vec<PathBuf> =
            ["/sys/kernel/tracing", "/mnt/t f\\x", "/odd\\9", "/sys/kernel/debug/tracing"]
                .map(PathBuf::from)
                .into();
        assert_eq!(candidates(mountinfo), dirs);
        assert_eq!(candidates(b""), Vec::<PathBuf>::new());
    }

    #[test]
    fn a_directory_counts_only_with_events_and_instances_in_it() {
        let dir = tempfile::tempdir().unwrap();
        let path = |name: &str| dir.path().join(name);
        for name in ["empty", "instance/events", "good/events", "good/instances"] {
            fs::create_dir_all(path(name)).unwrap();
        }
        let dirs = |names: &[&str]| names.iter().map(|name| path(name)).collect::<Vec<_>>();
        let found = first_usable(dirs(&["gone", "empty", "instance", "good"])).unwrap();
        assert_eq!(found, Some(path("good")));
        assert_eq!(first_usable(dirs(&["gone", "empty", "instance"])).unwrap(), None);

        let found = Tracefs::find(Some(&path("good"))).unwrap();
        assert_eq!((found.root(), found.mounted_here()), (&*path("good"), false));
        let error = Tracefs::find(Some(&path("empty"))).unwrap_err();
        assert!(matches!(&error, Error::NotTracefs { .. }));
        assert_eq!(
            error.to_string(),
            format!(
                "{} is not tracefs: it lacks the directories events and instances",
                path("empty").display()
            )
        );
    }
}
