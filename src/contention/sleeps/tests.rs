//! Sequences of switches and wakings with the sleeps and counts they must give; and any at all.

use proptest::prelude::*;

use super::Sleeps;
use crate::contention::{Counts, Wait};
use crate::event::{
    Body, Comm, Context, Cpu, Event, Gap, Head, LeftAs, StackId, Stamp, TaskEvent, Tid,
};
use LeftAs::{Dead, Idle, Interruptible as S, Runnable as R, Uninterruptible as D};

/// Time, CPU, current task, context, what happens.
type Item = (u64, u16, u32, Context, Body);

fn events(list: &[Item]) -> Vec<Event> {
    let numbered = list.iter().enumerate();
    numbered
        .map(|(seq, &(ts_ns, cpu, tid, context, body))| {
            let (cpu, tid) = (Cpu(cpu), Tid(tid));
            let stamp = Stamp::new(ts_ns, cpu, seq as u64);
            Event { head: Head { stamp, ts_ns, cpu, tid, context }, body }
        })
        .collect()
}

fn run(list: &[Item]) -> (Vec<Wait>, Counts, usize) {
    let (mut sleeps, mut waits) = (Sleeps::default(), Vec::new());
    events(list).iter().for_each(|event| sleeps.take(event, &mut waits));
    let open = sleeps.finish().len();
    (waits, sleeps.counts.sleeps, open)
}

/// On a CPU one task leaves and another one comes.
fn switch(ns: u64, cpu: u16, prev: u32, left_as: LeftAs, next: u32) -> Item {
    let (from, to) = (Tid(prev), Tid(next));
    (ns, cpu, prev, Context::Task, Body::Switch { prev: from, left_as, next: to })
}

fn wakes(ns: u64, cpu: u16, waker: u32, tid: u32) -> Item {
    (ns, cpu, waker, Context::Task, Body::Waking { tid: Tid(tid) })
}

/// An interrupt on top of whoever runs.
fn interrupt_wakes(ns: u64, cpu: u16, on: u32, tid: u32) -> Item {
    (ns, cpu, on, Context::Hardirq, Body::Waking { tid: Tid(tid) })
}

/// Something that a task does itself.
fn acts(ns: u64, cpu: u16, tid: u32) -> Item {
    (ns, cpu, tid, Context::Task, Body::FutexExit { ret: 0 })
}

fn happens(ns: u64, tid: u32, body: Body) -> Item {
    (ns, 1, tid, Context::Task, body)
}

fn gap_end() -> Body {
    Body::GapEnd(Gap { missed: None, after_ns: 0 })
}

fn born(tid: u32) -> Body {
    let tid = Tid(tid);
    Body::Task(TaskEvent::New { tid, comm: Comm::new(b"x"), thread: false, own_cgroup: false })
}

/// Task, its begin, how long it was asleep, how long it waited for a CPU then, who woke it.
type Slept = (u32, u64, u64, u64, Option<u32>);

/// (name, events, the counts that are not zero, the sleeps)
type Case = (&'static str, Vec<Item>, Counts, Vec<Slept>);

#[rustfmt::skip]
fn cases() -> Vec<Case> {
    let none = Counts::default();
    let one = Counts { begins_read: 1, ends_read: 1, ok: 1, ..none };
    vec![
        ("asleep until woken, then without a CPU until it has one again",
            vec![switch(10, 0, 7, S, 0), wakes(40, 1, 8, 7), switch(60, 1, 8, R, 7)],
            one, vec![(7, 10, 30, 20, Some(8))]),
        ("an interrupt wakes too, and is nobody",
            vec![switch(10, 0, 7, D, 9), interrupt_wakes(40, 0, 9, 7), switch(60, 0, 9, R, 7)],
            one, vec![(7, 10, 30, 20, None)]),
        ("the first waking counts",
            vec![switch(10, 0, 7, S, 9), wakes(20, 1, 8, 7), wakes(40, 1, 9, 7), switch(60, 0, 9, R, 7)],
            one, vec![(7, 10, 10, 40, Some(8))]),
        ("a waking that raced with the leaving lies before it",
            vec![wakes(9, 1, 8, 7), switch(10, 0, 7, S, 9), switch(60, 0, 9, R, 7)],
            one, vec![(7, 10, 0, 50, Some(8))]),
        ("who went on after a waking sleeps for something else",
            vec![switch(1, 0, 9, R, 7), wakes(5, 1, 8, 7), acts(7, 0, 7), switch(10, 0, 7, S, 9), switch(60, 0, 9, R, 7)],
            one, vec![(7, 10, 50, 0, None)]),
        ("no sleep: robbed of its CPU, or without it for a moment",
            vec![switch(10, 0, 7, R, 8), switch(20, 0, 8, R, 7)],
            none, vec![]),
        ("the idle task never sleeps",
            vec![switch(10, 0, 0, R, 7), switch(20, 0, 7, Idle, 0), wakes(30, 1, 8, 7), switch(31, 0, 0, S, 7)],
            one, vec![(7, 20, 10, 1, Some(8))]),
        ("the dead do not sleep",
            vec![switch(10, 0, 7, Dead, 8)],
            none, vec![]),
        ("who was woken and not seen to leave slept since before the start; later on, its leaving was hidden",
            vec![wakes(5, 1, 8, 7), switch(10, 0, 0, R, 7), wakes(20, 1, 8, 7), switch(30, 0, 9, R, 7)],
            Counts { ends_read: 2, began_before_start: 1, orphan_end: 1, ..none }, vec![]),
        ("who comes without a waking was not asleep",
            vec![switch(10, 0, 0, R, 7)],
            none, vec![]),
        ("without its switch, who acts on a CPU that was idle has it since it was woken",
            vec![switch(10, 0, 7, S, 9), switch(20, 1, 8, S, 0), interrupt_wakes(40, 1, 0, 7), acts(90, 1, 7)],
            Counts { begins_read: 2, ends_read: 1, ok: 1, inferred_end: 1, open: 1, ..none },
            vec![(7, 10, 30, 0, None)]),
        ("as soon as that CPU was idle",
            vec![switch(10, 0, 7, S, 9), interrupt_wakes(40, 1, 8, 7), switch(50, 1, 8, R, 0), switch(90, 1, 7, Dead, 0)],
            Counts { begins_read: 1, ends_read: 1, ok: 1, inferred_end: 1, ..none },
            vec![(7, 10, 30, 10, None)]),
        ("on a CPU with others it is not known since when",
            vec![switch(10, 0, 7, S, 9), wakes(40, 1, 8, 7), acts(90, 1, 7)],
            Counts { begins_read: 1, ends_read: 1, uncertain: 1, ..none },
            vec![(7, 10, 30, 50, Some(8))]),
        ("an interrupt on top of it is not its doing",
            vec![switch(10, 0, 7, S, 9), interrupt_wakes(20, 0, 7, 9)],
            Counts { begins_read: 1, open: 1, ..none }, vec![]),
        ("what came late does not end a sleep that began later",
            vec![switch(50, 0, 7, S, 9), acts(40, 1, 7), switch(45, 1, 8, R, 7)],
            Counts { begins_read: 1, open: 1, ..none }, vec![]),
        ("a sleep over a loss is uncertain; in a loss anybody may have left",
            vec![switch(10, 0, 7, S, 9), happens(20, 0, Body::GapBegin), switch(25, 0, 9, S, 8),
                happens(30, 0, gap_end()), switch(40, 0, 8, R, 7), wakes(50, 1, 6, 9), switch(60, 0, 7, R, 9),
                switch(70, 0, 9, S, 5), switch(80, 0, 5, R, 9), wakes(90, 1, 6, 4), switch(95, 0, 9, R, 4)],
            Counts { begins_read: 3, ends_read: 4, ok: 1, uncertain: 2, orphan_end: 1, ..none },
            vec![(7, 10, 30, 0, None), (9, 25, 25, 10, Some(6)), (9, 70, 10, 0, None)]),
        ("a task number that is born again takes nothing over; nor does who execs as another thread",
            vec![switch(10, 0, 7, S, 9), happens(20, 6, born(7)), switch(30, 0, 9, R, 7), switch(40, 0, 7, S, 9),
                happens(50, 6, Body::Task(TaskEvent::Exec { tid: Tid(6), old_tid: Tid(7), filename: None }))],
            Counts { begins_read: 2, lost_end: 2, ..none }, vec![]),
    ]
}

#[test]
fn each_sequence_gives_its_sleeps_and_counts() {
    for (name, list, counts, expected) in cases() {
        let (waits, found, open) = run(&list);
        let sleeps = waits.iter().map(|wait| {
            let off = &wait.off_cpu;
            assert_eq!(off.blocked_ns + off.runnable_ns, wait.wait_ns(), "{name}");
            let waker = wait.holder.map(|holder| holder.head.tid.0);
            (wait.begin.tid.0, wait.begin.ts_ns, off.blocked_ns, off.runnable_ns, waker)
        });
        assert_eq!(sleeps.collect::<Vec<_>>(), expected, "{name}");
        assert_eq!(found, counts, "{name}");
        assert_eq!(open as u64, counts.open, "{name}");
        assert_eq!(found.begins_accounted(), found.begins_read, "{name}");
        assert_eq!(found.ends_accounted(), found.ends_read, "{name}");
    }
}

#[test]
fn stacks_go_to_the_sleep_and_the_waking_before_them() {
    let list = [
        switch(10, 0, 7, S, 9),
        happens(10, 7, Body::SleepStack(StackId(1))),
        wakes(20, 1, 8, 7),
        happens(20, 8, Body::WakerStack { tid: Tid(7), stack: StackId(2) }),
        switch(30, 0, 9, R, 7),
    ];
    let (waits, ..) = run(&list);
    let stacks: Vec<_> =
        waits.iter().map(|wait| (wait.stack, wait.holder.and_then(|by| by.stack))).collect();
    assert_eq!(stacks, [(Some(StackId(1)), Some(StackId(2)))]);
}

/// The name of a sleep is that of its begin: only then an old one is still needed.
#[test]
fn only_the_begin_of_who_was_renamed_asleep_is_needed() {
    let rename = |ns, by, tid| {
        let tid = Tid(tid);
        let (old, new) = (Comm::new(b"old"), Comm::new(b"new"));
        happens(ns, by, Body::Task(TaskEvent::Rename { tid, old, new }))
    };
    let list = [
        switch(10, 0, 7, S, 8),
        switch(20, 0, 8, S, 9),
        rename(30, 9, 9),
        rename(40, 9, 8),
        switch(50, 0, 9, S, 6),
    ];
    let (mut sleeps, mut waits) = (Sleeps::default(), Vec::new());
    events(&list).iter().for_each(|event| sleeps.take(event, &mut waits));
    assert_eq!(sleeps.oldest_renamed().map(|head| head.tid), Some(Tid(8)));
}

fn any_item() -> impl Strategy<Value = Item> {
    let left_as = prop::sample::select(vec![S, D, R, Idle, Dead]);
    let (tid, other) = (0u32..5, 0u32..5);
    let body = prop_oneof![
        8 => (tid, left_as, other).prop_map(|(prev, left_as, next)| Body::Switch { prev: Tid(prev), left_as, next: Tid(next) }),
        4 => (0u32..5).prop_map(|tid| Body::Waking { tid: Tid(tid) }),
        2 => Just(Body::FutexExit { ret: 0 }),
        1 => (1u32..5).prop_map(born),
        1 => Just(Body::GapBegin),
        1 => Just(gap_end()),
    ];
    let context = prop_oneof![4 => Just(Context::Task), 1 => Just(Context::Hardirq)];
    (0u64..50, 0u16..3, 0u32..5, context, body)
}

proptest! {
    #[test]
    fn both_identities_hold_for_any_events(
        mut list in prop::collection::vec(any_item(), 0..200),
        is_in_order in any::<bool>(),
    ) {
        if is_in_order {
            list.sort_by_key(|item| item.0);
        }
        let (waits, counts, open) = run(&list);
        prop_assert_eq!(counts.begins_accounted(), counts.begins_read);
        prop_assert_eq!(counts.ends_accounted(), counts.ends_read);
        prop_assert_eq!(waits.len() as u64, counts.finished());
        prop_assert_eq!(open as u64, counts.open);
        let blocked = |item: &&Item| matches!(item.4, Body::Switch { prev, left_as, .. } if prev != Tid(0) && left_as.is_blocked() && left_as != Dead);
        prop_assert_eq!(list.iter().filter(blocked).count() as u64, counts.begins_read);
        prop_assert!(waits.iter().all(|wait| wait.begin.tid != Tid(0)));
        prop_assert!(waits.iter().all(|wait| wait.end_ns >= wait.begin.ts_ns));
    }
}
