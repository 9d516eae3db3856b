//! How much memory the rings of one file may take together.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::super::error::Fault;
use super::super::limits::MAX_HELD_BYTES;

/// What all rings of a file hold now.
#[derive(Debug, Clone, Default)]
pub(super) struct Memory(Arc<AtomicU64>);

/// What one of them holds, given back when it is dropped.
#[derive(Debug)]
pub(super) struct Held {
    all: Memory,
    bytes: u64,
}

impl Memory {
    /// For one more ring.
    pub(super) fn for_one(&self) -> Held {
        Held { all: self.clone(), bytes: 0 }
    }
}

impl Held {
    /// The ring is to hold so much instead.
    pub(super) fn change(&mut self, bytes: u64, offset: u64) -> Result<(), Fault> {
        self.give_back();
        let held = self.all.0.fetch_add(bytes, Ordering::Relaxed).saturating_add(bytes);
        self.bytes = bytes;
        if held > MAX_HELD_BYTES {
            self.give_back();
            let part = "what is held of all rings";
            return Err(Fault::TooLarge { part, offset, claimed: held, limit: MAX_HELD_BYTES });
        }
        Ok(())
    }

    pub(super) fn give_back(&mut self) {
        self.all.0.fetch_sub(std::mem::take(&mut self.bytes), Ordering::Relaxed);
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        self.give_back();
    }
}

#[cfg(test)]
mod tests {
    use super::{MAX_HELD_BYTES, Memory};

    #[test]
    fn what_is_given_back_others_may_have() {
        let memory = Memory::default();
        let (mut one, mut other) = (memory.for_one(), memory.for_one());
        one.change(MAX_HELD_BYTES - 1, 0).unwrap();
        other.change(1, 0).unwrap();
        let refused = other.change(2, 7).unwrap_err().to_string();
        assert_eq!(
            refused,
            "what is held of all rings at byte 7 claims 1073741825, more than 1073741824"
        );
        one.change(10, 0).unwrap();
        other.change(2, 0).unwrap();
        drop((one, other));
        memory.for_one().change(MAX_HELD_BYTES, 0).unwrap();
    }
}
