//! Whatever happens, in whichever order it is told.

use proptest::prelude::*;

use super::*;
use crate::cmdline_cache::NameMemo;

/// What happens to one id: a step is a birth, a rename, an exit or a seed.
#[derive(Debug, Clone, Copy)]
enum Step {
    Birth(u8),
    Rename(u8),
    Exit,
    /// Read so many steps behind its time.
    Seed(u8),
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        2 => (0..4_u8).prop_map(Step::Birth),
        4 => (0..4_u8).prop_map(Step::Rename),
        1 => Just(Step::Exit),
        1 => (0..3_u8).prop_map(Step::Seed),
    ]
}

enum Told {
    Event(u64, TaskEvent),
    Seed(u64, SeededTask),
}

/// Plays the steps, one each 10 ns: the true (name, birth) in each interval, and what is told of it.
fn play(steps: &[Step]) -> (Vec<(String, u64)>, Vec<Told>) {
    let (mut truth, mut told) = (vec![("first".to_owned(), 0)], Vec::new());
    for (ns, step) in (10..).step_by(10).zip(steps) {
        let (old, born) = truth.last().unwrap().clone();
        let (event, now) = match step {
            Step::Birth(n) => (Some(process(7, &format!("p{n}"))), (format!("p{n}"), ns)),
            Step::Rename(n) => (Some(rename(7, &old, &format!("r{n}"))), (format!("r{n}"), born)),
            Step::Exit => (Some(exit(7)), (old, born)),
            Step::Seed(_) => (None, (old, born)),
        };
        told.extend(event.map(|event| Told::Event(ns, event)));
        truth.push(now);
    }
    // Without a loss /proc is read once.
    let mut seeds = steps.iter().enumerate().filter_map(|(place, step)| match step {
        Step::Seed(late) => Some((place, usize::from(*late))),
        _ => None,
    });
    if let Some((place, late)) = seeds.next() {
        let (name, born) = &truth[(place + late).min(steps.len())];
        told.push(Told::Seed(10 * (place as u64 + 1), task(7, 7, name, *born)));
    }
    (truth, told)
}

proptest! {
    /// In whatever order the events of one id arrive, every instant has its true name in the end.
    #[test]
    fn the_order_of_arrival_does_not_matter(
        steps in prop::collection::vec(step(), 1..12),
        keys in prop::collection::vec(any::<u32>(), 24),
    ) {
        let (truth, told) = play(&steps);
        let mut told: Vec<_> = told.into_iter().zip(keys).collect();
        told.sort_by_key(|&(_, key)| key);
        let mut cache = CmdlineCache::new(1000);
        for (told, _) in &told {
            match told {
                Told::Event(ns, event) => cache.apply(&head(at(*ns), 1), event),
                Told::Seed(ns, task) => cache.seed(task, at(*ns)),
            }
        }
        let events_from = steps.iter().position(|step| matches!(step, Step::Birth(_) | Step::Rename(_)));
        let births = steps.iter().position(|step| matches!(step, Step::Birth(_)));
        for (place, (expected, _)) in truth.iter().enumerate() {
            // Before its first birth the first task is known only through a rename of its own.
            let told = events_from.is_some_and(|first| place > first || births > Some(first) || births.is_none());
            if told {
                prop_assert_eq!(&name(&cache, 7, 10 * place as u64 + 5), expected, "at {}", place);
            }
        }
    }

    /// Events without sense, in any order, of few tasks and with little room.
    #[test]
    fn no_events_break_the_bound_or_the_books(
        events in prop::collection::vec((0..5_u8, 0..40_u64, 0..4_u32, 0..4_u32), 0..60),
        bound in 1..20_usize,
    ) {
        let (mut cache, mut memo) = (CmdlineCache::new(bound), NameMemo::new(3));
        for (what, ns, one, other) in events {
            let event = match what {
                0 => process(one, "p"),
                1 => rename(one, "p", "r"),
                2 => exec(one, other),
                3 => fork(one, other, "f"),
                _ => exit(one),
            };
            cache.apply(&head(at(ns), other), &event);
            match ns {
                0..5 => cache.seed(&task(one, other, "s", ns), at(ns)),
                5..8 => cache.mark_loss(at(ns), at(ns + 3)),
                8..12 => cache.forget_before(at(ns)),
                _ => {}
            }
            let lives = cache.tasks.values().flat_map(|history| &history.lives);
            prop_assert!(lives.clone().all(|life| !life.marks.is_empty()));
            prop_assert!(lives.clone().all(|life| life.marks.is_sorted_by_key(|mark| mark.at)));
            prop_assert_eq!(lives.map(|life| life.marks.len()).sum::<usize>(), cache.names_held());
            prop_assert!(cache.names_held() <= bound);
            // Whatever happened since a name was remembered, it is the one that the cache gives.
            for (tid, ns) in (0..4).flat_map(|tid| (0..45).map(move |ns| (tid, ns))) {
                let asked = head(at(ns), tid);
                let name = cache.name_at(asked.tid, asked.cpu, asked.stamp);
                prop_assert_eq!(memo.name(&cache, &asked), name, "{} at {}", tid, ns);
            }
        }
    }
}
