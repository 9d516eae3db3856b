//! All counters of a run, gathered for the report.

use std::collections::BTreeMap;

use crate::aggregate::Stats;
use crate::event::Cpu;
use crate::output::{StreamBlocked, StreamOpen};
use crate::report::{CpuEvents, Quality, RowKey, Table};
use crate::tracefs::CpuStats;

use super::blocked::Blocked;
use super::lane::ReadCounts;
use super::named::{OpenNamed, known_comm};
use super::results::Results;
use super::stream::stream_holder;

/// Whether a wait without a stack lacks one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stacks {
    /// No: none were asked for.
    Unwanted,
    /// Yes.
    Wanted,
    /// No: they were recorded for a part of the time only.
    Sampled,
}

/// How good a run's data is. `stats` are the kernel's own counters after the last drain; a
/// recording has none.
pub fn quality(
    results: &Results,
    stats: &[(Cpu, Option<CpuStats>)],
    stream_dropped: u64,
    stacks: Stacks,
) -> Quality {
    let kept = &results.kept;
    let all =
        |count: fn(&ReadCounts) -> u64| results.read.iter().map(|(_, read)| count(read)).sum();
    Quality {
        pairing: results.counts.locks,
        futexes: results.counts.futexes,
        sleeps: results.counts.sleeps,
        holders: kept.holders,
        holders_forgotten: results.holders_forgotten,
        words_forgotten: results.words_forgotten,
        switches_missing: results.switches_missing,
        chains_refused: results.chains.refused(),
        chains_forgotten: results.chains_forgotten,
        internal: kept.internal,
        internal_total_ns: kept.internal_total_ns,
        kept: kept.kept(),
        in_rows: in_rows(results),
        in_overflow: results.rows.overflow.iter().map(Stats::waits).sum(),
        own: kept.own,
        not_asked: kept.not_asked,
        short: kept.short,
        cpus: results.read.iter().map(|(cpu, read)| events(*cpu, read, stats)).collect(),
        gaps: all(|read| read.gaps),
        late_events: all(|read| read.late),
        clock_backward: all(|read| read.clock_backward),
        page_faults: page_faults(&results.read),
        unknown_ids: all(|read| read.unknown),
        malformed_events: all(|read| read.malformed),
        unread_records: results.unread,
        names_unknown: kept.name_unknown,
        names_unconfirmed: kept.name_unconfirmed,
        names_contradicted: results.names.contradictions,
        names_evicted: results.names.evicted,
        cgroups_unknown: kept.cgroup_unknown,
        cgroups_unconfirmed: kept.cgroup_unconfirmed,
        cmdlines_unread: kept.cmdline_unread,
        facts_evicted: results.facts.evicted,
        texts_refused: results.facts.refused,
        looks_put_off: results.facts.put_off + results.user_names.put_off,
        user_names_dropped: results.user_names.dropped,
        user_spaces_unread: results.user_names.unread,
        stacks_refused: results.stacks.refused(),
        stacks_missing: if stacks == Stacks::Wanted { kept.no_stack } else { 0 },
        stacks_sampled_out: if stacks == Stacks::Sampled { kept.no_stack } else { 0 },
        map_given_up: results.rows.given_up,
        map_floor_ns: results.rows.floor_ns,
        stream_dropped,
        own_cpu_ns: None,
        ring_peak_percent: None,
        hurried: 0,
        stack_sampling: None,
    }
}

/// The waits that rows and overflow rows hold. Those of chains are the locks' once more.
fn in_rows(results: &Results) -> u64 {
    let rows = results.rows.rows.iter().map(|(key, stats)| (key.table(), stats));
    let overflow = results.rows.overflow.iter().enumerate();
    let overflow = overflow.map(|(bucket, stats)| (RowKey::of_bucket(bucket).table(), stats));
    let once = rows.chain(overflow).filter(|(table, _)| *table != Table::Chains);
    once.map(|(_, stats)| stats.waits()).fold(0, u64::saturating_add)
}

/// The waits that were still open, for the writers.
pub fn open_waits(results: &Results) -> Vec<StreamOpen> {
    results.open.iter().map(stream_open).collect()
}

/// A task that was blocked all the time, for the writers.
pub fn stream_blocked(blocked: &Blocked) -> StreamBlocked<'_> {
    StreamBlocked { tid: blocked.tid, comm: &blocked.comm, stack: &blocked.stack }
}

/// An open wait, for the writers.
pub fn stream_open(open: &OpenNamed) -> StreamOpen {
    StreamOpen {
        begin_ns: open.wait.begin.ts_ns,
        age_ns: open.age_ns,
        tid: open.wait.begin.tid,
        comm: known_comm(&open.name),
        cpu: open.wait.begin.cpu,
        lock: open.wait.lock,
        cause: open.wait.cause,
        lock_name: open.lock_name,
        stack: open.wait.stack,
        holder: open.holder.as_ref().map(stream_holder),
        context: open.wait.begin.context,
        caller: open.caller,
        reason: open.reason,
    }
}

fn events(cpu: Cpu, read: &ReadCounts, stats: &[(Cpu, Option<CpuStats>)]) -> CpuEvents {
    let kernels = stats.iter().find(|(of, _)| *of == cpu).and_then(|(_, stats)| stats.as_ref());
    match kernels {
        Some(stats) => CpuEvents {
            cpu: cpu.0,
            read: read.events,
            overrun: stats.overrun,
            dropped: stats.dropped_events,
            written: stats.entries + stats.read_events + stats.overrun + stats.dropped_events,
        },
        None => CpuEvents {
            cpu: cpu.0,
            read: read.events,
            overrun: read.missed,
            dropped: 0,
            written: read.events + read.missed,
        },
    }
}

fn page_faults(read: &[(Cpu, ReadCounts)]) -> BTreeMap<String, u64> {
    let mut sum = BTreeMap::new();
    for (fault, count) in read.iter().flat_map(|(_, read)| &read.faults) {
        *sum.entry(fault.to_string()).or_default() += count;
    }
    sum
}
