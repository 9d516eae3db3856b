//! What records say, kept until it is in order.

use std::collections::HashMap;
use std::ops::Range;

use linux_perf_event_reader::{
    CommOrExecRecord, EventRecord, ForkOrExitRecord, RawEventRecord, SampleRecord,
};

use super::events::{Events, Layout};
use super::head::numbers;
use super::records::{Record, kind};
use crate::event::{Comm, Cpu, TaskEvent, Tid};
use crate::tracefs::Endian;

/// Marks in a call chain: what follows was in the kernel, and everything else
/// (`PERF_CONTEXT_KERNEL` and `PERF_CONTEXT_MAX`, include/uapi/linux/perf_event.h, 6.18).
const IN_KERNEL: u64 = (-128_i64).cast_unsigned();
const FIRST_MARK: u64 = (-4095_i64).cast_unsigned();

/// `NR_CPUS` is at most this (arch/x86/Kconfig, 6.18).
const MAX_CPUS: u32 = 8192;

/// Ids whose CPU is remembered.
const MAX_IDS: usize = 1 << 20;

/// What a record says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Held {
    pub(super) at_ns: u64,
    pub(super) cpu: Cpu,
    pub(super) what: HeldWhat,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum HeldWhat {
    /// An event; where its contents and its stack are.
    Sample { payload: Range<usize>, frames: Range<usize> },
    /// What becomes of a task; and the current one.
    Task { by: Tid, event: TaskEvent },
    /// Events are missing before.
    Lost { missed: Option<u64> },
}

/// What records said, in the order of the file.
#[derive(Debug, Default)]
pub(super) struct Kept {
    pub(super) held: Vec<Held>,
    /// Contents of events, and their stacks.
    pub(super) payloads: Vec<u8>,
    pub(super) frames: Vec<u64>,
}

impl Kept {
    pub(super) fn clear(&mut self) {
        self.held.clear();
        self.payloads.clear();
        self.frames.clear();
    }

    /// Bytes of memory in use.
    pub(super) fn size_bytes(&self) -> usize {
        self.held.len() * size_of::<Held>() + self.payloads.len() + 8 * self.frames.len()
    }
}

/// Reads records of the kernel's.
#[derive(Debug)]
pub(super) struct Reading {
    pub(super) events: Events,
    endian: Endian,
    /// The CPU that an id stands for.
    cpus: HashMap<u64, Cpu>,
    /// Of each CPU: events lost as the kernel told at once, and samples lost as it told in the end.
    lost: HashMap<Cpu, (u64, u64)>,
    /// Records that could not be read.
    pub(super) unread: u64,
}

impl Reading {
    pub(super) fn new(events: Events, endian: Endian) -> Reading {
        let (cpus, lost) = (HashMap::new(), HashMap::new());
        Reading { events, endian, cpus, lost, unread: 0 }
    }

    /// Keeps what a record says, if it is of any use.
    pub(super) fn take(&mut self, record: &Record<'_>, kept: &mut Kept) {
        let is_read = match record.kind {
            kind::SAMPLE => self.sample(record, kept),
            kind::COMM | kind::FORK | kind::EXIT => self.task(record, kept),
            kind::LOST | kind::UNTHROTTLE => self.loss(record, kept),
            kind::LOST_SAMPLES => self.lost_samples(record),
            kind::ID_INDEX => {
                let room = MAX_IDS.saturating_sub(self.cpus.len());
                self.cpus.extend(cpus_of_ids(record.body, self.endian).take(room));
                Some(())
            }
            _ => Some(()),
        };
        self.unread += u64::from(is_read.is_none());
    }

    /// Samples that were lost and of which no other record tells: those at the end, for which there was
    /// no room either.
    pub(super) fn lost_at_end(&self) -> impl Iterator<Item = (Cpu, u64)> {
        let more = |(&cpu, &(told, counted)): (&Cpu, &(u64, u64))| {
            Some((cpu, counted.checked_sub(told).filter(|&more| more > 0)?))
        };
        self.lost.iter().filter_map(more)
    }

    fn sample(&mut self, record: &Record<'_>, kept: &mut Kept) -> Option<()> {
        let (layout, raw) = self.events.layout(record)?;
        if !layout.is_tracepoint {
            return Some(());
        }
        let EventRecord::Sample(sample) = self.parsed(record, &layout, &raw)? else { return None };
        let SampleRecord { timestamp, cpu, raw, callchain, .. } = sample;
        let (at_ns, cpu) = (timestamp?, as_cpu(cpu?)?);
        let start = kept.payloads.len();
        kept.payloads.extend_from_slice(&raw?.as_slice());
        let payload = start..kept.payloads.len();
        let start = kept.frames.len();
        if let Some(chain) = callchain {
            let chain = (0..chain.len()).map_while(|place| chain.get(place));
            let kernels = chain.skip_while(|&address| address != IN_KERNEL).skip(1);
            kept.frames.extend(kernels.take_while(|&address| address < FIRST_MARK));
        }
        let frames = start..kept.frames.len();
        kept.held.push(Held { at_ns, cpu, what: HeldWhat::Sample { payload, frames } });
        Some(())
    }

    /// The record, taken apart.
    fn parsed<'a>(
        &self,
        record: &Record<'a>,
        layout: &Layout,
        raw: &RawEventRecord<'a>,
    ) -> Option<EventRecord<'a>> {
        if let Some(chain_at) = layout.chain_at() {
            // The reader multiplies what stands here.
            let frames = numbers(self.endian).uint_at(record.body, chain_at, 8)?;
            (frames <= record.body.len() as u64).then_some(())?;
        }
        raw.parse().ok()
    }

    fn task(&mut self, record: &Record<'_>, kept: &mut Kept) -> Option<()> {
        let (_, raw) = self.events.layout(record)?;
        let common = raw.common_data().ok()?;
        let tid = |number: i32| u32::try_from(number).ok().map(Tid);
        let event = match raw.parse().ok()? {
            EventRecord::Comm(CommOrExecRecord { pid, tid: id, name, .. }) => {
                let comm = Comm::new(&name.as_slice());
                TaskEvent::Named { tid: tid(id)?, tgid: tid(pid)?, comm }
            }
            EventRecord::Fork(ForkOrExitRecord { pid, tid: id, ptid, .. }) => {
                TaskEvent::Heir { tid: tid(id)?, tgid: tid(pid)?, parent: tid(ptid)? }
            }
            EventRecord::Exit(ForkOrExitRecord { tid: id, .. }) => {
                TaskEvent::Exit { tid: tid(id)? }
            }
            _ => return None,
        };
        let at_ns = common.timestamp.unwrap_or(0);
        let cpu = as_cpu(common.cpu.unwrap_or(0))?;
        let by = common.tid.and_then(tid).unwrap_or(Tid(0));
        kept.held.push(Held { at_ns, cpu, what: HeldWhat::Task { by, event } });
        Some(())
    }

    fn loss(&mut self, record: &Record<'_>, kept: &mut Kept) -> Option<()> {
        let (_, raw) = self.events.layout(record)?;
        let common = raw.common_data().ok()?;
        let missed = match raw.parse().ok()? {
            EventRecord::Lost(lost) => Some(lost.count),
            // The kernel held events back, and does not say how many.
            _ => None,
        };
        let cpu = as_cpu(common.cpu?)?;
        let told = &mut self.lost.entry(cpu).or_default().0;
        *told = told.saturating_add(missed.unwrap_or(0));
        let what = HeldWhat::Lost { missed };
        kept.held.push(Held { at_ns: common.timestamp?, cpu, what });
        Some(())
    }

    /// perf counts anew in the end, of each event on each CPU. Those of programs in the kernel that
    /// dropped samples are not lost.
    fn lost_samples(&mut self, record: &Record<'_>) -> Option<()> {
        const OF_BPF: u16 = 1 << 15;
        let (_, raw) = self.events.layout(record)?;
        let cpu = raw.id().and_then(|id| self.cpus.get(&id));
        if let Some(&cpu) = cpu.filter(|_| record.misc & OF_BPF == 0) {
            let counted = &mut self.lost.entry(cpu).or_default().1;
            let missed = numbers(self.endian).uint_at(record.body, 0, 8)?;
            *counted = counted.saturating_add(missed);
        }
        Some(())
    }
}

/// The ids of a list, each with the CPU that it stands for, if that is one.
pub(super) fn cpus_of_ids(body: &[u8], endian: Endian) -> impl Iterator<Item = (u64, Cpu)> {
    // How many there are; then for each the id, its place, its CPU, its thread.
    const ENTRY_BYTES: usize = 32;
    let number = move |bytes: &[u8], offset| numbers(endian).uint_at(bytes, offset, 8);
    let entries = body.get(8..).unwrap_or_default().chunks_exact(ENTRY_BYTES);
    entries.filter_map(move |entry| {
        Some((number(entry, 0)?, as_cpu(u32::try_from(number(entry, 16)?).ok()?)?))
    })
}

fn as_cpu(number: u32) -> Option<Cpu> {
    u16::try_from(number).ok().filter(|_| number < MAX_CPUS).map(Cpu)
}
