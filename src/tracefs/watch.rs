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
    /// An event's `enable`: it is recorded no more.
    Event,
}

/// A setting that is no longer what we have set.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Disturbance {
    /// Which one.
    pub setting: Setting,
    /// Its file in the instance.
    pub file: String,
    /// What we have set.
    pub was: String,
    /// What it is now.
    pub now: String,
}

impl fmt::Display for Disturbance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Disturbance { file, was, now, .. } = self;
        write!(f, "someone else changed {file} from {was} to {now}")
    }
}

/// What we have set.
#[derive(Debug, Clone, Copy)]
pub(super) struct Expected {
    pub(super) tracing_on: bool,
    pub(super) clock: Clock,
    pub(super) sizes: Sizes,
}

/// Compares the instance with what we have set; `enabled` are the events, as `SYSTEM/EVENT`.
pub(super) fn disturbances(
    instance: &Path,
    expected: Expected,
    enabled: &[String],
) -> Result<Vec<Disturbance>, Error> {
    let read = |file: &str| file::read_trimmed(&instance.join(file));
    let clocks = read("trace_clock")?;
    let clock = clock::current(&clocks).unwrap_or(&clocks).to_owned();
    let subbuf_size = settings::read_subbuf_size(instance)?;
    let Sizes { buffer_size_kb, subbuf_size: expected_subbuf_size } = expected.sizes;
    let tracing_on = u8::from(expected.tracing_on).to_string();
    let mut found = vec![
        (Setting::TracingOn, "tracing_on".to_owned(), tracing_on, read("tracing_on")?),
        (Setting::Clock, "trace_clock".to_owned(), expected.clock.name().to_owned(), clock),
        (
            Setting::SubbufSize,
            "buffer_subbuf_size_kb".to_owned(),
            kb(expected_subbuf_size),
            kb(subbuf_size),
        ),
        (
            Setting::BufferSize,
            "buffer_size_kb".to_owned(),
            buffer_size_kb.to_string(),
            read("buffer_size_kb")?,
        ),
    ];
    for event in enabled {
        let file = format!("events/{event}/enable");
        // With a star where a trigger hangs on the event.
        let now = read(&file)?.trim_end_matches('*').to_owned();
        found.push((Setting::Event, file, "1".to_owned(), now));
    }
    let changed = found.into_iter().filter(|(_, _, was, now)| was != now);
    let told = changed.map(|(setting, file, was, now)| Disturbance { setting, file, was, now });
    Ok(told.collect())
}

fn kb(bytes: usize) -> String {
    (bytes / 1024).to_string()
}
