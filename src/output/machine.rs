//! A row's figures as programs read them.

use super::Summary;
use crate::report::{RowStats, Unit};

/// The figure of each column asked for: whole waits, whole ns, percent with one decimal.
pub(super) fn figures(summary: &Summary<'_>, stats: &RowStats) -> impl Iterator<Item = String> {
    summary.columns.iter().map(|column| {
        let value = (column.value)(stats, summary.totals);
        match column.unit {
            Unit::Count | Unit::Nanoseconds => value.to_string(),
            Unit::PerMille => format!("{}.{}", value / 10, value % 10),
        }
    })
}
