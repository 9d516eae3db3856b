//! Whether someone else has changed our instance.

use std::fmt;
use std::path::Path;

use super::clock::{self, Clock};
use super::error::Error;
use super::file;
use super::settings::{self, Sizes};

/// A setting that others may change under us.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Setting {
    /// `tracing_on`: events are missing from when it was cleared.
    TracingOn,
    /// `trace_clock`: the rings were emptied and the times do not go on.
    Clock,
    /// `buffer_subbuf_size_kb`: the rings were emptied.
    SubbufSize,
    /// `buffer_size_kb`: harmless where it grew.
    BufferSize,
}

/// A setting that is no longer what we have set.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Disturbance {
    /// Which one.
    pub setting: Setting,
    /// What we have set.
    pub was: String,
    /// What it is now.
    pub now: String,
}

impl Setting {
    fn file(self) -> &'static str {
        match self {
            Setting::TracingOn => "tracing_on",
            Setting::Clock => "trace_clock",
            Setting::SubbufSize => "buffer_subbuf_size_kb",
            Setting::BufferSize => "buffer_size_kb",
        }
    }
}

impl fmt::Display for Disturbance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Disturbance { setting, was, now } = self;
        write!(f, "someone else changed {} from {was} to {now}", setting.file())
    }
}

/// What we have set.
#[derive(Debug, Clone, Copy)]
pub(super) struct Expected {
    pub(super) tracing_on: bool,
    pub(super) clock: Clock,
    pub(super) sizes: Sizes,
}

/// Compares the instance with what we have set.
pub(super) fn disturbances(instance: &Path, expected: Expected) -> Result<Vec<Disturbance>, Error> {
    let read = |setting: Setting| file::read_trimmed(&instance.join(setting.file()));
    let clocks = read(Setting::Clock)?;
    let clock = clock::current(&clocks).unwrap_or(&clocks).to_owned();
    let subbuf_size = settings::read_subbuf_size(instance)?;
    let Sizes { buffer_size_kb, subbuf_size: expected_subbuf_size } = expected.sizes;
    let pairs = [
        (Setting::TracingOn, u8::from(expected.tracing_on).to_string(), read(Setting::TracingOn)?),
        (Setting::Clock, expected.clock.name().to_owned(), clock),
        (Setting::SubbufSize, kb(expected_subbuf_size), kb(subbuf_size)),
        (Setting::BufferSize, buffer_size_kb.to_string(), read(Setting::BufferSize)?),
    ];
    let changed = pairs.into_iter().filter(|(_, was, now)| was != now);
    Ok(changed.map(|(setting, was, now)| Disturbance { setting, was, now }).collect())
}

fn kb(bytes: usize) -> String {
    (bytes / 1024).to_string()
}
