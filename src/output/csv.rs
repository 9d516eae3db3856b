//! The report as CSV that any reader of it takes: a header of column names, cells quoted where
//! they must be (RFC 4180), lines that end in a line feed.
//!
//! There is no room for comments: what there is to say about the data goes elsewhere.

use super::Summary;
use super::escape::cell;
use super::keys::{KeyColumn, KeyValue, columns, values};
use super::machine::{Figure, figures};
use crate::report::{Column, RowKey};
use csv::{ErrorKind, Writer};
use std::io::{self, Write};

/// The rows of all tables: the table if there are several, their keys, the columns of any of them, and
/// whether they hold what found no room. A key or a column that a table does not have is empty.
///
/// # Errors
///
/// Those of `out`.
pub fn write(summary: &Summary<'_>, out: &mut dyn Write) -> io::Result<()> {
    let mut keys: Vec<KeyColumn> = Vec::new();
    for column in summary.tables().flat_map(|table| columns(&table)) {
        if !keys.iter().any(|known| known.id == column.id) {
            keys.push(column);
        }
    }
    let mut of_figures: Vec<&Column> = Vec::new();
    for column in summary.tables().flat_map(|table| table.columns) {
        if !of_figures.iter().any(|known| known.id == column.id) {
            of_figures.push(column);
        }
    }
    // One table needs no name.
    let name = (!summary.further.is_empty()).then_some("table");
    let mut csv = Writer::from_writer(out);
    let of_keys = keys.iter().map(|column| column.id);
    let titles = of_figures.iter().map(|column| column.id);
    let header = name.into_iter().chain(of_keys).chain(titles).chain(["overflow"]);
    csv.write_record(header).map_err(of_out)?;
    for table in summary.tables() {
        for row in table.rows {
            let name = name.map(|_| table.table.name().to_owned());
            let identity = values(&row.key, &keys, &table);
            let cells = name.into_iter().chain(identity.iter().map(text));
            let own: Vec<(&str, Figure)> = table
                .columns
                .iter()
                .map(|column| column.id)
                .zip(figures(&table, &row.stats))
                .collect();
            let of_column = |column: &&Column| {
                let found = own.iter().find(|(id, _)| *id == column.id);
                found.map_or_else(String::new, |(_, value)| figure(value))
            };
            let cells = cells.chain(of_figures.iter().map(of_column));
            let overflow = matches!(row.key, RowKey::Overflow(..)).to_string();
            csv.write_record(cells.chain([overflow])).map_err(of_out)?;
        }
    }
    csv.flush()
}

fn figure(figure: &Figure) -> String {
    match figure {
        Figure::Number(number) => number.to_string(),
        Figure::Percent(percent) => percent.clone(),
        Figure::Task(name) => cell(name, "").into_owned(),
        Figure::Code(code) => cell(code.as_bytes(), "").into_owned(),
        Figure::Unknown => String::new(),
    }
}

/// A cell; nothing for what is not known.
fn text(value: &KeyValue) -> String {
    match value {
        KeyValue::Number(number) => number.to_string(),
        KeyValue::Address(address) => format!("{address:#x}"),
        KeyValue::Flag(is) => is.to_string(),
        KeyValue::Text(text) => cell(text.as_bytes(), "").into_owned(),
        KeyValue::Name(comm) => cell(comm.as_bytes(), "").into_owned(),
        KeyValue::Cgroup(path) => cell(path, "").into_owned(),
        KeyValue::Bytes(text) => cell(text, "").into_owned(),
        KeyValue::Unknown => String::new(),
    }
}

/// The writer's own error, so that a closed pipe is told as such.
pub(super) fn of_out(error: csv::Error) -> io::Error {
    match error.into_kind() {
        ErrorKind::Io(error) => error,
        other => io::Error::other(format!("{other:?}")),
    }
}

#[cfg(test)]
mod tests;
