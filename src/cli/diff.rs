//! `ftlock diff`: one saved run held against another.

use std::fs::File;
use std::io::{self, Write};
use std::path::Path;

use anyhow::Context;
use clap::Parser;

use crate::output::diff::table::DiffView;
use crate::output::diff::{Diff, DiffTable, Places, SharedTable, csv, json, table};
use crate::report::{Basis, By, Lengths, Measure, RunTable, Table, compare, notes};

use super::arg_values::DiffFormat;
use super::common_args::CommonArgs;
use super::diff_args::{DiffArgs, DiffOutputArgs};
use super::diff_input::{Input, RunOf};
use super::exit::{DONE, FAILED, GREW, Usage};
use super::notes::Notes;
use super::report::{Extent, View};
use super::terminal::diff_view;

/// The options of `report` as they are where none is given.
#[derive(Debug, Parser)]
struct Defaults {
    #[command(flatten)]
    common: CommonArgs,
}

/// Runs `ftlock diff`; returns the exit status.
pub(super) fn run(args: DiffArgs) -> anyhow::Result<u8> {
    let (a, b) = (Input::open(&args.a)?, Input::open(&args.b)?);
    let by = keys(&args, [&a, &b])?;
    let columns = args.columns();
    let places = match a.kernel() == b.kernel() {
        true => Places::Exact,
        false => Places::Functions,
    };
    let DiffArgs { fail_over, rate, targets, filters, rows, output, .. } = args;
    let mut common = Defaults::parse_from(["ftlock"]).common;
    common.filters = filters;
    common.rows.by = by;
    common.rows.map_nr_entries = rows.map_nr_entries;
    common.output.quiet = output.quiet;
    let view = View { targets: &targets, common: &common };
    // One behind the other: of the first one nothing but its rows is left by then.
    let (mut a, mut b) = (a.run(view, places)?, b.run(view, places)?);
    let measure = Measure {
        column: rows.key,
        basis: if rate { Basis::PerSecond } else { Basis::Totals },
        lengths: Lengths { a_ns: a.facts.duration_ns, b_ns: b.facts.duration_ns },
    };
    let mut notes = all_notes(&a, &b, places);
    let pairs = pairs(&mut a, &mut b, &mut notes);
    let tables = pairs.into_iter().map(|(a, b)| compared(a, b, &measure, fail_over));
    let tables: Vec<DiffTable> = tables.collect();
    let diff = Diff {
        a: &a.facts,
        b: &b.facts,
        tables: &tables,
        columns: &columns,
        measure,
        entries: rows.entries,
        notes: &notes,
        limit_percent: fail_over,
    };
    print(&diff, &output)?;
    Ok(match diff.over()[..] {
        _ if [a.extent, b.extent].contains(&Extent::Part) => FAILED,
        [] => DONE,
        _ => GREW,
    })
}

/// What rows are told apart by: as asked for, or as it is in the reports.
fn keys(args: &DiffArgs, inputs: [&Input; 2]) -> anyhow::Result<Vec<By>> {
    let mut keys = args.rows.by.clone();
    for input in inputs {
        let Some(by) = input.by()? else { continue };
        let path = input.path().display();
        if let Some(option) = args.needs_traces() {
            let why = "is a report, and has the rows that it has";
            return Err(Usage(format!("{option} needs the trace: {path} {why}")).into());
        }
        if keys.is_empty() {
            keys.clone_from(&by);
        }
        if keys != by {
            let names = |by: &[By]| by.iter().map(|by| by.name()).collect::<Vec<_>>().join(",");
            let (is, wanted) = (names(&by), names(&keys));
            return Err(Usage(format!("{path} is a report by {is}, not by {wanted}")).into());
        }
    }
    Ok(keys)
}

/// Everything that has to be kept in mind.
fn all_notes(a: &RunOf, b: &RunOf, places: Places) -> Vec<String> {
    let mut all = notes(&a.facts, &b.facts);
    if places == Places::Functions {
        all.push("callers are told apart by function only, since the kernels differ".to_owned());
    }
    let runs = [("A", a), ("B", b)];
    for (name, run) in runs {
        for table in run.tables.iter().filter(|table| !table.rows.is_whole) {
            let title = table.table.title();
            all.push(format!(
                "{name} has not every row of its {title}: others are not known there"
            ));
        }
    }
    let lacks = |run: &RunOf| run.tables.iter().any(|table| table.lacks("lock_name"));
    if runs.into_iter().any(|(_, run)| lacks(run)) {
        let why = "addresses mean nothing in another run";
        all.push(format!("locks without a name are one row for each kind: {why}"));
    }
    all
}

/// The tables of both runs. One that only one of them has is held against nothing if it is known that
/// the other has no such waits; else it is left out.
fn pairs(a: &mut RunOf, b: &mut RunOf, notes: &mut Vec<String>) -> Vec<(SharedTable, SharedTable)> {
    let is_alike = a.facts.traced.is_some() && a.facts.traced == b.facts.traced;
    let mut pairs = Vec::new();
    for table in Table::ALL {
        let of = |run: &mut RunOf| {
            let place = run.tables.iter().position(|known| known.table == table)?;
            Some(run.tables.swap_remove(place))
        };
        let nothing_like = |table: &SharedTable| SharedTable {
            table: table.table,
            by: table.by.clone(),
            rows: RunTable::nothing_like(&table.rows),
        };
        match (of(a), of(b)) {
            (Some(a), Some(b)) => pairs.push((a, b)),
            (Some(a), None) if is_alike => pairs.push((a.clone(), nothing_like(&a))),
            (None, Some(b)) if is_alike => pairs.push((nothing_like(&b), b)),
            (None, None) => {}
            (of_a, _) => {
                let (name, title) = (if of_a.is_some() { "A" } else { "B" }, table.title());
                notes.push(format!("only {name} has a table of {title}: it is left out"));
            }
        }
    }
    pairs
}

/// Waits for something to do may grow, and those in chains are in another table already.
fn compared(a: SharedTable, b: SharedTable, measure: &Measure, limit: Option<f64>) -> DiffTable {
    let SharedTable { table, by, rows } = b;
    let mut rows = compare(a.rows, rows, measure);
    if let (Some(limit), false) = (limit, table.is_idle() || table == Table::Chains) {
        rows.mark_over(measure, limit);
    }
    DiffTable { table, by, rows }
}

fn print(diff: &Diff<'_>, args: &DiffOutputArgs) -> anyhow::Result<()> {
    let view = match args.output {
        Some(_) => DiffView::default(),
        None => diff_view(&io::stdout(), args.color),
    };
    let view = DiffView { is_bare: args.quiet, all_changes: args.verbose, ..view };
    let mut text = Vec::new();
    match args.format {
        DiffFormat::Table => table::write(diff, view, &mut text)?,
        DiffFormat::Csv => csv::write(diff, &mut text)?,
        DiffFormat::Json => json::write(diff, &mut text)?,
    }
    if args.format == DiffFormat::Csv {
        // It has no place for them.
        let mut notes = Notes::new(args.quiet, true);
        diff.notes.iter().for_each(|note| notes.say(note));
        let mut over = Notes::new(false, true);
        diff.over().iter().for_each(|line| over.say(line));
    }
    let (written, place) = match &args.output {
        Some(path) => (to_file(path, &text), path.display().to_string()),
        None => (io::stdout().lock().write_all(&text), "stdout".to_owned()),
    };
    match written {
        // Whoever read it has seen enough.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        written => written.with_context(|| format!("cannot write to {place}")),
    }
}

fn to_file(path: &Path, text: &[u8]) -> io::Result<()> {
    File::create(path)?.write_all(text)
}
