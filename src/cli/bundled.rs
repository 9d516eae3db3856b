//! The recording that `demo` shows where tracing is not allowed.

use std::io::Write;
use std::os::fd::AsRawFd;
use std::path::PathBuf;

use anyhow::Context;
use rustix::fs::{MemfdFlags, memfd_create};

use super::config::{RecordConfig, Whose};
use super::recording::Recording;
use super::report::{of_recording, read_all, show};

/// See `assets/demo/README.md`.
const TRACE: &[u8] = include_bytes!("../../assets/demo/trace.dat");

/// Shows the recording as a run of its own; returns the exit status.
pub(super) fn show_bundled(config: RecordConfig) -> anyhow::Result<u8> {
    let memory = memfd_create("ftlock-demo", MemfdFlags::CLOEXEC);
    let mut memory = std::fs::File::from(memory.context("cannot unpack the recording")?);
    memory.write_all(TRACE).context("cannot unpack the recording")?;
    let path = PathBuf::from(format!("/proc/self/fd/{}", memory.as_raw_fd()));
    let recording = Recording::open(&path, None)?;
    let config = RecordConfig { whose: Whose::All, command: Vec::new(), ..config };
    show(&of_recording(config, &recording)?, &recording, read_all)
}
