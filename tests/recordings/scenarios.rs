//! Every scenario of every recorded kernel: seven kernels, 32 and 64 bits, both byte orders.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use ftlock::event::decode::Decoded;
use ftlock::tracefs::SubbufLayout;

use crate::fixtures;
use crate::kernel::{Kernel, Ring};
use crate::kernel_text::{self, Line};
use crate::oracle::Record;

macro_rules! kernels {
    ($($test:ident: $folder:literal,)*) => {
        const KERNELS: &[&str] = &[$($folder),*];
        $(
            #[test]
            fn $test() {
                check_kernel($folder);
            }
        )*
    };
}

kernels! {
    amd64_6_1: "amd64-6.1",
    amd64_6_1_rt: "amd64-6.1-rt",
    amd64_6_12: "amd64-6.12",
    amd64_6_18: "amd64-6.18-live",
    arm64_6_1: "arm64-6.1",
    armhf_6_1: "armhf-6.1",
    s390x_6_1: "s390x-6.1",
}

#[test]
fn no_recorded_kernel_is_left_out() {
    let folders = fixtures::entries(&fixtures::own().join("kernels"));
    let names: Vec<_> = folders.iter().map(|folder| fixtures::name(folder)).collect();
    assert_eq!(names, KERNELS);
}

fn check_kernel(name: &str) {
    let own = fixtures::own().join("kernels").join(name);
    let kernel = Kernel::recorded(&own.join("_kernel"));
    let scenarios = scenarios_of(name);
    assert!(!scenarios.is_empty());
    for folder in scenarios {
        println!("{}", folder.display());
        Scenario::read(&kernel, &folder).check();
    }
}

/// The scenarios' folders of a kernel, our own and those beside.
fn scenarios_of(kernel: &str) -> Vec<PathBuf> {
    let own = fixtures::own().join("kernels").join(kernel);
    let shared = fixtures::shared("kernels").map(|kernels| kernels.join(kernel));
    let mut scenarios: BTreeMap<String, PathBuf> = BTreeMap::new();
    for path in shared.iter().chain([&own]).flat_map(|folder| fixtures::entries(folder)) {
        if fixtures::name(&path) != "_kernel" {
            scenarios.insert(fixtures::name(&path).to_owned(), path);
        }
    }
    scenarios.into_values().collect()
}

/// Every scenario's folder of every kernel.
pub(crate) fn folders() -> Vec<PathBuf> {
    KERNELS.iter().flat_map(|kernel| scenarios_of(kernel)).collect()
}

struct Scenario<'a> {
    kernel: &'a Kernel,
    folder: &'a Path,
    layout: SubbufLayout,
    /// By CPU.
    raw: BTreeMap<u16, Vec<u8>>,
    summary: serde_json::Value,
}

impl<'a> Scenario<'a> {
    fn read(kernel: &'a Kernel, folder: &'a Path) -> Scenario<'a> {
        let layout = fixtures::text(&folder.join("header_page.txt"));
        let layout = SubbufLayout::parse(&layout).unwrap();
        let subbuf_bytes = fixtures::text(&folder.join("subbuf_bytes.txt"));
        assert_eq!(layout.size_bytes().to_string(), subbuf_bytes.trim());
        let raw = fixtures::entries(folder)
            .iter()
            .filter_map(|path| fixtures::name(path).strip_suffix(".raw.zst"))
            .filter_map(|name| Some((name, name.strip_prefix("cpu")?.parse().ok()?)))
            .map(|(name, cpu)| (cpu, fixtures::read(&folder.join(format!("{name}.raw")))))
            .collect();
        let summary = fixtures::json(&folder.join("summary.json"));
        Scenario { kernel, folder, layout, raw, summary }
    }

    fn check(&self) {
        let text = fixtures::read(&self.folder.join("trace.txt"));
        let lines = kernel_text::parse(&text);
        let fields = fixtures::read_any(&self.folder.join("trace.fields.txt"));
        let fields = fields.as_deref().map(kernel_text::parse);
        let addresses = fixtures::read_any(&self.folder.join("trace.symaddr.txt"));
        let addresses = addresses.as_deref().map(kernel_text::parse);

        let mut events: BTreeMap<String, u64> = BTreeMap::new();
        let (mut pages, mut broken_lines) = (0, 0);
        for (cpu, raw) in &self.raw {
            let ring = Ring::read(raw, &self.layout, self.kernel.abi);
            assert_eq!(ring.faults, []);
            pages += ring.pages;
            let lines = lines.get(cpu).map_or(&[][..], Vec::as_slice);
            self.check_counts(*cpu, &ring, lines);
            for (record, line) in self.records(&ring).zip(lines) {
                *events.entry(record.must_be(line).to_owned()).or_default() += 1;
                broken_lines += usize::from(!line.breaks.is_empty());
            }
            if let Some(fields) = &fields {
                assert_eq!(fields[cpu].len(), ring.records.len());
                for (record, line) in self.records(&ring).zip(&fields[cpu]) {
                    record.fields_must_be(line);
                }
            }
            if let Some(addresses) = &addresses {
                assert_eq!(self.stacks(&ring), addresses_of(&addresses[cpu]), "cpu{cpu}");
            }
            self.check_live(*cpu, &ring);
        }
        assert_eq!(serde_json::json!(events), self.summary["events"]);
        assert_eq!(serde_json::json!(pages), self.summary["ring"]["pages"]);
        assert_eq!(broken_lines > 0, fixtures::name(self.folder) == "weird-comm-ctl");
    }

    fn check_counts(&self, cpu: u16, ring: &Ring<'_>, lines: &[Line<'_>]) {
        let key = cpu.to_string();
        let stats = fixtures::text(&self.folder.join(format!("cpu{cpu}.stats")));
        let records = ring.records.len() as u64;
        assert_eq!(records, fixtures::stat(&stats, "entries"), "cpu{cpu}");
        assert_eq!(records, lines.len() as u64, "cpu{cpu}");
        assert_eq!(serde_json::json!(records), self.summary["records_per_cpu"][&key]);
        // There, -1 stands for a loss of unknown size, and CPUs without a loss are left out.
        let losses = ring.losses.iter().map(|missed| missed.map_or(-1, u64::cast_signed));
        let losses: Vec<_> = losses.collect();
        let recorded = self.summary["lost_per_cpu"].get(&key).cloned();
        assert_eq!(serde_json::json!(losses), recorded.unwrap_or(serde_json::json!([])));
    }

    /// What a slow reader got while the recording ran, with losses: what it read and what it
    /// lost are together all the events of its CPU.
    fn check_live(&self, cpu: u16, whole: &Ring<'_>) {
        let path = |kind| self.folder.join(format!("live-cpu{cpu}.{kind}"));
        let Some(raw) = fixtures::read_any(&path("raw")) else { return };
        let stats = fixtures::text(&path("stats_after"));
        let live = Ring::read(&raw, &self.layout, self.kernel.abi);
        let read = live.records.len() as u64;
        assert_eq!(live.faults, []);
        assert_eq!(read, fixtures::stat(&stats, "read events"), "cpu{cpu}");
        let overrun = fixtures::stat(&stats, "overrun");
        assert_eq!(read + overrun, whole.records.len() as u64, "cpu{cpu}");
        if let Some(lost) = live.losses.iter().copied().sum::<Option<u64>>() {
            assert_eq!(lost, overrun, "cpu{cpu}");
        }
    }

    fn records<'r>(&self, ring: &Ring<'r>) -> impl Iterator<Item = Record<'r>>
    where
        'a: 'r,
    {
        let kernel = self.kernel;
        ring.records.clone().into_iter().map(move |(ts, payload)| Record { kernel, ts, payload })
    }

    fn stacks(&self, ring: &Ring<'_>) -> Vec<Vec<u64>> {
        let decoder = &self.kernel.decoder;
        let decoded = |payload| decoder.decode(decoder.head(payload).unwrap().id, payload).unwrap();
        let stacks = ring.records.iter().filter_map(|(_, payload)| match decoded(payload) {
            Decoded::Stack(frames) => Some(frames.collect()),
            _ => None,
        });
        stacks.collect()
    }
}

/// From frames as `vfs_write+0x235/0x3f0 <ffffffffaed64145>`.
fn addresses_of(lines: &[Line<'_>]) -> Vec<Vec<u64>> {
    let address = |frame: &&[u8]| {
        let frame = std::str::from_utf8(frame).unwrap();
        let (_, address) = frame.trim_end_matches('>').rsplit_once('<').unwrap();
        u64::from_str_radix(address, 16).unwrap()
    };
    lines
        .iter()
        .filter(|line| line.body == b"<stack trace>")
        .map(|line| line.stack.iter().map(address).collect())
        .collect()
}
