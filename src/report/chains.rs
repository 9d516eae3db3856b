//! Who waited for whom, while that one waited for another.

use crate::event::{Comm, WaitKind};
use std::collections::HashMap;

/// Chains of waits, each kept once, at most a given number.
///
/// A chain is a wait and the chain of whoever had its lock, so chains that end alike share that end.
#[derive(Debug)]
pub struct Chains {
    ids: HashMap<(Link, Option<ChainId>), ChainId>,
    chains: Vec<Chain>,
    bound: usize,
    refused: u64,
}

/// One of [`Chains`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ChainId(u32);

/// A task in a chain.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Link {
    /// Its name; none where it was never learned.
    pub comm: Option<Comm>,
    /// What it waits for; none for the last one, which has the lock and does not wait.
    pub waits: Option<Waits>,
}

/// What a task in a chain waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Waits {
    /// The kind of lock.
    pub kind: WaitKind,
    /// The code address that wanted it, where there was a stack.
    pub caller: Option<u64>,
}

#[derive(Debug)]
struct Chain {
    link: Link,
    next: Option<ChainId>,
    waits: u32,
}

impl Chains {
    /// None yet, and never more than that many.
    pub fn new(bound: usize) -> Chains {
        Chains { ids: HashMap::new(), chains: Vec::new(), bound, refused: 0 }
    }

    /// The chain that begins with `link` and goes on as `next`. None, counted, where there is no room
    /// for a new one.
    pub fn intern(&mut self, link: Link, next: Option<ChainId>) -> Option<ChainId> {
        if let Some(&known) = self.ids.get(&(link, next)) {
            return Some(known);
        }
        let id = u32::try_from(self.chains.len()).ok().map(ChainId);
        let Some(id) = id.filter(|_| self.chains.len() < self.bound) else {
            self.refused += 1;
            return None;
        };
        let waits = next.map_or(0, |next| self.waits(next)) + u32::from(link.waits.is_some());
        self.chains.push(Chain { link, next, waits });
        self.ids.insert((link, next), id);
        Some(id)
    }

    /// How many waits a chain has.
    pub fn waits(&self, id: ChainId) -> u32 {
        self.get(id).map_or(0, |chain| chain.waits)
    }

    /// Its tasks, the first waiter first.
    pub fn links(&self, id: ChainId) -> impl Iterator<Item = &Link> {
        let first = self.get(id);
        let all = std::iter::successors(first, |chain| self.get(chain.next?));
        all.map(|chain| &chain.link)
    }

    /// How often a chain found no room.
    pub fn refused(&self) -> u64 {
        self.refused
    }

    fn get(&self, id: ChainId) -> Option<&Chain> {
        self.chains.get(usize::try_from(id.0).ok()?)
    }
}

#[cfg(test)]
mod tests {
    use super::{Chains, Link, Waits};
    use crate::event::{Comm, WaitKind};

    fn link(comm: &[u8], kind: Option<WaitKind>) -> Link {
        let waits = kind.map(|kind| Waits { kind, caller: None });
        Link { comm: Some(Comm::new(comm)), waits }
    }

    #[test]
    fn chains_share_their_ends_and_are_bounded() {
        let mut chains = Chains::new(3);
        let last = chains.intern(link(b"holder", None), None);
        let middle = chains.intern(link(b"b", Some(WaitKind::Mutex)), last);
        let whole = chains.intern(link(b"a", Some(WaitKind::RwsemWrite)), middle).unwrap();
        assert_eq!(chains.intern(link(b"a", Some(WaitKind::RwsemWrite)), middle), Some(whole));
        assert_eq!(chains.intern(link(b"x", Some(WaitKind::Mutex)), middle), None);
        let names = chains.links(whole).map(|link| link.comm.unwrap().as_bytes().to_vec());
        assert_eq!(names.collect::<Vec<_>>(), [&b"a"[..], b"b", b"holder"]);
        assert_eq!((chains.waits(whole), chains.waits(last.unwrap())), (2, 0));
        assert_eq!(chains.refused(), 1);
    }
}
