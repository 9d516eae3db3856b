//! Which of the machine's cgroup hierarchies is meant.
//!
//! As in perf: that of version 1 with the `perf_event` controller, else that of version 2. Where
//! there is neither, that of `cpu`, `memory` or `pids`, which container engines use, else the first.

use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use procfs::process::Process;

/// A hierarchy of cgroups.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hierarchy {
    id: u32,
    name: String,
    mounts: Vec<Mount>,
    is_nested: bool,
}

/// Where a hierarchy, or a part of it, can be seen.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Mount {
    point: PathBuf,
    /// The cgroup that is mounted there.
    root: PathBuf,
}

/// Cgroups cannot be told.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum HierarchyError {
    /// A file in /proc.
    #[error("cannot read {path}: {reason}")]
    Read {
        /// The file.
        path: &'static str,
        /// The system's own words.
        reason: String,
    },
    /// The kernel has none.
    #[error("this kernel has no cgroups, as /proc/self/cgroup says")]
    None,
}

/// A cgroup that is not there.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum NoCgroup {
    /// No such directory.
    #[error("no such cgroup, looked for as {0}")]
    Absent(String),
    /// The hierarchy is not to be seen.
    #[error("no such cgroup to be seen: {0} is mounted nowhere")]
    NotMounted(String),
}

impl Hierarchy {
    /// That of this machine.
    ///
    /// # Errors
    /// If the kernel has no cgroups, or /proc does not say.
    pub fn find() -> Result<Hierarchy, HierarchyError> {
        let failed = |path, reason: String| HierarchyError::Read { path, reason };
        let path = "/proc/self/cgroup";
        let groups = match fs::read_to_string(path) {
            Ok(groups) => groups,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Err(HierarchyError::None);
            }
            Err(error) => return Err(failed(path, error.to_string())),
        };
        let (id, name) = choose(&groups).ok_or(HierarchyError::None)?;
        let mountinfo = Process::myself().and_then(|myself| myself.mountinfo());
        let mountinfo = mountinfo.map_err(|e| failed("/proc/self/mountinfo", e.to_string()))?;
        let is_it = |fs_type: &str, has_option: &dyn Fn(&str) -> bool| match id {
            0 => fs_type == "cgroup2",
            _ => fs_type == "cgroup" && has_option(&name),
        };
        let mounts = mountinfo.0.into_iter().filter(|mount| {
            is_it(&mount.fs_type, &|option| mount.super_options.contains_key(option))
        });
        let mounts =
            mounts.map(|mount| Mount { point: mount.mount_point, root: mount.root.into() });
        let mounts = mounts.collect();
        Ok(Hierarchy { id, name, mounts, is_nested: in_own_namespace() })
    }

    /// That of another machine, which can be seen nowhere. `is_nested`: paths in events are not to be used.
    pub fn of_recording(id: u32, is_nested: bool) -> Hierarchy {
        Hierarchy { id, name: String::new(), mounts: Vec::new(), is_nested }
    }

    /// Its number in events and in /proc; 0 for version 2.
    pub fn id(&self) -> u32 {
        self.id
    }

    /// Whether paths are seen from a cgroup namespace of our own: those in events are not.
    pub fn is_nested(&self) -> bool {
        self.is_nested
    }

    /// The path of a cgroup as /proc has it, from the same, without its first slash, or a
    /// directory below the hierarchy's mount.
    ///
    /// # Errors
    /// If there is no such cgroup now.
    pub fn path_of(&self, asked: &Path) -> Result<PathBuf, NoCgroup> {
        let named = if self.id == 0 { "cgroup2" } else { self.name.as_str() };
        if self.mounts.is_empty() {
            return Err(NoCgroup::NotMounted(named.to_owned()));
        }
        let below = asked.components().skip_while(|c| c.as_os_str() == "/");
        let path = Path::new("/").join(below.collect::<PathBuf>());
        let as_path = self.mounts.iter().filter_map(|mount| {
            let inside = path.strip_prefix(&mount.root).ok()?;
            Some((path.clone(), mount.point.join(inside)))
        });
        let as_directory = self.mounts.iter().filter_map(|mount| {
            let inside = asked.strip_prefix(&mount.point).ok()?;
            Some((mount.root.join(inside), asked.to_owned()))
        });
        let tried: Vec<_> = as_path.chain(as_directory).collect();
        match tried.iter().find(|(_, directory)| directory.join("cgroup.procs").exists()) {
            // Joining an empty path leaves a slash at the end.
            Some((path, _)) => Ok(path.components().collect()),
            None => {
                let tried = tried.iter().map(|(_, directory)| directory.display().to_string());
                Err(NoCgroup::Absent(tried.collect::<Vec<_>>().join(" and ")))
            }
        }
    }
}

/// Whether one cgroup is another or lies below it.
pub fn is_within(path: &[u8], cgroup: &Path) -> bool {
    Path::new(std::ffi::OsStr::from_bytes(path)).starts_with(cgroup)
}

/// The number and the controller to know the hierarchy by, from a task's lines in /proc.
fn choose(groups: &str) -> Option<(u32, String)> {
    let lines = groups.lines().filter_map(|line| {
        let mut parts = line.splitn(3, ':');
        Some((parts.next()?.parse::<u32>().ok()?, parts.next()?))
    });
    let lines: Vec<_> = lines.collect();
    let of = |controller: &str| {
        let line = lines.iter().find(|(_, list)| list.split(',').any(|one| one == controller));
        line.map(|&(id, _)| (id, controller.to_owned()))
    };
    let first = || {
        let &(id, list) = lines.last()?;
        list.split(',').next().map(|one| (id, one.to_owned()))
    };
    ["perf_event", "", "cpu", "memory", "pids"].into_iter().find_map(of).or_else(first)
}

fn in_own_namespace() -> bool {
    /// `PROC_CGROUP_INIT_INO` (include/linux/proc_ns.h, 4.6 to 6.18).
    const INITIAL_INODE: u64 = 0xEFFF_FFFB;
    // A kernel without such namespaces has no such file.
    fs::metadata("/proc/self/ns/cgroup").is_ok_and(|namespace| namespace.ino() != INITIAL_INODE)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::{Path, PathBuf};

    use super::{Hierarchy, Mount, NoCgroup, choose, is_within};

    #[test]
    fn perf_event_goes_first_then_version_2_then_what_containers_use() {
        let table = [
            ("3:perf_event:/a\n2:cpu,cpuacct:/\n0::/\n", Some((3, "perf_event"))),
            ("9:name=systemd:/\n4:memory:/m\n0::/\n", Some((0, ""))),
            ("9:name=systemd:/\n4:memory:/m\n2:cpuacct,cpu:/\n", Some((2, "cpu"))),
            ("9:name=systemd:/\n1:blkio:/\n", Some((1, "blkio"))),
            ("", None),
        ];
        for (groups, expected) in table {
            let expected = expected.map(|(id, name)| (id, name.to_owned()));
            assert_eq!(choose(groups), expected, "{groups}");
        }
    }

    #[test]
    fn a_cgroup_is_given_by_its_path_or_its_directory_and_must_be_there() {
        let dir = tempfile::tempdir().unwrap();
        let (whole, part) = (dir.path().join("whole"), dir.path().join("part"));
        for cgroup in [whole.join("a/b"), whole.clone(), part.join("c")] {
            fs::create_dir_all(&cgroup).unwrap();
            fs::write(cgroup.join("cgroup.procs"), "").unwrap();
        }
        let mount = |point: &Path, root: &str| Mount { point: point.into(), root: root.into() };
        let mounts = vec![mount(&whole, "/"), mount(&part, "/p")];
        let hierarchy = Hierarchy { id: 0, name: String::new(), mounts, is_nested: false };
        let table: [(PathBuf, Option<&str>); 8] = [
            ("/a/b".into(), Some("/a/b")),
            ("a/b/".into(), Some("/a/b")),
            ("/".into(), Some("/")),
            ("/p/c".into(), Some("/p/c")),
            (whole.join("a/b"), Some("/a/b")),
            (whole.clone(), Some("/")),
            (part.join("c"), Some("/p/c")),
            ("/a".into(), None),
        ];
        for (asked, expected) in table {
            let found = hierarchy.path_of(&asked).ok();
            assert_eq!(found.as_deref(), expected.map(Path::new), "{}", asked.display());
        }
        let absent = hierarchy.path_of(Path::new("no/such")).unwrap_err().to_string();
        let looked_for = whole.join("no/such").display().to_string();
        assert_eq!(absent, format!("no such cgroup, looked for as {looked_for}"));
        let unmounted = Hierarchy { mounts: Vec::new(), ..hierarchy };
        let error = unmounted.path_of(Path::new("/a")).unwrap_err();
        assert_eq!(error, NoCgroup::NotMounted("cgroup2".to_owned()));
    }

    #[test]
    fn below_is_by_whole_names() {
        let table = [("/a", true), ("/a/b", true), ("/ab", false), ("/", false)];
        for (path, within) in table {
            assert_eq!(is_within(path.as_bytes(), Path::new("/a")), within, "{path}");
        }
        assert!(is_within(b"/\xff", Path::new("/")));
    }
}
