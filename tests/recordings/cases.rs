//! Reported cases that need their own bytes: rings written here, record by record, and a recording
//! that lacks its beginning. `tests/cases.md` says which case is which.

use std::collections::HashMap;

use ftlock::cmdline_cache::Certainty;
use ftlock::contention::{Begins, Counts};
use ftlock::event::Body;
use ftlock::event::decode::{Decoded, Decoder};
use ftlock::pipeline::{Results, Stacks, quality};

use crate::kernel::Ring;
use crate::totals::{Collected, Recorded};

/// A record: its time in ns and its bytes.
type Written = (u64, Vec<u8>);

const LOCK: u64 = 0xffff_8881_0000_1000;
const MS: u64 = 1_000_000;
const READ: u32 = 2;

/// Two CPUs of the kernel of `tests/data/live`, with rings of our own.
fn recorded(rings: [&[Written]; 2]) -> Recorded {
    let mut recorded = Recorded::live("msg");
    let size = recorded.layout.size_bytes();
    recorded.rings = rings.map(|ring| sub_buffers(ring, size)).into();
    recorded
}

fn run(rings: [&[Written]; 2]) -> (Collected, Results) {
    let (collected, results) = recorded(rings).run(false, Begins::All, 1000);
    for law in quality(&results, &[], 0, Stacks::Unwanted).identities() {
        assert!(law.holds(), "{law:?}");
    }
    (collected, results)
}

/// Whole sub-buffers of 64 bits, little-endian: the time, the length of the data, the records
/// (include/linux/ring_buffer.h, kernel/trace/ring_buffer.c, 6.18). A record that is earlier than
/// the one before it begins a sub-buffer of its own.
fn sub_buffers(ring: &[Written], size: usize) -> Vec<u8> {
    const TIME_EXTEND: u32 = 30;
    const DELTA_BITS: u32 = 27;
    let mut pages: Vec<(u64, Vec<u8>)> = Vec::new();
    let mut last_ns = u64::MAX;
    for (ts, payload) in ring {
        assert!(payload.len() % 4 == 0 && payload.len() <= 112);
        let full = pages.last().is_none_or(|(_, data)| data.len() + payload.len() + 12 > size - 16);
        if full || *ts < last_ns {
            pages.push((*ts, Vec::new()));
            last_ns = *ts;
        }
        let data = &mut pages.last_mut().unwrap().1;
        let delta = ts - last_ns;
        let mut low = u32::try_from(delta % (1 << DELTA_BITS)).unwrap();
        if delta >> DELTA_BITS > 0 {
            data.extend((TIME_EXTEND | low << 5).to_le_bytes());
            data.extend(u32::try_from(delta >> DELTA_BITS).unwrap().to_le_bytes());
            low = 0;
        }
        let words = u32::try_from(payload.len() / 4).unwrap();
        data.extend((words | low << 5).to_le_bytes());
        data.extend(payload);
        last_ns = *ts;
    }
    let page = |(ts, data): (u64, Vec<u8>)| {
        let mut page: Vec<u8> = ts.to_le_bytes().into();
        page.extend((data.len() as u64).to_le_bytes());
        page.extend(data);
        page.resize(size, 0);
        page
    };
    pages.into_iter().flat_map(page).collect()
}

/// `lock:contention_begin` and `_end` as `tests/data/live/formats` lays them out.
fn lock_event(id: u16, tid: u32, lock: u64, last: u32) -> Vec<u8> {
    let mut payload = Vec::from(id.to_le_bytes());
    payload.extend([0, 0]);
    payload.extend(tid.to_le_bytes());
    payload.extend(lock.to_le_bytes());
    payload.extend(last.to_le_bytes());
    payload
}

fn begin(ts: u64, tid: u32, lock: u64, flags: u32) -> Written {
    (ts, lock_event(408, tid, lock, flags))
}

fn end(ts: u64, tid: u32, lock: u64) -> Written {
    (ts, lock_event(407, tid, lock, 0))
}

/// Task, lock and length of each wait.
fn waits(collected: &Collected) -> Vec<(u32, u64, u64)> {
    let waits = collected.waits.iter().map(|named| &named.wait);
    let mut waits: Vec<_> =
        waits.map(|wait| (wait.begin.tid.0, wait.lock, wait.wait_ns())).collect();
    waits.sort_unstable();
    waits
}

#[test]
fn two_idle_cpus_that_wait_for_one_lock_are_two_waiters() {
    let spin = 1;
    let (collected, _) = run([
        &[begin(10, 0, LOCK, spin), end(50, 0, LOCK)],
        &[begin(20, 0, LOCK, spin), end(90, 0, LOCK)],
    ]);
    assert_eq!(waits(&collected), [(0, LOCK, 40), (0, LOCK, 70)]);
    let mut names: Vec<_> = collected.waits.iter().map(|named| named.name.comm).collect();
    names.sort_unstable();
    let names: Vec<_> = names.iter().map(|name| name.as_bytes()).collect();
    assert_eq!(names, [b"swapper/0", b"swapper/1"]);
}

#[test]
fn an_end_before_its_begin_on_another_cpu_gives_no_time() {
    let (collected, results) = run([
        &[begin(MS, 7, LOCK, READ)],
        &[end(MS - 5_000, 7, LOCK), begin(2 * MS, 8, LOCK, READ)],
    ]);
    assert_eq!(waits(&collected), []);
    let expected = Counts {
        begins_read: 2,
        ends_read: 1,
        clock: 1,
        clock_worst_ns: 5_000,
        open: 1,
        ..Counts::default()
    };
    assert_eq!(results.counts.locks, expected);
}

#[test]
fn a_clock_that_goes_back_by_a_second_gives_no_time_and_is_counted() {
    let second = 1_000 * MS;
    let (collected, results) = run([
        &[
            begin(2 * second, 7, LOCK, READ),
            end(second, 7, LOCK),
            begin(second + 10, 7, LOCK, READ),
            end(second + 30, 7, LOCK),
        ],
        &[],
    ]);
    assert_eq!(waits(&collected), [(7, LOCK, 20)]);
    assert_eq!((results.counts.locks.clock, results.counts.locks.clock_worst_ns), (1, second));
    assert!(quality(&results, &[], 0, Stacks::Unwanted).clock_backward > 0);
}

/// 10 ms between two CPUs' clocks: the stamps rule. An end so far before a begin is taken for that
/// of an earlier wait; neither has a time, and both are counted.
#[test]
fn cpus_with_skewed_clocks_give_what_their_stamps_say() {
    const SKEW: u64 = 10 * MS;
    let (collected, results) = run([
        &[begin(MS, 7, LOCK, READ), end(3 * MS, 8, LOCK)],
        &[begin(2 * MS + SKEW, 8, LOCK, READ), end(2 * MS + SKEW, 7, LOCK)],
    ]);
    assert_eq!(waits(&collected), [(7, LOCK, MS + SKEW)]);
    let expected = Counts {
        begins_read: 2,
        ends_read: 2,
        ok: 1,
        began_before_start: 1,
        open: 1,
        ..Counts::default()
    };
    assert_eq!(results.counts.locks, expected);
}

/// Events of one instant keep the order of their ring; between rings, that of the CPUs.
#[test]
fn events_of_one_instant_keep_their_order() {
    let (collected, results) = run([
        &[
            begin(MS, 7, LOCK, READ),
            end(MS, 7, LOCK),
            begin(MS, 7, LOCK, READ),
            begin(MS, 8, LOCK, READ),
        ],
        &[end(MS, 8, LOCK), end(2 * MS, 7, LOCK)],
    ]);
    assert_eq!(waits(&collected), [(7, LOCK, 0), (7, LOCK, MS), (8, LOCK, 0)]);
    assert_eq!(results.counts.locks.ok, 3);
}

#[test]
fn flags_that_are_rare_or_unknown_have_a_kind_and_their_bits() {
    let table = [
        (0, "semaphore", ""),
        (0x12, "pcpu-sem:R", "READ|PERCPU"),
        (0x14, "pcpu-sem:W", "WRITE|PERCPU"),
        (0x40, "unknown", "0x40"),
        (0x8000_0001, "unknown", "SPIN|0x80000000"),
    ];
    for (bits, kind, flags) in table {
        let (collected, _) = run([&[begin(10, 7, LOCK, bits), end(30, 7, LOCK)], &[]]);
        assert_eq!(waits(&collected), [(7, LOCK, 20)], "{bits:#x}");
        let found = collected.waits[0].wait.cause.flags().unwrap();
        assert_eq!((found.kind().name(), found.to_string().as_str()), (kind, flags), "{bits:#x}");
    }
}

/// A recording's events: when, on which CPU, by whom, what.
fn events(recorded: &Recorded) -> Vec<(u64, usize, u32, Decoded<'_>)> {
    let decoder = Decoder::new(recorded.abi, recorded.formats.iter().cloned()).unwrap();
    let mut events = Vec::new();
    for (cpu, raw) in recorded.rings.iter().enumerate() {
        for (ts, payload) in Ring::read(raw, &recorded.layout, recorded.abi).records {
            let head = decoder.head(payload).unwrap();
            events.push((ts, cpu, head.tid.0, decoder.decode(head.id, payload).unwrap()));
        }
    }
    events.sort_by_key(|(ts, ..)| *ts);
    events
}

/// Pairs by task and lock alone: begin, end, task, lock of each wait, and the ends without a begin.
fn paired(recorded: &Recorded) -> (Vec<(u64, u64, u32, u64)>, u64) {
    let (mut open, mut waits, mut unmatched) = (HashMap::new(), Vec::new(), 0);
    for (ts, cpu, tid, what) in events(recorded) {
        let key = |lock| (tid, if tid == 0 { cpu } else { 0 }, lock);
        match what {
            // Only a mutex begins several times in one wait; any other lock's end is missing.
            Decoded::Plain(Body::LockBegin { lock, flags }) if flags.is_mutex() => {
                open.entry(key(lock)).or_insert(ts);
            }
            Decoded::Plain(Body::LockBegin { lock, .. }) => _ = open.insert(key(lock), ts),
            Decoded::Plain(Body::LockEnd { lock, .. }) => match open.remove(&key(lock)) {
                Some(begin) => waits.push((begin, ts, tid, lock)),
                None => unmatched += 1,
            },
            _ => {}
        }
    }
    (waits, unmatched)
}

/// The recording `slp` without the first 200 records of one CPU.
#[test]
fn ends_whose_begin_was_before_the_trace_are_counted_and_not_timed() {
    let whole = Recorded::live("slp");
    let records = |cpu: usize| -> Vec<Written> {
        let ring = Ring::read(&whole.rings[cpu], &whole.layout, whole.abi);
        ring.records.into_iter().map(|(ts, payload)| (ts, payload.to_vec())).collect()
    };
    let unchanged = recorded([&records(0), &records(1)]);
    assert_eq!(paired(&unchanged).0.len(), 772, "the rings are written as they were");

    let late = recorded([&records(0)[200..], &records(1)]);
    let (expected, unmatched) = paired(&late);
    assert!(unmatched > 0 && expected.len() < 772);
    let (collected, results) = late.run(false, Begins::All, 1000);
    let total = |waits: &mut dyn Iterator<Item = u64>| waits.sum::<u64>();
    assert_eq!(collected.waits.len(), expected.len());
    assert_eq!(
        total(&mut collected.waits.iter().map(|named| named.wait.wait_ns())),
        total(&mut expected.iter().map(|(begin, end, ..)| end - begin)),
    );
    assert_eq!(
        results.counts.locks.began_before_start + results.counts.locks.orphan_end,
        unmatched
    );
}

/// `tests/data/live/PROVENANCE`: all tasks of `msg` were born in the trace.
#[test]
fn tasks_that_were_born_in_the_trace_all_have_names() {
    let (collected, results) = Recorded::live("msg").run(false, Begins::All, 1000);
    assert_eq!(collected.waits.len(), 140);
    assert_eq!(results.kept.name_unknown + results.kept.name_unconfirmed, 0);
    assert!(collected.waits.iter().all(|named| named.name.certainty == Certainty::Known));
}

/// An end while another lock of the same task is still waited for: both are waits.
#[test]
fn waits_inside_waits_are_all_there() {
    for name in ["slp", "dual"] {
        let recorded = Recorded::live(name);
        let (expected, _) = paired(&recorded);
        let inside = |waits: &[(u64, u64, u32, u64)]| {
            let is_inside = |&&(_, end, tid, lock): &&(u64, u64, u32, u64)| {
                waits.iter().any(|&(b, e, t, l)| t == tid && l != lock && b < end && end < e)
            };
            waits.iter().filter(is_inside).count()
        };
        let (collected, _) = recorded.run(false, Begins::All, 1000);
        let found: Vec<_> = collected
            .waits
            .iter()
            .map(|named| &named.wait)
            .map(|wait| (wait.begin.ts_ns, wait.end_ns, wait.begin.tid.0, wait.lock))
            .collect();
        println!("{name}: {} inside", inside(&found));
        assert_eq!(inside(&found), inside(&expected), "{name}");
        assert!(inside(&found) > 0, "{name}");
    }
}
