//! The table at the end of a run, in the shape of `perf lock contention`.

use super::Summary;
use super::keys::{KeyColumn, columns, shown, values};
use super::text::{caller_text, task_text};
use crate::event::LockKind;
use crate::report::{By, Column, Identity, Part, Quality, Row, RowKey, RowStats, Unit, scaled};
use std::io::{self, Write};
use unicode_width::UnicodeWidthStr;

/// How much is said about the quality of the data.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Detail {
    /// What is missing or may be wrong.
    Notable,
    /// Every counter and every identity.
    Everything,
}

/// Open waits that are listed unless everything is.
const MAX_OPEN: usize = 10;

const OVERFLOW: &str = "(overflow)";

/// The rows, the footer, and what there is to say about the data.
///
/// # Errors
///
/// Those of `out`.
pub fn write(summary: &Summary<'_>, detail: Detail, out: &mut dyn Write) -> io::Result<()> {
    if !summary.rows.is_empty() {
        let cells = Cells::new(summary);
        header(summary, &cells, out)?;
        for row in summary.rows {
            figures(summary.columns, &row.stats, out)?;
            writeln!(out, " {}", cells.line(cells.texts(row, summary)))?;
        }
        writeln!(out)?;
    }
    footer(summary, out)?;
    open(summary, detail, out)?;
    quality(summary.quality, detail, out)
}

fn header(summary: &Summary<'_>, cells: &Cells, out: &mut dyn Write) -> io::Result<()> {
    for column in summary.columns {
        write!(out, "{:>width$} ", column.title, width = column.width)?;
    }
    let titles = cells.columns.iter().map(|column| column.title.to_owned()).collect();
    writeln!(out, " {}\n", cells.line(titles))
}

fn figures(columns: &[&Column], stats: &RowStats, out: &mut dyn Write) -> io::Result<()> {
    for column in columns {
        let value = (column.value)(stats);
        let text = match column.unit {
            Unit::Count => value.to_string(),
            Unit::Nanoseconds => {
                let time = scaled(value);
                format!("{} {:<2}", time.value, time.unit)
            }
        };
        write!(out, "{text:>width$} ", width = column.width)?;
    }
    Ok(())
}

/// What rows stand for, behind their figures.
struct Cells {
    columns: Vec<KeyColumn>,
    /// Text before the last column is padded to the widest of its column.
    widths: Vec<usize>,
}

impl Cells {
    fn new(summary: &Summary<'_>) -> Cells {
        let columns = columns(summary.by);
        let columns: Vec<KeyColumn> = match summary.by {
            // As in perf the type stands behind the symbol, in brackets.
            [By::Lock] => columns.into_iter().filter(|column| column.id != "type").collect(),
            _ => columns,
        };
        let mut cells = Cells { widths: vec![0; columns.len()], columns };
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
        let tid = match row.key {
            RowKey::Of([Some(Part::Task { tid, .. }), ..]) => Some(tid),
            _ => None,
        };
        let values = values(&row.key, &self.columns, summary);
        let mut texts: Vec<String> = values.iter().map(|value| shown(value, tid)).collect();
        if summary.by == [By::Lock]
            && let (Some(symbol), Some(kind)) = (texts.last_mut(), kind_of(&row.key))
        {
            *symbol = match symbol.as_str() {
                "-" => format!("({kind})"),
                name => format!("{name} ({kind})"),
            };
        }
        if matches!(row.key, RowKey::Overflow(_)) {
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
        let cells = texts.into_iter().enumerate().map(|(place, text)| {
            let width = self.columns.get(place).and_then(|column| column.width);
            let widest = self.widths.get(place).copied().unwrap_or(0);
            match width {
                Some(width) => format!("{:>1$}", text, width.max(widest)),
                None if place == last => text,
                None => format!("{text}{:1$}", "", widest.saturating_sub(text.width())),
            }
        });
        format!(" {}", cells.collect::<Vec<_>>().join("   "))
    }
}

fn kind_of(key: &RowKey) -> Option<&'static str> {
    match key {
        RowKey::Of(parts) => parts.iter().flatten().find_map(|part| match part {
            Part::Lock(_, kind) => Some(kind.name()),
            _ => None,
        }),
        RowKey::Overflow(kind) => kind.map(LockKind::name),
    }
}

fn footer(summary: &Summary<'_>, out: &mut dyn Write) -> io::Result<()> {
    let (quality, totals) = (summary.quality, &summary.totals);
    // Whose wait began before the trace is not known, only that one did.
    let before = if quality.is_all() { quality.began_before_start } else { 0 };
    let open = summary.open.len() as u64;
    write!(
        out,
        " {} in {} on {}: {} got the lock, {} failed, {} still open",
        counted(totals.waits() + open + before, "wait"),
        scaled(summary.duration_ns),
        counted(quality.cpus.len() as u64, "CPU"),
        grouped(totals.contended),
        grouped(totals.failed),
        grouped(open),
    )?;
    if quality.is_all() {
        write!(out, ", {} began before", grouped(before))?;
    }
    let lost = grouped(quality.events_lost());
    write!(out, "; {lost} lost, {} uncertain", grouped(totals.uncertain))?;
    match quality.not_asked + quality.short {
        0 => writeln!(out),
        left_out => writeln!(out, "; {} left out", grouped(left_out)),
    }
}

/// The waits that had no end yet, the longest first.
fn open(summary: &Summary<'_>, detail: Detail, out: &mut dyn Write) -> io::Result<()> {
    let shown = if detail == Detail::Everything { usize::MAX } else { MAX_OPEN };
    for wait in summary.open.iter().take(shown) {
        let task = task_text(wait.tid, wait.comm.as_ref(), wait.context);
        let (kind, age) = (wait.flags.kind().name(), scaled(wait.age_ns));
        let caller = caller_text(wait.caller, summary.symbols);
        writeln!(out, " still waiting: {task} for {kind} {:#x} since {age}, {caller}", wait.lock)?;
    }
    match summary.open.len().saturating_sub(shown) {
        0 => Ok(()),
        more => writeln!(out, " still waiting: {} more (see -v)", grouped(more as u64)),
    }
}

fn quality(quality: &Quality, detail: Detail, out: &mut dyn Write) -> io::Result<()> {
    let all = detail == Detail::Everything;
    for cpu in quality.cpus.iter().filter(|cpu| all || cpu.lost() > 0) {
        writeln!(
            out,
            " cpu {}: {} overrun, {} dropped of {} events",
            cpu.cpu,
            grouped(cpu.overrun),
            grouped(cpu.dropped),
            grouped(cpu.written),
        )?;
    }
    for (fault, count) in &quality.page_faults {
        writeln!(out, " malformed pages, {fault}: {}", grouped(*count))?;
    }
    for (what, count) in quality.faults().into_iter().filter(|(_, count)| all || *count > 0) {
        writeln!(out, " {what}: {}", grouped(count))?;
    }
    if all {
        for (what, count) in quality.facts() {
            writeln!(out, " {what}: {}", grouped(count))?;
        }
    }
    for identity in quality.identities().iter().filter(|identity| all || !identity.holds()) {
        write_identity(identity, out)?;
    }
    Ok(())
}

fn write_identity(identity: &Identity, out: &mut dyn Write) -> io::Result<()> {
    let cpu = identity.cpu.map(|cpu| format!(" on cpu {cpu}")).unwrap_or_default();
    let (verdict, sign) = if identity.holds() { ("holds", "=") } else { ("DOES NOT HOLD", "!=") };
    let (left, right) = (grouped(identity.left), grouped(identity.right));
    writeln!(out, " {verdict}{cpu}: {}: {left} {sign} {right}", identity.law)
}

/// `1 wait`, `2 waits`.
fn counted(count: u64, what: &str) -> String {
    let plural = if count == 1 { "" } else { "s" };
    format!("{} {what}{plural}", grouped(count))
}

/// `9,812`
fn grouped(count: u64) -> String {
    let digits = count.to_string();
    let mut grouped = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    grouped
}

#[cfg(test)]
mod tests;
