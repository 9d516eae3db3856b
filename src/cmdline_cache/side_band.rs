//! What perf's own records tell of tasks: births without a name, names without the one before.

use super::facts::Birth;
use super::life::Mark;
use super::{Certainty, CmdlineCache};
use crate::event::{Comm, Stamp, Tid};

impl CmdlineCache {
    /// A child has the name that its parent has at that instant, as far as that is known.
    pub(super) fn bear_heir(&mut self, at: Stamp, tid: Tid, tgid: Tid, parent: Tid) {
        let thread = tid != tgid;
        let parents_tgid = self.tgid_at(parent, at);
        let birth = Birth { child: tid, parent, parents_tgid, thread, own_cgroup: false };
        self.facts.born(at, &birth);
        let of_parent = self.tasks.get(&parent).and_then(|history| {
            let name = history.name_at(at, &self.losses)?;
            Some((name.comm, name.certainty))
        });
        let (comm, certainty) = of_parent.unwrap_or_else(|| self.untold(tid));
        self.bear_with(Mark::heir(at, comm, certainty), tid, parent, Some(tgid));
    }

    /// A task is called so from here on. The kernel says so again at every exec.
    pub(super) fn name(&mut self, at: Stamp, tid: Tid, tgid: Tid, comm: Comm) {
        self.counters.renames += 1;
        self.changes.note(tid);
        let history = self.tasks.entry(tid).or_default();
        let known = history.name_at(at, &self.losses);
        let is_news = known.is_none_or(|name| {
            (name.comm, name.certainty) != (comm, Certainty::Known) || name.tgid != Some(tgid)
        });
        if is_news {
            history.name(Mark::named(at, comm), tgid, &mut self.incarnations);
            self.added();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Certainty, CmdlineCache, TaskName};
    use crate::event::{Comm, Context, Cpu, Head, Stamp, TaskEvent, Tid};

    fn at(ns: u64) -> Stamp {
        Stamp::new(ns, Cpu(0), 0)
    }

    fn cache(events: &[(u64, TaskEvent)]) -> CmdlineCache {
        let mut cache = CmdlineCache::new(100);
        for (ns, event) in events {
            let (tid, context) = (Tid(1), Context::Task);
            let head = Head { stamp: at(*ns), ts_ns: *ns, cpu: Cpu(0), tid, context };
            cache.apply(&head, event);
        }
        cache
    }

    fn named(tid: u32, comm: &str) -> TaskEvent {
        TaskEvent::Named { tid: Tid(tid), tgid: Tid(7), comm: Comm::new(comm.as_bytes()) }
    }

    fn heir(tid: u32, parent: u32) -> TaskEvent {
        TaskEvent::Heir { tid: Tid(tid), tgid: Tid(tid), parent: Tid(parent) }
    }

    fn name(cache: &CmdlineCache, tid: u32, ns: u64) -> (String, Certainty, Option<u32>) {
        let TaskName { comm, certainty, tgid, .. } = cache.name_at(Tid(tid), Cpu(0), at(ns));
        (String::from_utf8_lossy(comm.as_bytes()).into(), certainty, tgid.map(|tgid| tgid.0))
    }

    #[test]
    fn a_name_holds_from_its_instant_and_tells_nothing_of_before() {
        let cache = cache(&[(10, named(7, "a")), (20, named(7, "b")), (30, named(7, "b"))]);
        assert_eq!(name(&cache, 7, 9), ("?7".to_owned(), Certainty::Unknown, None));
        for (ns, comm) in [(10, "a"), (19, "a"), (20, "b"), (35, "b")] {
            assert_eq!(name(&cache, 7, ns), (comm.to_owned(), Certainty::Known, Some(7)), "{ns}");
        }
        assert_eq!(cache.names_held(), 2);
        assert_eq!(cache.counters().contradictions, 0);
    }

    #[test]
    fn a_child_is_called_what_its_parent_was_as_far_as_that_is_known() {
        let events =
            [(10, named(7, "sh")), (20, heir(8, 7)), (30, named(7, "make")), (40, heir(9, 6))];
        let mut cache = cache(&events);
        assert_eq!(name(&cache, 8, 35), ("sh".to_owned(), Certainty::Known, Some(8)));
        assert_eq!(name(&cache, 9, 45), ("?9".to_owned(), Certainty::Unknown, Some(9)));
        // What is born later under the same number is another task.
        let first = cache.name_at(Tid(8), Cpu(0), at(50)).incarnation;
        let head =
            Head { stamp: at(60), ts_ns: 60, cpu: Cpu(0), tid: Tid(7), context: Context::Task };
        cache.apply(&head, &heir(8, 7));
        assert_eq!(name(&cache, 8, 61), ("make".to_owned(), Certainty::Known, Some(8)));
        assert_ne!(cache.name_at(Tid(8), Cpu(0), at(61)).incarnation, first);
    }

    #[test]
    fn after_a_loss_a_name_told_anew_is_known_again() {
        let mut cache = cache(&[(10, named(7, "a")), (40, named(7, "a"))]);
        cache.mark_loss(at(20), at(30));
        assert_eq!(name(&cache, 7, 35).1, Certainty::Unconfirmed);
        let head =
            Head { stamp: at(50), ts_ns: 50, cpu: Cpu(0), tid: Tid(7), context: Context::Task };
        cache.apply(&head, &named(7, "a"));
        assert_eq!(name(&cache, 7, 55).1, Certainty::Known);
        // Of a parent that is in doubt the child is, too.
        cache.mark_loss(at(60), at(70));
        let head =
            Head { stamp: at(80), ts_ns: 80, cpu: Cpu(0), tid: Tid(7), context: Context::Task };
        cache.apply(&head, &heir(8, 7));
        assert_eq!(name(&cache, 8, 81), ("a".to_owned(), Certainty::Unconfirmed, Some(8)));
    }
}
