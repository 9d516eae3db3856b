//! Names from the events that cause them. Instants are small numbers of ns.

mod bounds;
mod properties;

use super::{Certainty, CmdlineCache, SeededTask};
use crate::event::{Comm, Context, Cpu, Head, Stamp, TaskEvent, Tid};

const CPU: Cpu = Cpu(0);

fn comm(name: &str) -> Comm {
    Comm::new(name.as_bytes())
}

fn at(ns: u64) -> Stamp {
    Stamp::new(ns, CPU, 0)
}

fn head(stamp: Stamp, current: u32) -> Head {
    let ts_ns = stamp.ts_ns;
    Head { stamp, ts_ns, cpu: CPU, tid: Tid(current), context: Context::Task }
}

fn process(tid: u32, name: &str) -> TaskEvent {
    TaskEvent::New { tid: Tid(tid), comm: comm(name), thread: false, own_cgroup: false }
}

fn thread(tid: u32, name: &str) -> TaskEvent {
    TaskEvent::New { tid: Tid(tid), comm: comm(name), thread: true, own_cgroup: false }
}

fn fork(parent: u32, child: u32, name: &str) -> TaskEvent {
    TaskEvent::Fork { parent: Tid(parent), child: Tid(child), child_comm: comm(name) }
}

fn rename(tid: u32, old: &str, new: &str) -> TaskEvent {
    TaskEvent::Rename { tid: Tid(tid), old: comm(old), new: comm(new) }
}

fn exec(tid: u32, old_tid: u32) -> TaskEvent {
    TaskEvent::Exec { tid: Tid(tid), old_tid: Tid(old_tid), filename: None }
}

fn exit(tid: u32) -> TaskEvent {
    TaskEvent::Exit { tid: Tid(tid) }
}

fn task(tid: u32, tgid: u32, name: &str, start_time: u64) -> SeededTask {
    let comm = comm(name);
    SeededTask { tid: Tid(tid), tgid: Tid(tgid), comm, start_time, kernel_thread: false }
}

/// A cache after events: the time, who was current, what happened.
fn after(events: &[(u64, u32, TaskEvent)]) -> CmdlineCache {
    let mut cache = CmdlineCache::new(1000);
    add(&mut cache, events);
    cache
}

fn add(cache: &mut CmdlineCache, events: &[(u64, u32, TaskEvent)]) {
    for (ns, current, event) in events {
        cache.apply(&head(at(*ns), *current), event);
    }
}

/// The name; with `!` where it is unconfirmed.
fn name(cache: &CmdlineCache, tid: u32, ns: u64) -> String {
    let found = cache.name_at(Tid(tid), CPU, at(ns));
    let mark = if found.certainty == Certainty::Unconfirmed { "!" } else { "" };
    format!("{}{mark}", found.comm.as_bytes().escape_ascii())
}

fn assert_names(cache: &CmdlineCache, tid: u32, table: &[(u64, &str)]) {
    for &(ns, expected) in table {
        assert_eq!(name(cache, tid, ns), expected, "tid {tid} at {ns}");
    }
}

fn tgid(cache: &CmdlineCache, tid: u32, ns: u64) -> Option<u32> {
    cache.name_at(Tid(tid), CPU, at(ns)).tgid.map(|tgid| tgid.0)
}

fn incarnation(cache: &CmdlineCache, tid: u32, ns: u64) -> u32 {
    cache.name_at(Tid(tid), CPU, at(ns)).incarnation
}

#[test]
fn a_reborn_id_is_another_task_and_the_dead_one_keeps_its_name_until_then() {
    let cache = after(&[
        (10, 1, process(7, "sh")),
        (20, 7, exit(7)),
        (30, 1, process(7, "cron")),
        (30, 1, fork(1, 7, "cron")),
    ]);
    assert_names(&cache, 7, &[(9, "?7"), (10, "sh"), (29, "sh"), (30, "cron"), (99, "cron")]);
    assert_eq!(cache.name_at(Tid(7), CPU, at(9)).certainty, Certainty::Unknown);
    assert_ne!(incarnation(&cache, 7, 29), incarnation(&cache, 7, 30));
    assert_eq!((cache.counters().births, cache.counters().births_by_fork), (2, 0));
}

#[test]
fn a_thread_is_of_the_process_its_parent_was_of_at_that_instant() {
    let cache = after(&[
        (10, 1, process(7, "a")),
        (20, 7, thread(8, "a")),
        (30, 8, thread(9, "a")),
        (40, 8, process(10, "a")),
        (50, 1, process(8, "b")),
        (60, 77, thread(11, "c")),
    ]);
    assert_eq!([7, 8, 9, 10].map(|tid| tgid(&cache, tid, 45)), [7, 7, 7, 10].map(Some));
    assert_eq!(tgid(&cache, 8, 50), Some(8));
    assert_eq!(tgid(&cache, 11, 60), None, "its parent was never seen");
}

#[test]
fn a_fork_behind_its_birth_adds_nothing_and_without_it_is_a_birth() {
    let mut cache = after(&[
        (10, 1, process(7, "a")),
        (11, 1, fork(1, 7, "a")),
        (20, 7, exit(7)),
        (30, 1, fork(1, 7, "b")),
        (40, 7, rename(7, "b", "c")),
        (50, 1, fork(1, 7, "d")),
        (60, 2, fork(2, 7, "e")),
    ]);
    assert_names(&cache, 7, &[(29, "a"), (30, "b"), (41, "c"), (50, "d"), (60, "e")]);
    assert_eq!((cache.counters().births, cache.counters().births_by_fork), (4, 3));
    // The birth that comes late says what the fork could not: that it is a process.
    let by_fork = incarnation(&cache, 7, 60);
    add(&mut cache, &[(59, 2, process(7, "e"))]);
    assert_eq!((tgid(&cache, 7, 60), incarnation(&cache, 7, 60)), (Some(7), by_fork));
}

#[test]
fn a_rename_holds_from_behind_its_event_on_whoever_raised_it() {
    let mut cache = after(&[(10, 1, process(7, "sh")), (20, 9, rename(7, "sh", "other"))]);
    assert_names(&cache, 7, &[(20, "sh"), (21, "other")]);
    // Two records of one time: their order tells them apart.
    let renamed = Stamp::new(30, CPU, 5);
    cache.apply(&head(renamed, 7), &rename(7, "other", "third"));
    let at_record = |seq| cache.name_at(Tid(7), CPU, Stamp::new(30, CPU, seq)).comm;
    assert_eq!([4, 5, 6].map(at_record), ["other", "other", "third"].map(comm));
    assert_eq!(cache.counters().contradictions, 0);
}

#[test]
fn a_rename_tells_the_name_before_it_too_and_a_wrong_old_name_is_counted() {
    let cache = after(&[
        (20, 7, rename(7, "a", "b")),
        (30, 7, rename(7, "b", "c")),
        (40, 7, rename(7, "x", "d")),
    ]);
    assert_names(&cache, 7, &[(5, "a"), (20, "a"), (25, "b"), (35, "c"), (41, "d")]);
    assert_eq!(cache.counters().contradictions, 1);
}

#[test]
fn one_process_runs_three_programs_in_turn() {
    let cache = after(&[
        (10, 1, process(7, "sh")),
        (20, 7, rename(7, "sh", "env")),
        (21, 7, exec(7, 7)),
        (30, 7, rename(7, "env", "true")),
        (31, 7, exec(7, 7)),
        (40, 7, exit(7)),
    ]);
    assert_names(&cache, 7, &[(15, "sh"), (25, "env"), (35, "true"), (50, "true")]);
    assert_eq!(incarnation(&cache, 7, 15), incarnation(&cache, 7, 50));
    assert_eq!((cache.counters().execs, cache.counters().execs_by_thread), (2, 0));
}

/// The order of the events is that of the recording amd64-6.12/fresh: leader 1200, threads 1201
/// and 1215, of which 1215 runs exec.
#[test]
fn an_exec_by_a_thread_moves_its_name_to_the_leaders_id() {
    let events = [
        (10, 1, process(1200, "tex-leader")),
        (20, 1200, thread(1201, "texec-0")),
        (21, 1200, thread(1215, "texec-2")),
        (30, 1200, exit(1200)),
        (40, 1201, exit(1201)),
        (50, 1200, rename(1200, "texec-2", "ex gamma")),
        (60, 1200, exec(1200, 1215)),
        (70, 1200, rename(1200, "ex gamma", "later")),
    ];
    let mut cache = after(&events);
    let leader = [(35, "tex-leader"), (40, "tex-leader"), (45, "texec-2!"), (51, "ex gamma")];
    let thread = [(39, "texec-2"), (45, "texec-2!"), (51, "tex-leader"), (90, "tex-leader")];
    assert_names(&cache, 1200, &leader);
    assert_names(&cache, 1200, &[(65, "ex gamma"), (71, "later")]);
    assert_names(&cache, 1215, &thread);
    assert_eq!(tgid(&cache, 1200, 90), Some(1200));
    assert_eq!((cache.counters().contradictions, cache.counters().execs_by_thread), (0, 1));

    // The dead leader's number is free from the swap on, even before the exec event.
    add(&mut cache, &[(55, 1, process(1215, "new"))]);
    assert_names(&cache, 1215, &[(54, "tex-leader"), (55, "new")]);

    let mut reborn_first = after(&events[..6]);
    add(&mut reborn_first, &[(55, 1, process(1215, "new"))]);
    add(&mut reborn_first, &events[6..]);
    assert_names(&reborn_first, 1215, &[(54, "tex-leader"), (55, "new"), (90, "new")]);
}

/// As in the recording amd64-6.1/stack: the trace begins too late to know the leader, whose id
/// the thread has taken.
#[test]
fn an_exec_by_a_thread_of_an_unknown_leader_does_not_name_the_leader_for_certain() {
    let events = [
        (30, 1522, exit(1522)),
        (50, 1522, rename(1522, "texec-2", "ex gamma")),
        (60, 1522, exec(1522, 1525)),
    ];
    let cache = after(&events);
    assert_names(&cache, 1522, &[(25, "texec-2!"), (45, "texec-2!"), (51, "ex gamma")]);
}

#[test]
fn events_win_over_proc_wherever_they_overlap() {
    // Read from /proc with the time 100; the events come behind.
    type Case<'a> = (&'a str, &'a str, &'a [(u64, u32, TaskEvent)], &'a [(u64, &'a str)], u64);
    let cases: [Case<'_>; 6] = [
        ("nothing happens", "a", &[], &[(1, "a"), (100, "a"), (500, "a")], 0),
        ("renamed before", "b", &[(50, 7, rename(7, "a", "b"))], &[(50, "a"), (60, "b")], 0),
        (
            "renamed between the time and the read",
            "b",
            &[(110, 7, rename(7, "a", "b"))],
            &[(50, "a"), (105, "a"), (111, "b")],
            1,
        ),
        (
            "renamed twice between the time and the read",
            "c",
            &[(110, 7, rename(7, "a", "b")), (120, 7, rename(7, "b", "c"))],
            &[(50, "a"), (115, "b"), (121, "c")],
            1,
        ),
        (
            "born and renamed before",
            "b",
            &[(50, 1, process(7, "a")), (60, 7, rename(7, "a", "b"))],
            &[(49, "?7"), (55, "a"), (70, "b"), (500, "b")],
            0,
        ),
        (
            "seeded, then reborn",
            "a",
            &[(110, 7, exit(7)), (120, 1, process(7, "b"))],
            &[(50, "a"), (119, "a"), (120, "b")],
            0,
        ),
    ];
    for (case, shown, events, names, corrected) in cases {
        let mut seeded_first = CmdlineCache::new(1000);
        seeded_first.seed(&task(7, 7, shown, 1), at(100));
        add(&mut seeded_first, events);
        assert_eq!(seeded_first.counters().seeds_corrected, corrected, "{case}");
        assert_eq!(seeded_first.counters().contradictions, 0, "{case}");
        let mut seeded_last = after(events);
        seeded_last.seed(&task(7, 7, shown, 1), at(100));
        for cache in [seeded_first, seeded_last] {
            for &(ns, expected) in names {
                assert_eq!(name(&cache, 7, ns), expected, "{case} at {ns}");
            }
        }
    }
}

#[test]
fn a_seed_read_from_the_next_incarnation_does_not_rename_the_dead_one() {
    let events = [
        (10, 1, process(7, "old")),
        (50, 7, exit(7)),
        (110, 1, process(7, "par")),
        (120, 7, rename(7, "par", "new")),
    ];
    let mut cache = after(&events[..2]);
    cache.seed(&task(7, 7, "new", 1), at(100));
    add(&mut cache, &events[2..]);
    assert_names(&cache, 7, &[(105, "old"), (110, "par"), (121, "new")]);
}

#[test]
fn a_birth_that_comes_late_takes_what_was_already_known_of_its_task() {
    let mut cache = CmdlineCache::new(1000);
    cache.seed(&task(7, 5, "b", 1), at(100));
    let seeded = incarnation(&cache, 7, 100);
    add(&mut cache, &[(120, 7, rename(7, "b", "c")), (50, 9, thread(7, "b"))]);
    assert_names(&cache, 7, &[(49, "?7"), (50, "b"), (110, "b"), (121, "c")]);
    assert_eq!((incarnation(&cache, 7, 50), tgid(&cache, 7, 50)), (seeded, Some(5)));
    // And one that splits: the rename behind it was another task's.
    add(&mut cache, &[(115, 1, process(7, "b"))]);
    assert_names(&cache, 7, &[(110, "b"), (115, "b"), (121, "c")]);
    assert_eq!(incarnation(&cache, 7, 114), seeded);
    assert_ne!(incarnation(&cache, 7, 121), seeded);
    assert_eq!([114, 121].map(|ns| tgid(&cache, 7, ns)), [Some(5), Some(7)]);
}

#[test]
fn names_are_bytes_and_none_is_a_placeholder() {
    let names: [&[u8]; 8] = [
        b"",
        b"<...>",
        b"swapper/0",
        b"\xff\xfe bad",
        b"x\ny",
        b"f) S 1 (h",
        b"0123456789abcde",
        b"?7",
    ];
    let mut cache = after(&[(1, 1, process(7, "a"))]);
    let mut old = comm("a");
    for (ns, new) in (10..).zip(names.map(Comm::new)) {
        cache.apply(&head(at(ns), 7), &TaskEvent::Rename { tid: Tid(7), old, new });
        old = new;
    }
    for (ns, expected) in (11..).zip(names) {
        let found = cache.name_at(Tid(7), CPU, at(ns));
        assert_eq!((found.comm.as_bytes(), found.certainty), (expected, Certainty::Known));
    }
}

#[test]
fn the_idle_task_is_one_for_each_cpu_and_no_event_names_it() {
    let cache = after(&[(1, 1, process(0, "init")), (2, 1, rename(0, "init", "x"))]);
    let idle = |cpu| cache.name_at(Tid(0), Cpu(cpu), at(9));
    assert_eq!((idle(0).comm, idle(3).comm), (comm("swapper/0"), comm("swapper/3")));
    assert_ne!(idle(0).incarnation, idle(3).incarnation);
    assert_eq!(cache.names_held(), 0);
}

#[test]
fn after_a_loss_a_name_is_unconfirmed_until_it_is_told_again() {
    let mut cache = after(&[(10, 1, process(7, "a")), (11, 1, process(8, "z"))]);
    cache.seed(&task(9, 9, "s", 1), at(12));
    cache.mark_loss(at(20), at(30));
    assert_names(&cache, 7, &[(15, "a"), (20, "a"), (25, "a!"), (99, "a!")]);
    // The rename tells what the name was since the loss, and that "a" was lost meanwhile.
    add(&mut cache, &[(50, 7, rename(7, "b", "c"))]);
    assert_names(&cache, 7, &[(15, "a"), (25, "a!"), (35, "b"), (50, "b"), (60, "c")]);
    assert_names(&cache, 8, &[(60, "z!")]);
    add(&mut cache, &[(70, 1, process(8, "y"))]);
    assert_names(&cache, 8, &[(60, "z!"), (70, "y")]);
    assert_names(&cache, 9, &[(15, "s"), (60, "s!")]);
    assert_eq!((cache.counters().contradictions, cache.counters().seeds_corrected), (0, 0));
}

#[test]
fn seeding_anew_after_a_loss_settles_the_names_since_the_loss() {
    let mut cache = CmdlineCache::new(1000);
    for (tid, name) in [(7, "same"), (8, "renamed"), (9, "was")] {
        cache.seed(&task(tid, tid, name, 1), at(10));
    }
    // That 9 was seeded with another start time counts even when that seed is forgotten.
    add(&mut cache, &[(11, 9, rename(9, "was", "gone"))]);
    cache.forget_before(at(12));
    assert_eq!(cache.names_held(), 3);
    cache.mark_loss(at(20), at(30));
    let before = [7, 8, 9].map(|tid| incarnation(&cache, tid, 15));
    for (tid, name, start_time) in [(7, "same", 1), (8, "new", 1), (9, "other", 2), (10, "born", 2)]
    {
        cache.seed(&task(tid, tid, name, start_time), at(50));
    }
    assert_names(&cache, 7, &[(15, "same"), (25, "same!"), (35, "same"), (60, "same")]);
    assert_names(&cache, 8, &[(15, "renamed"), (25, "renamed!"), (35, "new"), (60, "new")]);
    assert_names(&cache, 9, &[(15, "gone"), (25, "gone!"), (30, "other"), (60, "other")]);
    assert_names(&cache, 10, &[(15, "born!"), (35, "born"), (60, "born")]);
    let now = [7, 8, 9].map(|tid| incarnation(&cache, tid, 60));
    assert_eq!(now[..2], before[..2]);
    assert_ne!(now[2], before[2]);
    assert_eq!(cache.counters().contradictions, 0);
}

#[test]
fn many_threads_may_ask_at_once() {
    let cache = after(&[(10, 1, process(7, "a"))]);
    std::thread::scope(|scope| {
        let asked = [(); 2].map(|()| scope.spawn(|| name(&cache, 7, 20)));
        assert_eq!(asked.map(|thread| thread.join().unwrap()), ["a", "a"]);
    });
}
