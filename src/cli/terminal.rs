//! What the terminal is like, if there is one.

use std::io::{IsTerminal, Stderr, Stdout};
use std::os::fd::AsFd;

use anstream::{AutoStream, ColorChoice};
use anstyle::{AnsiColor, Style};

use crate::output::diff::table::DiffView;
use crate::output::table::{Detail, View};

use super::arg_values::Color;
use super::config::RecordConfig;

/// Characters in a line where nobody says otherwise.
const USUAL_WIDTH: usize = 80;

/// How the table looks on stdout.
pub(super) fn view(stdout: &Stdout, config: &RecordConfig) -> View {
    let plain = plain(config);
    let width = width(stdout);
    let hist_width = plain.hist_width.map(|usual| width.unwrap_or(usual));
    let plain = View { width, hist_width, ..plain };
    match is_colored(stdout, config.color) {
        true => View { heading: Style::new().dimmed(), fault: Style::new().bold(), ..plain },
        false => plain,
    }
}

/// How the table of two runs looks on stdout.
pub(super) fn diff_view(stdout: &Stdout, color: Color) -> DiffView {
    let plain = DiffView { width: width(stdout), ..DiffView::default() };
    match is_colored(stdout, color) {
        true => DiffView {
            heading: Style::new().dimmed(),
            worse: AnsiColor::Red.on_default(),
            better: AnsiColor::Green.on_default(),
            ..plain
        },
        false => plain,
    }
}

fn is_colored(stdout: &Stdout, color: Color) -> bool {
    match color {
        Color::Always => true,
        Color::Never => false,
        // Asks NO_COLOR, CLICOLOR and TERM too.
        Color::Auto => AutoStream::choice(stdout) != ColorChoice::Never,
    }
}

/// How it looks anywhere else.
pub(super) fn plain(config: &RecordConfig) -> View {
    View {
        detail: match (config.verbose, config.quiet) {
            (true, _) => Detail::Everything,
            (false, true) => Detail::Rows,
            (false, false) => Detail::Notable,
        },
        hist_width: config.hist.then_some(USUAL_WIDTH),
        ..View::default()
    }
}

/// Characters in a line of a terminal; none elsewhere, and where a terminal does not know.
fn width(out: &(impl IsTerminal + AsFd)) -> Option<usize> {
    let size = out.is_terminal().then(|| rustix::termios::tcgetwinsize(out).ok())??;
    (size.ws_col > 0).then_some(usize::from(size.ws_col))
}

/// Characters that a status line may have: one that breaks cannot be taken away again.
pub(super) fn status_width(stderr: &Stderr) -> usize {
    width(stderr).unwrap_or(USUAL_WIDTH).saturating_sub(1)
}
