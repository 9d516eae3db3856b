//! What a run learns elsewhere than from events: kept for who saves it, and told by who saved it.

use crate::cmdline_cache::{FactsGivenUp, Look};
use crate::event::Tid;

use super::super::named::OpenNamed;
use super::super::user_names::{NameNews, NamesGivenUp};
use super::{Engine, Lane};

/// A wait that was told of while it lasted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Lasting {
    /// Who waited.
    pub tid: Tid,
    /// Since when, in ns of the trace clock.
    pub begin_ns: u64,
    /// Who had the lock, if the lock said so.
    pub owner: Option<Tid>,
}

impl Engine {
    /// Remembers what is learned elsewhere than from events, for [`Engine::take_looks`] and
    /// [`Engine::take_name_news`].
    pub fn keep_news(&mut self) {
        self.cache.keep_looks();
        self.spaces.keep_news();
    }

    /// What was learned from /proc beyond names since this was last asked.
    pub fn take_looks(&mut self) -> Vec<Look> {
        self.cache.take_looks()
    }

    /// What became known of the names of user space's locks since this was last asked.
    pub fn take_name_news(&mut self) -> Vec<NameNews> {
        self.spaces.take_news()
    }

    /// Up to when it is known what happened, in ns of the trace clock.
    pub fn known_up_to_ns(&self) -> u64 {
        self.lanes.iter().map(Lane::known_ns).max().unwrap_or(0)
    }

    /// Nothing happened any more on any CPU up to an instant.
    pub fn tell_known_up_to(&mut self, ts_ns: u64) {
        self.lanes.iter_mut().for_each(|lane| lane.set_read_up_to(ts_ns));
    }

    /// What could not be learned so far of tasks and of user space's locks.
    pub fn given_up(&self) -> (FactsGivenUp, NamesGivenUp) {
        (self.cache.facts_given_up(), self.spaces.names_given_up())
    }

    /// What /proc once said beyond names: used in the window that reaches its instant.
    pub fn tell(&mut self, looks: impl IntoIterator<Item = Look>) {
        self.cache.tell(looks);
    }

    /// What once became known of the names of user space's locks: told behind the window that ends at its
    /// instant.
    pub fn tell_name_news(&mut self, news: NameNews) {
        self.spaces.tell(news, &self.cache);
    }

    /// A wait that was told of when it lasted, behind the window that ended then; nothing if it is not
    /// asked for now.
    pub fn told_lasting(&mut self, told: Lasting) -> Option<OpenNamed> {
        let open = self.open_wait(told.tid, told.begin_ns)?;
        let open = told.owner.map_or(open, |owner| self.owner_found(&open, owner));
        // Among events there are no waits.
        (!self.raw).then_some(open)
    }
}
