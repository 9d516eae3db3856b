//! What ftlock says in a file about user space's locks: their names, and who had them.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::event::Tid;
use crate::pipeline::{Lasting, Moment, NameChange, NameNews, Tiding, ToldName};
use crate::symbols::NamedBy;

/// As many characters of a name are believed; those that are looked up are cut before.
const MAX_NAME_CHARS: usize = 1 << 10;

/// A name of a file, without what a terminal would obey.
pub(super) fn harmless(name: &str) -> String {
    let shown = |c: char| if c.is_control() { char::REPLACEMENT_CHARACTER } else { c };
    name.chars().take(MAX_NAME_CHARS).map(shown).collect()
}

/// The names of futexes of the process that was `pid` at `at_ns`, for waits that end behind `since_ns`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct FutexesLine {
    since_ns: u64,
    pid: u32,
    at_ns: u64,
    names: Vec<NameLine>,
}

/// A name, and which addresses have it: that of a mapping is many a lock's.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct NameLine {
    name: String,
    by: ByLine,
    addresses: Vec<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum ByLine {
    Global,
    Mapping,
}

/// That process has no names any more.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct OverLine {
    since_ns: u64,
    pid: u32,
    at_ns: u64,
}

/// No process has.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct DroppedLine {
    since_ns: u64,
}

/// Waits that were told of while they lasted, behind the window that ended at `at_ns`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct LastingLine {
    at_ns: u64,
    waits: Vec<LastingWait>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct LastingWait {
    tid: u32,
    begin_ns: u64,
    owner: Option<u32>,
}

impl FutexesLine {
    pub(super) fn new(since_ns: u64, of: Moment, names: Vec<ToldName>) -> FutexesLine {
        let mut addresses: BTreeMap<(String, ByLine), Vec<String>> = BTreeMap::new();
        for ToldName { address, name, by } in names {
            let by = match by {
                NamedBy::Global => ByLine::Global,
                NamedBy::Mapping => ByLine::Mapping,
            };
            addresses.entry((name, by)).or_default().push(format!("{address:#x}"));
        }
        let names = addresses.into_iter();
        let names = names.map(|((name, by), addresses)| NameLine { name, by, addresses });
        FutexesLine { since_ns, pid: of.pid.0, at_ns: of.at_ns, names: names.collect() }
    }

    pub(super) fn tiding(self) -> Tiding {
        let FutexesLine { since_ns, pid, at_ns, names } = self;
        let names = names.into_iter().flat_map(NameLine::told).collect();
        let what = NameChange::Named { of: Moment { pid: Tid(pid), at_ns }, names };
        Tiding::Names(NameNews { since_ns, what })
    }
}

impl NameLine {
    fn told(self) -> impl Iterator<Item = ToldName> {
        let by = match self.by {
            ByLine::Global => NamedBy::Global,
            ByLine::Mapping => NamedBy::Mapping,
        };
        let name = harmless(&self.name);
        let addresses = self
            .addresses
            .into_iter()
            .filter_map(|address| u64::from_str_radix(address.strip_prefix("0x")?, 16).ok());
        addresses.map(move |address| ToldName { address, name: name.clone(), by })
    }
}

impl OverLine {
    pub(super) fn new(since_ns: u64, of: Moment) -> OverLine {
        OverLine { since_ns, pid: of.pid.0, at_ns: of.at_ns }
    }

    pub(super) fn tiding(self) -> Tiding {
        let OverLine { since_ns, pid, at_ns } = self;
        let what = NameChange::Over(Moment { pid: Tid(pid), at_ns });
        Tiding::Names(NameNews { since_ns, what })
    }
}

impl DroppedLine {
    pub(super) fn new(since_ns: u64) -> DroppedLine {
        DroppedLine { since_ns }
    }

    pub(super) fn tiding(self) -> Tiding {
        Tiding::Names(NameNews { since_ns: self.since_ns, what: NameChange::Dropped })
    }
}

impl LastingLine {
    pub(super) fn new(at_ns: u64, waits: &[Lasting]) -> LastingLine {
        let wait = |&Lasting { tid, begin_ns, owner }: &Lasting| LastingWait {
            tid: tid.0,
            begin_ns,
            owner: owner.map(|owner| owner.0),
        };
        LastingLine { at_ns, waits: waits.iter().map(wait).collect() }
    }

    pub(super) fn tiding(self) -> Tiding {
        let waits = self.waits.into_iter().map(|LastingWait { tid, begin_ns, owner }| Lasting {
            tid: Tid(tid),
            begin_ns,
            owner: owner.map(Tid),
        });
        Tiding::Lasting { window_ns: self.at_ns, waits: waits.collect() }
    }
}

#[cfg(test)]
mod tests {
    use super::{ByLine, FutexesLine, NameLine};
    use crate::event::Tid;
    use crate::pipeline::{Moment, NameChange, Tiding, ToldName};
    use crate::symbols::NamedBy;

    fn names(tiding: Tiding) -> Vec<ToldName> {
        match tiding {
            Tiding::Names(news) => match news.what {
                NameChange::Named { names, .. } => names,
                other => panic!("{other:?}"),
            },
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn names_come_back_from_their_line() {
        let told = |address, name: &str, by| ToldName { address, name: name.to_owned(), by };
        let all = vec![
            told(0x40_4040, "a \"quoted\\ lock", NamedBy::Global),
            told(u64::MAX, "[heap]", NamedBy::Mapping),
            told(8, "[heap]", NamedBy::Mapping),
        ];
        let line = FutexesLine::new(7, Moment { pid: Tid(9), at_ns: 5 }, all.clone());
        let text = serde_json::to_string(&line).unwrap();
        let back: FutexesLine = serde_json::from_str(&text).unwrap();
        let mut back = names(back.tiding());
        back.sort_by_key(|told| all.iter().position(|one| one == told));
        assert_eq!(back, all);
    }

    #[test]
    fn a_line_of_somebody_else_does_no_harm() {
        let addresses = ["0x10", "16", "0x", "0x11112222333344445", "-0x1", "0x+1"];
        let addresses = addresses.map(str::to_owned).to_vec();
        let name = format!("a\x1b[31m{}", "x".repeat(9999));
        let line = NameLine { name, by: ByLine::Global, addresses };
        let told: Vec<ToldName> = line.told().collect();
        assert!(told.iter().all(|told| told.name.starts_with("a\u{fffd}[31m")));
        assert!(told.iter().all(|told| told.name.len() < 2000));
        assert_eq!(told.first().map(|told| told.address), Some(16));
    }
}
