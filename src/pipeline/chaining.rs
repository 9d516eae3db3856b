//! Chains of waits: whoever had a lock may itself have waited for another one meanwhile.

use std::collections::HashMap;

use foldhash::fast::FixedState;

use crate::event::{Comm, Tid};
use crate::report::{ChainId, Chains, Link, Table, Waits};

use super::named::{NamedWait, known_comm};

/// Waits of a task that are remembered: a holder's last ones.
const MAX_RECENT: usize = 8;

/// Tasks whose waits are remembered. With more, all are forgotten.
const MAX_TASKS: usize = 1 << 16;

/// Waits in a chain; what goes on behind is left out.
const MAX_WAITS: u32 = 8;

/// Chains that are told apart.
const MAX_CHAINS: usize = 1 << 16;

/// Follows waits as they end, to find those that a later one waited for.
#[derive(Debug)]
pub(super) struct Chaining {
    recent: HashMap<Tid, Vec<Recent>, FixedState>,
    chains: Chains,
    forgotten: u64,
}

/// A wait that a task has behind it.
#[derive(Debug, Clone, Copy)]
struct Recent {
    begin_ns: u64,
    end_ns: u64,
    lock: u64,
    chain: Option<ChainId>,
}

impl Default for Chaining {
    fn default() -> Self {
        Chaining { recent: HashMap::default(), chains: Chains::new(MAX_CHAINS), forgotten: 0 }
    }
}

impl Chaining {
    /// Takes the next wait in the order of their ends, whoever's it is; gives its chain, and whether
    /// others are in it.
    pub(super) fn take(&mut self, named: &NamedWait) -> Option<(ChainId, bool)> {
        let wait = &named.wait;
        if !matches!(named.table, Table::Locks | Table::Futexes) || !wait.slept || wait.uncertain {
            return None;
        }
        let behind = named.holder.as_ref().and_then(|holder| {
            let (tid, let_go_ns) = (holder.holder.head.tid, holder.holder.head.ts_ns);
            let waited = self.waited(tid, wait.lock, wait.begin.ts_ns, let_go_ns);
            let is_short = |&chain: &ChainId| self.chains.waits(chain) < MAX_WAITS;
            let chain = waited.and_then(|recent| recent.chain).filter(is_short);
            chain.or_else(|| self.ends_with(known_comm(&holder.name)))
        });
        let waits = Waits { kind: wait.cause.kind(), caller: named.caller };
        let link = Link { comm: known_comm(&named.name), waits: Some(waits) };
        let chain = self.chains.intern(link, behind);
        if wait.ret >= 0 {
            self.remember(
                wait.begin.tid,
                Recent { begin_ns: wait.begin.ts_ns, end_ns: wait.end_ns, lock: wait.lock, chain },
            );
        }
        chain.map(|chain| (chain, self.chains.waits(chain) > 1))
    }

    /// Forgets waits that ended before any open one began: nobody can have waited for them.
    pub(super) fn forget_before(&mut self, ns: u64) {
        self.recent.retain(|_, waits| waits.last().is_some_and(|wait| wait.end_ns >= ns));
    }

    /// The chains themselves, and how many tasks were forgotten for want of room.
    pub(super) fn finish(self) -> (Chains, u64) {
        (self.chains, self.forgotten)
    }

    fn ends_with(&mut self, comm: Option<Comm>) -> Option<ChainId> {
        self.chains.intern(Link { comm, waits: None }, None)
    }

    /// The wait of the holder that took most of the time from `since_ns` on: while it had the lock,
    /// so behind its own wait for that, if it had to wait for it.
    fn waited(&self, holder: Tid, lock: u64, since_ns: u64, let_go_ns: u64) -> Option<Recent> {
        let waits = self.recent.get(&holder)?;
        let done = waits.iter().filter(|wait| wait.end_ns <= let_go_ns);
        let got_it = done.clone().filter(|wait| wait.lock == lock).map(|wait| wait.end_ns).max();
        let overlap = |wait: &&Recent| wait.end_ns.saturating_sub(wait.begin_ns.max(since_ns));
        let inside = done.filter(|wait| {
            wait.lock != lock
                && wait.end_ns > since_ns
                && got_it.is_none_or(|ns| wait.begin_ns >= ns)
        });
        inside.max_by_key(overlap).copied()
    }

    fn remember(&mut self, tid: Tid, wait: Recent) {
        if self.recent.len() >= MAX_TASKS && !self.recent.contains_key(&tid) {
            self.forgotten += self.recent.len() as u64;
            self.recent.clear();
        }
        let waits = self.recent.entry(tid).or_default();
        if waits.len() >= MAX_RECENT {
            waits.remove(0);
        }
        waits.push(wait);
    }
}
