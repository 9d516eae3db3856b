//! Which locks are an address space's `mmap_lock`, learned from the kernel's own events about it.
//!
//! The kernel tells the `mm_struct` whenever its lock was taken. Directly behind the end of a wait
//! of the same task it is that wait's lock: so the distance between the two, which is one for a
//! kernel build, is learned from a few such pairs, and every known `mm_struct` gives a lock.

use std::collections::HashSet;

use crate::event::{Body, Context, Event, Tid, WaitKind};
use crate::symbols::LockName;

/// A lock farther from the `mm_struct` is none of its own: that is 1.4 KiB long (6.18, x86), and
/// what a task has waited for before it takes an `mmap_lock` without waiting can lie anywhere.
const MAX_OFFSET: u64 = 4096;

/// This many pairs with one distance make it the kernel's.
const ENOUGH: u32 = 3;

/// Address spaces that are remembered; with more, all are forgotten, and learned again where they
/// are waited for again.
const MAX_SPACES: usize = 1 << 16;

/// The `mmap_lock` events of one CPU that are in no window yet, each with the lock that its task has just got there.
#[derive(Debug, Default)]
pub(super) struct Taken {
    last_end: Option<(Tid, u64)>,
    /// (when, address space, lock), sorted.
    events: Vec<(u64, u64, Option<u64>)>,
}

impl Taken {
    /// Looks at the CPU's next event.
    pub(super) fn take(&mut self, event: &Event) {
        if event.head.context != Context::Task {
            return;
        }
        match event.body {
            Body::LockEnd { lock, ret: 0 } => self.last_end = Some((event.head.tid, lock)),
            Body::LockEnd { .. } | Body::LockBegin { .. } | Body::GapBegin => self.last_end = None,
            Body::MmapLock { mm } => {
                let own = self.last_end.take().filter(|(tid, _)| *tid == event.head.tid);
                let at_ns = event.head.stamp.ts_ns;
                self.events.push((at_ns, mm, own.map(|(_, lock)| lock)));
            }
            _ => {}
        }
    }
}

/// What has been learned of the `mmap_lock`s so far.
#[derive(Debug, Default)]
pub(super) struct MmapLocks {
    offset: Option<u64>,
    pairs: Vec<(u64, u32)>,
    spaces: HashSet<u64>,
}

impl MmapLocks {
    /// Learns from what one CPU told up to an instant.
    pub(super) fn learn(&mut self, taken: &mut Taken, up_to_ns: u64) {
        let told = taken.events.partition_point(|&(at_ns, ..)| at_ns <= up_to_ns);
        for (_, mm, lock) in taken.events.drain(..told) {
            if self.spaces.len() >= MAX_SPACES {
                self.spaces.clear();
            }
            self.spaces.insert(mm);
            let offset = lock.and_then(|lock| lock.checked_sub(mm));
            if let Some(offset) = offset.filter(|offset| *offset < MAX_OFFSET) {
                self.pair(offset);
            }
        }
    }

    /// The lock's name, if it is a known address space's.
    pub(super) fn name(&self, lock: u64, kind: WaitKind) -> Option<LockName> {
        let mm = lock.checked_sub(self.offset?)?;
        let is_rwsem = match kind {
            WaitKind::RwsemRead | WaitKind::RwsemWrite => true,
            // PREEMPT_RT's.
            WaitKind::RwlockRtRead | WaitKind::RwlockRtWrite | WaitKind::RtMutex => true,
            _ => false,
        };
        (is_rwsem && self.spaces.contains(&mm)).then_some(LockName::MmapLock)
    }

    fn pair(&mut self, offset: u64) {
        if self.offset.is_some() {
            return;
        }
        let count = match self.pairs.iter_mut().find(|(known, _)| *known == offset) {
            Some((_, count)) => {
                *count += 1;
                *count
            }
            None => {
                // At most one for each distance below the bound.
                self.pairs.push((offset, 1));
                1
            }
        };
        if count >= ENOUGH {
            self.offset = Some(offset);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{MmapLocks, Taken};
    use crate::event::{Body, Context, Cpu, Event, Head, LockFlags, Stamp, Tid, WaitKind};
    use crate::symbols::LockName;

    const MM: u64 = 0xffff_8881_0010_0000;
    const OFFSET: u64 = 0xb8;

    fn of(tid: u32, context: Context, body: Body) -> Event {
        let stamp = Stamp::MIN;
        Event { head: Head { stamp, ts_ns: 0, cpu: Cpu(0), tid: Tid(tid), context }, body }
    }

    fn end(lock: u64) -> Body {
        Body::LockEnd { lock, ret: 0 }
    }

    fn learned<const N: usize>(windows: [&[Event]; N]) -> MmapLocks {
        let mut locks = MmapLocks::default();
        for window in windows {
            let mut taken = Taken::default();
            window.iter().for_each(|event| taken.take(event));
            locks.learn(&mut taken, 0);
        }
        locks
    }

    #[test]
    fn three_pairs_give_the_offset_and_every_known_space_its_lock() {
        let task = |tid, body| of(tid, Context::Task, body);
        let pair = &[task(1, end(MM + OFFSET)), task(1, Body::MmapLock { mm: MM })][..];
        let other = &[task(2, Body::MmapLock { mm: MM + 0x5000 })][..];
        let two = learned([pair, pair, other]);
        assert_eq!(two.name(MM + OFFSET, WaitKind::RwsemRead), None);
        let three = learned([pair, pair, other, pair]);
        let name = |lock, kind| three.name(lock, kind);
        assert_eq!(name(MM + OFFSET, WaitKind::RwsemRead), Some(LockName::MmapLock));
        assert_eq!(name(MM + 0x5000 + OFFSET, WaitKind::RwsemWrite), Some(LockName::MmapLock));
        assert_eq!(name(MM + 0x5000 + OFFSET, WaitKind::Mutex), None);
        assert_eq!(name(MM + 0x9000 + OFFSET, WaitKind::RwsemWrite), None);
        assert_eq!(name(0, WaitKind::RwsemWrite), None);
    }

    #[test]
    fn what_is_not_directly_behind_the_wait_teaches_nothing() {
        let lock = MM + OFFSET;
        let taken = of(1, Context::Task, Body::MmapLock { mm: MM });
        let begin = Body::LockBegin { lock: 9, flags: LockFlags(1) };
        let between = [
            of(1, Context::Task, begin),
            of(2, Context::Task, end(lock)),
            of(1, Context::Task, Body::LockEnd { lock, ret: -4 }),
            of(0, Context::Task, Body::GapBegin),
        ];
        for event in between {
            let window = [of(1, Context::Task, end(lock)), event, taken];
            let locks = learned([&window[..]; 9]);
            assert_eq!(locks.name(lock, WaitKind::RwsemRead), None, "{event:?}");
        }
        // An interrupt on top of the task does not come between; a lock elsewhere is another's.
        let interrupted = [of(1, Context::Task, end(lock)), of(1, Context::Hardirq, begin), taken];
        let elsewhere = [of(1, Context::Task, end(MM - 8)), taken];
        assert!(learned([&interrupted[..]; 3]).name(lock, WaitKind::RwsemRead).is_some());
        assert!(learned([&elsewhere[..]; 9]).name(MM - 8, WaitKind::RwsemRead).is_none());
    }
}
