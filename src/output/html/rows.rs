//! A page's tables: complete without any script, which only sorts and filters them.

use super::markup::Text;
use crate::event::{Context, StackId};
use crate::output::Summary;
use crate::output::escape::terminal;
use crate::output::footer::grouped;
use crate::output::keys::{
    KeyColumn, KeyValue, OVERFLOW, columns, lock_rule, shown, stack_of, tid_of, values,
};
use crate::output::machine::{Figure, figures};
use crate::output::text::{Seconds, caller_text, task_text};
use crate::report::{Histogram, Row, RowKey, RowStats, Unit, Witness, scaled};
use std::io::{self, Write};
use std::ops::RangeInclusive;

/// Most rows of a table: a page of more is of no use in a browser.
const MAX_ROWS: usize = 2000;

/// One table of a report.
pub(super) fn write(summary: &Summary<'_>, out: &mut dyn Write) -> io::Result<()> {
    let table = summary.table;
    let (name, title) = (table.name(), Text(table.title()));
    write!(out, "<section id=\"{name}\"><h2>{title}</h2>")?;
    if summary.rows.is_empty() {
        return writeln!(out, "<p class=\"note\">No rows.</p></section>");
    }
    let keys: Vec<KeyColumn> =
        columns(summary).into_iter().filter(|column| column.id != "lock_name_by").collect();
    write!(out, "<div class=\"scroll\"><table class=\"rows\"><thead><tr>")?;
    for column in &keys {
        write!(out, "<th scope=\"col\">{}</th>", Text(column.title))?;
    }
    for column in summary.columns {
        let about = Text(column.about);
        write!(
            out,
            "<th scope=\"col\" class=\"number\" title=\"{about}\">{}</th>",
            Text(column.title)
        )?;
    }
    writeln!(
        out,
        "<th scope=\"col\" class=\"plain\">spread</th><th scope=\"col\" class=\"plain\">longest wait</th></tr></thead><tbody>"
    )?;
    let octaves = octaves(&summary.totals.histogram);
    for row in summary.rows.iter().take(MAX_ROWS) {
        write!(out, "<tr>")?;
        write_keys(row, &keys, summary, out)?;
        write_figures(&row.stats, summary, out)?;
        write!(out, "<td>")?;
        spread(&row.stats.histogram, &octaves, out)?;
        write!(out, "</td><td>")?;
        longest(row, summary, out)?;
        writeln!(out, "</td></tr>")?;
    }
    write!(out, "</tbody></table></div>")?;
    match summary.rows.len().saturating_sub(MAX_ROWS) {
        0 => {}
        more => {
            write!(out, "<p class=\"note\">{} more rows are not shown.</p>", grouped(more as u64))?
        }
    }
    writeln!(out, "</section>")
}

fn write_keys(
    row: &Row,
    keys: &[KeyColumn],
    summary: &Summary<'_>,
    out: &mut dyn Write,
) -> io::Result<()> {
    let (tid, values) = (tid_of(&row.key), values(&row.key, keys, summary));
    let overflow = matches!(row.key, RowKey::Overflow(..));
    for (place, (column, value)) in keys.iter().zip(&values).enumerate() {
        let mark = if column.id == "lock_name" && lock_rule(&row.key, summary).is_some() {
            "~"
        } else {
            ""
        };
        let text = match (value, overflow && place + 1 == keys.len()) {
            (KeyValue::Unknown, true) => OVERFLOW.to_owned(),
            (value, true) => format!("{OVERFLOW} {}", shown(value, tid)),
            (value, false) => format!("{mark}{}", shown(value, tid)),
        };
        match value {
            KeyValue::Number(number) => {
                write!(out, "<td class=\"number\" data-value=\"{number}\">{}</td>", Text(text))?;
            }
            _ => write!(out, "<td class=\"{}\">{}</td>", column.id, Text(text))?,
        }
    }
    Ok(())
}

fn write_figures(stats: &RowStats, summary: &Summary<'_>, out: &mut dyn Write) -> io::Result<()> {
    for (column, figure) in summary.columns.iter().zip(figures(summary, stats)) {
        let value = (column.value)(stats, summary.totals);
        let text = match (figure, column.unit) {
            (Figure::Number(ns), Unit::Nanoseconds) => scaled(ns).to_string(),
            (Figure::Number(count), _) => grouped(count),
            (Figure::Percent(percent), _) => format!("{percent} %"),
            (Figure::Task(name), _) => terminal(&name).into_owned(),
            (Figure::Code(code), _) => code,
            (Figure::Unknown, _) => "-".to_owned(),
        };
        match column.is_number() {
            true => {
                write!(out, "<td class=\"number\" data-value=\"{value}\">{}", Text(text))?;
                if column.id == "wait_total" {
                    let part = 100.0 * value as f64 / summary.totals.wait_total_ns.max(1) as f64;
                    write!(out, "<span class=\"part\"><i style=\"width:{part:.2}%\"></i></span>")?;
                }
                write!(out, "</td>")?;
            }
            false => write!(out, "<td>{}</td>", Text(text))?,
        }
    }
    Ok(())
}

/// The powers of two from the shortest to the longest wait of all rows.
fn octaves(all: &Histogram) -> RangeInclusive<u32> {
    let octaves = || all.octaves().map(|(from_ns, _)| octave(from_ns));
    octaves().min().unwrap_or(0)..=octaves().max().unwrap_or(0)
}

fn octave(from_ns: u64) -> u32 {
    from_ns.checked_ilog2().map_or(0, |power| power + 1)
}

/// How a row's waits are spread, from the shortest of all rows on the left to the longest on the right.
fn spread(waits: &Histogram, octaves: &RangeInclusive<u32>, out: &mut dyn Write) -> io::Result<()> {
    let most = waits.octaves().map(|(_, count)| count).max().unwrap_or(0);
    let width = 6 * (octaves.end() - octaves.start() + 1);
    write!(
        out,
        "<svg class=\"spread\" width=\"{width}\" height=\"24\" role=\"img\" aria-label=\"spread\">"
    )?;
    for (from_ns, count) in waits.octaves() {
        let x = 6 * octave(from_ns).saturating_sub(*octaves.start());
        // The smallest part is still seen.
        let height = (22.0 * count as f64 / most.max(1) as f64).max(1.0);
        let (y, to_ns) = (24.0 - height, from_ns.saturating_mul(2).max(1));
        write!(
            out,
            "<g><title>{} to {}: {}</title><rect x=\"{x}\" y=\"0\" width=\"6\" height=\"24\" class=\"hover\"/>\
             <rect x=\"{x}\" y=\"{y:.1}\" width=\"5\" height=\"{height:.1}\"/></g>",
            scaled(from_ns),
            scaled(to_ns),
            grouped(count),
        )?;
    }
    write!(out, "</svg>")
}

/// Who waited longest, when, and from where; of rows by stack, their stack.
fn longest(row: &Row, summary: &Summary<'_>, out: &mut dyn Write) -> io::Result<()> {
    let own = stack_of(&row.key);
    let Some(Witness { ts_ns, tid, comm, cpu, context, stack, holder }) = &row.stats.witness else {
        return stack_list(own, summary, out);
    };
    let task = task_text(*tid, comm.as_ref(), *context);
    let when = Seconds(*ts_ns);
    write!(out, "<details><summary>{}</summary><p>at {when} on CPU {}", Text(task), cpu.0)?;
    if let Some(holder) = holder {
        let task = task_text(holder.tid, holder.comm.as_ref(), Context::Task);
        write!(out, ", waited for {} ({})", Text(task), holder.evidence.name())?;
    }
    write!(out, "</p>")?;
    stack_list(own.or(*stack), summary, out)?;
    write!(out, "</details>")
}

fn stack_list(
    stack: Option<StackId>,
    summary: &Summary<'_>,
    out: &mut dyn Write,
) -> io::Result<()> {
    let Some(frames) = stack.and_then(|stack| summary.stacks.frames(stack)) else { return Ok(()) };
    write!(out, "<ol class=\"stack\">")?;
    for &frame in frames.iter() {
        write!(out, "<li>{}</li>", Text(caller_text(Some(frame), summary.symbols)))?;
    }
    write!(out, "</ol>")
}
