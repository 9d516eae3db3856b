//! Texts in events, on their way to the cache.

use std::sync::Arc;

use crate::event::{TextId, Texts};

/// Where the texts of events are kept while they are on their way.
#[derive(Debug, Default, Clone)]
pub struct EventTexts {
    pub(super) cgroups: Option<(u32, Option<Arc<Texts>>)>,
    pub(super) filenames: Option<Arc<Texts>>,
}

impl EventTexts {
    /// A cgroup's path: nothing if it is of no interest, none inside if it is not kept.
    pub fn cgroup(&self, hierarchy: u32, path: &[u8]) -> Option<Option<TextId>> {
        let (_, paths) = self.cgroups.as_ref().filter(|(id, _)| *id == hierarchy)?;
        Some(paths.as_ref().and_then(|paths| paths.intern(path)))
    }

    /// A program's file.
    pub fn filename(&self, filename: &[u8]) -> Option<TextId> {
        self.filenames.as_ref()?.intern(filename)
    }
}
