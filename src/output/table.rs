//! The table at the end of a run, in the shape of `perf lock contention`.

use super::escape::terminal;
use super::keys::{KeyColumn, OVERFLOW, columns, lock_rule, shown, stack_of, tid_of, values};
use super::machine::{Figure, figures};
use super::text::{Seconds, caller_text, task_text};
use super::{Summary, footer, hist};
use crate::event::{Context, StackId, WaitKind};
use crate::report::{By, Identity, Part, Quality, Row, RowKey, RowStats, Unit, Witness, scaled};
use anstyle::Style;
use std::borrow::Cow;
use std::io::{self, Write};
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// How much is said about the quality of the data.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Detail {
    /// Nothing but the rows, unless something was lost or is uncertain.
    Rows,
    /// What is missing or may be wrong.
    #[default]
    Notable,
    /// Every counter and every identity, and who waited longest in each row.
    Everything,
}

impl Detail {
    /// Whether the rows stand alone: they were asked for alone, and lack no waits or times that
    /// were traced for.
    pub fn is_bare(self, quality: &Quality) -> bool {
        self == Detail::Rows
            && quality.events_lost() == 0
            && quality.pairing.uncertain == 0
            && quality.identities().iter().all(Identity::holds)
    }
}

/// How the table looks where it goes. By default as in a file: whole and plain.
#[derive(Debug, Clone, Copy, Default)]
pub struct View {
    /// How much is said about the data.
    pub detail: Detail,
    /// Under each row how its waits are spread, in lines of this many characters.
    pub hist_width: Option<usize>,
    /// Characters in a line of the terminal, where it is one: the last column is cut to fit.
    pub width: Option<usize>,
    /// How the headings look.
    pub heading: Style,
    /// How that looks which is missing or may be wrong.
    pub fault: Style,
}

/// However narrow a terminal is, so many characters of the last column are shown.
pub(super) const LEAST_LAST: usize = 8;

/// The rows, the footer, and what there is to say about the data.
///
/// # Errors
///
/// Those of `out`.
pub fn write(summary: &Summary<'_>, view: View, out: &mut dyn Write) -> io::Result<()> {
    let bare = view.detail.is_bare(summary.quality);
    rows(summary, view, bare, out)?;
    for table in summary.tables().skip(1) {
        if !bare {
            writeln!(out, " {}:\n", table.table.title())?;
        }
        rows(&table, view, bare, out)?;
    }
    if bare {
        return Ok(());
    }
    footer::write(summary, view, out)
}

fn rows(summary: &Summary<'_>, view: View, bare: bool, out: &mut dyn Write) -> io::Result<()> {
    let detail = view.detail;
    if !summary.rows.is_empty() {
        let cells = Cells::new(summary, view);
        if !bare {
            header(summary, &cells, view.heading, out)?;
        }
        for row in summary.rows {
            row_figures(summary, &row.stats, out)?;
            writeln!(out, " {}", cells.line(cells.texts(row, summary)))?;
            frames(stack_of(&row.key), summary, out)?;
            if let (Detail::Everything, Some(longest)) = (detail, &row.stats.witness) {
                witness(longest, summary, out)?;
            }
            if let Some(width) = view.hist_width {
                hist::write(&row.stats.histogram, width, out)?;
            }
        }
        if !bare {
            writeln!(out)?;
        }
    }
    Ok(())
}

fn header(
    summary: &Summary<'_>,
    cells: &Cells,
    style: Style,
    out: &mut dyn Write,
) -> io::Result<()> {
    write!(out, "{style}")?;
    for column in summary.columns {
        let title = column.title_in(summary.table);
        write!(out, "{title:>width$} ", width = column.width)?;
    }
    let titles = cells.columns.iter().map(|column| column.title.to_owned()).collect();
    writeln!(out, " {}{style:#}\n", cells.line(titles))
}

fn row_figures(summary: &Summary<'_>, stats: &RowStats, out: &mut dyn Write) -> io::Result<()> {
    for (column, figure) in summary.columns.iter().zip(figures(summary, stats)) {
        let text = match (figure, column.unit) {
            (Figure::Number(ns), Unit::Nanoseconds) => {
                let time = scaled(ns);
                format!("{} {:<2}", time.value, time.unit)
            }
            (Figure::Number(count), _) => count.to_string(),
            (Figure::Percent(percent), _) => format!("{percent}%"),
            (Figure::Task(name), _) => terminal(&name).into_owned(),
            (Figure::Code(code), _) => code,
            (Figure::Unknown, _) => "-".to_owned(),
        };
        write!(out, "{text:>width$} ", width = column.width)?;
    }
    Ok(())
}

/// A row's longest wait, and its stack below.
fn witness(longest: &Witness, summary: &Summary<'_>, out: &mut dyn Write) -> io::Result<()> {
    let task = task_text(longest.tid, longest.comm.as_ref(), longest.context);
    let (when, cpu) = (Seconds(longest.ts_ns), longest.cpu.0);
    let holder = longest.holder.as_ref().map(|holder| {
        let task = task_text(holder.tid, holder.comm.as_ref(), Context::Task);
        format!(", waited for {task} ({})", holder.evidence.name())
    });
    writeln!(out, "    longest at {when}: {task} on cpu {cpu}{}", holder.unwrap_or_default())?;
    frames(longest.stack, summary, out)
}

/// A stack's frames, innermost first, a line each.
pub(super) fn frames(
    id: Option<StackId>,
    summary: &Summary<'_>,
    out: &mut dyn Write,
) -> io::Result<()> {
    let frames = id.and_then(|stack| summary.stacks.frames(stack));
    for (number, &frame) in frames.iter().flat_map(|frames| frames.iter()).enumerate() {
        writeln!(out, "      #{number} {}", caller_text(Some(frame), summary.symbols))?;
    }
    Ok(())
}

/// What rows stand for, behind their figures.
struct Cells {
    detail: Detail,
    columns: Vec<KeyColumn>,
    /// Text before the last column is padded to the widest of its column.
    widths: Vec<usize>,
    /// Characters that a terminal has for all of them.
    room: Option<usize>,
}

impl Cells {
    fn new(summary: &Summary<'_>, view: View) -> Cells {
        let columns = columns(summary);
        // As in perf the type stands behind the symbol, in brackets, where rows are locks alone;
        // how a name is known shows in its mark.
        let is_apart = |column: &KeyColumn| match column.id {
            "lock_name_by" => false,
            "type" => summary.by != [By::Lock],
            _ => true,
        };
        let columns: Vec<KeyColumn> = columns.into_iter().filter(is_apart).collect();
        // Behind each figure stands a blank, and one more behind all.
        let figures: usize = summary.columns.iter().map(|column| column.width + 1).sum();
        let room = view.width.map(|width| width.saturating_sub(figures + 1));
        let mut cells =
            Cells { detail: view.detail, widths: vec![0; columns.len()], columns, room };
        let titles = cells.columns.iter().map(|column| column.title.to_owned()).collect();
        let rows = summary.rows.iter().map(|row| cells.texts(row, summary));
        let all: Vec<Vec<String>> = rows.chain([titles]).collect();
        for (place, width) in cells.widths.iter_mut().enumerate() {
            let widest = all.iter().filter_map(|texts| texts.get(place)).map(|text| text.width());
            *width = widest.max().unwrap_or(0);
        }
        cells
    }

    fn texts(&self, row: &Row, summary: &Summary<'_>) -> Vec<String> {
        let tid = tid_of(&row.key);
        let values = values(&row.key, &self.columns, summary);
        let mut texts: Vec<String> = values.iter().map(|value| shown(value, tid)).collect();
        let rule = lock_rule(&row.key, summary);
        let name = self.columns.iter().position(|column| column.id == "lock_name");
        if let (Some(_), Some(name)) = (rule, name.and_then(|place| texts.get_mut(place))) {
            name.insert(0, '~');
        }
        if summary.by == [By::Lock]
            && let (Some(symbol), Some(kind)) = (texts.last_mut(), kind_of(&row.key))
        {
            *symbol = match symbol.as_str() {
                "-" => format!("({kind})"),
                name => format!("{name} ({kind})"),
            };
            if let (Detail::Everything, Some(rule)) = (self.detail, rule) {
                symbol.push_str(", rule: ");
                symbol.push_str(rule);
            }
        }
        if matches!(row.key, RowKey::Overflow(..)) {
            match texts.last_mut() {
                Some(last) if last.starts_with(['-', '(']) => {
                    *last =
                        format!("{OVERFLOW}{}", last.replacen('-', "", 1).replacen('(', " (", 1));
                }
                _ => texts.push(OVERFLOW.to_owned()),
            }
        }
        texts
    }

    /// Numbers to the right; text to the left, the last without padding.
    fn line(&self, texts: Vec<String>) -> String {
        let last = texts.len().saturating_sub(1);
        let mut line = String::from(" ");
        for (place, text) in texts.into_iter().enumerate() {
            let width = self.columns.get(place).and_then(|column| column.width);
            let widest = self.widths.get(place).copied().unwrap_or(0);
            line.push_str(if place == 0 { "" } else { "   " });
            match width {
                Some(width) => line.push_str(&format!("{:>1$}", text, width.max(widest))),
                None if place == last => {
                    let room = self.room.map(|room| room.saturating_sub(line.width()));
                    line.push_str(&cut(&text, room.unwrap_or(usize::MAX).max(LEAST_LAST)));
                }
                None => {
                    let missing = widest.saturating_sub(text.width());
                    line.push_str(&format!("{text}{:missing$}", ""));
                }
            }
        }
        line
    }
}

/// A text, or its beginning and an ellipsis, in that many characters of a terminal.
pub(super) fn cut(text: &str, room: usize) -> Cow<'_, str> {
    if text.width() <= room {
        return Cow::Borrowed(text);
    }
    let mut left = room.saturating_sub(1);
    let fits = |c: &char| {
        let rest = left.checked_sub(c.width().unwrap_or(0));
        left = rest.unwrap_or(left);
        rest.is_some()
    };
    let beginning: String = text.chars().take_while(fits).collect();
    Cow::Owned(beginning + "\u{2026}")
}

fn kind_of(key: &RowKey) -> Option<&'static str> {
    match key {
        RowKey::Of(..) => key.parts().find_map(|part| match part {
            Part::Lock(_, kind) | Part::Futex { kind, .. } => Some(kind.name()),
            _ => None,
        }),
        RowKey::Overflow(_, kind) => kind.map(WaitKind::name),
    }
}

#[cfg(test)]
mod tests;
