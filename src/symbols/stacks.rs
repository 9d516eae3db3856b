//! Kernel stacks, each kept once.

use super::{CallerFinder, DerivedName, SleepReason, Waiter};
use crate::event::{StackId, WaitKind};
use dashmap::{DashMap, Entry};
use foldhash::fast::RandomState;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock, PoisonError, RwLock};

/// `kernel.perf_event_max_stack`'s default: deeper frames are cut and counted.
const MAX_FRAMES: usize = 127;

/// A bounded set of kernel stacks with their callers, shared by all readers.
///
/// A stack that is known already is found under a shard's read lock; only a new one
/// takes the write lock.
#[derive(Debug)]
pub struct StackTable {
    callers: Arc<CallerFinder>,
    capacity: usize,
    ids: DashMap<Arc<[u64]>, StackId, RandomState>,
    stacks: RwLock<Vec<Stack>>,
    refused: AtomicU64,
    truncated: AtomicU64,
}

#[derive(Debug)]
struct Stack {
    /// Without the tracer's own.
    frames: Arc<[u64]>,
    spinning_caller: u64,
    sleeping_caller: u64,
    /// Of few stacks asked for.
    waking_caller: OnceLock<u64>,
    asleep: OnceLock<Asleep>,
    /// The lock's name, for the kind of lock it was first asked for: nearly always the only one.
    lock_name: OnceLock<(WaitKind, Option<DerivedName>)>,
}

/// What a sleeper's stack says.
#[derive(Debug)]
struct Asleep {
    caller: u64,
    reason: Option<SleepReason>,
}

impl Stack {
    fn asleep(&self, callers: &CallerFinder) -> &Asleep {
        self.asleep.get_or_init(|| Asleep {
            caller: callers.caller(&self.frames, Waiter::Asleep).unwrap_or(self.sleeping_caller),
            reason: callers.sleep_reason(&self.frames),
        })
    }
}

impl StackTable {
    /// How many stacks are kept where nobody says otherwise; perf's `--map-nr-entries`.
    pub const DEFAULT_CAPACITY: usize = 16384;

    /// An empty table for up to `capacity` stacks.
    pub fn new(capacity: usize, callers: Arc<CallerFinder>) -> StackTable {
        StackTable {
            callers,
            capacity,
            ids: DashMap::with_hasher(RandomState::default()),
            stacks: RwLock::new(Vec::new()),
            refused: AtomicU64::new(0),
            truncated: AtomicU64::new(0),
        }
    }

    /// The id of a stack, innermost frame first. None for an empty stack and, counted,
    /// for a new one in a full table.
    pub fn intern(&self, frames: &[u64]) -> Option<StackId> {
        let kept = frames.get(..MAX_FRAMES).unwrap_or(frames);
        if kept.len() < frames.len() {
            self.truncated.fetch_add(1, Ordering::Relaxed);
        }
        if let Some(id) = self.ids.get(kept) {
            return Some(*id);
        }
        self.insert(kept)
    }

    /// The frames of a stack, innermost first, without the tracer's own; none for an id of another
    /// table.
    pub fn frames(&self, id: StackId) -> Option<Arc<[u64]>> {
        self.with(id, |stack| Arc::clone(&stack.frames))
    }

    /// The part of a stack that begins at its caller, at most `max_frames` long; the stack itself
    /// where the part finds no room. Its caller is the whole stack's.
    pub fn cut(&self, id: StackId, waiter: Waiter, max_frames: usize) -> StackId {
        let (Some(frames), Some(caller)) = (self.frames(id), self.caller(id, waiter)) else {
            return id;
        };
        let start = frames.iter().position(|frame| *frame == caller).unwrap_or(0);
        let part: Vec<u64> = frames.iter().skip(start).take(max_frames).copied().collect();
        self.intern(&part).unwrap_or(id)
    }

    /// The code address that wanted the lock.
    pub fn caller(&self, id: StackId, waiter: Waiter) -> Option<u64> {
        self.with(id, |stack| match waiter {
            Waiter::Spinning => stack.spinning_caller,
            Waiter::Sleeping => stack.sleeping_caller,
            Waiter::Asleep => stack.asleep(&self.callers).caller,
            Waiter::Waker => *stack.waking_caller.get_or_init(|| {
                self.callers.caller(&stack.frames, Waiter::Waker).unwrap_or(stack.sleeping_caller)
            }),
        })
    }

    /// The name of the lock of this kind that the stack waits for, where a rule knows it.
    pub fn lock_name(&self, id: StackId, kind: WaitKind) -> Option<DerivedName> {
        self.with(id, |stack| {
            let derive = || self.callers.lock_name(&stack.frames, kind);
            match stack.lock_name.get_or_init(|| (kind, derive())) {
                (known, name) if *known == kind => *name,
                _ => derive(),
            }
        })?
    }

    /// What a task with that stack sleeps for.
    pub fn sleep_reason(&self, id: StackId) -> Option<SleepReason> {
        self.with(id, |stack| stack.asleep(&self.callers).reason)?
    }

    /// The frames of a stack, innermost first, without those of the scheduler.
    pub fn outside_scheduler(&self, id: StackId) -> Vec<u64> {
        let frames = self.frames(id).unwrap_or_default();
        self.callers.outside_scheduler(&frames)
    }

    /// Stacks kept.
    pub fn len(&self) -> usize {
        self.stacks.read().unwrap_or_else(PoisonError::into_inner).len()
    }

    /// Whether no stack is kept.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// How often a stack was refused since the table was full.
    pub fn refused(&self) -> u64 {
        self.refused.load(Ordering::Relaxed)
    }

    /// How often a stack had its outermost frames cut off.
    pub fn truncated(&self) -> u64 {
        self.truncated.load(Ordering::Relaxed)
    }

    fn insert(&self, frames: &[u64]) -> Option<StackId> {
        if self.len() >= self.capacity {
            return self.refuse();
        }
        let spinning_caller = self.callers.caller(frames, Waiter::Spinning)?;
        let sleeping_caller = self.callers.caller(frames, Waiter::Sleeping)?;
        match self.ids.entry(frames.into()) {
            Entry::Occupied(known) => Some(*known.get()),
            Entry::Vacant(vacant) => {
                let mut stacks = self.stacks.write().unwrap_or_else(PoisonError::into_inner);
                if stacks.len() >= self.capacity {
                    return self.refuse();
                }
                let id = StackId(u32::try_from(stacks.len()).ok()?);
                let frames = self.callers.without_tracer(frames).into();
                stacks.push(Stack {
                    frames,
                    spinning_caller,
                    sleeping_caller,
                    waking_caller: OnceLock::new(),
                    asleep: OnceLock::new(),
                    lock_name: OnceLock::new(),
                });
                vacant.insert(id);
                Some(id)
            }
        }
    }

    fn refuse(&self) -> Option<StackId> {
        self.refused.fetch_add(1, Ordering::Relaxed);
        None
    }

    fn with<T>(&self, id: StackId, read: impl FnOnce(&Stack) -> T) -> Option<T> {
        let stacks = self.stacks.read().unwrap_or_else(PoisonError::into_inner);
        stacks.get(usize::try_from(id.0).ok()?).map(read)
    }
}

#[cfg(test)]
mod tests {
    use super::StackTable;
    use crate::event::StackId;
    use crate::symbols::{CallerFinder, Kallsyms, Waiter};
    use std::sync::Arc;

    const KALLSYMS: &[u8] = b"\
        1000 T open_file\n2000 T __sched_text_start\n2000 t __schedule\n\
        2100 T down_write\n3000 T __sched_text_end\n";

    fn table(capacity: usize) -> StackTable {
        let symbols = Arc::new(Kallsyms::parse(KALLSYMS));
        StackTable::new(capacity, Arc::new(CallerFinder::new(symbols)))
    }

    #[test]
    fn a_stack_is_kept_once_with_both_its_callers() {
        let table = table(2);
        let id = table.intern(&[0x2010, 0x1010]).unwrap();
        assert_eq!(table.intern(&[0x2010, 0x1010]), Some(id));
        assert_eq!(table.len(), 1);
        assert_eq!(*table.frames(id).unwrap(), [0x2010, 0x1010]);
        assert_eq!(table.caller(id, Waiter::Spinning), Some(0x2010));
        assert_eq!(table.caller(id, Waiter::Sleeping), Some(0x1010));
        assert_eq!(table.caller(StackId(7), Waiter::Sleeping), None);
    }

    #[test]
    fn a_full_table_refuses_new_stacks_and_still_knows_the_old() {
        let table = table(1);
        let id = table.intern(&[1]);
        assert!(id.is_some());
        assert_eq!((table.intern(&[2]), table.intern(&[3])), (None, None));
        assert_eq!(table.intern(&[1]), id);
        assert_eq!((table.refused(), table.len()), (2, 1));
        assert_eq!(table.intern(&[]), None);
    }

    #[test]
    fn deep_stacks_are_cut_and_counted() {
        let table = table(2);
        let id = table.intern(&[5; 128]).unwrap();
        assert_eq!(table.frames(id).unwrap().len(), 127);
        assert_eq!(table.truncated(), 1);
        assert_eq!(table.intern(&[5; 127]), Some(id));
        assert_eq!(table.truncated(), 1);
    }

    #[test]
    fn a_part_begins_at_the_caller_and_has_the_frames_asked_for() {
        let table = table(4);
        let stack = [0x2010, 0x1010, 0x1020, 0x1030];
        let whole = table.intern(&stack).unwrap();
        let cut = |waiter, max_frames| {
            let part = table.cut(whole, waiter, max_frames);
            (table.frames(part).unwrap().to_vec(), table.caller(part, waiter))
        };
        assert_eq!(cut(Waiter::Sleeping, 2), (vec![0x1010, 0x1020], Some(0x1010)));
        assert_eq!(cut(Waiter::Sleeping, 9), (stack[1..].to_vec(), Some(0x1010)));
        assert_eq!(cut(Waiter::Spinning, 1), (vec![0x2010], Some(0x2010)));
        // The table is full.
        assert_eq!(cut(Waiter::Spinning, 2), (stack.to_vec(), Some(0x2010)));
        assert_eq!((table.len(), table.refused()), (4, 1));
    }

    #[test]
    fn readers_agree_on_the_ids() {
        let table = table(1000);
        let stacks: Vec<[u64; 3]> = (0..1000).map(|n| [n, n + 1, 0x1010]).collect();
        let ids: Vec<Vec<_>> = std::thread::scope(|scope| {
            let intern_all = || stacks.iter().map(|stack| table.intern(stack)).collect();
            let readers: Vec<_> = (0..4).map(|_| scope.spawn(intern_all)).collect();
            readers.into_iter().map(|reader| reader.join().unwrap()).collect()
        });
        assert!(ids.iter().all(|same| *same == ids[0]));
        assert_eq!((table.len(), table.refused()), (1000, 0));
        for (stack, id) in stacks.iter().zip(&ids[0]) {
            assert_eq!(*table.frames(id.unwrap()).unwrap(), *stack);
        }
    }
}
