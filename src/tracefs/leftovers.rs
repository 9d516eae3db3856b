//! Instances of runs that ended without removing theirs.

use std::fs;
use std::io;

use super::error::Error;
use super::mount::Tracefs;
use super::owner::{Owner, start_time_ticks_of};

/// What was found of earlier runs, by the instances' names.
#[derive(Debug, Default)]
pub struct Leftovers {
    /// Their owners are dead: removed.
    pub removed: Vec<String>,
    /// Their owners are dead, and still they could not be removed.
    pub stuck: Vec<Left>,
    /// Their owners live: not touched.
    pub alive: Vec<String>,
}

/// An instance that could not be removed.
#[derive(Debug)]
pub struct Left {
    /// Its name.
    pub name: String,
    /// The system's answer; EBUSY where a file of it is open somewhere.
    pub source: io::Error,
}

/// Removes the instances whose owner, by pid and start time, is dead.
///
/// Nothing is written to them first. An owner in another pid namespace looks dead from here;
/// what keeps its instance is that a file of it is open from its first moment on, which makes
/// `rmdir` fail.
pub fn remove_leftovers(tracefs: &Tracefs) -> Result<Leftovers, Error> {
    remove_where_dead(tracefs, start_time_ticks_of)
}

fn remove_where_dead(
    tracefs: &Tracefs,
    start_time_ticks_of: impl Fn(i32) -> Option<u64>,
) -> Result<Leftovers, Error> {
    let instances = tracefs.root().join("instances");
    let failed = |source| Error::at("list", &instances, source);
    let mut found = Leftovers::default();
    for entry in fs::read_dir(&instances).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        let Ok(name) = entry.file_name().into_string() else { continue };
        let Some(owner) = Owner::of_instance(&name) else { continue };
        if owner.lives(&start_time_ticks_of) {
            found.alive.push(name);
            continue;
        }
        match fs::remove_dir(entry.path()) {
            Ok(()) => found.removed.push(name),
            Err(source) => found.stuck.push(Left { name, source }),
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::remove_where_dead;
    use crate::tracefs::Tracefs;
    use std::fs;

    #[test]
    fn only_instances_of_the_dead_go() {
        let dir = tempfile::tempdir().unwrap();
        let instances = dir.path().join("instances");
        fs::create_dir_all(dir.path().join("events")).unwrap();
        for name in ["ftlock-1-100", "ftlock-1-99", "ftlock-2-5-2", "ftlock-x", "trace-cmd"] {
            fs::create_dir_all(instances.join(name)).unwrap();
        }
        // Not empty: rmdir fails, as it does for an instance with an open file.
        fs::create_dir_all(instances.join("ftlock-3-1/open")).unwrap();
        let tracefs = Tracefs::find(Some(dir.path())).unwrap();

        let mut found = remove_where_dead(&tracefs, |pid| (pid == 1).then_some(100)).unwrap();
        found.removed.sort();
        assert_eq!(found.removed, ["ftlock-1-99", "ftlock-2-5-2"]);
        assert_eq!(found.alive, ["ftlock-1-100"]);
        assert_eq!(found.stuck.len(), 1);
        assert_eq!(found.stuck[0].name, "ftlock-3-1");
        let mut kept: Vec<_> =
            fs::read_dir(&instances).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        kept.sort();
        assert_eq!(kept, ["ftlock-1-100", "ftlock-3-1", "ftlock-x", "trace-cmd"]);
    }
}
