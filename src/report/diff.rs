//! Two runs, row by row: what of one table has become more, and what less.
//!
//! `A` is the run before, `B` the one that is held against it. Nothing here knows what a row stands for: whoever
//! calls gives keys that mean the same in both runs.

mod change;
mod facts;
mod figures;
#[cfg(test)]
mod tests;

pub use change::{Change, Lengths};
pub use facts::{RunFacts, notes};
pub use figures::{Figures, RunTable};

use super::Column;
use std::collections::BTreeMap;

/// A row that has less than this part of B's waiting time, in thousandths, fails no comparison: its figures
/// are chance.
const FLOOR_PER_MILLE: u128 = 10;

/// What is looked at, in which order.
#[derive(Debug, Clone, Copy)]
pub struct Measure {
    /// The column that counts.
    pub column: &'static Column,
    /// Whether all of a run counts, or what there was in each second of it.
    pub basis: Basis,
    /// How long the runs were.
    pub lengths: Lengths,
}

/// What is compared of two runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Basis {
    /// All of each.
    Totals,
    /// What each had in a second; of a column that does not add up, such as a quantile, its value.
    PerSecond,
}

/// Which of the runs had a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Presence {
    /// Both, or it is not known.
    Both,
    /// Only B.
    New,
    /// Only A.
    Gone,
}

/// A row of both runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ComparedRow<K> {
    /// What it stands for.
    pub key: K,
    /// Its figures in A.
    pub a: Figures,
    /// Those in B.
    pub b: Figures,
    /// Which of the runs had it.
    pub presence: Presence,
    /// It grew by more than is allowed.
    pub is_over: bool,
}

/// A table of both runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Comparison<K> {
    /// The rows, those that changed most first.
    pub rows: Vec<ComparedRow<K>>,
    /// All rows added up, those not shown included.
    pub totals: ComparedRow<()>,
}

impl<K> ComparedRow<K> {
    /// What has become of one column.
    pub fn change(&self, column: &Column) -> Change {
        Change { a: self.a.get(column), b: self.b.get(column) }
    }
}

impl Measure {
    /// What counts of a row's change.
    fn weigh(&self, change: Change) -> Option<f64> {
        match self.basis {
            Basis::PerSecond if self.column.is_sum() => change.rate_difference(self.lengths),
            _ => change.difference().map(|difference| difference as f64),
        }
    }

    /// Whether that grew by more than so many percent; what was nothing and is something did.
    fn is_over(&self, change: Change, limit_percent: f64) -> bool {
        let percent = match self.basis {
            Basis::PerSecond if self.column.is_sum() => change.rate_percent(self.lengths),
            _ => change.percent(),
        };
        let from_nothing = change.a == Some(0) && change.b.is_some_and(|b| b > 0);
        from_nothing || percent.is_some_and(|percent| percent > limit_percent)
    }
}

/// Puts the rows side by side. A row that one of the runs does not have was nothing there, if that run's table
/// is whole; else it is not known.
pub fn compare<K: Ord>(a: RunTable<K>, b: RunTable<K>, measure: &Measure) -> Comparison<K> {
    let totals = ComparedRow {
        key: (),
        a: a.totals.clone(),
        b: b.totals.clone(),
        presence: Presence::Both,
        is_over: false,
    };
    let (without_a, without_b) = (a.without(), b.without());
    let (a_is_whole, b_is_whole) = (a.is_whole, b.is_whole);
    let mut both: BTreeMap<K, (Option<Figures>, Option<Figures>)> = BTreeMap::new();
    for (key, figures) in a.into_rows() {
        both.entry(key).or_default().0 = Some(figures);
    }
    for (key, figures) in b.into_rows() {
        both.entry(key).or_default().1 = Some(figures);
    }
    let row = |(key, (a, b)): (K, (Option<Figures>, Option<Figures>))| ComparedRow {
        key,
        presence: match (&a, &b) {
            (None, Some(_)) if a_is_whole => Presence::New,
            (Some(_), None) if b_is_whole => Presence::Gone,
            _ => Presence::Both,
        },
        a: a.unwrap_or_else(|| without_a.clone()),
        b: b.unwrap_or_else(|| without_b.clone()),
        is_over: false,
    };
    let mut rows: Vec<ComparedRow<K>> = both.into_iter().map(row).collect();
    sort(&mut rows, measure);
    Comparison { rows, totals }
}

/// By falling change, then by falling value; rows that are equal in both stay in the order of their keys.
fn sort<K>(rows: &mut [ComparedRow<K>], measure: &Measure) {
    let weight = |row: &ComparedRow<K>| {
        let change = row.change(measure.column);
        let moved = measure.weigh(change).map_or(-1.0, f64::abs);
        (moved, change.a.max(change.b))
    };
    rows.sort_by(|one, other| {
        let (one, other) = (weight(one), weight(other));
        other.0.total_cmp(&one.0).then(other.1.cmp(&one.1))
    });
}

impl<K> Comparison<K> {
    /// Marks what grew by more than so many percent: all together, and every row that has at least 1 % of B's
    /// waiting time.
    pub fn mark_over(&mut self, measure: &Measure, limit_percent: f64) {
        let is_over = |change| measure.is_over(change, limit_percent);
        self.totals.is_over = is_over(self.totals.change(measure.column));
        let all_ns = self.totals.b.wait_total_ns();
        for row in &mut self.rows {
            let share = u128::from(row.b.wait_total_ns()) * 1000;
            let counts = share > 0 && share >= u128::from(all_ns) * FLOOR_PER_MILLE;
            row.is_over = counts && is_over(row.change(measure.column));
        }
    }

    /// Whether anything is marked.
    pub fn is_over(&self) -> bool {
        self.totals.is_over || self.rows.iter().any(|row| row.is_over)
    }
}
