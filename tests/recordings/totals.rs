//! Recordings through all stages: waits, names and sums against figures from elsewhere.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ftlock::cmdline_cache::{Certainty, CmdlineCache};
use ftlock::contention::Begins;
use ftlock::event::decode::Decoder;
use ftlock::event::{Cpu, Gap, Tid};
use ftlock::pipeline::{
    Engine, Filters, Keep, NamedWait, Processes, RawEvent, Results, Setup, Sink, Stacks, Targets,
    quality, replay,
};
use ftlock::report::{By, Keys, Table};
use ftlock::symbols::{CallerFinder, Kallsyms, StackTable};
use ftlock::tracefs::{Abi, Endian, EventFormat, SubbufLayout};

use crate::fixtures;
use crate::scenarios;

/// Keeps what comes out.
#[derive(Default)]
pub(crate) struct Collected {
    pub(crate) waits: Vec<NamedWait>,
    gaps: Vec<(u16, Gap)>,
    /// Events with a name of their own inside: ours, theirs.
    switches: Vec<(Vec<u8>, Vec<u8>, Certainty)>,
}

impl Sink for Collected {
    fn wants_waits(&self) -> bool {
        true
    }

    fn wait(&mut self, wait: &NamedWait, _: &StackTable) {
        self.waits.push(*wait);
    }

    fn event(&mut self, event: &RawEvent<'_>) {
        let format = event.format.filter(|format| format.name == "sched_switch");
        let prev = format.and_then(|format| format.field("prev_comm"));
        if let Some(theirs) = prev.and_then(|field| field.text(event.payload, event.abi))
            && event.head.tid != Tid(0)
        {
            let ours = event.name.comm.as_bytes().to_vec();
            self.switches.push((ours, theirs.to_vec(), event.name.certainty));
        }
    }

    fn gap(&mut self, cpu: Cpu, gap: &Gap, _before_ns: u64) {
        self.gaps.push((cpu.0, *gap));
    }
}

/// A recording's rings with what is needed to read them.
pub(crate) struct Recorded {
    pub(crate) layout: SubbufLayout,
    pub(crate) abi: Abi,
    pub(crate) formats: Vec<EventFormat>,
    pub(crate) rings: Vec<Vec<u8>>,
}

impl Recorded {
    /// A capture of `tests/data/live`.
    pub(crate) fn live(name: &str) -> Recorded {
        let folder = fixtures::own().join("live");
        let own_header = folder.join(format!("{name}.header_page"));
        let header = if own_header.exists() {
            fixtures::text(&own_header)
        } else {
            fixtures::text(&folder.join("formats/events/header_page"))
        };
        let layout = SubbufLayout::parse(&header).unwrap();
        let ring = |cpu| fixtures::read(&folder.join(format!("{name}.cpu{cpu}.raw")));
        Recorded {
            layout,
            abi: Abi::new(Endian::Little, &layout),
            formats: formats(&folder.join("formats")),
            rings: (0..2).map(ring).collect(),
        }
    }

    /// A scenario of `kernels`.
    pub(crate) fn scenario(folder: &Path) -> Recorded {
        let kernel = folder.parent().unwrap().join("_kernel");
        let layout = fixtures::text(&folder.join("header_page.txt"));
        let layout = SubbufLayout::parse(&layout).unwrap();
        let endian = match fixtures::text(&kernel.join("info.txt")).contains("endian=big") {
            true => Endian::Big,
            false => Endian::Little,
        };
        let ring = |cpu: u16| fixtures::read_any(&folder.join(format!("cpu{cpu}.raw")));
        Recorded {
            layout,
            abi: Abi::new(endian, &layout),
            formats: formats(&kernel.join("format")),
            rings: (0..).map_while(ring).collect(),
        }
    }

    pub(crate) fn run(&self, raw: bool, begins: Begins, rows: usize) -> (Collected, Results) {
        self.run_with(&Arc::new(Kallsyms::parse(b"")), raw, begins, rows)
    }

    pub(crate) fn run_with(
        &self,
        symbols: &Arc<Kallsyms>,
        raw: bool,
        begins: Begins,
        rows: usize,
    ) -> (Collected, Results) {
        let setup = Setup {
            layout: self.layout,
            decoder: Decoder::new(self.abi, self.formats.iter().cloned()).unwrap(),
            stacks: StackTable::new(1 << 12, Arc::new(CallerFinder::new(Arc::clone(symbols)))),
            cache: CmdlineCache::new(1 << 16),
            keep: Keep {
                targets: Targets::All,
                cpus: None,
                min_wait_ns: 0,
                filters: Filters::new(Arc::clone(symbols)),
                own: Tid(u32::MAX),
                by: Keys::new(&[By::Lock]),
                max_stack: None,
            },
            rows,
            processes: Processes::Unknown,
            chains: false,
            raw,
            begins,
            sleeps: false,
        };
        let cpus = (0u16..).zip(&self.rings).map(|(cpu, _)| Cpu(cpu));
        let mut engine = Engine::new(setup, cpus);
        let mut collected = Collected::default();
        let rings: Vec<&[u8]> = self.rings.iter().map(Vec::as_slice).collect();
        replay(&mut engine, &rings, self.layout.size_bytes(), &mut collected);
        (collected, engine.finish())
    }
}

fn formats(folder: &Path) -> Vec<EventFormat> {
    let files = fixtures::files(folder).into_iter();
    let formats = files.filter(|path| fixtures::name(path) == "format");
    formats.map(|path| EventFormat::parse(&fixtures::text(&path)).unwrap()).collect()
}

/// `tests/data/live/PROVENANCE`: begins, ends, waits, waits with several begins, failed, total and
/// longest wait in ns.
#[test]
fn totals_are_those_of_the_provenance() {
    let table: [(&str, [u64; 7]); 3] = [
        ("msg", [140, 140, 140, 0, 0, 664_432, 121_790]),
        ("slp", [830, 772, 772, 22, 9, 755_732_999, 52_024_607]),
        ("lost", [100, 100, 100, 0, 0, 128_186, 13_750]),
    ];
    for (name, expected) in table {
        let (collected, results) = Recorded::live(name).run(false, Begins::All, 1000);
        let counts = results.counts.locks;
        let total: u64 = collected.waits.iter().map(|named| named.wait.wait_ns()).sum();
        let longest = collected.waits.iter().map(|named| named.wait.wait_ns()).max().unwrap();
        let found = [
            counts.begins_read,
            counts.ends_read,
            collected.waits.len() as u64,
            expected[3],
            counts.failed,
            total,
            longest,
        ];
        assert_eq!(found, expected, "{name}: {counts:?}");
        assert!(
            quality(&results, &[], 0, Stacks::Unwanted).identities().iter().all(|law| law.holds())
        );
        let rows = results.totals(Table::Locks);
        assert_eq!(rows.wait_total_ns + rows.failed_total_ns + rows.uncertain_total_ns, total);
        let witness = rows.witness.unwrap();
        assert!(collected.waits.iter().any(|NamedWait { wait, .. }| {
            (wait.begin.ts_ns, wait.begin.tid) == (witness.ts_ns, witness.tid)
                && wait.wait_ns() == rows.wait_max_ns
        }));
    }
}

/// `dual`: 50 waits whose begin and end are both there, 8 of them killed; perf's figures agree.
#[test]
fn waits_that_perf_measured_too_have_its_figures() {
    let (collected, results) = Recorded::live("dual").run(false, Begins::All, 1000);
    let total: u64 = collected.waits.iter().map(|named| named.wait.wait_ns()).sum();
    let longest = collected.waits.iter().map(|named| named.wait.wait_ns()).max().unwrap();
    assert_eq!((collected.waits.len(), results.counts.locks.failed), (50, 8));
    assert_eq!((total, longest), (845_894_571, 66_086_521));
}

#[test]
fn a_gap_is_told_once_with_the_kernels_own_number() {
    let (collected, _) = Recorded::live("lost").run(false, Begins::All, 1000);
    let gaps: Vec<_> = collected.gaps.iter().map(|(cpu, gap)| (*cpu, gap.missed)).collect();
    assert_eq!(gaps.len(), 2);
    assert!(gaps.contains(&(0, Some(3146))) && gaps.contains(&(1, Some(1588))), "{gaps:?}");
}

#[test]
fn a_full_map_loses_no_wait_of_a_recording() {
    let whole = Recorded::live("slp").run(false, Begins::All, 1000).1;
    for rows in [0, 1, 7] {
        let results = Recorded::live("slp").run(false, Begins::All, rows).1;
        assert!(results.rows.rows.len() <= rows);
        assert_eq!(results.rows.waits(), whole.rows.waits());
        assert_eq!(results.totals(Table::Locks), whole.totals(Table::Locks));
    }
}

/// A damaged sub-buffer costs its own events and one count; the run goes on.
#[test]
fn damage_is_counted_once_and_costs_no_other_events() {
    let whole = Recorded::live("slp");
    let size = whole.layout.size_bytes();
    let events = |recorded: &Recorded| {
        let (_, results) = recorded.run(false, Begins::All, 1000);
        let quality = quality(&results, &[], 0, Stacks::Unwanted);
        assert!(quality.identities().iter().all(|law| law.holds()));
        let read: u64 = quality.cpus.iter().map(|cpu| cpu.read).sum();
        (read, quality)
    };
    // The third sub-buffer of CPU 0, and how many events it holds.
    let (all, _) = events(&whole);
    let third = size * 2..size * 3;
    let mut alone = Recorded::live("slp");
    alone.rings = vec![whole.rings[0][third.clone()].to_vec(), Vec::new()];
    let (lost, _) = events(&alone);
    assert!(lost > 20);

    type Damage = fn(&mut [u8]);
    let cases: [(&str, Damage, u64); 4] = [
        ("blank", |page| page.fill(0), lost),
        // The commit word counts more than a sub-buffer holds.
        ("more data than the sub-buffer holds", |page| page[9] = 0xff, lost),
        // The first record's length word is that of padding, without a length.
        ("filler within the data", |page| page[16..20].copy_from_slice(&[29, 0, 0, 0]), lost),
        (
            "record ends behind the data",
            |page| page[16..24].copy_from_slice(&[0, 0, 0, 0, 0xff, 0xff, 0, 0]),
            lost,
        ),
    ];
    for (told, damage, lost) in cases {
        let mut damaged = Recorded::live("slp");
        damage(&mut damaged.rings[0][third.clone()]);
        let (read, quality) = events(&damaged);
        assert_eq!(read, all - lost, "{told}: {:?}", quality.page_faults);
        let faults: Vec<_> = quality.page_faults.iter().collect();
        assert_eq!(faults.len(), 1, "{told}: {faults:?}");
        assert!(faults[0].0.contains(told) && *faults[0].1 == 1, "{told}: {faults:?}");
    }

    let mut cut = Recorded::live("slp");
    cut.rings[1].truncate(size + 100);
    let (_, quality) = events(&cut);
    assert_eq!(quality.page_faults.values().sum::<u64>(), 1, "{:?}", quality.page_faults);

    let mut without = Recorded::live("slp");
    without.formats.retain(|format| format.name != "sched_waking");
    let (read, quality) = events(&without);
    assert_eq!(read, all);
    assert!(quality.unknown_ids > 0 && quality.pairing.ok > 700);
}

/// In every recording: the identities hold, and every begin that `summary.json` counts was read.
#[test]
fn the_accounting_holds_on_every_kernel() {
    for folder in scenarios::folders() {
        let name = folder.display();
        // A filter on contention_begin: an end without one is no fault.
        let begins = match fixtures::name(&folder) == "filter" {
            true => Begins::Filtered,
            false => Begins::All,
        };
        let (collected, results) = Recorded::scenario(&folder).run(false, begins, 100);
        let summary = fixtures::json(&folder.join("summary.json"));
        let counted = |event: &str| summary["events"][event].as_u64().unwrap_or(0);
        let counts = results.counts.locks;
        assert_eq!(counts.begins_read, counted("contention_begin"), "{name}");
        assert_eq!(counts.ends_read, counted("contention_end"), "{name}");
        let quality = quality(&results, &[], 0, Stacks::Unwanted);
        for law in quality.identities() {
            assert!(law.holds(), "{name}: {law:?}");
        }
        let futexes = results.counts.futexes;
        assert_eq!(collected.waits.len() as u64, counts.finished() + futexes.finished(), "{name}");
        if begins == Begins::Filtered {
            assert!(counts.filtered_end > 0 && counts.orphan_end == 0, "{name}");
        }
        assert_eq!(quality.names_contradicted, 0, "{name}");
    }
}

/// The kernel's own name of the task, in the very same event. The tasks that were there before
/// the trace are not known here, so only certain names are compared.
#[test]
fn a_certain_name_is_the_kernels_in_every_recording() {
    let mut kernels = BTreeSet::new();
    // Rings that refuse new events leave no mark where they did (overwrite=0, which we never set).
    let marked = |folder: &PathBuf| !fixtures::name(folder).starts_with("overflow-nooverwrite");
    for folder in scenarios::folders().into_iter().filter(marked) {
        let (collected, _) = Recorded::scenario(&folder).run(true, Begins::All, 100);
        let certain = collected.switches.iter().filter(|(.., sure)| *sure == Certainty::Known);
        let mut compared = 0;
        for (ours, theirs, _) in certain {
            let (ours, theirs) = (ours.escape_ascii(), theirs.escape_ascii());
            assert_eq!(ours.to_string(), theirs.to_string(), "{}", folder.display());
            compared += 1;
        }
        if compared > 100 {
            kernels.insert(folder.parent().unwrap().to_owned());
        }
    }
    assert!(kernels.len() >= 7, "{kernels:?}");
}
