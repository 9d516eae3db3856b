//! The figures of one run's rows.

use crate::report::column::share;
use crate::report::{COLUMNS, Column, RowStats, SPLIT_FIELDS};
use std::collections::BTreeMap;

/// A row's value in each column; none where it is not known.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Figures([Option<u64>; COLUMNS.len()]);

impl Figures {
    /// Those that `value` tells.
    pub fn new(value: impl Fn(&Column) -> Option<u64>) -> Figures {
        let mut figures = Figures::default();
        for (place, column) in figures.0.iter_mut().zip(&COLUMNS) {
            *place = if column.is_number() { value(column) } else { None };
        }
        figures
    }

    /// Those of a row. `is_split`: it is known where the time went.
    pub fn of(stats: &RowStats, totals: &RowStats, is_split: bool) -> Figures {
        Figures::new(|column| {
            let is_known = is_split || !SPLIT_FIELDS.contains(&column.id);
            is_known.then(|| (column.value)(stats, totals))
        })
    }

    /// The value of a column.
    pub fn get(&self, column: &Column) -> Option<u64> {
        self.find(column.id)
    }

    fn find(&self, id: &str) -> Option<u64> {
        let place = COLUMNS.iter().position(|column| column.id == id)?;
        self.0.get(place).copied().flatten()
    }

    /// Time waited until the lock was there, in ns.
    pub fn wait_total_ns(&self) -> u64 {
        self.find("wait_total").unwrap_or(0)
    }

    fn contended(&self) -> u64 {
        self.find("contended").unwrap_or(0)
    }

    /// With another row's waits. Quantiles cannot be added.
    fn merge(&mut self, other: &Figures) {
        let (ours, theirs) = (self.contended(), other.contended());
        for (place, column) in COLUMNS.iter().enumerate() {
            let (Some(value), Some(more)) = (self.0.get_mut(place), other.0.get(place)) else {
                continue;
            };
            *value = match column.id {
                _ if column.is_sum() => value.zip(*more).map(|(a, b)| a.saturating_add(b)),
                _ if theirs == 0 => *value,
                _ if ours == 0 => *more,
                "wait_max" => value.zip(*more).map(|(a, b)| a.max(b)),
                "wait_min" => value.zip(*more).map(|(a, b)| a.min(b)),
                _ => None,
            };
        }
        self.set("avg_wait", self.wait_total_ns().checked_div(self.contended()).unwrap_or(0));
    }

    fn set(&mut self, id: &str, value: u64) {
        let place = COLUMNS.iter().position(|column| column.id == id);
        if let Some(place) = place.and_then(|place| self.0.get_mut(place)) {
            *place = Some(value);
        }
    }
}

/// A table of one run.
#[derive(Debug, Clone)]
pub struct RunTable<K> {
    rows: BTreeMap<K, Figures>,
    /// All rows added up.
    pub totals: Figures,
    /// Whether every row of the run is here.
    pub is_whole: bool,
}

impl<K: Ord> RunTable<K> {
    /// A table without rows.
    pub fn new(totals: Figures) -> RunTable<K> {
        RunTable { rows: BTreeMap::new(), totals, is_whole: true }
    }

    /// Another run's table, in which nothing was.
    pub fn nothing_like(other: &RunTable<K>) -> RunTable<K> {
        RunTable::new(Figures::new(|column| other.totals.get(column).map(|_| 0)))
    }

    /// What the rows stand for.
    pub fn keys(&self) -> impl Iterator<Item = &K> {
        self.rows.keys()
    }

    /// Adds a row; to the one of the same key, if there is one.
    pub fn add(&mut self, key: K, figures: &Figures) {
        self.rows
            .entry(key)
            .and_modify(|row| row.merge(figures))
            .or_insert_with(|| figures.clone());
    }

    /// The sum of a column over the rows that are here.
    pub fn sum(&self, column: &Column) -> u64 {
        let values = self.rows.values().filter_map(|row| row.get(column));
        values.fold(0, u64::saturating_add)
    }

    /// The rows, with their part of all.
    pub(super) fn into_rows(self) -> impl Iterator<Item = (K, Figures)> {
        let all_ns = self.totals.wait_total_ns();
        self.rows.into_iter().map(move |(key, mut row)| {
            row.set("share", share(row.wait_total_ns(), all_ns));
            (key, row)
        })
    }

    /// The figures of a row that is not here: nothing where all are here, else not known.
    pub(super) fn without(&self) -> Figures {
        Figures::new(|column| {
            let is_nothing = column.is_sum() || column.id == "share";
            self.totals.get(column).filter(|_| self.is_whole && is_nothing).map(|_| 0)
        })
    }
}
