//! The report as a flame graph, an SVG of its own: the wider a frame, the longer was waited in it.

use super::escape::frame;
use super::{ReportInfo, Summary, folded};
use crate::report::{Column, Unit};
use inferno::flamegraph::color::{BasicPalette, Palette};
use inferno::flamegraph::{Options, TextTruncateDirection, from_lines};
use std::io::{self, Write};

/// What there is instead of a graph of no waits.
const EMPTY: &str = "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"400\" height=\"60\">\
    <text x=\"20\" y=\"35\" font-family=\"monospace\">no waits</text></svg>\n";

/// The stacks of [`folded::write`]. A frame narrower than a ten-thousandth of all is left out.
///
/// # Errors
///
/// Those of `out`.
pub fn write(
    info: &ReportInfo<'_>,
    summary: &Summary<'_>,
    weight: &Column,
    out: &mut dyn Write,
) -> io::Result<()> {
    let stacks = folded::stacks(summary, weight);
    if stacks.is_empty() {
        return out.write_all(EMPTY.as_bytes());
    }
    let lines: Vec<String> =
        stacks.iter().map(|(stack, weight)| format!("{stack} {weight}")).collect();
    let mut options = Options::default();
    options.title = format!("ftlock: {}", weight.title);
    options.subtitle = subtitle(info);
    options.count_name = if weight.unit == Unit::Nanoseconds { "ns" } else { "waits" }.to_owned();
    options.name_type = String::new();
    options.colors = Palette::Basic(BasicPalette::Aqua);
    options.text_truncate_direction = TextTruncateDirection::Right;
    // The same frame has the same colour in every graph.
    options.deterministic = true;
    from_lines(&mut options, lines.iter().map(String::as_str), out)
}

/// What was traced, and where.
fn subtitle(info: &ReportInfo<'_>) -> Option<String> {
    let command: Vec<_> = info.run.command.iter().map(|word| frame(word)).collect();
    let command = (!command.is_empty()).then(|| command.join(" "));
    let kernel = frame(info.run.kernel.as_bytes());
    let host = info.host.map(|host| format!("on {}, {kernel}", frame(host.as_bytes())));
    let parts: Vec<String> = command.into_iter().chain(host).collect();
    (!parts.is_empty()).then(|| parts.join(" "))
}

#[cfg(test)]
mod tests;
