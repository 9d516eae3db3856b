//! A row's figures as programs read them.

use super::Summary;
use super::text::caller_text;
use crate::report::{RowStats, Unit};

/// One figure of a row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Figure {
    /// A whole number: waits, ns, thousandths.
    Number(u64),
    /// Percent with one decimal.
    Percent(String),
    /// The name of a task, by its bytes, and its id.
    Task(Vec<u8>),
    /// A place in the kernel's code.
    Code(String),
    /// What is not known.
    Unknown,
}

/// The figure of each column asked for.
pub(super) fn figures(summary: &Summary<'_>, stats: &RowStats) -> impl Iterator<Item = Figure> {
    let holder = stats.witness.as_ref().and_then(|witness| witness.holder);
    summary.columns.iter().map(move |column| {
        let value = (column.value)(stats, summary.totals);
        match column.unit {
            Unit::Count | Unit::Nanoseconds => Figure::Number(value),
            Unit::PerMille => Figure::Percent(format!("{}.{}", value / 10, value % 10)),
            Unit::Holder => holder.map_or(Figure::Unknown, |holder| {
                let name = holder.comm.as_ref().map_or(&b"?"[..], |comm| comm.as_bytes());
                Figure::Task([name, format!("-{}", holder.tid).as_bytes()].concat())
            }),
            Unit::HolderCaller => match holder.and_then(|holder| holder.caller) {
                Some(caller) => Figure::Code(caller_text(Some(caller), summary.symbols)),
                None => Figure::Unknown,
            },
        }
    })
}
