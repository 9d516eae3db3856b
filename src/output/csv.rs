//! The report as CSV that any reader of it takes: a header of column names, cells quoted where
//! they must be (RFC 4180), lines that end in a line feed.
//!
//! There is no room for comments: what there is to say about the data goes elsewhere.

use super::Summary;
use super::escape::cell;
use super::keys::{KeyValue, columns, values};
use super::machine::figures;
use crate::report::RowKey;
use csv::{ErrorKind, Writer};
use std::io::{self, Write};

/// The rows: their keys, the columns asked for, and whether they hold what found no room.
///
/// # Errors
///
/// Those of `out`.
pub fn write(summary: &Summary<'_>, out: &mut dyn Write) -> io::Result<()> {
    let keys = columns(summary.by);
    let mut csv = Writer::from_writer(out);
    let of_keys = keys.iter().map(|column| column.id);
    let of_figures = summary.columns.iter().map(|column| column.id);
    csv.write_record(of_keys.chain(of_figures).chain(["overflow"])).map_err(of_out)?;
    for row in summary.rows {
        let identity = values(&row.key, &keys, summary);
        let identity = identity.iter().map(text);
        let figures = figures(summary, &row.stats);
        let overflow = matches!(row.key, RowKey::Overflow(_)).to_string();
        csv.write_record(identity.chain(figures).chain([overflow])).map_err(of_out)?;
    }
    csv.flush()
}

/// A cell; nothing for what is not known.
fn text(value: &KeyValue) -> String {
    match value {
        KeyValue::Number(number) => number.to_string(),
        KeyValue::Address(address) => format!("{address:#x}"),
        KeyValue::Text(text) => cell(text.as_bytes(), "").into_owned(),
        KeyValue::Name(comm) => cell(comm.as_bytes(), "").into_owned(),
        KeyValue::Cgroup(path) => cell(path, "").into_owned(),
        KeyValue::Unknown => String::new(),
    }
}

/// The writer's own error, so that a closed pipe is told as such.
fn of_out(error: csv::Error) -> io::Error {
    match error.into_kind() {
        ErrorKind::Io(error) => error,
        other => io::Error::other(format!("{other:?}")),
    }
}

#[cfg(test)]
mod tests;
