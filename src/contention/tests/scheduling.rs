//! Where a wait's time goes, and who had the lock, from sequences of events written by hand.

use super::{EINTR, MUTEX, READ, SPIN, WRITE, b, e, events, events_in, gap_end, run};
use crate::contention::{Begins, Evidence, OffCpu, Wait};
use crate::event::{Body, Context, Event, LeftAs, StackId, Tid};

fn switch(prev: u32, left_as: LeftAs, next: u32) -> Body {
    Body::Switch { prev: Tid(prev), left_as, next: Tid(next) }
}

fn wakes(tid: u32) -> Body {
    Body::Waking { tid: Tid(tid) }
}

/// The waits of one thread, in order.
fn waits_of(tid: u32, list: Vec<Event>) -> Vec<Wait> {
    let run = run(Begins::All, &[list]);
    run.waits.into_iter().filter(|wait| wait.begin.tid == Tid(tid)).collect()
}

const SLEEPS: LeftAs = LeftAs::Uninterruptible;

/// (what it is, events, blocked, runnable and preempted ns of thread 7's wait, its length)
type SplitCase = (&'static str, Vec<Event>, (u64, u64, u64), u64);

#[test]
fn a_waits_time_is_divided_by_what_its_task_did() {
    let cases: Vec<SplitCase> = vec![
        (
            "spins, is preempted, sleeps, is woken, gets a CPU",
            events(&[
                (10, 0, 7, b(64, SPIN | MUTEX)),
                (20, 0, 7, switch(7, LeftAs::Runnable, 8)),
                (50, 0, 8, switch(8, LeftAs::Runnable, 7)),
                (60, 0, 7, b(64, MUTEX)),
                (70, 0, 7, switch(7, SLEEPS, 8)),
                (170, 1, 9, wakes(7)),
                (190, 0, 8, switch(8, LeftAs::Runnable, 7)),
                (200, 0, 7, e(64)),
            ]),
            (100, 20, 30),
            190,
        ),
        (
            "two sleeps in one wait, the second after a lock that was stolen",
            events(&[
                (0, 0, 7, b(64, WRITE)),
                (10, 0, 7, switch(7, SLEEPS, 0)),
                (20, 1, 9, wakes(7)),
                (25, 0, 0, switch(0, LeftAs::Runnable, 7)),
                (30, 0, 7, switch(7, SLEEPS, 0)),
                (50, 1, 9, wakes(7)),
                (55, 0, 0, switch(0, LeftAs::Runnable, 7)),
                (60, 0, 7, e(64)),
            ]),
            (30, 10, 0),
            60,
        ),
        (
            "the switch that gives it a CPU was not recorded: its next event tells",
            events(&[
                (0, 0, 7, b(64, WRITE)),
                (10, 0, 7, switch(7, SLEEPS, 0)),
                (80, 1, 9, wakes(7)),
                (100, 0, 7, e(64)),
            ]),
            (70, 20, 0),
            100,
        ),
        (
            "nor that one, and it leaves again",
            events(&[
                (0, 0, 7, b(64, WRITE)),
                (10, 0, 7, switch(7, SLEEPS, 0)),
                (80, 1, 9, wakes(7)),
                (90, 1, 7, switch(7, LeftAs::Runnable, 3)),
                (120, 1, 3, switch(3, LeftAs::Runnable, 7)),
                (130, 1, 7, e(64)),
            ]),
            (70, 10, 30),
            130,
        ),
        (
            "a stack behind the switch is not a sign of life",
            events(&[
                (0, 0, 7, b(64, WRITE)),
                (10, 0, 7, switch(7, SLEEPS, 0)),
                (12, 0, 7, Body::Stack(StackId(1))),
                (80, 1, 9, wakes(7)),
                (90, 0, 0, switch(0, LeftAs::Runnable, 7)),
                (100, 0, 7, e(64)),
            ]),
            (70, 10, 0),
            100,
        ),
        (
            "an interrupt on top of whoever runs is not one either",
            events_in(&[
                (0, 0, 7, Context::Task, b(64, WRITE)),
                (10, 0, 7, Context::Task, switch(7, SLEEPS, 0)),
                (20, 0, 7, Context::Hardirq, wakes(5)),
                (80, 1, 9, Context::Task, wakes(7)),
                (90, 0, 0, Context::Task, switch(0, LeftAs::Runnable, 7)),
                (100, 0, 7, Context::Task, e(64)),
            ]),
            (70, 10, 0),
            100,
        ),
    ];
    for (what, list, (blocked_ns, runnable_ns, preempted_ns), wait_ns) in cases {
        let waits = waits_of(7, list);
        let [wait] = waits[..] else { panic!("{what}: {waits:?}") };
        assert_eq!(wait.off_cpu, OffCpu { blocked_ns, runnable_ns, preempted_ns }, "{what}");
        assert_eq!(wait.wait_ns(), wait_ns, "{what}");
    }
}

#[test]
fn an_inner_waits_sleep_is_in_the_outer_one_too() {
    let waits = waits_of(
        7,
        events(&[
            (0, 0, 7, b(64, READ)),
            (10, 0, 7, b(640, MUTEX)),
            (20, 0, 7, switch(7, SLEEPS, 0)),
            (50, 0, 9, wakes(7)),
            (55, 0, 0, switch(0, LeftAs::Runnable, 7)),
            (60, 0, 7, e(640)),
            (90, 0, 7, e(64)),
        ]),
    );
    let split = OffCpu { blocked_ns: 30, runnable_ns: 5, preempted_ns: 0 };
    assert_eq!(waits.iter().map(|wait| wait.off_cpu).collect::<Vec<_>>(), [split, split]);
    let holders = waits.iter().map(|wait| (wait.lock, wait.holder.map(|by| by.head.tid)));
    assert_eq!(holders.collect::<Vec<_>>(), [(640, Some(Tid(9))), (64, None)]);
}

/// (what it is, events, who held the lock in each of thread 7's waits)
type HolderCase = (&'static str, Vec<Event>, Vec<Option<(u32, Evidence, Option<u64>)>>);

#[test]
fn the_holder_is_whoever_let_the_waiter_in() {
    let by = |tid, evidence, held_ns| Some((tid, evidence, held_ns));
    let cases: Vec<HolderCase> = vec![
        (
            "the last one that woke it",
            events(&[
                (0, 0, 7, b(64, MUTEX)),
                (10, 1, 8, wakes(7)),
                (20, 1, 9, wakes(7)),
                (30, 0, 7, e(64)),
            ]),
            vec![by(9, Evidence::Waking, None)],
        ),
        (
            "nobody, if it only spun, or was woken before or behind its wait",
            events(&[
                (0, 1, 9, wakes(7)),
                (1, 0, 7, b(64, SPIN | MUTEX)),
                (5, 0, 7, e(64)),
                (6, 1, 9, wakes(7)),
                (7, 0, 7, b(64, SPIN | MUTEX)),
                (8, 0, 7, e(64)),
            ]),
            vec![None, None],
        ),
        (
            "no interrupt, and not the idle task",
            events_in(&[
                (0, 0, 7, Context::Task, b(64, MUTEX)),
                (10, 1, 9, Context::Hardirq, wakes(7)),
                (11, 1, 9, Context::Softirq, wakes(7)),
                (12, 1, 0, Context::Task, wakes(7)),
                (30, 0, 7, Context::Task, e(64)),
            ]),
            vec![None],
        ),
        (
            "nobody let in who gave up",
            events(&[
                (0, 0, 7, b(64, MUTEX)),
                (10, 1, 9, wakes(7)),
                (30, 0, 7, Body::LockEnd { lock: 64, ret: EINTR }),
            ]),
            vec![None],
        ),
        (
            "a reader that wakes another one waited for the same writer",
            events(&[
                (0, 0, 7, b(64, READ)),
                (1, 1, 8, b(64, READ)),
                (10, 2, 9, wakes(8)),
                (12, 1, 8, wakes(7)),
                (15, 1, 8, e(64)),
                (20, 0, 7, e(64)),
            ]),
            vec![by(9, Evidence::Waking, None)],
        ),
        (
            "and if that one's holder is not known, neither is the other's",
            events(&[
                (0, 0, 7, b(64, READ)),
                (1, 1, 8, b(64, READ)),
                (12, 1, 8, wakes(7)),
                (15, 1, 8, e(64)),
                (20, 0, 7, e(64)),
            ]),
            vec![None],
        ),
        (
            "a holder that had waited itself held it since then",
            events(&[
                (0, 0, 9, b(64, MUTEX)),
                (5, 0, 9, e(64)),
                (10, 1, 7, b(64, MUTEX)),
                (45, 0, 9, wakes(7)),
                (50, 1, 7, e(64)),
            ]),
            vec![by(9, Evidence::Waking, Some(40))],
        ),
        (
            "the kernel's word outweighs the waker, and lets a spinner know too",
            events(&[
                (0, 0, 7, b(64, MUTEX)),
                (10, 1, 8, Body::Released { lock: 64 }),
                (20, 1, 9, wakes(7)),
                (30, 0, 7, e(64)),
                (40, 0, 7, b(64, MUTEX | SPIN)),
                (41, 1, 8, Body::Released { lock: 640 }),
                (42, 1, 9, Body::Released { lock: 64 }),
                (43, 0, 7, e(64)),
            ]),
            vec![by(8, Evidence::Release, None), by(9, Evidence::Release, None)],
        ),
    ];
    for (what, list, expected) in cases {
        let holder = |wait: &Wait| wait.holder.map(|by| (by.head.tid.0, by.evidence, by.held_ns));
        let found: Vec<_> = waits_of(7, list).iter().map(holder).collect();
        assert_eq!(found, expected, "{what}");
    }
}

#[test]
fn a_wakers_stack_is_the_holders_and_a_sleepers_is_nobodys() {
    let stack = |number| Body::Stack(StackId(number));
    let waits = waits_of(
        7,
        events(&[
            (0, 0, 7, b(64, WRITE)),
            (1, 0, 7, stack(1)),
            (10, 0, 7, switch(7, SLEEPS, 0)),
            (11, 0, 7, stack(2)),
            (40, 1, 9, wakes(7)),
            (42, 1, 9, stack(3)),
            (43, 1, 9, stack(4)),
            (50, 0, 7, e(64)),
        ]),
    );
    let stacks = (waits[0].stack, waits[0].holder.and_then(|holder| holder.stack));
    assert_eq!(stacks, (Some(StackId(1)), Some(StackId(3))));
}

#[test]
fn an_open_wait_has_a_likely_holder_until_that_one_lets_go() {
    let got_it = [(0, 0, 9, b(64, MUTEX)), (5, 0, 9, e(64)), (10, 1, 7, b(64, MUTEX))];
    let holder = |more: &[(u64, u16, u32, Body)]| {
        let run = run(Begins::All, &[events(&[&got_it[..], more].concat())]);
        let open: Vec<_> = run.open.iter().filter(|wait| wait.begin.tid == Tid(7)).collect();
        open[0].holder.map(|by| (by.head.tid.0, by.evidence))
    };
    assert_eq!(holder(&[]), Some((9, Evidence::Acquired)));
    assert_eq!(holder(&[(20, 0, 9, Body::Released { lock: 64 })]), None);
    // It woke the waiter, which has not got the lock yet: it was the holder up to then.
    assert_eq!(holder(&[(20, 0, 9, wakes(7))]), Some((9, Evidence::Waking)));
}

#[test]
fn what_a_waiter_did_is_not_known_across_a_loss() {
    let list = events(&[
        (0, 0, 7, b(64, WRITE)),
        (10, 0, 7, switch(7, SLEEPS, 0)),
        (20, 1, 0, Body::GapBegin),
        (30, 1, 0, gap_end(20)),
        (40, 0, 0, switch(0, LeftAs::Runnable, 7)),
        (50, 0, 7, e(64)),
    ]);
    let waits = waits_of(7, list);
    assert!(waits[0].uncertain && waits[0].off_cpu == OffCpu::default());
}
