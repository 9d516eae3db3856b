//! The mappings of a process, as /proc tells them now.

use std::fs::{self, File, Metadata};
use std::os::fd::AsRawFd;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use procfs::process::{MMapPath, MemoryMap, MemoryMaps, Process};
use rustix::fs::{Mode, OFlags};

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
        let program = fs::metadata(format!("/proc/{pid}/exe")).ok().map(|file| id(&file));
        let space = AddressSpace { pid, regions: regions(maps), program };
        (!space.regions.is_empty()).then_some(space)
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

    /// A mapped file, wherever it is, and which one it is. Only a regular file: to open anything else may
    /// have effects.
    pub(super) fn file_of(&self, region: &Region) -> Option<(MappedFile, FileId)> {
        let (_, inode) = region.file?;
        let pid = self.pid;
        // The file itself, even if it is deleted or in another mount namespace; this needs a
        // capability.
        let mapped =
            PathBuf::from(format!("/proc/{pid}/map_files/{:x}-{:x}", region.start, region.end));
        let by_path = || {
            let path =
                Path::new(&format!("/proc/{pid}/root")).join(region.path.strip_prefix("/").ok()?);
            let found = MappedFile::find(&path)?;
            // Some file systems give their files other devices' numbers here: the inode must do.
            (found.1.ino() == inode).then_some(found)
        };
        let (file, metadata) = MappedFile::find(&mapped).or_else(by_path)?;
        metadata.is_file().then(|| (file, id(&metadata)))
    }
}

/// A file that was found and not opened yet: what its path leads to may be another one by then.
#[derive(Debug)]
pub(super) struct MappedFile(File);

impl MappedFile {
    fn find(path: &Path) -> Option<(MappedFile, Metadata)> {
        let flags = OFlags::PATH | OFlags::CLOEXEC;
        let file = File::from(rustix::fs::open(path, flags, Mode::empty()).ok()?);
        let metadata = file.metadata().ok()?;
        Some((MappedFile(file), metadata))
    }

    /// Opens that very file, to read it.
    pub(super) fn open(&self) -> Option<File> {
        File::open(format!("/proc/self/fd/{}", self.0.as_raw_fd())).ok()
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

fn regions(maps: MemoryMaps) -> Vec<Region> {
    maps.into_iter().map(Region::new).collect()
}

fn id(file: &Metadata) -> FileId {
    (file.dev(), file.ino(), file.mtime(), file.mtime_nsec(), file.len())
}

#[cfg(test)]
mod tests {
    use procfs::FromRead;
    use procfs::process::MemoryMaps;

    use super::{AddressSpace, regions};

    /// As /proc/PID/maps of a program with a library, a file of data and shared memory shows them.
    const MAPS: &str = "\
400000-401000 r--p 00000000 08:01 10   /usr/bin/app
401000-402000 r-xp 00001000 08:01 10   /usr/bin/app
403000-404000 rw-p 00002000 08:01 10   /usr/bin/app
404000-406000 rw-p 00000000 00:00 0
900000-921000 rw-p 00000000 00:00 0    [heap]
7f0000000000-7f0000001000 r--p 00000000 08:01 11   /lib/libx.so.1
7f0000003000-7f0000004000 rw-p 00002000 08:01 11   /lib/libx.so.1
7f0000004000-7f0000005000 rw-p 00000000 00:00 0
7f0000010000-7f0000011000 rw-s 00005000 08:01 12   /dev/shm/data (deleted)
7f0000020000-7f0000021000 rw-s 00000000 00:01 565  /dev/zero (deleted)
7f0000030000-7f0000031000 rw-p 00000000 00:00 0    [anon:pool]
7ffc00000000-7ffc00021000 rw-p 00000000 00:00 0    [stack]
";

    #[test]
    fn an_address_has_its_mapping_and_the_module_before_it() {
        // The kernel ends such a line with a blank.
        let text = MAPS.replace("00:00 0\n", "00:00 0 \n");
        let maps = MemoryMaps::from_read(text.as_bytes()).unwrap();
        let space = AddressSpace { pid: u32::MAX, regions: regions(maps), program: None };
        let table = [
            (0x40_0000, Some(("app", Some("app")))),
            (0x40_3fff, Some(("app", Some("app")))),
            (0x40_5000, Some(("[anon]", Some("app")))),
            (0x90_0010, Some(("[heap]", Some("app")))),
            (0x7f00_0000_3008, Some(("libx.so.1", Some("libx.so.1")))),
            (0x7f00_0000_4008, Some(("[anon]", Some("libx.so.1")))),
            (0x7f00_0001_0000, Some(("data", None))),
            (0x7f00_0002_0008, Some(("[shared:565]", Some("[shared:565]")))),
            (0x7ffc_0000_0000, Some(("[stack]", Some("[shared:565]")))),
            (0x40_2000, None),
            (0, None),
            (u64::MAX, None),
        ];
        for (address, expected) in table {
            let found = space.region(address).map(|region| {
                let module = space.module(address, region);
                (region.name.as_str(), module.map(|module| module.first.name.as_str()))
            });
            assert_eq!(found, expected, "{address:#x}");
        }
    }
}
