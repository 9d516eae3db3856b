//! The report as perf's CSV: what `perf lock contention -x` prints (tools/perf/builtin-lock.c,
//! 6.4 to 7.3), and behind it, as comments too, what perf does not count.
//!
//! Cells are separated by the separator and a blank. There are no quotes: a separator within a
//! name is escaped.

use super::escape::cell;
use super::keys::{KeyColumn, KeyValue, OVERFLOW, columns, lock_rule, stack_of, values};
use super::machine::{Figure, figures};
use super::table::Detail;
use super::text::caller_text;
use super::{Summary, footer};
use crate::report::{By, Row, RowKey};
use std::io::{self, Write};

/// What is wrong with a separator, if anything: it must not occur in what it separates.
///
/// perf refuses the first three. A digit would part numbers; a letter, a backslash or a brace may
/// be part of an escape, and a line break ends a row.
pub fn separator_fault(separator: &str) -> Option<String> {
    let unusable = |c: char| {
        matches!(c, ':' | '+' | '.' | '\\' | '{' | '}' | '\n' | '\r') || c.is_alphanumeric()
    };
    match separator.chars().find(|&c| unusable(c)) {
        Some(c) => Some(format!("{c:?} is part of what it would separate")),
        None if separator.is_empty() => Some("it is empty".to_owned()),
        None => None,
    }
}

/// Header, rows, and footer; with [`Detail::Rows`] no comments, as perf's `-q` has it.
///
/// # Errors
///
/// Those of `out`.
pub fn write(
    summary: &Summary<'_>,
    separator: &str,
    detail: Detail,
    out: &mut dyn Write,
) -> io::Result<()> {
    let bare = detail.is_bare(summary.quality);
    rows(summary, separator, detail, out)?;
    for table in summary.tables().skip(1) {
        if !bare {
            writeln!(out, "# table: {}", table.table.name())?;
        }
        rows(&table, separator, detail, out)?;
    }
    match bare {
        true => Ok(()),
        false => comments_behind(summary, &format!("{separator} "), detail, out),
    }
}

/// One table's header and rows.
fn rows(
    summary: &Summary<'_>,
    separator: &str,
    detail: Detail,
    out: &mut dyn Write,
) -> io::Result<()> {
    // Without a heading it is for other programs than perf's.
    let keys: Vec<KeyColumn> =
        columns(summary).into_iter().filter(|column| !column.title.is_empty()).collect();
    let by_code = summary.by.iter().any(|by| matches!(by, By::Caller | By::Stack));
    let with_stacks = detail == Detail::Everything && by_code;
    let between = format!("{separator} ");
    if !detail.is_bare(summary.quality) {
        let titles = summary.columns.iter().map(|column| column.title);
        let titles = titles.chain(keys.iter().map(|column| column.title));
        let titles: Vec<&str> = titles.chain(with_stacks.then_some("stacktrace")).collect();
        writeln!(out, "# output: {}", titles.join(&between))?;
    }
    for row in summary.rows {
        let figures = figures(summary, &row.stats).map(|figure| text(figure, separator));
        let cells = figures.chain(identity(row, &keys, summary, separator));
        let cells = cells.chain(with_stacks.then(|| stack(row, summary, separator)));
        writeln!(out, "{}", cells.collect::<Vec<_>>().join(&between))?;
    }
    Ok(())
}

fn text(figure: Figure, separator: &str) -> String {
    match figure {
        Figure::Number(number) => number.to_string(),
        Figure::Percent(percent) => percent,
        Figure::Task(name) => cell(&name, separator).into_owned(),
        Figure::Code(code) => cell(code.as_bytes(), separator).into_owned(),
        Figure::Unknown => "Unknown".to_owned(),
    }
}

/// What a row stands for. An overflow row says so where it knows no text.
fn identity(row: &Row, keys: &[KeyColumn], summary: &Summary<'_>, separator: &str) -> Vec<String> {
    let values = values(&row.key, keys, summary);
    let derived = lock_rule(&row.key, summary).is_some();
    let text = |(column, value): (&KeyColumn, &KeyValue)| match value {
        KeyValue::Text(name) if column.id == "lock_name" && derived => {
            cell(format!("~{name}").as_bytes(), separator).into_owned()
        }
        KeyValue::Text(text) => cell(text.as_bytes(), separator).into_owned(),
        KeyValue::Name(comm) => cell(comm.as_bytes(), separator).into_owned(),
        KeyValue::Cgroup(path) => cell(path, separator).into_owned(),
        KeyValue::Bytes(text) => cell(text, separator).into_owned(),
        KeyValue::Number(number) => number.to_string(),
        KeyValue::Flag(is) => is.to_string(),
        KeyValue::Address(address) => format!("{address:x}"),
        KeyValue::Unknown => unknown(column).to_owned(),
    };
    let mut cells: Vec<String> = keys.iter().zip(&values).map(text).collect();
    if matches!(row.key, RowKey::Overflow(..)) {
        let overflow = cell(OVERFLOW.as_bytes(), separator);
        let is_free = |(column, value): (&KeyColumn, &KeyValue)| {
            *value == KeyValue::Unknown && matches!(unknown(column), "Unknown" | "")
        };
        match keys.iter().zip(&values).rposition(is_free).and_then(|place| cells.get_mut(place)) {
            Some(free) => *free = overflow.into_owned(),
            None => cells.last_mut().into_iter().for_each(|last| last.push_str(&overflow)),
        }
    }
    cells
}

/// What stands for the unknown: as in perf, whose unknown owner is -1 and `Unknown`.
fn unknown(column: &KeyColumn) -> &'static str {
    match column.id {
        "tid" | "pid" | "cpu" | "owner_tid" => "-1",
        "lock" => "0",
        "lock_name" => "",
        _ => "Unknown",
    }
}

/// The stack a row stands for, or else that of its longest wait; empty where there is none.
fn stack(row: &Row, summary: &Summary<'_>, separator: &str) -> String {
    let id = stack_of(&row.key).or(row.stats.witness.and_then(|witness| witness.stack));
    let frames = id.and_then(|id| summary.stacks.frames(id));
    let frames = frames.iter().flat_map(|frames| frames.iter()).map(|&frame| {
        let name = caller_text(Some(frame), summary.symbols);
        format!("{frame:#x} {}", cell(name.as_bytes(), separator))
    });
    frames.collect::<Vec<_>>().join(": ")
}

/// perf's footer, under perf's conditions; then what it lacks.
fn comments_behind(
    summary: &Summary<'_>,
    between: &str,
    detail: Detail,
    out: &mut dyn Write,
) -> io::Result<()> {
    let (quality, all) = (summary.quality, detail == Detail::Everything);
    let (bad, total) = (quality.bad(), quality.total());
    if total > 0 && (bad.count() > 0 || all) {
        let mut terms = vec![format!("total={total}"), format!("bad={}", bad.count())];
        terms.extend(bad.reasons().map(|(reason, count)| format!("bad_{reason}={count}")));
        writeln!(out, "# debug: {}", terms.join(between))?;
    }
    let oldest_ns = summary.open.iter().map(|wait| wait.age_ns).max().unwrap_or(0);
    let terms = [
        ("lost", quality.events_lost()),
        ("failed", summary.totals.failed),
        ("uncertain", summary.totals.uncertain),
        ("open", summary.open.len() as u64),
        ("open_oldest_ns", oldest_ns),
    ];
    if all || terms.iter().any(|(_, count)| *count > 0) {
        let terms = terms.map(|(name, count)| format!("{name}={count}"));
        writeln!(out, "# ftlock: {}", terms.join(between))?;
    }
    if all && let Some(own) = quality.overhead(summary.duration_ns) {
        let terms = [
            format!("cpu_ns={}", own.cpu_ns),
            format!("cpu_percent={}", own.cpu_percent),
            format!("events={}", own.events),
            format!("events_per_s={}", own.events_per_s),
        ];
        writeln!(out, "# overhead: {}", terms.join(between))?;
    }
    let mut lines = Vec::new();
    footer::quality(quality, detail, &mut lines)?;
    // Each line begins with a blank.
    for line in lines.split_inclusive(|byte| *byte == b'\n') {
        out.write_all(b"#")?;
        out.write_all(line)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests;
