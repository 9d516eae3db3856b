//! How far from each other the rings can lie.

use std::fs::File;
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use rustix::process::{Resource, getrlimit};

use super::super::error::Error;

/// A ring's room where nothing else bounds it.
const RING_ROOM_BYTES: u64 = 1 << 40;

/// All rings' room: ext4's files end at 16 TiB.
const RINGS_ROOM_BYTES: u64 = 8 << 40;

/// Less is no use for recording.
const LEAST_ROOM_BYTES: u64 = 64 << 20;

/// What stands before the rings, at most about.
const HEAD_BYTES: u64 = 1 << 30;

/// A hole to try whether the file system keeps them.
const PROBE_BYTES: u64 = 1 << 20;

/// The largest room for each ring that the file system and the process's limits allow, in whole
/// sub-buffers. The file is empty before and after.
pub(super) fn ring_room_bytes(
    file: &File,
    path: &Path,
    rings: usize,
    subbuf_size: u64,
) -> Result<u64, Error> {
    if !keeps_holes(file).map_err(|source| Error::io("write", path, source))? {
        return Err(Error::NoHoles { path: path.to_owned() });
    }
    let rings = (rings as u64).max(1);
    // Beyond the limit the system sends a signal that kills: it is not to be tried.
    let limit = getrlimit(Resource::Fsize).current.unwrap_or(u64::MAX);
    let allowed = limit.saturating_sub(HEAD_BYTES.min(limit / 2)) / rings;
    let mut room = RING_ROOM_BYTES.min(RINGS_ROOM_BYTES / rings).min(allowed);
    while room >= LEAST_ROOM_BYTES {
        let whole = HEAD_BYTES.saturating_add(room.saturating_mul(rings));
        if whole <= limit && file.set_len(whole).is_ok() {
            let emptied = file.set_len(0);
            emptied.map_err(|source| Error::io("write", path, source))?;
            return Ok(room - room % subbuf_size);
        }
        room /= 2;
    }
    let source = io::ErrorKind::FileTooLarge.into();
    Err(Error::io("make room in", path, source))
}

/// Whether what is skipped takes no room; not so on FAT.
fn keeps_holes(file: &File) -> io::Result<bool> {
    file.set_len(PROBE_BYTES)?;
    let allocated = file.metadata()?.blocks().saturating_mul(512);
    file.set_len(0)?;
    Ok(allocated < PROBE_BYTES)
}
