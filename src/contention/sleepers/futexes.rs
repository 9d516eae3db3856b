//! Futex calls: the waits of user space's locks.

use super::super::nest::Matched;
use super::super::wait::Wait;
use super::Sleepers;
use crate::event::Head;

impl Sleepers {
    /// The end of a futex call. Those that cannot wait have no begin here, and many an end tells not
    /// which kind it is of: one without a begin is no anomaly.
    pub(super) fn exit_call(&mut self, head: &Head, ret: i64) -> Option<Wait> {
        self.counts.futexes.ends_read += 1;
        // `futex_waitv` returns which one woke it.
        let ret = i32::try_from(ret).unwrap_or(if ret < 0 { i32::MIN } else { 0 }).min(0);
        let matched = match self.waiters.get_mut(&head.tid) {
            Some(nest) => nest.end_futex(head, ret, &mut self.counts),
            None => Matched::Nothing,
        };
        self.drop_if_empty(head.tid);
        match matched {
            Matched::Wait(wait) => return Some(self.finished(wait, head)),
            Matched::Nothing => self.counts.futexes.filtered_end += 1,
            Matched::NoWait | Matched::Overflowed => {}
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::super::Sleepers;
    use crate::contention::{Begins, Cause, Counts, Wait};
    use crate::event::{
        Body, Comm, Context, Cpu, Event, FutexCall, FutexOp, Gap, Head, LockFlags, Stamp,
        TaskEvent, Tid,
    };

    const LOCK: u64 = 0xffff_8880_0000_1000;

    fn enter(address: u64) -> Body {
        let (op, value) = (FutexOp::Wait, 2);
        Body::FutexEnter(FutexCall { op, address, value, shared: false, timed: false })
    }

    fn exit(ret: i64) -> Body {
        Body::FutexExit { ret }
    }

    /// Runs events, one each 10 ns, each of its task; gives the waits - whose, how long, with which
    /// result, uncertain or not - and where begins and ends went.
    fn run(events: &[(u32, Body)]) -> (Vec<(u32, u64, i32, bool)>, Counts) {
        let mut sleepers = Sleepers::new(Begins::All);
        let mut waits = Vec::new();
        for (number, &(tid, body)) in (1..).zip(events) {
            let ts_ns = number * 10;
            let (stamp, cpu, tid) = (Stamp::new(ts_ns, Cpu(0), number), Cpu(0), Tid(tid));
            let head = Head { stamp, ts_ns, cpu, tid, context: Context::Task };
            waits.extend(sleepers.take(&Event { head, body }));
        }
        sleepers.finish();
        let counts = sleepers.counts.futexes;
        assert_eq!(counts.begins_read, counts.begins_accounted(), "{counts:?}");
        assert_eq!(counts.ends_read, counts.ends_accounted(), "{counts:?}");
        let futex = |wait: &&Wait| matches!(wait.cause, Cause::Futex(_));
        let of = |wait: &Wait| (wait.begin.tid.0, wait.wait_ns(), wait.ret, wait.uncertain);
        (waits.iter().filter(futex).map(of).collect(), counts)
    }

    /// kernel/futex/waitwake.c, 6.18: what a wait returns. The kernel goes on with -512 and -516 by
    /// itself: after a signal's handler, or after a stop, by another call.
    #[test]
    fn a_call_ends_as_its_result_says() {
        let table = [
            (0, Some(0), Counts { ok: 1, ..Counts::default() }),
            (3, Some(0), Counts { ok: 1, ..Counts::default() }),
            (-110, Some(-110), Counts { failed: 1, ..Counts::default() }),
            (-4, Some(-4), Counts { failed: 1, ..Counts::default() }),
            (-512, Some(-512), Counts { failed: 1, ..Counts::default() }),
            (-516, Some(-516), Counts { failed: 1, ..Counts::default() }),
            (i64::MIN, Some(i32::MIN), Counts { failed: 1, ..Counts::default() }),
            (-11, None, Counts { not_waited: 1, ..Counts::default() }),
        ];
        for (ret, wait, counts) in table {
            let (waits, found) = run(&[(7, enter(64)), (8, enter(64)), (7, exit(ret))]);
            let expected: Vec<_> = wait.map(|ret| (7, 20, ret, false)).into_iter().collect();
            assert_eq!(waits, expected, "{ret}");
            assert_eq!(found, Counts { begins_read: 2, ends_read: 1, open: 1, ..counts }, "{ret}");
        }
    }

    #[test]
    fn an_end_without_a_begin_is_that_of_another_call() {
        let (waits, counts) = run(&[(7, exit(0)), (7, enter(64)), (7, exit(0)), (7, exit(0))]);
        assert_eq!(waits, [(7, 10, 0, false)]);
        assert_eq!(counts.filtered_end, 2);
    }

    #[test]
    fn a_wait_for_a_kernels_lock_inside_a_call_is_another_one() {
        let begin = Body::LockBegin { lock: LOCK, flags: LockFlags(2) };
        let end = Body::LockEnd { lock: LOCK, ret: 0 };
        let (waits, _) = run(&[(7, enter(64)), (7, begin), (7, end), (7, exit(0))]);
        assert_eq!(waits, [(7, 30, 0, false)]);
    }

    #[test]
    fn a_wait_across_a_loss_is_uncertain() {
        let gap = Gap { missed: Some(1), after_ns: 0 };
        let lost = [(0, Body::GapBegin), (0, Body::GapEnd(gap))];
        let across = [&[(7, enter(64))][..], &lost, &[(7, exit(0))]].concat();
        let (waits, counts) = run(&across);
        assert_eq!((waits, counts.uncertain), (vec![(7, 30, 0, true)], 1));
        // The next call shows that the end before it was lost.
        let again = [&[(7, enter(64))][..], &lost, &[(7, enter(64)), (7, exit(0))]].concat();
        let (waits, counts) = run(&again);
        assert_eq!((waits, counts.lost_end), (vec![(7, 10, 0, false)], 1));
    }

    /// A task is in one call at a time, and in none when it leaves, is born, or becomes another.
    #[test]
    fn whoever_goes_on_has_left_its_call() {
        let born =
            TaskEvent::New { tid: Tid(7), comm: Comm::new(b"x"), thread: true, own_cgroup: false };
        let exec = TaskEvent::Exec { tid: Tid(7), old_tid: Tid(9), filename: None };
        let goes_on = [
            (7, enter(128)),
            (7, Body::Task(TaskEvent::Exit { tid: Tid(7) })),
            (1, Body::Task(born)),
            (9, Body::Task(exec)),
        ];
        for (tid, body) in goes_on {
            let (waits, counts) = run(&[(7, enter(64)), (tid, body), (7, exit(0))]);
            let is_call = matches!(body, Body::FutexEnter(_));
            assert_eq!(waits.len(), usize::from(is_call), "{body:?}");
            assert_eq!(counts.lost_end, 1, "{body:?}");
            assert_eq!(counts.filtered_end, u64::from(!is_call), "{body:?}");
        }
    }
}
