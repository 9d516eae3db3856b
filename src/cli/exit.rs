//! Exit statuses, and how an error is told.

use std::fmt;
use std::io::{self, Write};

use crate::output::escape::message;
use crate::pipeline::{self, CannotStart};
use crate::{perf_data, trace_file, tracefs};

/// Everything done.
pub(super) const DONE: u8 = 0;
/// Something failed on the way.
pub(super) const FAILED: u8 = 1;
/// The arguments make no sense; clap's status too.
pub(super) const USAGE: u8 = 2;
/// This kernel, mount or user does not allow tracing.
pub(super) const CANNOT_TRACE: u8 = 3;
/// With `--strict`: something was lost or uncertain.
pub(super) const INCOMPLETE: u8 = 5;
/// With `--fail-over`: a run waited longer than it may.
pub(super) const GREW: u8 = 6;

/// A mistake in the arguments that clap does not see.
#[derive(Debug)]
pub(super) struct Usage(pub(super) String);

impl fmt::Display for Usage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Usage {}

/// Something that a saved trace does not tell.
#[derive(Debug, thiserror::Error)]
#[error("{what}")]
pub(super) struct Lacking {
    pub(super) what: String,
    /// How to record it.
    pub(super) hint: String,
}

/// Tells an error, with the command that mends it, and gives its exit status.
pub(super) fn tell(error: &anyhow::Error) -> u8 {
    let mut text = format!("ftlock: {error}");
    let mut source = error.source();
    while let Some(cause) = source {
        let cause_text = cause.to_string();
        // Most of our errors carry their source's words already.
        if !text.ends_with(&cause_text) {
            text.push_str(": ");
            text.push_str(&cause_text);
        }
        source = cause.source();
    }
    // If stderr is gone there is nobody to tell.
    let _ = writeln!(io::stderr(), "{}", message(&text)).is_ok();
    if let Some(hint) = hint(error) {
        let _ = writeln!(io::stderr(), "hint: {}", message(&hint)).is_ok();
    }
    status(error)
}

fn hint(error: &anyhow::Error) -> Option<String> {
    let denied = match error.downcast_ref::<pipeline::Error>() {
        Some(pipeline::Error::Tracefs(error)) => Some(error),
        _ => error.downcast_ref::<tracefs::Error>(),
    };
    let is_denied = matches!(denied, Some(tracefs::Error::Denied { .. }));
    if is_denied && !rustix::process::geteuid().is_root() {
        return Some(format!("sudo {}", command_line()));
    }
    if let Some(error) = error.downcast_ref::<pipeline::Error>() {
        return error.hint();
    }
    if let Some(lacking) = error.downcast_ref::<Lacking>() {
        return Some(lacking.hint.clone());
    }
    if let Some(error) = error.downcast_ref::<trace_file::Error>() {
        return error.hint();
    }
    if let Some(error) = error.downcast_ref::<perf_data::Error>() {
        return error.hint().map(str::to_owned);
    }
    error.downcast_ref::<tracefs::Error>().and_then(tracefs::Error::hint)
}

/// What was typed, ready to be typed again.
fn command_line() -> String {
    let words = std::env::args_os().map(|word| {
        let word = word.to_string_lossy().into_owned();
        let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./:,=@%+".contains(c);
        match !word.is_empty() && word.chars().all(is_plain) {
            true => word,
            false => format!("'{}'", word.replace('\'', "'\\''")),
        }
    });
    words.collect::<Vec<_>>().join(" ")
}

/// The exit status for an error.
pub(super) fn status(error: &anyhow::Error) -> u8 {
    if let Some(cannot_start) = error.downcast_ref::<CannotStart>() {
        return cannot_start.exit_status();
    }
    if error.is::<Usage>() {
        return USAGE;
    }
    let cannot_trace = error.is::<pipeline::Error>() || error.is::<tracefs::Error>();
    if cannot_trace { CANNOT_TRACE } else { FAILED }
}
