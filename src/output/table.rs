//! The table at the end of a run, in the shape of `perf lock contention`.

use super::Summary;
use super::lock::KnownLock;
use super::text::{caller_text, comm_text, task_text};
use crate::event::LockKind;
use crate::report::{By, Column, Identity, Quality, Row, RowKey, RowStats, Unit, scaled};
use std::io::{self, Write};

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
        header(summary, out)?;
        for row in summary.rows {
            figures(summary.columns, &row.stats, out)?;
            writeln!(out, "{}", tail(row, summary, detail))?;
        }
        writeln!(out)?;
    }
    footer(summary, out)?;
    open(summary, detail, out)?;
    quality(summary.quality, detail, out)
}

fn header(summary: &Summary<'_>, out: &mut dyn Write) -> io::Result<()> {
    for column in summary.columns {
        write!(out, "{:>width$} ", column.title, width = column.width)?;
    }
    let tail = match summary.by {
        By::Caller => format!("  {:>10}   {}", "type", "caller"),
        By::Lock => format!("  {:>16}   {}", "address", "symbol"),
        By::Task => format!("  {:>10}   {}", "pid", "comm"),
        By::Type => format!("  {:>10}", "type"),
    };
    writeln!(out, "{tail}\n")
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

/// What a row stands for, behind its figures.
fn tail(row: &Row, summary: &Summary<'_>, detail: Detail) -> String {
    match (row.key, summary.by) {
        (RowKey::Caller { caller, kind }, _) => {
            format!("  {:>10}   {}", kind.name(), caller_text(caller, summary.symbols))
        }
        (RowKey::Lock { lock, kind }, _) => {
            format!("  {lock:016x}   {}", lock_text(lock, kind, summary, detail))
        }
        (RowKey::Task { tid, comm, .. }, _) => {
            format!("  {:>10}   {}", tid.0, comm_text(tid, comm))
        }
        (RowKey::Context(context), _) => format!("  {:>10}   [{}]", "-", context.name()),
        (RowKey::Type(kind), _) => format!("  {:>10}", kind.name()),
        (RowKey::Overflow(kind), By::Lock) => {
            format!("  {:>16}   {OVERFLOW} ({})", "-", kind_name(kind))
        }
        (RowKey::Overflow(kind), By::Task) => {
            format!("  {:>10}   {OVERFLOW} {}", "-", kind_name(kind))
        }
        (RowKey::Overflow(kind), _) => format!("  {:>10}   {OVERFLOW}", kind_name(kind)),
    }
}

/// The kind of lock of an overflow row; by task there are no kinds.
fn kind_name(kind: Option<LockKind>) -> &'static str {
    kind.map_or("any", LockKind::name)
}

/// A name that a rule gave has a `~`; in detail the rule's function stands behind it.
fn lock_text(lock: u64, kind: LockKind, summary: &Summary<'_>, detail: Detail) -> String {
    let name = summary.lock_names.get(&lock).copied();
    let kind = kind.name();
    match KnownLock::find(lock, name, summary.symbols) {
        Some(KnownLock { name, rule: Some(function), .. }) => match detail {
            Detail::Notable => format!("~{name} ({kind})"),
            Detail::Everything => format!("~{name} ({kind}), rule: {function}"),
        },
        Some(known) => format!("{} ({kind})", known.name),
        None => format!("({kind})"),
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
