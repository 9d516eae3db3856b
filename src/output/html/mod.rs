//! The report as one page that needs nothing else: no network, and no script to be read.
//!
//! What comes from the kernel is text, and goes through `markup::Text` alone. A policy in the page's head
//! forbids all that is not in the page, and every script but its own.

mod flame;
mod markup;
mod palette;
mod rows;
mod timeline;

use self::markup::Text;
use self::palette::Palette;
use super::escape::terminal;
use super::footer;
use super::footer::grouped;
use super::table::{Detail, View};
use super::{ReportInfo, Summary};
use crate::report::{Profile, scaled};
use std::io::{self, Write};

const STYLE: &str = include_str!("../../../assets/report/report.css");
const SCRIPT: &str = include_str!("../../../assets/report/report.js");

/// Of the script, as a browser computes it: SHA-256 in Base64.
const SCRIPT_HASH: &str = "u/HLtd4GoCGtXH5Z0S+wv9AyVHQZV2StTpOua3EW+lY=";

/// The whole page. `profile` is of the same waits as the rows.
///
/// # Errors
///
/// Those of `out`.
pub fn write(
    info: &ReportInfo<'_>,
    summary: &Summary<'_>,
    profile: &Profile,
    detail: Detail,
    out: &mut dyn Write,
) -> io::Result<()> {
    let palette = Palette::new(profile);
    let command: Vec<_> = info.run.command.iter().map(|word| terminal(word)).collect();
    let command = command.join(" ");
    let of = if command.is_empty() { info.host.unwrap_or("locks") } else { &command };
    head(of, out)?;
    writeln!(out, "<header><h1>{}</h1>", Text(of))?;
    facts(info, summary, out)?;
    writeln!(out, "</header><main>")?;
    totals(summary, out)?;
    timeline::write(profile, &palette, info.start_ns, out)?;
    for table in summary.tables() {
        rows::write(&table, out)?;
    }
    flame::write(profile, &palette, summary, out)?;
    let mut notes = Vec::new();
    footer::write(summary, View { detail, ..View::default() }, &mut notes)?;
    let notes = String::from_utf8_lossy(&notes);
    writeln!(
        out,
        "<section id=\"notes\"><h2>About the data</h2><pre>{}</pre></section>",
        Text(notes)
    )?;
    writeln!(out, "</main><script>{SCRIPT}</script></body></html>")
}

fn head(title: &str, out: &mut dyn Write) -> io::Result<()> {
    writeln!(
        out,
        "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; base-uri 'none'; \
         form-action 'none'; style-src 'unsafe-inline'; script-src 'sha256-{SCRIPT_HASH}'\">\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\
         <meta name=\"color-scheme\" content=\"light dark\">\
         <title>{} - ftlock</title><style>{STYLE}</style></head><body>",
        Text(title)
    )
}

/// What was traced, where and when.
fn facts(info: &ReportInfo<'_>, summary: &Summary<'_>, out: &mut dyn Write) -> io::Result<()> {
    let date = info.date.map(|date| humantime::format_rfc3339_seconds(date).to_string());
    let facts = [
        ("host", info.host.map(str::to_owned)),
        ("kernel", Some(info.run.kernel.to_owned())),
        ("CPUs", Some(info.run.cpus.to_string())),
        ("started", date),
        ("lasted", Some(scaled(summary.duration_ns).to_string())),
        ("clock", Some(info.run.clock.to_owned())),
        ("ftlock", Some(env!("CARGO_PKG_VERSION").to_owned())),
    ];
    write!(out, "<dl class=\"facts\">")?;
    for (name, value) in facts {
        if let Some(value) = value {
            write!(out, "<div><dt>{name}</dt><dd>{}</dd></div>", Text(value))?;
        }
    }
    writeln!(out, "</dl>")
}

/// The numbers that tell most.
fn totals(summary: &Summary<'_>, out: &mut dyn Write) -> io::Result<()> {
    let (totals, quality) = (summary.totals, summary.quality);
    let (open, lost) = (summary.open.len() as u64, quality.events_lost());
    // Bad where it is not 0.
    let numbers = [
        ("waits got the lock", grouped(totals.contended), false),
        ("waited in all", scaled(totals.wait_total_ns).to_string(), false),
        ("longest wait", scaled(totals.wait_max_ns).to_string(), false),
        ("half took up to", scaled(totals.quantile_ns(500)).to_string(), false),
        ("99 % took up to", scaled(totals.quantile_ns(990)).to_string(), false),
        ("failed", grouped(totals.failed), false),
        ("still waiting", grouped(open), open > 0),
        ("events lost", grouped(lost), lost > 0),
        ("uncertain", grouped(totals.uncertain), totals.uncertain > 0),
    ];
    write!(out, "<dl class=\"totals\">")?;
    for (name, value, bad) in numbers {
        let class = if bad { " class=\"bad\"" } else { "" };
        write!(out, "<div{class}><dt>{name}</dt><dd>{value}</dd></div>")?;
    }
    writeln!(out, "</dl>")
}

#[cfg(test)]
mod tests;
