//! How much of a trace is kept: all, the first, the last, or what surrounds a moment.

use super::{Saver, Stopped};

/// How much of the rings is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Bound {
    /// All.
    None,
    /// The first so many bytes: then saving stops.
    First(u64),
    /// The last so many bytes.
    Last(u64),
}

impl Saver {
    /// Room for so many bytes within the bounds.
    pub(super) fn make_room(&mut self, len: u64) -> Result<(), Stopped> {
        if let Some(left) = &mut self.left_bytes {
            *left = left.checked_sub(len).ok_or(Stopped::Enough)?;
        }
        match self.bound {
            Bound::First(most) if self.bytes().saturating_add(len) > most => Err(Stopped::Full),
            Bound::Last(most) => {
                while self.bytes().saturating_add(len) > most.max(len) {
                    self.forget_oldest()?;
                }
                Ok(())
            }
            _ => Ok(()),
        }
    }

    fn forget_oldest(&mut self) -> Result<(), Stopped> {
        let filled = self.rings.iter_mut().filter(|ring| !ring.times.is_empty());
        let Some(oldest) = filled.min_by_key(|ring| ring.times.front().copied()) else {
            return Ok(());
        };
        oldest.times.pop_front();
        if oldest.times.is_empty() {
            oldest.tail = None;
        }
        self.forgot = true;
        self.writer.forget_first(oldest.cpu.0).map_err(Stopped::Failed)
    }

    /// Saves as much again as half of what is kept, and then no more: what is waited for is in the middle.
    pub fn keep_what_surrounds_now(&mut self) {
        if let Bound::Last(most) = self.bound {
            self.left_bytes.get_or_insert(most / 2);
        }
    }

    /// Whether the beginning was given up for want of room.
    pub fn forgot(&self) -> bool {
        self.forgot
    }

    /// The same, once.
    pub fn take_forgot(&mut self) -> bool {
        let told = std::mem::replace(&mut self.told_forgot, self.forgot);
        self.forgot && !told
    }
}
