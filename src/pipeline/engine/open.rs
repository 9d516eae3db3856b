//! Waits that are not over.

use crate::event::{Stamp, Tid};

use super::super::named::OpenNamed;
use super::Engine;

impl Engine {
    /// The waits that have lasted for that long and are not over, each once, with who probably has the
    /// lock.
    pub fn lasting(&mut self, age_ns: u64) -> Vec<OpenNamed> {
        let now_ns = self.processed_ns;
        let Some(since_ns) = now_ns.checked_sub(age_ns) else { return Vec::new() };
        let lasting = self.sleepers.lasting(since_ns);
        let with = self.naming();
        lasting.iter().filter_map(|wait| self.keep.open(wait, now_ns, &with)).collect()
    }

    /// A wait that began then and is not over.
    pub(super) fn open_wait(&mut self, tid: Tid, begin_ns: u64) -> Option<OpenNamed> {
        let wait = self.sleepers.open_wait(tid, begin_ns)?;
        self.keep.open(&wait, self.processed_ns, &self.naming())
    }

    /// Of an open wait the lock itself says who has it.
    pub fn owner_found(&mut self, open: &OpenNamed, owner: Tid) -> OpenNamed {
        let now = Stamp::behind(self.processed_ns);
        let wait = self.sleepers.owner_found(&open.wait, now, owner);
        self.naming().open(&wait, open.name, self.processed_ns)
    }
}
