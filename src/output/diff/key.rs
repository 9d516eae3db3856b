//! What a row stands for, in words that mean the same in another run.
//!
//! Ids of tasks and addresses are of one boot only: rows go by names, and those that differ in nothing else are
//! one row.

use crate::output::escape::terminal;
use crate::output::keys::{KeyColumn, OVERFLOW, columns_by};
use crate::report::{By, Table};

/// What means nothing in another run, or says how a name is known.
const OF_ONE_RUN: [&str; 6] = ["tid", "pid", "owner_tid", "lock", "shared", "lock_name_by"];

/// What names places in the kernel's code.
const CODE: [&str; 3] = ["caller", "reason", "chain"];

/// How places in the kernel's code are told apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Places {
    /// By function and place in it: the runs' kernels are the same.
    Exact,
    /// By function alone.
    Functions,
}

/// What a row stands for.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct SharedKey {
    /// It holds what found no room.
    pub is_overflow: bool,
    /// A value for each of [`key_ids`], in their order; none where it is not known.
    pub(super) values: Vec<Option<Vec<u8>>>,
    /// The names of the frames where rows are stacks, innermost first.
    pub(super) stack: Option<Vec<Vec<u8>>>,
}

/// The columns of such keys.
pub(super) fn key_columns(table: Table, by: &[By]) -> Vec<KeyColumn> {
    let mut columns = columns_by(table, by);
    columns.retain(|column| !OF_ONE_RUN.contains(&column.id));
    columns
}

/// The names of the columns that tell rows apart: as in the JSON report, less what means nothing in another run.
pub fn key_ids(table: Table, by: &[By]) -> Vec<&'static str> {
    key_columns(table, by).iter().map(|column| column.id).collect()
}

impl SharedKey {
    /// A key of what `value` tells of each column.
    pub fn new(
        ids: &[&str],
        places: Places,
        is_overflow: bool,
        value: impl Fn(&str) -> Option<Vec<u8>>,
        stack: Option<Vec<Vec<u8>>>,
    ) -> SharedKey {
        let values = ids.iter().map(|&id| match value(id) {
            Some(text) if CODE.contains(&id) => code(text, places),
            text => text,
        });
        let frame = |frame| code(frame, places).unwrap_or_else(|| b"?".to_vec());
        let stack = stack.map(|frames| frames.into_iter().map(frame).collect());
        SharedKey { is_overflow, values: values.collect(), stack }
    }

    /// For people, on one line.
    pub(super) fn text(&self) -> String {
        let mut words = self.texts();
        if self.is_overflow {
            words.push(OVERFLOW.to_owned());
        }
        words.join(" ")
    }

    /// Each value for people.
    pub(super) fn texts(&self) -> Vec<String> {
        let text = |value: &Option<Vec<u8>>| match value {
            Some(text) => terminal(text).into_owned(),
            None => "-".to_owned(),
        };
        self.values.iter().map(text).collect()
    }
}

/// A place in the kernel's code. One without a name has an address, which means nothing in another run.
fn code(text: Vec<u8>, places: Places) -> Option<Vec<u8>> {
    match places {
        _ if text.starts_with(b"0x") => None,
        Places::Exact => Some(text),
        Places::Functions => Some(without_offsets(&text)),
    }
}

/// A text without every `+0x12`.
fn without_offsets(mut text: &[u8]) -> Vec<u8> {
    const SIGN: &[u8] = b"+0x";
    let mut kept = Vec::new();
    while let Some(place) = text.windows(SIGN.len()).position(|window| window == SIGN) {
        let (before, rest) = text.split_at(place);
        let digits = rest.iter().skip(SIGN.len()).take_while(|byte| byte.is_ascii_hexdigit());
        let (offset, rest) = rest.split_at(SIGN.len() + digits.count());
        kept.extend(before);
        if offset.len() == SIGN.len() {
            kept.extend(offset);
        }
        text = rest;
    }
    kept.extend(text);
    kept
}

#[cfg(test)]
mod tests {
    use super::{Places, SharedKey, key_ids, without_offsets};
    use crate::report::{By, Table};

    #[test]
    fn places_in_functions_go_and_nothing_else() {
        let table: [(&[u8], &[u8]); 6] = [
            (b"try_to_wake_up+0x218", b"try_to_wake_up"),
            (b"nfs_lookup+0x10 [nfs]", b"nfs_lookup [nfs]"),
            (b"a (mutex f+0x1f) <- b (rwsem:W g+0x2)", b"a (mutex f) <- b (rwsem:W g)"),
            (b"page fault", b"page fault"),
            (b"a+0xz", b"a+0xz"),
            (b"+0x", b"+0x"),
        ];
        for (text, expected) in table {
            assert_eq!(without_offsets(text), expected, "{}", text.escape_ascii());
        }
    }

    #[test]
    fn what_means_nothing_in_another_run_tells_no_rows_apart() {
        let table: [(Table, By, &[&str]); 6] = [
            (Table::Locks, By::Caller, &["type", "caller"]),
            (Table::Locks, By::Lock, &["lock_name", "type"]),
            (Table::Futexes, By::Lock, &["lock_name", "type"]),
            (Table::Locks, By::Task, &["comm"]),
            (Table::Locks, By::Process, &["process"]),
            (Table::Locks, By::Owner, &["owner"]),
        ];
        for (table, by, ids) in table {
            assert_eq!(key_ids(table, &[by]), ids, "{by:?}");
        }
    }

    #[test]
    fn an_address_is_no_name() {
        let key = |id: &'static str, text: &str| {
            let text = text.as_bytes().to_vec();
            SharedKey::new(&[id], Places::Exact, false, |_| Some(text.clone()), None).text()
        };
        assert_eq!(key("caller", "0xffffffff81000000"), "-");
        assert_eq!(key("caller", "f+0x1"), "f+0x1");
        assert_eq!(key("comm", "0x1\n"), "0x1\\n");
    }
}
