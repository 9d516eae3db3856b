//! The mappings of a process, as /proc tells them now.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use procfs::process::{MMapPath, MemoryMap, Process};

/// Which file: the same number may be another file's later.
pub(super) type FileId = (u64, u64, i64, i64, u64);

/// The mappings of a process, in the order of addresses.
#[derive(Debug)]
pub struct AddressSpace {
    pid: u32,
    regions: Vec<Region>,
    program: Option<FileId>,
}

/// One mapping.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Region {
    pub(super) start: u64,
    pub(super) end: u64,
    /// Where in its file it begins.
    pub(super) offset: u64,
    /// The file's device and inode.
    file: Option<((i32, i32), u64)>,
    /// The file's path.
    path: PathBuf,
    /// How it is shown.
    pub(super) name: String,
}

/// A file that is mapped from its beginning: a program, a library, or data.
#[derive(Debug)]
pub(super) struct Module<'a> {
    /// The mapping of its beginning.
    pub(super) first: &'a Region,
    /// It is the program that the process runs.
    pub(super) is_program: bool,
}

impl AddressSpace {
    /// The mappings of the process now; nothing if it has none (any more).
    pub fn read(pid: u32) -> Option<AddressSpace> {
        let maps = Process::new(i32::try_from(pid).ok()?).ok()?.maps().ok()?;
        let regions: Vec<Region> = maps.into_iter().map(Region::new).collect();
        let program = fs::metadata(format!("/proc/{pid}/exe")).ok().map(|file| id(&file));
        (!regions.is_empty()).then_some(AddressSpace { pid, regions, program })
    }

    /// The mapping that the address is in.
    pub(super) fn region(&self, address: u64) -> Option<&Region> {
        let behind = self.regions.partition_point(|region| region.start <= address);
        self.regions.get(behind.checked_sub(1)?).filter(|region| address < region.end)
    }

    /// The program or library that the address may be of: that of its own mapping, and of an anonymous
    /// one the last before it, whose zeroed variables lie there.
    pub(super) fn module(&self, address: u64, region: &Region) -> Option<Module<'_>> {
        let is_first = |first: &&Region| {
            let is_its = region.file.is_none() || region.file == first.file;
            first.file.is_some() && first.offset == 0 && is_its && first.start <= address
        };
        let first = self.regions.iter().rev().find(is_first)?;
        let is_program = self.file_of(first).is_some_and(|(_, id)| Some(id) == self.program);
        Some(Module { first, is_program })
    }

    /// Where a mapped file can be opened, wherever it is, and which one it is. Only a regular file:
    /// to open anything else may have effects.
    pub(super) fn file_of(&self, region: &Region) -> Option<(PathBuf, FileId)> {
        let (_, inode) = region.file?;
        let pid = self.pid;
        // The file itself, even if it is deleted or in another mount namespace; this needs a
        // capability.
        let mapped =
            PathBuf::from(format!("/proc/{pid}/map_files/{:x}-{:x}", region.start, region.end));
        let by_path = || {
            let path =
                Path::new(&format!("/proc/{pid}/root")).join(region.path.strip_prefix("/").ok()?);
            let file = fs::metadata(&path).ok()?;
            // Some file systems give their files other devices' numbers here: the inode must do.
            (file.ino() == inode).then_some((path, file))
        };
        let mapped = fs::metadata(&mapped).ok().map(|file| (mapped, file));
        let (path, file) = mapped.or_else(by_path)?;
        file.is_file().then(|| (path, id(&file)))
    }
}

impl Region {
    pub(super) fn is_file(&self) -> bool {
        self.file.is_some()
    }

    fn new(map: MemoryMap) -> Region {
        let (start, end) = map.address;
        let (path, name) = match map.pathname {
            MMapPath::Path(path) => {
                let name = file_name(&path, map.inode);
                (path, name)
            }
            MMapPath::Heap => (PathBuf::new(), "[heap]".to_owned()),
            MMapPath::Stack | MMapPath::TStack(_) => (PathBuf::new(), "[stack]".to_owned()),
            MMapPath::Vsys(key) => (PathBuf::new(), format!("[shm:{key:#x}:{}]", map.inode)),
            MMapPath::Other(name) => (PathBuf::new(), format!("[{name}]")),
            _ => (PathBuf::new(), "[anon]".to_owned()),
        };
        let file = (map.inode != 0).then_some((map.dev, map.inode));
        Region { start, end, offset: map.offset, file, path, name }
    }
}

/// A file's last name. Memory that processes share without a file has names that are all alike,
/// and its inode tells it apart.
fn file_name(path: &Path, inode: u64) -> String {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let name = name.strip_suffix(" (deleted)").unwrap_or(&name);
    let name: String = name.chars().filter(|c| !c.is_control()).collect();
    match path.starts_with("/dev/zero (deleted)") {
        true => format!("[shared:{inode}]"),
        false => name,
    }
}

fn id(file: &fs::Metadata) -> FileId {
    (file.dev(), file.ino(), file.mtime(), file.mtime_nsec(), file.len())
}
