//! What stands under the rows: all waits in one line, what went wrong, what watching cost, and
//! what there is to say about the data.

use super::table::{Detail, View, frames};
use super::text::{blocked, open_text, task_text};
use super::{StreamOpen, Summary};
use crate::report::{Cause, Identity, Quality, StackSampling, Table, scaled};
use anstyle::Style;
use std::io::{self, Write};

/// Open waits that are listed unless everything is.
const MAX_OPEN: usize = 10;

/// All of it.
///
/// # Errors
///
/// Those of `out`.
pub fn write(summary: &Summary<'_>, view: View, out: &mut dyn Write) -> io::Result<()> {
    all_waits(summary, out)?;
    others(summary, out)?;
    holders(summary, out)?;
    costs(summary, view.detail, out)?;
    open(summary, view.detail, out)?;
    faults(summary.quality, view, out)
}

/// What went wrong with some waits, if anything, and what watching cost.
fn costs(summary: &Summary<'_>, detail: Detail, out: &mut dyn Write) -> io::Result<()> {
    let (quality, bad) = (summary.quality, summary.quality.bad());
    if bad.count() > 0 || detail == Detail::Everything {
        let (count, total) = (bad.count(), quality.total());
        let rate = 100.0 * count as f64 / total.max(1) as f64;
        let reasons = bad.reasons().map(|(reason, count)| format!("{reason} {}", grouped(count)));
        let (count, total) = (grouped(count), grouped(total));
        writeln!(out, " bad: {count} of {total} ({rate:.2} %): {}", reasons.join(", "))?;
    }
    sampling(quality, out)?;
    let Some(own) = quality.overhead(summary.duration_ns) else { return Ok(()) };
    writeln!(
        out,
        " overhead: {} CPU time ({:.2} % of one CPU), {} events traced ({}/s)",
        scaled(own.cpu_ns),
        own.cpu_percent,
        grouped(own.events),
        grouped(own.events_per_s),
    )
}

/// For how much of the time there are stacks, where they were to cost no more than so much.
fn sampling(quality: &Quality, out: &mut dyn Write) -> io::Result<()> {
    let Some(stacks) = quality.stack_sampling else { return Ok(()) };
    let StackSampling { max_percent, frame_ns, on_percent } = stacks;
    writeln!(
        out,
        " stacks: {on_percent} % of the time, for at most {max_percent} % of each CPU at {frame_ns} ns a frame; {} without",
        counted(quality.stacks_sampled_out, "wait"),
    )
}

fn all_waits(summary: &Summary<'_>, out: &mut dyn Write) -> io::Result<()> {
    let (quality, totals) = (summary.quality, summary.totals);
    // Whose wait began before the trace is not known, only that one did.
    let before = if quality.is_all() { quality.pairing.began_before_start } else { 0 };
    let open = summary.open.iter().filter(|wait| !is_sleep(wait)).count() as u64;
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

/// The waits of other nature, where they were traced: each with those that are idle.
fn others(summary: &Summary<'_>, out: &mut dyn Write) -> io::Result<()> {
    let quality = summary.quality;
    let kinds = [
        (&quality.futexes, "wait", " for user-space locks", Table::Futexes, Table::IdleFutexes),
        (&quality.sleeps, "sleep", "", Table::Sleeps, Table::IdleSleeps),
    ];
    let of = |table: Table| {
        let found = summary.tables().find(|summary| summary.table == table);
        found.map_or((0, 0, 0), |Summary { totals, .. }| {
            (totals.contended, totals.wait_total_ns, totals.uncertain)
        })
    };
    for (counts, what, for_what, held, idle) in kinds {
        if counts.begins_read + counts.ends_read == 0 {
            continue;
        }
        let ((held, held_ns, uncertain), (idle, idle_ns, idle_uncertain)) = (of(held), of(idle));
        writeln!(
            out,
            " {}{for_what} of {} together, and {} idle of {}; {} uncertain",
            counted(held, what),
            scaled(held_ns),
            grouped(idle),
            scaled(idle_ns),
            grouped(uncertain + idle_uncertain),
        )?;
    }
    Ok(())
}

fn is_sleep(wait: &&StreamOpen) -> bool {
    matches!(wait.cause, Cause::Sleep(_))
}

/// Of how many waits it is known who had the lock, where that was asked for.
fn holders(summary: &Summary<'_>, out: &mut dyn Write) -> io::Result<()> {
    let of = &summary.quality.holders;
    if !summary.holders {
        return Ok(());
    }
    let known = of.by_release + of.by_waking;
    let percent = |part: u64, all: u64| 100.0 * part as f64 / all.max(1) as f64;
    writeln!(
        out,
        " holder known for {} of {} that slept ({:.2} %; {:.2} % of their time): {} by release, {} by waking",
        grouped(known),
        counted(of.slept, "wait"),
        percent(known, of.slept),
        percent(of.known_ns, of.slept_ns),
        grouped(of.by_release),
        grouped(of.by_waking),
    )
}

/// The waits that had no end yet, the longest first.
fn open(summary: &Summary<'_>, detail: Detail, out: &mut dyn Write) -> io::Result<()> {
    let shown = if detail == Detail::Everything { usize::MAX } else { MAX_OPEN };
    for wait in summary.open.iter().take(shown) {
        writeln!(out, " still waiting: {}", open_text(wait, summary.symbols))?;
        if detail == Detail::Everything {
            frames(wait.stack, summary, out)?;
        }
    }
    match summary.open.len().saturating_sub(shown) {
        0 => {}
        more => writeln!(out, " still waiting: {} more (see -v)", grouped(more as u64))?,
    }
    for task in summary.blocked {
        writeln!(out, " blocked since before the trace: {}", blocked(task))?;
    }
    for cycle in summary.cycles() {
        let waiters = cycle.iter().filter_map(|&place| summary.open.get(place));
        let tasks = waiters.map(|wait| {
            let task = task_text(wait.tid, wait.comm.as_ref(), wait.context);
            format!("{task} ({} {:#x})", wait.cause.kind().name(), wait.lock)
        });
        let tasks: Vec<String> = tasks.collect();
        writeln!(out, " waiting for each other, a deadlock it seems: {}", tasks.join(" <- "))?;
    }
    Ok(())
}

/// The lines of [`quality`], with the weight they have.
fn faults(of: &Quality, view: View, out: &mut dyn Write) -> io::Result<()> {
    let fault = match view.detail {
        // Most of what is said then is that all is well.
        Detail::Everything => Style::new(),
        Detail::Rows | Detail::Notable => view.fault,
    };
    let mut lines = Vec::new();
    quality(of, view.detail, &mut lines)?;
    if lines.is_empty() {
        return Ok(());
    }
    write!(out, "{fault}")?;
    out.write_all(&lines)?;
    write!(out, "{fault:#}")
}

/// What there is to say about the data: a line each, each beginning with a blank.
pub(super) fn quality(quality: &Quality, detail: Detail, out: &mut dyn Write) -> io::Result<()> {
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
    if quality.map_floor_ns > 0 {
        let floor = scaled(quality.map_floor_ns);
        writeln!(out, " a row may lack up to {floor}, and nothing without a row has more")?;
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
