//! What is said on stderr beside the results.

use std::io::{self, IsTerminal, Write};
use std::time::{Duration, Instant};

use super::terminal::status_width;
use crate::output::escape::message;

/// How often the status line changes.
const REFRESH: Duration = Duration::from_millis(500);

/// Tells the user one line, whatever stands in it.
pub(super) fn tell(line: impl AsRef<str>) {
    // If stderr is gone there is nobody to tell.
    let _ = writeln!(io::stderr(), "ftlock: {}", message(line.as_ref())).is_ok();
}

/// Talk to the user. Silent with `-q`.
#[derive(Debug)]
pub(super) struct Notes {
    quiet: bool,
    /// A status line can be shown without other lines running through it.
    live: bool,
    shown: bool,
    refreshed: Option<Instant>,
}

impl Notes {
    /// `others_write`: to the same terminal, while the run lasts.
    pub(super) fn new(quiet: bool, others_write: bool) -> Notes {
        let live = !quiet && !others_write && io::stderr().is_terminal();
        Notes { quiet, live, shown: false, refreshed: None }
    }

    /// One line, whatever stands in it.
    pub(super) fn say(&mut self, line: impl AsRef<str>) {
        if !self.quiet {
            self.clear();
            tell(line);
        }
    }

    /// The status line, in ASCII, on a terminal and not too often.
    pub(super) fn status(&mut self, line: impl FnOnce() -> String) {
        let due = self.refreshed.is_none_or(|last| last.elapsed() >= REFRESH);
        if self.live && due {
            let width = status_width(&io::stderr());
            let line: String = line().chars().take(width).collect();
            let _ = write!(io::stderr(), "\r\x1b[K{line}").is_ok();
            self.shown = true;
            self.refreshed = Some(Instant::now());
        }
    }

    /// Takes the status line away.
    pub(super) fn clear(&mut self) {
        if std::mem::take(&mut self.shown) {
            let _ = write!(io::stderr(), "\r\x1b[K").is_ok();
        }
    }
}
