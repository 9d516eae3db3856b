//! What an instance is set to before anything is traced: written, then read back.

use std::io;
use std::path::Path;

use rustix::io::Errno;

use super::clock::{self, Clock};
use super::error::Error;
use super::file;

/// What to ask of a new instance.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Config {
    /// The clock that stamps the events.
    pub clock: Clock,
    /// Each CPU's ring in KiB; the kernel rounds it up.
    pub buffer_size_kb: u64,
    /// The sub-buffers' size in KiB at most. Kernels before 6.8 have one page.
    pub subbuf_size_kb: u64,
    /// How full a ring has to be to wake who polls it, in percent.
    pub buffer_percent: u8,
}

impl Default for Config {
    fn default() -> Config {
        Config { clock: Clock::Mono, buffer_size_kb: 8192, subbuf_size_kb: 64, buffer_percent: 25 }
    }
}

/// The sizes an instance really has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Sizes {
    pub(super) buffer_size_kb: u64,
    pub(super) subbuf_size: usize,
}

/// An instance inherits the top level's options (kernel/trace/trace.c, 6.18), whatever someone
/// has made of them. `record-cmd` alone is left: it starts and stops recording for every instance.
const OPTIONS: [(&str, &str); 5] = [
    ("overwrite", "1"), // Else the pages do not say what was lost.
    ("stacktrace", "0"),
    ("userstacktrace", "0"),
    ("pause-on-trace", "0"),
    ("block", "0"), // Would make every poll ready at once.
];

/// Sub-buffers in KiB, best first: the larger ones need contiguous pages.
const SUBBUF_SIZES_KB: [u64; 3] = [64, 16, 4];

/// Sets the options there are on this kernel.
pub(super) fn set_options(instance: &Path) -> Result<(), Error> {
    for (name, value) in OPTIONS {
        let path = instance.join("options").join(name);
        if path.exists() {
            file::write(&path, value)?;
            let found = file::read_trimmed(&path)?;
            if found != value {
                return Err(Error::NotKept { path, wanted: value.to_owned(), found });
            }
        }
    }
    Ok(())
}

/// Sets the clock, which empties the rings.
pub(super) fn set_clock(instance: &Path, clock: Clock) -> Result<(), Error> {
    let path = instance.join("trace_clock");
    match file::write(&path, clock.name()) {
        Err(Error::Io { source, .. }) if has_errno(&source, Errno::INVAL) => {
            let offered = clock::offered(&file::read(&path)?);
            return Err(Error::Clock { path, clock: clock.name(), offered, source });
        }
        written => written?,
    }
    let text = file::read_trimmed(&path)?;
    match clock::current(&text) {
        Some(found) if found == clock.name() => Ok(()),
        found => {
            let found = found.unwrap_or(&text).to_owned();
            Err(Error::NotKept { path, wanted: clock.name().to_owned(), found })
        }
    }
}

/// Sets how full a ring has to be to wake who polls it, on kernels that know it (4.20).
pub(super) fn set_buffer_percent(instance: &Path, percent: u8) -> Result<(), Error> {
    let path = instance.join("buffer_percent");
    if path.exists() { file::write(&path, &percent.to_string()) } else { Ok(()) }
}

/// Sets the sub-buffers' size and then the rings', going down to smaller sub-buffers where
/// there is no memory for large ones.
pub(super) fn set_sizes(instance: &Path, config: &Config, cpus: usize) -> Result<Sizes, Error> {
    let mut no_memory = io::Error::from(Errno::NOMEM);
    let has_subbuf_size = instance.join("buffer_subbuf_size_kb").exists();
    for subbuf_size_kb in SUBBUF_SIZES_KB {
        let smallest = subbuf_size_kb == 4;
        if !smallest && (subbuf_size_kb > config.subbuf_size_kb || !has_subbuf_size) {
            continue;
        }
        match try_sizes(instance, subbuf_size_kb, config.buffer_size_kb) {
            Err(Error::Io { source, .. }) if has_errno(&source, Errno::NOMEM) => no_memory = source,
            other => return other,
        }
    }
    let cpus = u64::try_from(cpus).unwrap_or(u64::MAX);
    Err(Error::NoMemory { size_kb: config.buffer_size_kb, cpus, source: no_memory })
}

fn try_sizes(instance: &Path, subbuf_size_kb: u64, buffer_size_kb: u64) -> Result<Sizes, Error> {
    let subbuf_path = instance.join("buffer_subbuf_size_kb");
    if subbuf_path.exists() {
        file::write(&subbuf_path, &subbuf_size_kb.to_string())?;
    }
    file::write(&instance.join("buffer_size_kb"), &buffer_size_kb.to_string())?;
    read_sizes(instance)
}

fn read_sizes(instance: &Path) -> Result<Sizes, Error> {
    let buffer_size_kb = read_kb(&instance.join("buffer_size_kb"))?;
    Ok(Sizes { buffer_size_kb, subbuf_size: read_subbuf_size(instance)? })
}

/// The sub-buffers' size in bytes as it is now. Kernels before 6.8 have one page each.
pub(super) fn read_subbuf_size(instance: &Path) -> Result<usize, Error> {
    let path = instance.join("buffer_subbuf_size_kb");
    if !path.exists() {
        return Ok(rustix::param::page_size());
    }
    let size = usize::try_from(read_kb(&path)?).ok().and_then(|kb| kb.checked_mul(1024));
    size.ok_or_else(|| Error::Size { text: "too large".to_owned(), path })
}

/// `8195`, or `7 (expanded: 1408)`. `X`, for CPUs that differ, is no size.
fn read_kb(path: &Path) -> Result<u64, Error> {
    let text = file::read_trimmed(path)?;
    let number = text.split_whitespace().next().and_then(|word| word.parse().ok());
    number.ok_or_else(|| Error::Size { path: path.to_owned(), text })
}

fn has_errno(error: &io::Error, errno: Errno) -> bool {
    error.raw_os_error() == Some(errno.raw_os_error())
}

#[cfg(test)]
mod tests {
    use super::{Config, Sizes, read_sizes, set_clock, set_options, set_sizes};
    use crate::tracefs::{Clock, Error};
    use std::fs;
    use std::path::Path;

    fn file(dir: &Path, name: &str, text: &str) {
        fs::write(dir.join(name), text).unwrap();
    }

    #[test]
    fn sizes_are_read_in_each_of_the_kernels_forms() {
        let dir = tempfile::tempdir().unwrap();
        let dir = dir.path();
        file(dir, "buffer_size_kb", "7 (expanded: 1408)\n");
        let before_6_8 = Sizes { buffer_size_kb: 7, subbuf_size: rustix::param::page_size() };
        assert_eq!(read_sizes(dir).unwrap(), before_6_8);
        file(dir, "buffer_size_kb", "8195\n");
        file(dir, "buffer_subbuf_size_kb", "64\n");
        assert_eq!(read_sizes(dir).unwrap(), Sizes { buffer_size_kb: 8195, subbuf_size: 65536 });
        file(dir, "buffer_size_kb", "X\n");
        assert!(matches!(read_sizes(dir), Err(Error::Size { text, .. }) if text == "X"));
    }

    #[test]
    fn a_kernel_without_an_option_or_a_size_is_not_asked_for_it() {
        let dir = tempfile::tempdir().unwrap();
        let dir = dir.path();
        fs::create_dir(dir.join("options")).unwrap();
        file(dir, "options/stacktrace", "1");
        file(dir, "buffer_size_kb", "");
        set_options(dir).unwrap();
        let config = Config { buffer_size_kb: 256, ..Config::default() };
        assert_eq!(set_sizes(dir, &config, 2).unwrap().buffer_size_kb, 256);
        assert_eq!(fs::read(dir.join("options/stacktrace")).unwrap(), b"0");
        assert!(!dir.join("options/overwrite").exists());
        assert!(!dir.join("buffer_subbuf_size_kb").exists());
    }

    /// A plain file keeps no brackets, as a kernel would that ignores the write.
    #[test]
    fn a_clock_that_does_not_read_back_is_an_error() {
        let dir = tempfile::tempdir().unwrap();
        file(dir.path(), "trace_clock", "[local] mono");
        let error = set_clock(dir.path(), Clock::Mono).unwrap_err();
        assert!(matches!(error, Error::NotKept { wanted, .. } if wanted == "mono"));
    }
}
