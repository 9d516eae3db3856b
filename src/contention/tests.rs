//! The sequences of the lock semantics, each with the counts they must give; and any sequence at
//! all, for which both identities must hold.

mod scheduling;

use proptest::prelude::*;

use super::{Begins, Counts, OpenWait, Sleepers, Spinners, Wait};
use crate::event::{
    Body, Comm, Context, Cpu, Event, FutexCall, FutexOp, Gap, Head, LeftAs, LockFlags, StackId,
    Stamp, TaskEvent, Tid,
};

const SPIN: u32 = 1;
const READ: u32 = 2;
const WRITE: u32 = 4;
const RT: u32 = 8;
const MUTEX: u32 = 32;
const EINTR: i32 = -4;

/// Everything a run gives.
struct Run {
    waits: Vec<Wait>,
    open: Vec<OpenWait>,
    counts: Counts,
    futexes: Counts,
}

/// Runs events through the stages as the pipeline does: each CPU in order, then merged by stamp.
fn run(begins: Begins, windows: &[Vec<Event>]) -> Run {
    let mut cpus: Vec<Spinners> = (0..4).map(|_| Spinners::default()).collect();
    let mut sleepers = Sleepers::new(begins);
    let mut waits = Vec::new();
    for window in windows {
        let mut forward = Vec::new();
        for (number, cpu) in cpus.iter_mut().enumerate() {
            let own = window.iter().filter(|event| usize::from(event.head.cpu.0) == number);
            own.for_each(|event| cpu.take(event, &mut waits, &mut forward));
        }
        forward.sort_by_key(|event| event.head.stamp);
        waits.extend(forward.iter().filter_map(|event| sleepers.take(event)));
    }
    let mut open = sleepers.finish();
    let mut counts = sleepers.counts.locks;
    for cpu in &mut cpus {
        open.extend(cpu.finish());
        counts.add(&cpu.counts.locks);
    }
    Run { waits, open, counts, futexes: sleepers.counts.futexes }
}

fn events(list: &[(u64, u16, u32, Body)]) -> Vec<Event> {
    let in_context =
        |&(ts, cpu, tid, body): &(u64, u16, u32, Body)| (ts, cpu, tid, Context::Task, body);
    events_in(&list.iter().map(in_context).collect::<Vec<_>>())
}

fn events_in(list: &[(u64, u16, u32, Context, Body)]) -> Vec<Event> {
    let numbered = list.iter().enumerate();
    numbered
        .map(|(seq, &(ts_ns, cpu, tid, context, body))| {
            let (cpu, tid) = (Cpu(cpu), Tid(tid));
            let stamp = Stamp::new(ts_ns, cpu, seq as u64);
            Event { head: Head { stamp, ts_ns, cpu, tid, context }, body }
        })
        .collect()
}

fn b(lock: u64, flags: u32) -> Body {
    Body::LockBegin { lock, flags: LockFlags(flags) }
}

fn e(lock: u64) -> Body {
    Body::LockEnd { lock, ret: 0 }
}

fn born(tid: u32) -> Body {
    Body::Task(TaskEvent::New {
        tid: Tid(tid),
        comm: Comm::new(b"x"),
        thread: false,
        own_cgroup: false,
    })
}

fn gap_end(after_ns: u64) -> Body {
    Body::GapEnd(Gap { missed: None, after_ns })
}

/// (name, events, the counts that are not zero, waits as (tid, lock, ns))
type Case = (&'static str, Vec<Event>, Counts, Vec<(u32, u64, u64)>);

fn cases() -> Vec<Case> {
    let none = Counts::default();
    vec![
        (
            "a mutex's phases are one wait from the first begin",
            events(&[
                (10, 0, 7, b(64, SPIN | MUTEX)),
                (20, 0, 7, b(64, MUTEX)),
                (30, 1, 7, b(64, SPIN | MUTEX)),
                (40, 1, 7, b(64, MUTEX)),
                (90, 0, 7, e(64)),
            ]),
            Counts { begins_read: 4, ends_read: 1, ok: 1, phase_changes: 3, ..none },
            vec![(7, 64, 80)],
        ),
        (
            "a killed waiter failed",
            events(&[(1, 0, 7, b(64, WRITE)), (5, 0, 7, Body::LockEnd { lock: 64, ret: EINTR })]),
            Counts { begins_read: 1, ends_read: 1, failed: 1, ..none },
            vec![(7, 64, 4)],
        ),
        (
            "a spinlock inside a sleeping wait is a wait of its own",
            events(&[
                (1, 0, 7, b(64, READ)),
                (2, 0, 7, b(900, SPIN)),
                (4, 0, 7, e(900)),
                (9, 1, 7, e(64)),
            ]),
            Counts { begins_read: 2, ends_read: 2, ok: 2, ..none },
            vec![(7, 64, 8), (7, 900, 2)],
        ),
        (
            "contexts of a CPU do not meet, though their tid is one",
            events_in(&[
                (1, 0, 7, Context::Task, b(64, SPIN)),
                (2, 0, 7, Context::Softirq, b(64, SPIN)),
                (3, 0, 7, Context::Hardirq, b(64, SPIN)),
                (4, 0, 7, Context::Hardirq, e(64)),
                (6, 0, 7, Context::Softirq, e(64)),
                (9, 0, 7, Context::Task, e(64)),
            ]),
            Counts { begins_read: 3, ends_read: 3, ok: 3, ..none },
            vec![(7, 64, 1), (7, 64, 4), (7, 64, 8)],
        ),
        (
            "every CPU has its own idle task",
            events(&[
                (1, 0, 0, b(64, SPIN)),
                (2, 1, 0, b(64, SPIN)),
                (5, 0, 0, e(64)),
                (9, 1, 0, e(64)),
            ]),
            Counts { begins_read: 2, ends_read: 2, ok: 2, ..none },
            vec![(0, 64, 4), (0, 64, 7)],
        ),
        (
            "the first end of a task without a begin began before the start; a second one did not",
            events(&[(1, 0, 7, e(64)), (2, 0, 7, b(72, READ)), (3, 0, 7, e(72)), (4, 0, 7, e(64))]),
            Counts {
                begins_read: 1,
                ends_read: 3,
                ok: 1,
                began_before_start: 1,
                orphan_end: 1,
                ..none
            },
            vec![(7, 72, 1)],
        ),
        (
            "who is born in the trace cannot have waited before it",
            events(&[(1, 0, 6, born(7)), (2, 0, 7, e(64))]),
            Counts { ends_read: 1, orphan_end: 1, ..none },
            vec![],
        ),
        (
            "a lock without phases that begins twice lost an end",
            events(&[(1, 0, 7, b(64, WRITE)), (5, 0, 7, b(64, WRITE)), (8, 0, 7, e(64))]),
            Counts { begins_read: 2, ends_read: 1, ok: 1, lost_end: 1, ..none },
            vec![(7, 64, 3)],
        ),
        (
            "an end that meets a deeper begin: those above lost theirs",
            events(&[(1, 0, 7, b(64, RT | READ)), (2, 0, 7, b(72, RT)), (8, 0, 7, e(64))]),
            Counts { begins_read: 2, ends_read: 1, ok: 1, lost_end: 1, ..none },
            vec![(7, 64, 7)],
        ),
        (
            "another task on the spinner's CPU: the spinner's end is lost",
            events(&[(1, 0, 7, b(64, SPIN)), (2, 0, 8, b(64, SPIN)), (5, 0, 8, e(64))]),
            Counts { begins_read: 2, ends_read: 1, ok: 1, lost_end: 1, ..none },
            vec![(8, 64, 3)],
        ),
        (
            "a task number that is born again takes nothing over",
            events(&[(1, 0, 7, b(64, READ)), (2, 1, 6, born(7)), (3, 0, 7, e(64))]),
            Counts { begins_read: 1, ends_read: 1, lost_end: 1, orphan_end: 1, ..none },
            vec![],
        ),
        (
            "exec by another thread than the leader closes both",
            events(&[
                (1, 0, 7, b(64, READ)),
                (2, 0, 9, b(64, READ)),
                (
                    3,
                    1,
                    7,
                    Body::Task(TaskEvent::Exec { tid: Tid(7), old_tid: Tid(9), filename: None }),
                ),
            ]),
            Counts { begins_read: 2, lost_end: 2, ..none },
            vec![],
        ),
        (
            "who exits no longer waits",
            events(&[
                (1, 0, 7, b(64, READ)),
                (3, 0, 7, Body::Task(TaskEvent::Exit { tid: Tid(7) })),
            ]),
            Counts { begins_read: 1, lost_end: 1, ..none },
            vec![],
        ),
        (
            "the nesting is bounded, and both sides of it are counted",
            events(
                &(0..10)
                    .map(|n| (n, 0, 7, b(1000 * (n + 1), RT)))
                    .chain((0..10).map(|n| (20 + n, 0, 7, e(1000 * (10 - n)))))
                    .collect::<Vec<_>>(),
            ),
            Counts {
                begins_read: 10,
                ends_read: 10,
                ok: 8,
                overflow_depth: 2,
                overflow_end: 2,
                ..none
            },
            (0..8).map(|n| (7, 1000 * (n + 1), 29 - 2 * n)).collect(),
        ),
        (
            "a loss on the CPU ends its spinners",
            events(&[
                (1, 0, 7, b(64, SPIN)),
                (2, 0, 7, Body::GapBegin),
                (9, 0, 7, gap_end(2)),
                (9, 0, 7, e(64)),
            ]),
            Counts { begins_read: 1, ends_read: 1, lost_end: 1, orphan_end: 1, ..none },
            vec![],
        ),
        (
            "a loss anywhere makes every sleeping wait uncertain that it overlaps",
            events(&[
                (1, 1, 7, b(64, READ)),
                (1, 1, 8, b(64, READ)),
                (2, 1, 8, e(64)),
                (3, 0, 0, Body::GapBegin),
                (4, 1, 9, b(64, READ)),
                (5, 1, 9, e(64)),
                (6, 1, 7, e(64)),
                (9, 0, 0, gap_end(3)),
                (10, 1, 9, b(64, READ)),
                (11, 1, 9, e(64)),
            ]),
            Counts { begins_read: 4, ends_read: 4, ok: 2, uncertain: 2, ..none },
            vec![(7, 64, 5), (8, 64, 1), (9, 64, 1), (9, 64, 1)],
        ),
        (
            "an uncertain wait is dropped when its task waits anew; a mutex's next phase is not that",
            events(&[
                (1, 1, 7, b(64, READ)),
                (1, 1, 8, b(80, MUTEX | SPIN)),
                (3, 0, 0, Body::GapBegin),
                (4, 0, 0, gap_end(3)),
                (5, 1, 7, b(72, READ)),
                (6, 1, 7, e(72)),
                (7, 1, 8, b(80, MUTEX)),
                (9, 1, 8, e(80)),
            ]),
            Counts {
                begins_read: 4,
                ends_read: 2,
                ok: 1,
                uncertain: 1,
                lost_end: 1,
                phase_changes: 1,
                ..none
            },
            vec![(7, 72, 1), (8, 80, 8)],
        ),
        (
            "an end 5 us before its begin on another CPU is the clocks' fault",
            events(&[(5_000, 1, 7, e(64)), (10_000, 0, 7, b(64, READ))]),
            Counts { begins_read: 1, ends_read: 1, clock: 1, clock_worst_ns: 5_000, ..none },
            vec![],
        ),
        (
            "what waits at the end is open",
            events(&[(1, 0, 7, b(64, READ)), (2, 0, 8, b(64, SPIN))]),
            Counts { begins_read: 2, open: 2, ..none },
            vec![],
        ),
    ]
}

#[test]
fn each_sequence_gives_its_waits_and_counts() {
    for (name, events, counts, expected) in cases() {
        let run = run(Begins::All, &[events]);
        let mut waits: Vec<_> =
            run.waits.iter().map(|wait| (wait.begin.tid.0, wait.lock, wait.wait_ns())).collect();
        waits.sort_unstable();
        assert_eq!(waits, expected, "{name}");
        assert_eq!(run.counts, counts, "{name}");
        assert_eq!(run.open.len() as u64, counts.open, "{name}");
        assert_eq!(run.counts.begins_accounted(), counts.begins_read, "{name}");
        assert_eq!(run.counts.ends_accounted(), counts.ends_read, "{name}");
    }
}

#[test]
fn a_begin_read_after_its_end_is_still_one_wait() {
    let late = events(&[(10, 0, 7, b(64, READ))]);
    let run = run(Begins::All, &[events(&[(30, 1, 7, e(64))]), late]);
    assert_eq!(run.waits.len(), 1);
    assert_eq!(run.waits[0].wait_ns(), 20);
    assert_eq!(run.counts, Counts { begins_read: 1, ends_read: 1, ok: 1, ..Counts::default() });
}

#[test]
fn a_clock_that_falls_back_on_one_cpu_gives_no_wait() {
    let mut back = events(&[(10_000, 0, 7, b(64, SPIN)), (10_000, 0, 7, e(64))]);
    back[1].head.ts_ns = 4_000;
    let run = run(Begins::All, &[back]);
    assert!(run.waits.is_empty());
    assert_eq!((run.counts.clock, run.counts.clock_worst_ns), (1, 6_000));
}

#[test]
fn with_filtered_begins_an_end_without_one_is_no_fault() {
    let run = run(Begins::Filtered, &[events(&[(1, 0, 7, e(64)), (2, 0, 7, e(64))])]);
    assert_eq!(run.counts, Counts { ends_read: 2, filtered_end: 2, ..Counts::default() });
}

#[test]
fn a_stack_goes_to_the_begin_before_it_in_its_own_context() {
    let stack = |number| Body::Stack(StackId(number));
    let list = [
        (1, 0, 7, Context::Task, b(64, READ)),
        (2, 0, 7, Context::Softirq, b(900, SPIN)),
        (3, 0, 7, Context::Softirq, stack(2)),
        (4, 0, 7, Context::Softirq, e(900)),
        (5, 0, 7, Context::Task, stack(1)),
        // A stack without a begin, and one of a mutex's later phase, change nothing.
        (6, 0, 7, Context::Task, stack(9)),
        (7, 0, 7, Context::Task, e(64)),
        (8, 0, 7, Context::Task, b(80, MUTEX | SPIN)),
        (9, 0, 7, Context::Task, stack(3)),
        (10, 0, 7, Context::Task, b(80, MUTEX)),
        (11, 0, 7, Context::Task, stack(4)),
        (12, 0, 7, Context::Task, e(80)),
    ];
    let run = run(Begins::All, &[events_in(&list)]);
    let mut stacks: Vec<_> = run.waits.iter().map(|wait| (wait.lock, wait.stack)).collect();
    stacks.sort_unstable();
    assert_eq!(stacks, [(64, Some(StackId(1))), (80, Some(StackId(3))), (900, Some(StackId(2)))]);
}

#[test]
fn a_lock_inside_the_lock_waited_for_is_internal() {
    let list =
        events(&[(1, 0, 7, b(0x1000, WRITE)), (2, 0, 7, b(0x1010, SPIN)), (3, 0, 7, e(0x1010))]);
    let mut cpu = Spinners::default();
    let (mut spins, mut forward) = (Vec::new(), Vec::new());
    list.iter().for_each(|event| cpu.take(event, &mut spins, &mut forward));
    let mut sleepers = Sleepers::new(Begins::All);
    assert!(forward.iter().all(|event| sleepers.take(event).is_none()));
    let around = sleepers.around(&[]);
    let encloses = |lock| around.encloses(lock, &spins[0].begin);
    assert!(encloses(0x1010));
    assert!(!encloses(0x1000), "the lock itself");
    assert!(!encloses(0x1080), "128 bytes on");
    assert!(!encloses(0xfff), "below");
}

/// Any event: few tasks, locks and CPUs, so that they meet often.
fn any_event() -> impl Strategy<Value = (u64, u16, u32, Context, Body)> {
    let lock = prop::sample::select(vec![64u64, 72, 4096, 5000]);
    let flags = prop::sample::select(vec![0u32, 1, 2, 4, 5, 8, 10, 32, 33, 64]);
    let body = prop_oneof![
        8 => (lock.clone(), flags).prop_map(|(lock, flags)| b(lock, flags)),
        8 => (lock, prop::sample::select(vec![0, EINTR])).prop_map(|(lock, ret)| Body::LockEnd { lock, ret }),
        1 => (1u32..5).prop_map(born),
        1 => (1u32..5).prop_map(|tid| Body::Task(TaskEvent::Exit { tid: Tid(tid) })),
        1 => (1u32..5, 1u32..5).prop_map(|(tid, old)| Body::Task(TaskEvent::Exec { tid: Tid(tid), old_tid: Tid(old), filename: None })),
        1 => Just(Body::GapBegin),
        1 => Just(gap_end(0)),
        2 => (0u32..9).prop_map(|number| Body::Stack(StackId(number))),
        4 => (0u32..5, any::<bool>(), 0u32..5).prop_map(|(prev, runnable, next)| {
            let left_as = if runnable { LeftAs::Runnable } else { LeftAs::Uninterruptible };
            Body::Switch { prev: Tid(prev), left_as, next: Tid(next) }
        }),
        3 => (0u32..5).prop_map(|tid| Body::Waking { tid: Tid(tid) }),
        1 => prop::sample::select(vec![64u64, 4096]).prop_map(|lock| Body::Released { lock }),
        3 => (any::<bool>(), 0u32..3).prop_map(|(plain, value)| {
            let op = if plain { FutexOp::Wait } else { FutexOp::LockPi };
            let call = FutexCall { op, address: 64, value, shared: false, timed: false };
            Body::FutexEnter(call)
        }),
        3 => prop::sample::select(vec![0i64, -4, -11, i64::MIN])
            .prop_map(|ret| Body::FutexExit { ret }),
    ];
    let context =
        prop_oneof![6 => Just(Context::Task), 1 => Just(Context::Softirq), 1 => Just(Context::Nmi)];
    (0u64..50, 0u16..4, 0u32..5, context, body)
}

proptest! {
    #[test]
    fn both_identities_hold_for_any_events(
        mut list in prop::collection::vec(any_event(), 0..200),
        clock_back in prop::collection::vec(0u64..50, 200),
        cut in 0usize..200,
        filtered in any::<bool>(),
    ) {
        list.sort_by_key(|event| event.0);
        let mut all = events_in(&list);
        for (event, ts_ns) in all.iter_mut().zip(clock_back).step_by(5) {
            event.head.ts_ns = ts_ns;
        }
        let rest = all.split_off(cut.min(all.len()));
        let begins = if filtered { Begins::Filtered } else { Begins::All };
        // The second window first now and then: everything in it is late.
        let windows = if cut % 3 == 0 { [rest, all] } else { [all, rest] };
        let run = run(begins, &windows);
        prop_assert_eq!(run.counts.begins_accounted(), run.counts.begins_read);
        prop_assert_eq!(run.counts.ends_accounted(), run.counts.ends_read);
        prop_assert_eq!(run.futexes.begins_accounted(), run.futexes.begins_read);
        prop_assert_eq!(run.futexes.ends_accounted(), run.futexes.ends_read);
        let finished = run.counts.finished() + run.futexes.finished();
        prop_assert_eq!(run.waits.len() as u64, finished);
        prop_assert!(run.waits.iter().all(|wait| wait.off_cpu.total_ns() <= wait.wait_ns()));
        prop_assert!(run.waits.iter().all(|wait| wait.end_ns >= wait.begin.ts_ns));
    }
}
