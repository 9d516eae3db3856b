//! Cgroups and command lines from the events that cause them. Instants are small numbers of ns;
//! what /proc says is given by hand.

use std::sync::Arc;

use proptest::prelude::*;

use super::super::{Certainty, Cgroups, CmdlineCache, Cmdlines, Fact, Hierarchy};
use crate::cmdline_cache::SeededTask;
use crate::cmdline_cache::proc::PidNamespace;
use crate::event::{Comm, Context, Cpu, Head, Stamp, TaskEvent, Texts, Tid};

const CPU: Cpu = Cpu(0);

fn at(ns: u64) -> Stamp {
    Stamp::new(ns, CPU, 0)
}

/// A cache that keeps both, and never looks into /proc by itself.
struct Cache(CmdlineCache);

impl Cache {
    fn with(hierarchy: Hierarchy, bound: usize) -> Cache {
        let texts = || Arc::new(Texts::new(1 << 16));
        let cgroups = Cgroups::new(hierarchy, texts(), bound);
        let cmdlines = Cmdlines::new(texts(), bound);
        let cache = CmdlineCache::new(1000);
        Cache(cache.with_facts(Some(cgroups), Some(cmdlines), PidNamespace::Nested))
    }

    fn new() -> Cache {
        Cache::with(Hierarchy::of_recording(8, false), 1000)
    }

    fn apply(&mut self, ns: u64, current: u32, event: &TaskEvent) {
        let (stamp, tid) = (at(ns), Tid(current));
        let head = Head { stamp, ts_ns: ns, cpu: CPU, tid, context: Context::Task };
        self.0.apply(&head, event);
    }

    fn process(&mut self, ns: u64, parent: u32, tid: u32) {
        self.birth(ns, parent, tid, false, false);
    }

    fn thread(&mut self, ns: u64, parent: u32, tid: u32) {
        self.birth(ns, parent, tid, true, false);
    }

    fn birth(&mut self, ns: u64, parent: u32, tid: u32, thread: bool, own_cgroup: bool) {
        let (tid, comm) = (Tid(tid), Comm::new(b"x"));
        self.apply(ns, parent, &TaskEvent::New { tid, comm, thread, own_cgroup });
    }

    fn moves(&mut self, ns: u64, tid: u32, path: &str) {
        let cgroup = self.0.event_texts().cgroup(8, path.as_bytes()).unwrap();
        self.apply(ns, 99, &TaskEvent::Moved { tid: Tid(tid), cgroup });
    }

    fn exec(&mut self, ns: u64, tid: u32, old_tid: u32, filename: &str) {
        let filename = self.0.event_texts().filename(filename.as_bytes());
        self.apply(ns, tid, &TaskEvent::Exec { tid: Tid(tid), old_tid: Tid(old_tid), filename });
    }

    fn learn(&mut self, ns: u64) {
        self.0.learn(at(ns));
    }

    fn seed(&mut self, ns: u64, tid: u32, path: &str) {
        let (tid, comm) = (Tid(tid), Comm::new(b"x"));
        let task = SeededTask { tid, tgid: tid, comm, start_time: 1, kernel_thread: false };
        self.0.seed(&task, at(ns));
        self.cgroup_is(ns, tid.0, Some(path));
    }

    /// /proc says so; or the task is gone.
    fn cgroup_is(&mut self, ns: u64, tid: u32, path: Option<&str>) {
        let tgid = self.0.tgid_at(Tid(tid), at(ns));
        let CmdlineCache { facts, losses, .. } = &mut self.0;
        let cgroups = facts.cgroups.as_mut().unwrap();
        cgroups.answer(Tid(tid), tgid, at(ns), path.map(str::as_bytes), losses);
    }

    fn cmdline_is(&mut self, ns: u64, process: u32, cmdline: Option<&str>) {
        let CmdlineCache { facts, losses, .. } = &mut self.0;
        let cmdlines = facts.cmdlines.as_mut().unwrap();
        cmdlines.answer(Tid(process), at(ns), cmdline.map(str::as_bytes), losses);
    }

    fn shown(texts: &Texts, fact: Fact) -> String {
        let text = fact.text.map_or("?".to_owned(), |id| {
            String::from_utf8(texts.get(id).unwrap().to_vec()).unwrap()
        });
        let is_known = fact.certainty == Certainty::Known;
        assert_eq!(fact.text.is_none(), fact.certainty == Certainty::Unknown);
        format!("{text}{}", if is_known || fact.text.is_none() { "" } else { "!" })
    }

    /// The path; `!` behind what is only likely, `?` for what is not known.
    fn cgroup(&self, tid: u32, ns: u64) -> String {
        let name = self.0.name_at(Tid(tid), CPU, at(ns));
        let fact = self.0.cgroup_at(Tid(tid), &name, at(ns)).unwrap();
        Cache::shown(self.0.cgroup_paths().unwrap(), fact)
    }

    fn cmdline(&self, tid: u32, ns: u64) -> String {
        let name = self.0.name_at(Tid(tid), CPU, at(ns));
        let fact = self.0.cmdline_at(Tid(tid), &name, at(ns)).unwrap();
        Cache::shown(self.0.cmdline_texts().unwrap(), fact)
    }

    fn is_open(&self, tid: u32, ns: u64) -> bool {
        let CmdlineCache { facts, losses, .. } = &self.0;
        let tgid = self.0.tgid_at(Tid(tid), at(ns));
        facts.cgroups.as_ref().unwrap().at(Tid(tid), tgid, at(ns), losses).askable
    }

    fn assert_cgroups(&self, tid: u32, table: &[(u64, &str)]) {
        for &(ns, expected) in table {
            assert_eq!(self.cgroup(tid, ns), expected, "tid {tid} at {ns}");
        }
    }
}

#[test]
fn a_child_is_where_its_parent_was_and_stays_when_the_parent_moves() {
    let mut cache = Cache::new();
    cache.seed(5, 1, "/a");
    cache.process(10, 1, 7);
    cache.moves(20, 1, "/b");
    cache.process(30, 1, 8);
    cache.process(40, 8, 9);
    cache.learn(50);
    cache.assert_cgroups(1, &[(3, "/a"), (19, "/a"), (20, "/b"), (99, "/b")]);
    cache.assert_cgroups(7, &[(9, "?"), (10, "/a"), (99, "/a")]);
    cache.assert_cgroups(9, &[(40, "/b")]);
    assert!(!cache.is_open(7, 50) && cache.is_open(77, 50));
    assert_eq!(cache.cgroup(0, 50), "/", "the idle tasks stay in the root");
}

/// The kernel raises one event for the leader, whether its threads moved with it or not.
#[test]
fn of_a_leaders_threads_proc_says_whether_they_moved_with_it() {
    let mut cache = Cache::new();
    cache.seed(5, 7, "/a");
    for tid in [8, 9, 10, 11, 13] {
        cache.thread(10, 7, tid);
    }
    cache.moves(20, 7, "/b");
    cache.thread(25, 8, 12);
    cache.moves(28, 11, "/c");
    cache.learn(30);
    cache.assert_cgroups(8, &[(19, "/a"), (20, "/b!"), (30, "/b!")]);
    assert!(cache.is_open(8, 29) && !cache.is_open(8, 19) && !cache.is_open(7, 29));
    assert!(cache.is_open(12, 29), "so is a thread that such a one began");
    cache.assert_cgroups(11, &[(27, "/b!"), (28, "/c")]);
    assert!(!cache.is_open(11, 27), "it has moved since: /proc cannot tell any more");
    cache.cgroup_is(30, 8, Some("/b"));
    cache.cgroup_is(30, 9, Some("/a"));
    cache.cgroup_is(30, 10, None);
    cache.assert_cgroups(8, &[(19, "/a"), (20, "/b"), (99, "/b")]);
    cache.assert_cgroups(9, &[(19, "/a"), (20, "/a"), (99, "/a")]);
    cache.assert_cgroups(10, &[(19, "/a"), (20, "/b!"), (99, "/b!")]);
    assert!([8, 9, 10].iter().all(|&tid| !cache.is_open(tid, 99)));
    // What was read stays until the leader moves again, and of whom nothing was read is still open,
    // though /proc has spoken of the leader since.
    cache.seed(45, 7, "/b");
    cache.0.forget_before(at(50));
    cache.assert_cgroups(13, &[(55, "/b!")]);
    cache.moves(60, 7, "/d");
    cache.learn(70);
    cache.assert_cgroups(9, &[(59, "/a"), (60, "/d!")]);
    assert!(cache.is_open(9, 60) && !cache.is_open(9, 59));
}

#[test]
fn a_task_that_is_born_elsewhere_is_unknown_until_proc_is_asked() {
    let mut cache = Cache::new();
    cache.seed(5, 1, "/a");
    cache.birth(10, 1, 7, false, true);
    cache.process(12, 7, 8);
    cache.learn(20);
    cache.assert_cgroups(7, &[(15, "?")]);
    assert!(cache.is_open(7, 15) && cache.is_open(8, 15));
    cache.cgroup_is(20, 7, Some("/own"));
    cache.cgroup_is(20, 8, None);
    cache.assert_cgroups(7, &[(9, "?"), (10, "/own"), (99, "/own")]);
    cache.assert_cgroups(8, &[(15, "?"), (99, "?")]);
    assert!(!cache.is_open(8, 15), "gone: not asked twice");
}

#[test]
fn a_reborn_id_is_another_task_and_an_exec_by_a_thread_takes_its_cgroup_along() {
    let mut cache = Cache::new();
    cache.seed(5, 1, "/a");
    cache.process(10, 1, 7);
    cache.moves(11, 7, "/b");
    cache.thread(12, 7, 8);
    cache.moves(15, 8, "/t");
    cache.exec(20, 7, 8, "/bin/x");
    cache.process(40, 1, 7);
    cache.learn(50);
    cache.assert_cgroups(7, &[(19, "/b"), (20, "/t"), (39, "/t"), (40, "/a")]);
}

#[test]
fn events_of_other_hierarchies_are_nobodys_and_paths_from_outside_our_namespace_are_not_kept() {
    let texts = Cache::new().0.event_texts();
    assert_eq!(texts.cgroup(0, b"/a"), None);
    assert!(texts.cgroup(8, b"/a").unwrap().is_some());
    let mut cache = Cache::with(Hierarchy::of_recording(8, true), 1000);
    assert_eq!(cache.0.event_texts().cgroup(8, b"/outer/a"), Some(None));
    cache.seed(5, 7, "/");
    cache.moves(10, 7, "/outer/a");
    cache.learn(15);
    assert!(cache.is_open(7, 12));
    cache.cgroup_is(20, 7, Some("/a"));
    cache.assert_cgroups(7, &[(9, "/"), (10, "/a"), (99, "/a")]);
}

#[test]
fn after_a_loss_a_cgroup_is_only_likely_until_it_is_told_again() {
    let mut cache = Cache::new();
    cache.seed(5, 1, "/a");
    cache.0.mark_loss(at(10), at(20));
    cache.process(25, 1, 7);
    cache.learn(30);
    cache.assert_cgroups(1, &[(10, "/a"), (15, "/a!"), (30, "/a!")]);
    cache.assert_cgroups(7, &[(25, "/a!")]);
    cache.seed(40, 1, "/b");
    cache.assert_cgroups(1, &[(10, "/a"), (15, "/a!"), (30, "/b"), (99, "/b")]);
}

#[test]
fn the_past_goes_and_so_do_tasks_that_the_cache_forgot() {
    let mut cache = Cache::new();
    cache.seed(5, 1, "/a");
    for (ns, path) in [(10, "/b"), (20, "/c"), (30, "/d")] {
        cache.moves(ns, 1, path);
        cache.moves(ns, 77, path);
    }
    cache.learn(40);
    cache.0.forget_before(at(25));
    cache.assert_cgroups(1, &[(15, "?"), (25, "/c"), (30, "/d")]);
    cache.assert_cgroups(77, &[(25, "?"), (30, "?")]);
    assert_eq!(cache.0.facts_given_up().evicted, 0);
}

#[test]
fn an_event_from_before_the_horizon_takes_nothing_from_those_who_have_their_part() {
    let mut cache = Cache::new();
    cache.seed(5, 1, "/a");
    cache.process(10, 1, 7);
    cache.moves(20, 1, "/b");
    cache.learn(30);
    cache.0.forget_before(at(25));
    cache.moves(8, 9, "/late");
    cache.learn(40);
    cache.assert_cgroups(7, &[(25, "/a"), (99, "/a")]);
}

#[test]
fn a_storm_of_moves_stays_within_the_bound_and_is_counted() {
    let mut cache = Cache::with(Hierarchy::of_recording(8, false), 64);
    for n in 0..10_000_u32 {
        cache.moves(u64::from(n) + 1, n % 100, if n % 2 == 0 { "/a" } else { "/b" });
        cache.learn(u64::from(n) + 1);
    }
    assert_eq!(cache.cgroup(99, 10_000), "/b");
    assert!(cache.0.facts_given_up().evicted >= 10_000 - 64);
}

#[test]
fn a_command_line_holds_from_exec_to_exec() {
    let mut cache = Cache::new();
    cache.process(10, 1, 7);
    cache.exec(20, 7, 7, "/bin/sleep");
    cache.learn(30);
    cache.cmdline_is(30, 7, Some("sleep 100"));
    cache.thread(31, 7, 70);
    // Two programs between two looks: of the first nothing but its file is ever known.
    cache.exec(40, 7, 7, "/bin/env");
    cache.exec(45, 7, 7, "/bin/cat");
    cache.learn(50);
    cache.cmdline_is(50, 7, Some("cat foo"));
    // Gone before it was looked at.
    cache.exec(60, 7, 7, "/bin/true");
    cache.learn(70);
    cache.cmdline_is(70, 7, None);
    let table = [
        (15, "?"),
        (20, "sleep 100"),
        (39, "sleep 100"),
        (40, "/bin/env!"),
        (45, "cat foo"),
        (60, "/bin/true!"),
        (99, "/bin/true!"),
    ];
    for (ns, expected) in table {
        assert_eq!(cache.cmdline(7, ns), expected, "at {ns}");
    }
    assert_eq!(cache.cmdline(70, 35), "sleep 100", "a thread has its process's");
    // The next process of that number has nothing of it.
    cache.process(80, 1, 7);
    cache.learn(90);
    assert_eq!(cache.cmdline(7, 85), "?");
}

#[test]
fn a_child_has_its_parents_command_line_until_it_is_looked_at() {
    let mut cache = Cache::new();
    cache.process(5, 1, 7);
    cache.cmdline_is(6, 7, Some("postgres -D /data"));
    for child in [8, 9] {
        cache.process(10, 7, child);
    }
    cache.learn(20);
    assert_eq!(cache.cmdline(8, 15), "postgres -D /data!");
    cache.cmdline_is(20, 8, Some("postgres: walwriter"));
    cache.cmdline_is(20, 9, None);
    assert_eq!(cache.cmdline(8, 15), "postgres: walwriter");
    assert_eq!(cache.cmdline(9, 15), "postgres -D /data!");
}

#[test]
fn command_lines_that_nobody_has_any_more_make_room() {
    let mut cache = Cache::new();
    let long = "x".repeat(1000);
    for n in 0..1000_u64 {
        cache.process(100 * n + 1, 1, 7);
        cache.cmdline_is(100 * n + 2, 7, Some(&format!("{long} {n}")));
        cache.learn(100 * n + 3);
        cache.0.forget_before(at(100 * n + 3));
    }
    assert_eq!(cache.0.facts_given_up().refused, 0);
    assert_eq!(cache.cmdline(7, 100_000), format!("{long} 999"));
}

/// What happens: a task of a few is born of another, or moves.
#[derive(Debug, Clone, Copy)]
enum Step {
    Birth { parent: u32, child: u32 },
    Move { tid: u32, to: u8 },
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        (1..6_u32, 1..5_u32).prop_map(|(parent, by)| {
            // Nobody bears itself.
            let child = (parent - 1 + by) % 5 + 1;
            Step::Birth { parent, child }
        }),
        (1..6_u32, 0..4_u8).prop_map(|(tid, to)| Step::Move { tid, to }),
    ]
}

proptest! {
    /// In whatever order the events arrive, and whenever heirs get their part, everybody's cgroup
    /// is the true one at every instant in the end.
    #[test]
    fn the_order_of_arrival_does_not_matter(
        steps in prop::collection::vec(step(), 1..16),
        keys in prop::collection::vec(any::<u32>(), 16),
        learned in prop::collection::vec(any::<bool>(), 16),
    ) {
        let mut cache = Cache::new();
        cache.seed(1, 1, "/first");
        let mut now = [const { None::<String> }; 6];
        now[1] = Some("/first".to_owned());
        let mut truth = Vec::new();
        for step in &steps {
            match *step {
                Step::Birth { parent, child } => now[child as usize] = now[parent as usize].clone(),
                Step::Move { tid, to } => now[tid as usize] = Some(format!("/{to}")),
            }
            truth.push(now.clone());
        }
        let mut arrival: Vec<_> = (1..).zip(&steps).zip(&keys).collect();
        arrival.sort_by_key(|&(_, key)| key);
        for (((place, step), _), learned) in arrival.into_iter().zip(learned) {
            match *step {
                Step::Birth { parent, child } => cache.process(10 * place, parent, child),
                Step::Move { tid, to } => cache.moves(10 * place, tid, &format!("/{to}")),
            }
            if learned {
                cache.learn(10 * place);
            }
        }
        cache.learn(1000);
        for (place, now) in (1..).zip(&truth) {
            for (tid, path) in (0..).zip(now).skip(1) {
                let expected = path.as_deref().unwrap_or("?");
                prop_assert_eq!(cache.cgroup(tid, 10 * place + 5), expected, "{} at {}", tid, place);
            }
        }
    }
}
