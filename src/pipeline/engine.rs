//! The stages, wired: windows of decoded events in, named waits and sums out.
//!
//! No I/O and no clock: whoever holds the sub-buffers - a live trace, a recording - feeds them,
//! and says up to which instant everything has been read.

mod streaming;

use crate::aggregate::{Aggregate, Delta};
use crate::cmdline_cache::proc::SeededTask;
use crate::cmdline_cache::{CmdlineCache, Look};
use crate::contention::{Begins, OpenWait, Sleepers, Sleeps, Wait};
use crate::event::decode::Decoder;
use crate::event::{Body, Cpu, Stamp, Tid};
use crate::report::{By, Part, RowKey, Table, Witness};
use crate::symbols::StackTable;
use crate::tracefs::SubbufLayout;

use super::chaining::Chaining;
use super::keep::Keep;
use super::lane::{Decoding, Lane};
use super::lock_names::LockNames;
use super::merge::merge;
use super::mmap_locks::MmapLocks;
use super::named::{Kept, NamedWait, OpenNamed};
use super::naming::Naming;
use super::raw::RawStore;
use super::results::{Results, Sink};
use super::spaces::Spaces;
use super::workers::on_each;

/// How the machine's trace is to be read and what is to be kept of it.
#[derive(Debug)]
pub struct Setup {
    /// The instance's `events/header_page`.
    pub layout: SubbufLayout,
    /// The events' formats.
    pub decoder: Decoder,
    /// Where kernel stacks are kept.
    pub stacks: StackTable,
    /// Who was who when.
    pub cache: CmdlineCache,
    /// Which waits reach the rows and the stream.
    pub keep: Keep,
    /// Most rows that are kept apart.
    pub rows: usize,
    /// Whether chains of waits are followed.
    pub chains: bool,
    /// Whether processes of the trace can be looked at in /proc, under the numbers that events carry.
    pub live: bool,
    /// Whether every event is streamed instead of the waits.
    pub raw: bool,
    /// Whether the kernel filters some begins out.
    pub begins: Begins,
    /// Whether sleeps are waits of their own.
    pub sleeps: bool,
}

/// Names are kept this long for events that come late.
const LATE_NS: u64 = 1_000_000_000;

/// All stages with their state.
#[derive(Debug)]
pub struct Engine {
    decoding: Decoding,
    lanes: Vec<Lane>,
    sleepers: Sleepers,
    spaces: Spaces,
    /// Where they are asked for.
    sleeps: Option<Sleeps>,
    /// The sleepers' part of what every lane has for its spinners.
    waits: Vec<Wait>,
    /// The sleeps that ended.
    slept: Vec<Wait>,
    named: Vec<NamedWait>,
    delta: Delta<RowKey, Witness>,
    kept: Kept,
    cache: CmdlineCache,
    keep: Keep,
    mmap_locks: MmapLocks,
    /// Where holders are looked for.
    chaining: Option<Chaining>,
    /// Where rows are by lock.
    lock_names: Option<LockNames>,
    aggregate: Aggregate<RowKey, Witness>,
    processed_ns: u64,
    raw: bool,
}

/// A piece of a CPU's ring, as the reader got it.
#[derive(Debug, Clone, Copy)]
pub struct Chunk<'a> {
    /// One sub-buffer's bytes.
    pub sub_buffer: &'a [u8],
    /// They are those of the chunk before, grown.
    pub resumes: bool,
    /// Everything of this CPU up to here was read before this chunk, where that is not told by
    /// [`Engine::set_read_up_to`]; 0 is no news.
    pub read_up_to_ns: u64,
    /// Events before it are missing, whatever it says itself.
    pub is_behind_gap: bool,
}

impl Engine {
    /// Without any event yet.
    pub fn new(setup: Setup, cpus: impl IntoIterator<Item = Cpu>) -> Engine {
        let raw = setup.raw;
        let store = || raw.then(RawStore::default);
        let by = &setup.keep.by;
        let has_futexes = setup.live && Table::Futexes.keys(by).contains(&By::Lock);
        let by_lock = by.contains(&By::Lock) || has_futexes;
        Engine {
            decoding: Decoding {
                layout: setup.layout,
                abi: setup.decoder.abi(),
                decoder: setup.decoder,
                stacks: setup.stacks,
                texts: setup.cache.event_texts(),
            },
            lanes: cpus.into_iter().map(|cpu| Lane::new(cpu, store())).collect(),
            sleepers: Sleepers::new(setup.begins),
            spaces: Spaces::new(setup.live),
            sleeps: setup.sleeps.then(Sleeps::default),
            waits: Vec::new(),
            slept: Vec::new(),
            named: Vec::new(),
            delta: Delta::default(),
            kept: Kept::default(),
            cache: setup.cache,
            keep: setup.keep,
            mmap_locks: MmapLocks::default(),
            chaining: setup.chains.then(Chaining::default),
            lock_names: by_lock.then(|| LockNames::new(setup.rows)),
            aggregate: Aggregate::new(setup.rows),
            processed_ns: 0,
            raw,
        }
    }

    /// Decodes what was read of every CPU's ring since the last call, in the CPUs' order.
    pub fn decode(&mut self, chunks: Vec<Vec<Chunk<'_>>>) {
        let bytes = chunks.iter().flatten().map(|chunk| chunk.sub_buffer.len()).sum::<usize>();
        let mut work: Vec<_> = self.lanes.iter_mut().zip(chunks).collect();
        let (decoding, processed_ns) = (&self.decoding, self.processed_ns);
        // A contention event takes some 32 bytes.
        on_each(&mut work, bytes / 32, |(lane, chunks)| {
            for chunk in chunks {
                lane.set_read_up_to(chunk.read_up_to_ns);
                if chunk.is_behind_gap {
                    lane.begin_gap();
                }
                lane.decode(decoding, chunk.sub_buffer, chunk.resumes, processed_ns);
            }
        });
    }

    /// Says that everything was read of the `index`th CPU up to this instant.
    pub fn set_read_up_to(&mut self, index: usize, ts_ns: u64) {
        if let Some(lane) = self.lanes.get_mut(index) {
            lane.set_read_up_to(ts_ns);
        }
    }

    /// The time of the last event read of the `index`th CPU.
    pub fn last_ns(&self, index: usize) -> u64 {
        self.lanes.get(index).map_or(0, Lane::last_ns)
    }

    /// Up to where windows were processed.
    pub fn processed_ns(&self) -> u64 {
        self.processed_ns
    }

    /// How many events of the `index`th CPU are decoded and in no window yet.
    pub fn pending(&self, index: usize) -> usize {
        self.lanes.get(index).map_or(0, |lane| lane.events.len())
    }

    /// Remembers what is learned from /proc beyond names, for [`Engine::take_looks`].
    pub fn keep_looks(&mut self) {
        self.cache.keep_looks();
    }

    /// What was learned from /proc beyond names since this was last asked.
    pub fn take_looks(&mut self) -> Vec<Look> {
        self.cache.take_looks()
    }

    /// What /proc once said beyond names: used in the window that reaches its instant.
    pub fn tell(&mut self, looks: impl IntoIterator<Item = Look>) {
        self.cache.tell(looks);
    }

    /// Processes all events up to the watermark; those behind it stay for a later window.
    pub fn window(&mut self, watermark_ns: u64, sink: &mut dyn Sink) {
        let counts: Vec<usize> = self.lanes.iter().map(|lane| lane.before(watermark_ns)).collect();
        let events = counts.iter().sum();
        self.pair_spinners(&counts, events);
        self.merge_the_rest(sink);
        self.learn(watermark_ns);
        self.name_and_sum(events);
        match self.raw {
            true => self.stream_events(&counts, sink),
            false => self.stream_waits(sink),
        }
        for (lane, count) in self.lanes.iter_mut().zip(counts) {
            lane.forget(count);
        }
        self.waits.clear();
        self.slept.clear();
        self.named.clear();
        self.processed_ns = self.processed_ns.max(watermark_ns);
    }

    /// Ends the run: counts what is open, and gives all results.
    pub fn finish(mut self) -> Results {
        let mut open = self.sleepers.finish();
        let holders_forgotten = self.sleepers.holders_forgotten();
        let mut counts = self.sleepers.counts;
        if let Some(mut sleeps) = self.sleeps {
            open.extend(sleeps.finish());
            counts.add(&sleeps.counts);
        }
        let mut kept = self.kept;
        let mut switches_missing = 0;
        let mut read = Vec::with_capacity(self.lanes.len());
        let last_ns = self.lanes.iter().map(Lane::known_ns).max().unwrap_or(0);
        for mut lane in self.lanes {
            open.extend(lane.spinners.finish());
            counts.add(&lane.spinners.counts);
            switches_missing += lane.spinners.switches_missing;
            kept.merge(&lane.kept);
            read.push((lane.cpu, lane.read));
        }
        open.sort_by_key(|wait| wait.begin.stamp);
        let stacks = self.decoding.stacks;
        let rows = self.aggregate.snapshot();
        let futex_names = self.lock_names.as_ref().map(LockNames::futexes);
        let names = self.lock_names.map(|names| names.finish(&rows.rows, &self.mmap_locks));
        let with = Naming {
            cache: &self.cache,
            stacks: &stacks,
            mmap_locks: &self.mmap_locks,
            spaces: &self.spaces,
        };
        let named = |wait: OpenWait| self.keep.open(&wait, last_ns, &with);
        let open = open.into_iter().filter_map(named).collect();
        let (chains, chains_forgotten) = self.chaining.unwrap_or_default().finish();
        Results {
            counts,
            holders_forgotten,
            switches_missing,
            words_forgotten: self.spaces.words_forgotten(),
            futex_names: futex_names.unwrap_or_default(),
            user_names: self.spaces.names_given_up(),
            kept,
            open,
            chains,
            chains_forgotten,
            rows,
            lock_names: names.unwrap_or_default(),
            read,
            stacks,
            names: self.cache.counters(),
            facts: self.cache.facts_given_up(),
            end_ns: last_ns,
        }
    }

    /// The waits that have lasted for that long and are not over, each once, with who probably has the
    /// lock.
    pub fn lasting(&mut self, age_ns: u64) -> Vec<OpenNamed> {
        let now_ns = self.processed_ns;
        let Some(since_ns) = now_ns.checked_sub(age_ns) else { return Vec::new() };
        let lasting = self.sleepers.lasting(since_ns);
        let with = Naming {
            cache: &self.cache,
            stacks: &self.decoding.stacks,
            mmap_locks: &self.mmap_locks,
            spaces: &self.spaces,
        };
        lasting.iter().filter_map(|wait| self.keep.open(wait, now_ns, &with)).collect()
    }

    /// Of an open wait the lock itself says who has it.
    pub fn owner_found(&mut self, open: &OpenNamed, owner: Tid) -> OpenNamed {
        let now = Stamp::behind(self.processed_ns);
        let wait = self.sleepers.owner_found(&open.wait, now, owner);
        let with = Naming {
            cache: &self.cache,
            stacks: &self.decoding.stacks,
            mmap_locks: &self.mmap_locks,
            spaces: &self.spaces,
        };
        with.open(&wait, open.name, self.processed_ns)
    }

    /// Where the stacks of waits are.
    pub fn stacks(&self) -> &StackTable {
        &self.decoding.stacks
    }

    /// How many waits have been kept so far.
    pub fn waits(&self) -> u64 {
        let lanes = self.lanes.iter().map(|lane| lane.kept.kept());
        lanes.sum::<u64>() + self.kept.kept()
    }

    /// How many gaps have been met so far.
    pub fn gaps(&self) -> u64 {
        self.lanes.iter().map(|lane| lane.read.gaps).sum()
    }

    /// How many events are known to be missing so far.
    pub fn missed(&self) -> u64 {
        self.lanes.iter().map(|lane| lane.read.missed).sum()
    }

    /// Every task that was alive when `seed` was read, each with the instant of its reading.
    pub fn seed(&mut self, tasks: impl IntoIterator<Item = (SeededTask, Stamp)>) {
        for (task, at) in tasks {
            self.cache.seed(&task, at);
        }
    }

    /// Drops names that no open wait needs any more.
    pub fn forget_names(&mut self) {
        let open = self.lanes.iter().filter_map(|lane| lane.spinners.oldest());
        // A sleep's task keeps its name in its sleep, unless somebody else renames it.
        let renamed = self.sleeps.as_ref().and_then(Sleeps::oldest_renamed);
        let oldest = open.chain(self.sleepers.oldest()).chain(renamed).map(|head| head.stamp).min();
        if let Some(chaining) = &mut self.chaining {
            chaining.forget_before(oldest.map_or(self.processed_ns, |oldest| oldest.ts_ns));
        }
        let processed = Stamp::before(self.processed_ns.saturating_sub(LATE_NS));
        self.cache.forget_before(oldest.map_or(processed, |oldest| oldest.min(processed)));
    }

    fn pair_spinners(&mut self, counts: &[usize], events: usize) {
        let mut work: Vec<_> = self.lanes.iter_mut().zip(counts.iter().copied()).collect();
        on_each(&mut work, events, |(lane, count)| {
            for event in lane.events.iter().take(*count) {
                lane.mmap_locks.take(event);
                lane.spinners.take(event, &mut lane.waits, &mut lane.forward);
            }
        });
        for lane in &mut self.lanes {
            self.mmap_locks.learn(&mut lane.mmap_locks);
        }
    }

    /// What concerns tasks, in the order of time over all CPUs: names, targets, sleeping waits.
    fn merge_the_rest(&mut self, sink: &mut dyn Sink) {
        let forwarded = self.lanes.iter().map(|lane| lane.forward.as_slice()).collect();
        for (_, event) in merge(forwarded) {
            match &event.body {
                Body::Task(task) => {
                    self.cache.apply(&event.head, task);
                    self.spaces.follow(&event.head, task, &self.cache);
                    self.keep.targets.follow(&event.head, task, &self.cache);
                }
                Body::GapEnd(gap) => {
                    self.cache.mark_loss(Stamp::before(gap.after_ns), event.head.stamp);
                    sink.gap(event.head.cpu, gap, event.head.stamp.ts_ns);
                }
                Body::FutexEnter(call) => self.spaces.note(&event.head, call.address),
                _ => {}
            }
            if let Some(sleeps) = &mut self.sleeps {
                sleeps.take(event, &mut self.slept);
            }
            if let Some(wait) = self.sleepers.take(event) {
                self.waits.push(self.spaces.judged(wait, &self.cache));
            }
        }
    }

    /// What is asked for of the tasks that waited, beyond their names.
    fn learn(&mut self, watermark_ns: u64) {
        self.spaces.learn(&self.cache, |head, name| self.keep.shows(head, name));
        if !self.cache.keeps_facts() {
            return;
        }
        let of_lanes = self.lanes.iter().flat_map(|lane| &lane.waits);
        for Wait { begin, .. } in of_lanes.chain(&self.waits).chain(&self.slept) {
            let name = self.cache.name_at(begin.tid, begin.cpu, begin.stamp);
            if self.keep.shows(begin, &name) {
                self.cache.take_note(begin.tid, begin.stamp);
            }
        }
        self.cache.learn(Stamp::behind(watermark_ns));
    }

    fn name_and_sum(&mut self, events: usize) {
        let (keep, aggregate) = (&self.keep, &self.aggregate);
        let (sleepers, slept) = (&self.sleepers, &self.waits);
        let with = Naming {
            cache: &self.cache,
            stacks: &self.decoding.stacks,
            mmap_locks: &self.mmap_locks,
            spaces: &self.spaces,
        };
        on_each(&mut self.lanes, events, |lane| {
            for wait in &mut lane.waits {
                wait.internal |= sleepers.encloses(slept, wait.lock, &wait.begin);
                let kept = keep.take(wait, None, &with, &mut lane.kept);
                let Some((named, key, sample)) = kept else { continue };
                lane.delta.add(key, (sample, named.split()), named.witness(), aggregate);
                lane.named.push(named);
            }
            lane.delta.flush(aggregate);
        });
        for wait in &self.waits {
            let chain = self.chaining.as_mut().and_then(|chains| chains.take(&with.named(wait)));
            let kept = keep.take(wait, chain.map(|(chain, _)| chain), &with, &mut self.kept);
            let Some((named, key, sample)) = kept else { continue };
            let (sample, witness) = ((sample, named.split()), named.witness());
            self.delta.add(key, sample, witness, aggregate);
            if let Some((chain, true)) = chain {
                let key = RowKey::of(Table::Chains, [Part::Chain(Some(chain))]);
                self.kept.count_chain(&named, sample.0);
                self.delta.add(key, sample, witness, aggregate);
            }
            self.named.push(named);
        }
        for wait in &self.slept {
            let kept = keep.take(wait, None, &with, &mut self.kept);
            let Some((named, key, sample)) = kept else { continue };
            self.delta.add(key, (sample, named.split()), named.witness(), aggregate);
            self.named.push(named);
        }
        self.delta.flush(aggregate);
        if let Some(names) = &mut self.lock_names {
            let of_lanes = self.lanes.iter().flat_map(|lane| &lane.named);
            of_lanes.chain(&self.named).for_each(|named| names.count(named));
        }
        self.spaces.end_window();
    }
}
