//! A finished wait gets its name, and is kept or left out, each for a counted reason.

use std::collections::HashSet;
use std::num::NonZeroUsize;

use crate::aggregate::Sample;
use crate::cmdline_cache::{Certainty, CmdlineCache, Fact, TaskName};
use crate::contention::{Cause, OpenWait, Outcome, Wait};
use crate::event::{Cpu, Head, LeftAs, Tid};
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
    /// How a wait of a task that was asked for is summed; nothing if it is left out.
    #[inline]
    pub(super) fn sample(
        &self,
        named: &mut NamedWait,
        stacks: &StackTable,
        kept: &mut Kept,
    ) -> Option<Sample> {
        if !self.passes(named, stacks, kept) {
            kept.not_asked += 1;
            return None;
        }
        if named.wait.wait_ns() < self.min_wait_ns {
            kept.short += 1;
            return None;
        }
        if let (Some(stack), Some(most)) = (named.wait.stack, self.max_stack) {
            named.wait.stack = Some(stacks.cut(stack, waiter(named.wait.cause), most.get()));
        }
        let sample = sample(&named.wait);
        kept.count(named, sample);
        Some(sample)
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
    #[inline]
    pub(super) fn admits(&self, head: &Head, name: &TaskName, kept: &mut Kept) -> bool {
        let is_own = name.tgid == Some(self.own);
        let is_wanted = !is_own && self.wants(head, name);
        kept.own += u64::from(is_own);
        kept.not_asked += u64::from(!is_own && !is_wanted);
        is_wanted
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
        match self.by.of(named.table) {
            [by] => RowKey::of_one(named.table, part(*by, named, cache)),
            keys => RowKey::of(named.table, keys.iter().map(|&by| part(by, named, cache))),
        }
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
