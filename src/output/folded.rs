//! The report as folded stacks, which flame graphs are made of: a line for each stack, its frames from
//! the outermost on with semicolons between them, a blank, and what it weighs.

use super::Summary;
use super::escape::frame;
use super::keys::{KeyValue, OVERFLOW, columns, values};
use crate::event::StackId;
use crate::report::{By, Column, Part, Row, RowKey, Table};
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::io::{self, Write};

/// The rows of all tables, each with its value of `weight`, a column that adds up. What the rows are told
/// apart by are the frames, in that order. Chains are left out where they are a further table: their waits
/// are those of locks once more.
///
/// # Errors
///
/// Those of `out`.
pub fn write(summary: &Summary<'_>, weight: &Column, out: &mut dyn Write) -> io::Result<()> {
    let stacks = stacks(summary, weight);
    stacks.iter().try_for_each(|(stack, weight)| writeln!(out, "{stack} {weight}"))
}

/// The stacks that weigh anything, in the order of their bytes.
pub(super) fn stacks(summary: &Summary<'_>, weight: &Column) -> BTreeMap<String, u64> {
    let mut tables = summary.tables();
    let first = tables.next();
    let further = tables.filter(|summary| summary.table != Table::Chains);
    let tables: Vec<Summary<'_>> = first.into_iter().chain(further).collect();
    let is_named = tables.len() > 1;
    let mut stacks: BTreeMap<String, u64> = BTreeMap::new();
    for table in &tables {
        for row in table.rows {
            let mut frames: Vec<String> = Vec::new();
            if is_named {
                frames.push(table.table.name().to_owned());
            }
            frames.extend(frames_of(row, table));
            let weight = (weight.value)(&row.stats, table.totals);
            if weight > 0 {
                let sum = stacks.entry(frames.join(";")).or_default();
                *sum = sum.saturating_add(weight);
            }
        }
    }
    stacks
}

fn frames_of(row: &Row, summary: &Summary<'_>) -> Vec<String> {
    let columns = columns(summary);
    let values = values(&row.key, &columns, summary);
    let value = |id: &str| {
        let place = columns.iter().position(|column| column.id == id);
        place.and_then(|place| values.get(place)).and_then(KeyValue::bytes)
    };
    if matches!(row.key, RowKey::Overflow(..)) {
        let kind = value("type").map(|kind| frame(&kind).into_owned());
        return [OVERFLOW.to_owned()].into_iter().chain(kind).collect();
    }
    let mut frames = Vec::new();
    for (by, part) in summary.by.iter().zip(row.key.parts()) {
        match *part {
            Part::Stack(stack, _) => frames.extend(functions(stack, summary)),
            Part::Chain(Some(chain)) => {
                let links: Vec<_> = summary.chains.links(chain).collect();
                let names = links.iter().rev().map(|link| link.comm.as_ref());
                frames.extend(names.map(|comm| known(comm.map(|comm| comm.as_bytes().into()))));
            }
            _ => frames.extend(frames_of_key(*by, value)),
        }
    }
    frames
}

/// The frames of one key: a lock without a symbol of its own is a frame within that of its name.
fn frames_of_key<'v>(by: By, value: impl Fn(&str) -> Option<Cow<'v, [u8]>>) -> Vec<String> {
    let one = |id: &str| vec![known(value(id))];
    let task = |name: &str, id: &str| match (value(name), value(id)) {
        (name, Some(id)) => {
            let name = name.unwrap_or_else(|| b"?".into());
            vec![known(Some([&*name, b"-", &*id].concat().into()))]
        }
        (name, None) => vec![known(name)],
    };
    match by {
        By::Lock => {
            let process = value("pid").map(|pid| [b"process-", &*pid].concat().into());
            let by = value("lock_name_by");
            let mark: &[u8] = if by.as_deref() == Some(b"rule") { b"~" } else { b"" };
            let name = value("lock_name").map(|name| [mark, &*name].concat().into());
            let address = value("lock").filter(|_| by.as_deref() != Some(b"symbol"));
            [process, name, address].into_iter().flatten().map(|text| known(Some(text))).collect()
        }
        By::Task => task("comm", "tid"),
        By::Process => task("process", "pid"),
        By::Owner => task("owner", "owner_tid"),
        By::Cpu => vec![known(value("cpu").map(|cpu| [b"cpu-", &*cpu].concat().into()))],
        By::Caller | By::Stack => one("caller"),
        By::Comm => one("comm"),
        By::Cgroup => one("cgroup"),
        By::Type => one("type"),
        By::Context => one("context"),
        By::Chain => one("chain"),
        By::Reason => one("reason"),
    }
}

fn known(name: Option<Cow<'_, [u8]>>) -> String {
    name.map_or_else(|| "-".to_owned(), |name| frame(&name).into_owned())
}

/// A stack's functions, the outermost first. Where in a function the next one was called is left out, so
/// that calls from several places are one frame.
pub(super) fn functions(stack: Option<StackId>, summary: &Summary<'_>) -> Vec<String> {
    let frames = stack.and_then(|stack| summary.stacks.frames(stack));
    let Some(frames) = frames else { return vec![known(None)] };
    let function = |&address: &u64| match summary.symbols.resolve(address) {
        Some(symbol) => {
            let module = symbol.module.map(|module| format!(" [{module}]")).unwrap_or_default();
            known(Some(format!("{}{module}", symbol.name).into_bytes().into()))
        }
        None => format!("{address:#x}"),
    };
    frames.iter().rev().map(function).collect()
}

#[cfg(test)]
mod tests;
