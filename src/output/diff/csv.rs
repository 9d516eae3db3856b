//! Two runs side by side as CSV: keys, which run had the row, and of each column both figures and what has become
//! of them. What is not known is empty.

use super::key::key_columns;
use super::{Diff, DiffTable, SharedKey, presence_name};
use crate::output::csv::of_out;
use crate::output::escape::cell;
use crate::report::{Column, ComparedRow, Unit};
use csv::Writer;
use std::io::{self, Write};

/// A header, then the rows of all tables.
///
/// # Errors
///
/// Those of `out`.
pub fn write(diff: &Diff<'_>, out: &mut dyn Write) -> io::Result<()> {
    let mut keys: Vec<&str> = Vec::new();
    let of_tables = diff.tables.iter().flat_map(|table| key_columns(table.table, &table.by));
    for column in of_tables {
        if !keys.contains(&column.id) {
            keys.push(column.id);
        }
    }
    let mut csv = Writer::from_writer(out);
    let titles = diff.columns.iter().flat_map(|column| {
        let parts = ["a", "b", "change", "percent"].map(|part| format!("{}_{part}", column.id));
        let rates = ["a_per_s", "b_per_s", "percent_per_s"];
        let rates = rates.map(|part| format!("{}_{part}", column.id));
        parts.into_iter().chain(rates.into_iter().filter(|_| column.is_sum()))
    });
    let of_keys = keys.iter().map(|&id| id.to_owned());
    let header = ["table".to_owned()].into_iter().chain(of_keys);
    let header = header.chain(["only".to_owned()]).chain(titles);
    let header = header.chain(["overflow", "over"].map(str::to_owned));
    csv.write_record(header).map_err(of_out)?;
    for table in diff.tables {
        for row in diff.shown(table) {
            csv.write_record(cells(diff, table, row, &keys)).map_err(of_out)?;
        }
    }
    csv.flush()
}

fn cells(
    diff: &Diff<'_>,
    table: &DiffTable,
    row: &ComparedRow<SharedKey>,
    keys: &[&str],
) -> Vec<String> {
    let own = key_columns(table.table, &table.by);
    let mut cells = vec![table.table.name().to_owned()];
    for id in keys {
        let place = own.iter().position(|column| column.id == *id);
        let value = place.and_then(|place| row.key.values.get(place)?.as_ref());
        cells.push(value.map_or_else(String::new, |text| cell(text, "").into_owned()));
    }
    cells.push(presence_name(row.presence).unwrap_or_default().to_owned());
    for column in diff.columns {
        figures(diff, column, row, &mut cells);
    }
    cells.extend([row.key.is_overflow.to_string(), row.is_over.to_string()]);
    cells
}

fn figures(
    diff: &Diff<'_>,
    column: &Column,
    row: &ComparedRow<SharedKey>,
    cells: &mut Vec<String>,
) {
    let (change, lengths) = (row.change(column), diff.measure.lengths);
    let number = |value: i128| match column.unit {
        Unit::PerMille => format!("{:.1}", value as f64 / 10.0),
        _ => value.to_string(),
    };
    let text = |value: Option<i128>| value.map_or_else(String::new, number);
    let decimal =
        |value: Option<f64>| value.map_or_else(String::new, |value| format!("{value:.1}"));
    cells.push(text(change.a.map(i128::from)));
    cells.push(text(change.b.map(i128::from)));
    cells.push(text(change.difference().map(i128::from)));
    cells.push(decimal(change.percent()));
    if column.is_sum() {
        let rates = change.rates(lengths);
        cells.push(decimal(rates.map(|(a, _)| a)));
        cells.push(decimal(rates.map(|(_, b)| b)));
        cells.push(decimal(change.rate_percent(lengths)));
    }
}
