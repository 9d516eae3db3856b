//! The table at the end of a run, in the shape of `perf lock contention`.

use super::keys::{KeyColumn, columns, known_lock, shown, stack_of, values};
use super::text::{Seconds, caller_text, task_text};
use super::{Summary, hist};
use crate::event::{LockKind, StackId};
use crate::report::{By, Identity, Part, Quality, Row, RowKey, RowStats, Unit, Witness, scaled};
use std::io::{self, Write};
use unicode_width::UnicodeWidthStr;

/// How much is said about the quality of the data.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Detail {
    /// Nothing but the rows, unless something was lost or is uncertain.
    Rows,
    /// What is missing or may be wrong.
    Notable,
    /// Every counter and every identity, and who waited longest in each row.
    Everything,
}

/// What is shown beside the rows.
#[derive(Debug, Clone, Copy)]
pub struct View {
    /// How much is said.
    pub detail: Detail,
    /// Under each row how its waits are spread, in lines of this many characters.
    pub hist_width: Option<usize>,
}

/// Open waits that are listed unless everything is.
const MAX_OPEN: usize = 10;

const OVERFLOW: &str = "(overflow)";

/// The rows, the footer, and what there is to say about the data.
///
/// # Errors
///
/// Those of `out`.
pub fn write(summary: &Summary<'_>, view: View, out: &mut dyn Write) -> io::Result<()> {
    let detail = view.detail;
    let bare = detail == Detail::Rows && !has_losses(summary.quality);
    if !summary.rows.is_empty() {
        let cells = Cells::new(summary, detail);
        if !bare {
            header(summary, &cells, out)?;
        }
        for row in summary.rows {
            figures(summary, &row.stats, out)?;
            writeln!(out, " {}", cells.line(cells.texts(row, summary)))?;
            stack(stack_of(&row.key), summary, out)?;
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
    if bare {
        return Ok(());
    }
    footer(summary, out)?;
    open(summary, detail, out)?;
    quality(summary.quality, detail, out)
}

/// Whether the rows lack waits or times that were traced for.
fn has_losses(quality: &Quality) -> bool {
    quality.events_lost() > 0
        || quality.uncertain > 0
        || quality.identities().iter().any(|law| !law.holds())
}

fn header(summary: &Summary<'_>, cells: &Cells, out: &mut dyn Write) -> io::Result<()> {
    for column in summary.columns {
        write!(out, "{:>width$} ", column.title, width = column.width)?;
    }
    let titles = cells.columns.iter().map(|column| column.title.to_owned()).collect();
    writeln!(out, " {}\n", cells.line(titles))
}

fn figures(summary: &Summary<'_>, stats: &RowStats, out: &mut dyn Write) -> io::Result<()> {
    for column in summary.columns {
        let value = (column.value)(stats, summary.totals);
        let text = match column.unit {
            Unit::Count => value.to_string(),
            Unit::Nanoseconds => {
                let time = scaled(value);
                format!("{} {:<2}", time.value, time.unit)
            }
            Unit::PerMille => format!("{}.{}%", value / 10, value % 10),
        };
        write!(out, "{text:>width$} ", width = column.width)?;
    }
    Ok(())
}

/// A row's longest wait, and its stack below.
fn witness(longest: &Witness, summary: &Summary<'_>, out: &mut dyn Write) -> io::Result<()> {
    let task = task_text(longest.tid, longest.comm.as_ref(), longest.context);
    let (when, cpu) = (Seconds(longest.ts_ns), longest.cpu.0);
    writeln!(out, "    longest at {when}: {task} on cpu {cpu}")?;
    stack(longest.stack, summary, out)
}

/// A stack's frames, innermost first, a line each.
fn stack(id: Option<StackId>, summary: &Summary<'_>, out: &mut dyn Write) -> io::Result<()> {
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
}

impl Cells {
    fn new(summary: &Summary<'_>, detail: Detail) -> Cells {
        let columns = columns(summary.by);
        // As in perf the type stands behind the symbol, in brackets, where rows are locks alone;
        // how a name is known shows in its mark.
        let is_apart = |column: &KeyColumn| match column.id {
            "lock_name_by" => false,
            "type" => summary.by != [By::Lock],
            _ => true,
        };
        let columns: Vec<KeyColumn> = columns.into_iter().filter(is_apart).collect();
        let mut cells = Cells { detail, widths: vec![0; columns.len()], columns };
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
        let rule = rule_of(&row.key, summary);
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

/// The function that a rule has named a row's lock by.
fn rule_of(key: &RowKey, summary: &Summary<'_>) -> Option<&'static str> {
    let RowKey::Of(parts) = key else { return None };
    let lock = parts.iter().flatten().find_map(|part| match part {
        Part::Lock(lock, _) => Some(*lock),
        _ => None,
    });
    known_lock(lock?, summary)?.rule
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
    let (quality, totals) = (summary.quality, summary.totals);
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
pub(super) fn grouped(count: u64) -> String {
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
