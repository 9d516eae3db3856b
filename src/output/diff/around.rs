//! What stands above and below the rows of two runs.

use super::{Diff, DiffTable, percent};
use crate::output::escape::terminal;
use crate::report::{Presence, RunFacts, Unit, scaled};
use std::io::{self, Write};
use std::time::Duration;

/// A run, in one line.
pub(super) fn run(name: &str, run: &RunFacts, out: &mut dyn Write) -> io::Result<()> {
    let command = run.command.join(" ");
    let text = format!(
        "{name}: {}: {} on {} CPUs, kernel {}{}{command}",
        run.file,
        scaled(run.duration_ns),
        run.cpus,
        run.kernel,
        if command.is_empty() { "" } else { ": " },
    );
    writeln!(out, " {}", terminal(text.as_bytes()))
}

/// What there was in a second of each run, where that says more than the sums.
pub(super) fn each_second(
    diff: &Diff<'_>,
    table: &DiffTable,
    out: &mut dyn Write,
) -> io::Result<()> {
    let (column, lengths) = (diff.measure.column, diff.measure.lengths);
    let change = table.rows.totals.change(column);
    let Some((a, b)) = change.rates(lengths).filter(|_| diff.has_rates() && column.is_sum()) else {
        return Ok(());
    };
    let rate = |rate: f64| match column.unit {
        Unit::Nanoseconds => {
            Duration::try_from_secs_f64(rate / 1e9).map_or_else(|_| "-".to_owned(), scaled_duration)
        }
        _ => format!("{rate:.1}"),
    };
    let percent = percent(change.rate_percent(lengths), Presence::Both);
    let title = column.title_in(table.table);
    writeln!(out, "\n  {title} in each second (%/s): A {}, B {}, {percent}", rate(a), rate(b))
}

fn scaled_duration(time: Duration) -> String {
    scaled(u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)).to_string()
}
