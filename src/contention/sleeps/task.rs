//! Where one task is, and who woke it.

use crate::contention::OffCpu;
use crate::contention::holders::{Evidence, Holder};
use crate::contention::wait::OpenWait;
use crate::event::{Context, Head, Tid};

/// One task, as far as it has been seen.
#[derive(Debug, Default)]
pub(super) struct Task {
    pub(super) place: Place,
    /// Its last waking since it has left its CPU.
    pub(super) woken: Option<Woken>,
    /// A waking while it was still there, on its way to sleep: the waker's event may bear an earlier
    /// time than the switch that it raced with.
    pub(super) woken_early: Option<Woken>,
    /// Someone else has renamed it in its sleep.
    pub(super) renamed: bool,
}

#[expect(clippy::large_enum_variant, reason = "most tasks are asleep")]
#[derive(Debug, Clone, Copy, Default)]
pub(super) enum Place {
    /// Nothing was seen of it but wakings.
    #[default]
    Unknown,
    Running,
    /// Off its CPU, and able to run.
    Runnable,
    Asleep(OpenWait),
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Woken {
    pub(super) ns: u64,
    /// None where an interrupt did it.
    by: Option<Holder>,
}

impl Woken {
    /// The waking that an event tells of. An interrupt, the idle task and the task itself are nobody.
    pub(super) fn by(head: &Head, woken: Tid) -> Woken {
        let is_other = head.context == Context::Task && head.tid != Tid(0) && head.tid != woken;
        let by = Holder { head: *head, evidence: Evidence::Waking, stack: None, held_ns: None };
        Woken { ns: head.ts_ns, by: is_other.then_some(by) }
    }

    /// Who did it, to give the stack to.
    pub(super) fn waker(&mut self) -> Option<&mut Holder> {
        self.by.as_mut()
    }
}

impl Task {
    /// It has a CPU again: its sleep, if it slept, with where the time went. A waking divides it.
    pub(super) fn wakes_up(&mut self, end: &Head) -> Option<OpenWait> {
        let Place::Asleep(open) = self.place else { return None };
        let woken = self.woken.or(self.woken_early);
        *self = Task { place: Place::Running, ..Task::default() };
        let slept_ns = end.ts_ns.saturating_sub(open.begin.ts_ns);
        let until_ns = woken.map_or(end.ts_ns, |woken| woken.ns);
        let blocked_ns = until_ns.saturating_sub(open.begin.ts_ns).min(slept_ns);
        let off_cpu = OffCpu { blocked_ns, runnable_ns: slept_ns - blocked_ns, preempted_ns: 0 };
        Some(OpenWait { off_cpu, holder: woken.and_then(|woken| woken.by), ..open })
    }
}
