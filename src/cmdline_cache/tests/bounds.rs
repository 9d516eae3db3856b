//! What is forgotten, and what there is no room for.

use super::*;

#[test]
fn what_held_at_the_horizon_stays_and_what_it_superseded_goes() {
    let mut cache = after(&[
        (10, 1, process(7, "a")),
        (20, 7, rename(7, "a", "b")),
        (30, 7, rename(7, "b", "c")),
        (12, 1, process(8, "old")),
        (14, 8, exit(8)),
        (25, 1, process(8, "new")),
        (26, 8, exit(8)),
    ]);
    assert_eq!(cache.names_held(), 5);
    cache.forget_before(at(28));
    assert_eq!(cache.names_held(), 3);
    assert_names(&cache, 7, &[(28, "b"), (31, "c")]);
    assert_names(&cache, 8, &[(24, "?8"), (28, "new"), (99, "new")]);
    assert_eq!((cache.counters().forgotten, cache.counters().evicted), (0, 0));
}

#[test]
fn a_hundred_thousand_births_stay_within_the_bound_and_only_the_dead_are_dropped() {
    const BOUND: usize = 1000;
    let mut cache = CmdlineCache::new(BOUND);
    cache.seed(&task(1, 1, "sh", 1), at(1));
    for n in 1..=100_000_u32 {
        let (ns, tid) = (u64::from(n) * 10, 100 + n % 30_000);
        let events = [
            (ns, 1, process(tid, "sh")),
            (ns + 1, tid, rename(tid, "sh", "true")),
            (ns + 2, tid, exec(tid, tid)),
            (ns + 3, tid, exit(tid)),
        ];
        add(&mut cache, &events);
        cache.forget_before(at(ns));
        assert!(cache.names_held() <= BOUND);
        assert_eq!(name(&cache, tid, ns + 9), "true");
        if n > 100 {
            assert_eq!(name(&cache, 100 + (n - 100) % 30_000, ns + 9), "true", "lately dead");
        }
    }
    assert_eq!(name(&cache, 1, 2_000_000), "sh");
    let counters = cache.counters();
    assert_eq!((counters.births, counters.evicted), (100_000, 0));
    assert!(counters.forgotten > 98_000, "{counters:?}");
}

#[test]
fn without_room_the_dead_go_first_then_the_past_then_the_living_longest_silent() {
    let mut cache = CmdlineCache::new(8);
    for tid in 1..=6 {
        add(&mut cache, &[(u64::from(tid), 99, process(tid, "a"))]);
    }
    add(&mut cache, &[(7, 2, exit(2)), (8, 1, rename(1, "a", "b")), (9, 6, exit(6))]);
    add(&mut cache, &[(10, 99, process(10, "a"))]);
    assert_eq!((cache.names_held(), cache.counters().evicted), (8, 0));
    // Nine names and room for seven: the two that ended first go.
    add(&mut cache, &[(11, 99, process(11, "a"))]);
    assert_eq!((cache.names_held(), cache.counters().evicted), (7, 2));
    assert_eq!([2, 6].map(|tid| name(&cache, tid, 20)), ["?2", "a"]);
    assert_names(&cache, 1, &[(5, "a"), (20, "b")]);
    // Seven and two more: the dead 6 goes, and of the living 3, which was heard of longest ago.
    add(&mut cache, &[(12, 99, process(12, "a")), (13, 99, process(13, "a"))]);
    assert_eq!([1, 3, 4, 6, 13].map(|tid| name(&cache, tid, 20)), ["b", "?3", "a", "?6", "a"]);
}
