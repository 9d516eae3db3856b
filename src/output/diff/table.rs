//! Two runs side by side, for people.

use super::around::{each_second, run};
use super::key::{SharedKey, key_columns};
use super::{Diff, DiffTable, percent, value};
use crate::output::escape::terminal;
use crate::output::keys::{KeyColumn, OVERFLOW};
use crate::output::table::{LEAST_LAST, cut};
use crate::report::{Change, Column, ComparedRow, Table, Unit};
use anstyle::Style;
use std::io::{self, Write};
use unicode_width::UnicodeWidthStr;

/// How the table looks where it goes.
#[derive(Debug, Clone, Copy, Default)]
pub struct DiffView {
    /// Nothing but the rows, and what grew by more than it may.
    pub is_bare: bool,
    /// Every column's change as a figure, not only in percent.
    pub all_changes: bool,
    /// Characters in a line of the terminal, where it is one: the last column is cut to fit.
    pub width: Option<usize>,
    /// How the headings look.
    pub heading: Style,
    /// How it looks where there is more waiting.
    pub worse: Style,
    /// How it looks where there is less.
    pub better: Style,
}

/// A text, right-aligned in its column, and how it looks.
type Cell = (String, Style);

/// Both runs, the tables, and what there is to say.
///
/// # Errors
///
/// Those of `out`.
pub fn write(diff: &Diff<'_>, view: DiffView, out: &mut dyn Write) -> io::Result<()> {
    if !view.is_bare {
        run("A", diff.a, out)?;
        run("B", diff.b, out)?;
        writeln!(out)?;
    }
    for table in diff.tables {
        if !view.is_bare && table.table != Table::Locks {
            writeln!(out, " {}:\n", table.table.title())?;
        }
        Sheet { diff, table, view }.write(out)?;
        if !view.is_bare {
            each_second(diff, table, out)?;
            writeln!(out)?;
        }
    }
    for note in diff.notes.iter().filter(|_| !view.is_bare) {
        writeln!(out, " {}", terminal(note.as_bytes()))?;
    }
    let worse = view.worse;
    for line in diff.over() {
        writeln!(out, " {worse}{line}{worse:#}")?;
    }
    Ok(())
}

/// A table on its way.
struct Sheet<'a> {
    diff: &'a Diff<'a>,
    table: &'a DiffTable,
    view: DiffView,
}

impl Sheet<'_> {
    fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        let rows: Vec<&ComparedRow<SharedKey>> = self.diff.shown(self.table).collect();
        let keys = key_columns(self.table.table, &self.table.by);
        let titles: Vec<String> = keys.iter().map(|column| column.title.to_owned()).collect();
        let mut lines = vec![(self.headings(), titles)];
        for row in &rows {
            lines.push((self.figures(row), key_texts(&row.key)));
        }
        lines.push((self.figures(&self.table.rows.totals), vec!["all together".to_owned()]));
        let widths = widths(lines.iter().map(|(cells, _)| cells.iter().map(|(text, _)| text)));
        let key_rows = lines.iter().take(rows.len() + 1);
        let key_widths = self::widths(key_rows.map(|(_, texts)| texts.iter()));
        let figures_width: usize = widths.iter().map(|width| width + 2).sum();
        let room = self.view.width.map(|width| width.saturating_sub(figures_width + 2));
        let stacks = rows.iter().map(|row| row.key.stack.as_deref());
        let stacks: Vec<_> = [None].into_iter().chain(stacks).chain([None]).collect();
        let last = lines.len() - 1;
        for (place, ((cells, texts), stack)) in lines.iter().zip(stacks).enumerate() {
            if self.view.is_bare && (place == 0 || place == last) {
                continue;
            }
            figures_line(cells, &widths, out)?;
            writeln!(out, "   {}", key_line(texts, &keys, &key_widths, room))?;
            for (number, frame) in stack.into_iter().flatten().enumerate() {
                writeln!(out, "      #{number} {}", terminal(frame))?;
            }
            if place == 0 {
                writeln!(out)?;
            }
        }
        Ok(())
    }

    fn headings(&self) -> Vec<Cell> {
        let mut cells = Vec::new();
        for column in self.diff.columns {
            cells.push(format!("{} A", column.title_in(self.table.table)));
            cells.push("B".to_owned());
            cells.extend(self.has_difference(column).then(|| "change".to_owned()));
            cells.push("%".to_owned());
            cells.extend(self.has_rate(column).then(|| "%/s".to_owned()));
        }
        cells.into_iter().map(|text| (text, self.view.heading)).collect()
    }

    fn figures<K>(&self, row: &ComparedRow<K>) -> Vec<Cell> {
        let mut cells = Vec::new();
        for &column in self.diff.columns {
            let change = row.change(column);
            let style = self.style(change.difference().map(|change| change as f64));
            cells.push((value(column, change.a), Style::new()));
            cells.push((value(column, change.b), Style::new()));
            if self.has_difference(column) {
                cells.push((difference(column, change), style));
            }
            cells.push((percent(change.percent(), row.presence), style));
            if self.has_rate(column) {
                let lengths = self.diff.measure.lengths;
                let rate = percent(change.rate_percent(lengths), row.presence);
                cells.push((rate, self.style(change.rate_difference(lengths))));
            }
        }
        cells
    }

    fn has_difference(&self, column: &Column) -> bool {
        self.view.all_changes || column.id == self.diff.measure.column.id
    }

    fn has_rate(&self, column: &Column) -> bool {
        self.diff.has_rates() && column.is_sum()
    }

    /// Who waits for something to do does not wait too long.
    fn style(&self, change: Option<f64>) -> Style {
        match change {
            Some(more) if more > 0.0 && !self.table.table.is_idle() => self.view.worse,
            Some(less) if less < 0.0 && !self.table.table.is_idle() => self.view.better,
            _ => Style::new(),
        }
    }
}

/// B less A, with its sign.
fn difference(column: &Column, change: Change) -> String {
    let Some(difference) = change.difference() else { return "-".to_owned() };
    let size = value(column, Some(difference.unsigned_abs()));
    match difference {
        0 if column.unit == Unit::Nanoseconds => "0".to_owned(),
        0 => size,
        1.. => format!("+{size}"),
        _ => format!("-{size}"),
    }
}

fn key_texts(key: &SharedKey) -> Vec<String> {
    let mut texts = key.texts();
    if let (true, Some(last)) = (key.is_overflow, texts.last_mut()) {
        *last = match last.as_str() {
            "-" => OVERFLOW.to_owned(),
            text => format!("{text} {OVERFLOW}"),
        };
    }
    texts
}

/// How wide each column is.
fn widths<T: AsRef<str>>(lines: impl Iterator<Item = impl Iterator<Item = T>>) -> Vec<usize> {
    let mut widths: Vec<usize> = Vec::new();
    for line in lines {
        for (place, text) in line.enumerate() {
            let text = text.as_ref();
            match widths.get_mut(place) {
                Some(width) => *width = text.width().max(*width),
                None => widths.push(text.width()),
            }
        }
    }
    widths
}

fn figures_line(cells: &[Cell], widths: &[usize], out: &mut dyn Write) -> io::Result<()> {
    for ((text, style), width) in cells.iter().zip(widths) {
        let missing = width.saturating_sub(text.width());
        write!(out, "  {:missing$}{style}{text}{style:#}", "")?;
    }
    Ok(())
}

/// Numbers and kinds to the right; text to the left, the last without padding.
fn key_line(
    texts: &[String],
    columns: &[KeyColumn],
    widths: &[usize],
    room: Option<usize>,
) -> String {
    let mut line = String::new();
    for (place, text) in texts.iter().enumerate() {
        let is_last = place + 1 == texts.len();
        let missing = widths.get(place).copied().unwrap_or(0).saturating_sub(text.width());
        let is_right = columns.get(place).is_some_and(|column| column.width.is_some());
        line.push_str(if place == 0 { "" } else { "   " });
        match (is_last, is_right && texts.len() == columns.len()) {
            (true, false) => {
                let room = room.map_or(usize::MAX, |room| room.saturating_sub(line.width()));
                line.push_str(&cut(text, room.max(LEAST_LAST)));
            }
            (_, true) => line.push_str(&format!("{:missing$}{text}", "")),
            (false, false) => line.push_str(&format!("{text}{:missing$}", "")),
        }
    }
    line
}
