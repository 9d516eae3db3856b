//! A finished wait gets its name, and is kept or left out, each for a counted reason.

use std::collections::HashSet;
use std::num::NonZeroUsize;

use crate::aggregate::Sample;
use crate::cmdline_cache::{Certainty, CmdlineCache, Fact, TaskName};
use crate::contention::{Cause, OpenWait, Outcome, Wait};
use crate::event::{Cpu, Head, LeftAs, StackId, Tid};
use crate::report::{Keys, RowKey};
use crate::symbols::StackTable;

use super::filters::Filters;
use super::named::{Kept, NamedWait, OpenNamed};
use super::naming::{Naming, waiter};
use super::parts::part;
use super::targets::Targets;

/// Which waits reach the rows and the stream. What is left out still counts in the pairing.
#[derive(Debug)]
pub struct Keep {
    /// Whose.
    pub targets: Targets,
    /// Begun on which CPUs; all if not given.
    pub cpus: Option<HashSet<Cpu>>,
    /// Not shorter than this.
    pub min_wait_ns: u64,
    /// Meeting these conditions.
    pub filters: Filters,
    /// Our own process, whose waits are never shown.
    pub own: Tid,
    /// What a row stands for.
    pub by: Keys,
    /// Stacks in rows begin at the caller and have at most so many frames; all and whole if not
    /// given.
    pub max_stack: Option<NonZeroUsize>,
}

impl Keep {
    /// Names a wait, and says how it is summed; nothing if it is left out.
    #[inline]
    pub(super) fn take(
        &self,
        wait: &Wait,
        with: &Naming<'_>,
        kept: &mut Kept,
    ) -> Option<(NamedWait, Sample)> {
        let name = with.name(&wait.begin);
        // Most waits of a machine end here where few tasks are asked for: their names are enough.
        if !self.admits(&wait.begin, &name, kept) {
            return None;
        }
        self.take_shown(with.named(wait, name), with, kept)
    }

    /// The same of a wait that has its name already.
    pub(super) fn take_named(
        &self,
        named: NamedWait,
        with: &Naming<'_>,
        kept: &mut Kept,
    ) -> Option<(NamedWait, Sample)> {
        if !self.admits(&named.wait.begin, &named.name, kept) {
            return None;
        }
        self.take_shown(named, with, kept)
    }

    #[inline]
    fn take_shown(
        &self,
        mut named: NamedWait,
        with: &Naming<'_>,
        kept: &mut Kept,
    ) -> Option<(NamedWait, Sample)> {
        if !self.passes(&named, with.stacks, kept) {
            kept.not_asked += 1;
            return None;
        }
        if named.wait.wait_ns() < self.min_wait_ns {
            kept.short += 1;
            return None;
        }
        named.wait.stack = self.cut(&named.wait, with.stacks);
        let sample = sample(&named.wait);
        kept.count(&named, sample);
        Some((named, sample))
    }

    /// Names an open wait; nothing if its task was not asked for, or it waits for something to do.
    pub(super) fn open(
        &self,
        wait: &OpenWait,
        now_ns: u64,
        with: &Naming<'_>,
    ) -> Option<OpenNamed> {
        let begin = &wait.begin;
        let name = with.name(begin);
        let is_idle = match wait.cause {
            // What a signal could end may go on for ever; who sleeps for a lock waits for it, too.
            Cause::Sleep(left_as) => {
                let sleep = with.sleep_reason(wait.cause, wait.stack);
                let is_told = sleep.is_some_and(|sleep| sleep.idle || sleep.is_lock());
                left_as != LeftAs::Uninterruptible || is_told
            }
            _ => with.spaces.is_idle_so_far(wait, with.cache),
        };
        let is_shown = !is_idle && self.shows(begin, &name);
        is_shown.then(|| with.open(wait, name, now_ns))
    }

    /// Whether an event of this task is streamed.
    pub(super) fn shows(&self, head: &Head, name: &TaskName) -> bool {
        name.tgid != Some(self.own) && self.wants(head, name)
    }

    /// Whether a wait is of a task that was asked for; what is not is counted.
    fn admits(&self, head: &Head, name: &TaskName, kept: &mut Kept) -> bool {
        let is_own = name.tgid == Some(self.own);
        let is_wanted = !is_own && self.wants(head, name);
        kept.own += u64::from(is_own);
        kept.not_asked += u64::from(!is_own && !is_wanted);
        is_wanted
    }

    fn cut(&self, wait: &Wait, stacks: &StackTable) -> Option<StackId> {
        let (Some(stack), Some(most)) = (wait.stack, self.max_stack) else { return wait.stack };
        Some(stacks.cut(stack, waiter(wait.cause), most.get()))
    }

    /// Whether a wanted wait passes the filters; what is not known of its task is counted before.
    fn passes(&self, named: &NamedWait, stacks: &StackTable, kept: &mut Kept) -> bool {
        let is = |fact: Option<Fact>, certainty| {
            u64::from(fact.is_some_and(|fact| fact.certainty == certainty))
        };
        let NamedWait { cgroup, cmdline, .. } = *named;
        kept.cgroup_unknown += is(cgroup, Certainty::Unknown);
        kept.cgroup_unconfirmed += is(cgroup, Certainty::Unconfirmed);
        kept.cmdline_unread +=
            is(cmdline, Certainty::Unknown) + is(cmdline, Certainty::Unconfirmed);
        self.filters.pass(named, stacks)
    }

    fn wants(&self, head: &Head, name: &TaskName) -> bool {
        self.targets.wants(head.tid, name)
            && self.cpus.as_ref().is_none_or(|cpus| cpus.contains(&head.cpu))
    }

    /// The row that a wait is summed in.
    #[inline]
    pub(super) fn row_key(&self, named: &NamedWait, cache: &CmdlineCache) -> RowKey {
        let keys = self.by.of(named.table).iter();
        RowKey::of(named.table, keys.map(|&by| part(by, named, cache)))
    }
}

fn sample(wait: &Wait) -> Sample {
    let wait_ns = wait.wait_ns();
    match wait.outcome() {
        Outcome::Acquired => Sample::Acquired(wait_ns),
        Outcome::Failed(_) => Sample::Failed(wait_ns),
        Outcome::Uncertain => Sample::Uncertain(wait_ns),
    }
}
