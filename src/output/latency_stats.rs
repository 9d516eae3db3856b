//! The report as `/proc/latency_stats` was: what held tasks up, by stack (kernel/latencytop.c, 2.6.25
//! to 6.18; CONFIG_LATENCYTOP).
//!
//! A line has how often, how long together and how long at most tasks slept so, in microseconds until
//! somebody woke them, and the functions, innermost first and without the scheduler's. Unlike the
//! kernel's it has kernel threads too, and sleeps that a signal could end whatever their length; idle
//! waiting it has none.

use super::Summary;
use super::keys::stack_of;
use super::text::function_text;
use crate::report::{Row, Table};
use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::io::{self, Write};

/// `LT_BACKTRACEDEPTH`.
const MAX_FUNCTIONS: usize = 12;

/// What stands for functions where there is no stack, or no room for a row.
const UNKNOWN: &str = "(unknown)";

/// The heading, and a line for each stack; the most time first. Stacks of the same functions are one.
///
/// # Errors
///
/// Those of `out`.
pub fn write(summary: &Summary<'_>, out: &mut dyn Write) -> io::Result<()> {
    let mut lines: BTreeMap<String, Line> = BTreeMap::new();
    for table in summary.tables().filter(|table| table.table == Table::Sleeps) {
        for row in table.rows {
            lines.entry(functions(row, &table)).or_default().add(row);
        }
    }
    let mut lines: Vec<_> = lines.into_iter().collect();
    lines.sort_by_key(|(_, line)| Reverse(line.total_ns));
    writeln!(out, "Latency Top version : v0.1")?;
    for (functions, Line { count, total_ns, max_ns }) in lines {
        writeln!(out, "{count} {} {} {functions}", total_ns / 1000, max_ns / 1000)?;
    }
    Ok(())
}

#[derive(Default)]
struct Line {
    count: u64,
    total_ns: u64,
    max_ns: u64,
}

impl Line {
    fn add(&mut self, row: &Row) {
        self.count = self.count.saturating_add(row.stats.contended);
        self.total_ns = self.total_ns.saturating_add(row.stats.split.blocked_ns);
        self.max_ns = self.max_ns.max(row.stats.blocked_max_ns);
    }
}

fn functions(row: &Row, summary: &Summary<'_>) -> String {
    let Some(stack) = stack_of(&row.key) else { return UNKNOWN.to_owned() };
    let frames = summary.stacks.outside_scheduler(stack);
    let names =
        frames.iter().take(MAX_FUNCTIONS).map(|&frame| function_text(frame, summary.symbols));
    names.collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests;
