//! The flags of `contention_begin`, and the kind of lock they stand for.

use std::fmt;

/// The flags of `contention_begin` (include/trace/events/lock.h, 5.19 to 7.3). Unknown bits are kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LockFlags(pub u32);

const SPIN: u32 = 1;
const READ: u32 = 2;
const WRITE: u32 = 4;
const RT: u32 = 8;
const PERCPU: u32 = 16;
const MUTEX: u32 = 32;

const NAMES: [(u32, &str); 6] = [
    (SPIN, "SPIN"),
    (READ, "READ"),
    (WRITE, "WRITE"),
    (RT, "RT"),
    (PERCPU, "PERCPU"),
    (MUTEX, "MUTEX"),
];

impl LockFlags {
    /// The waiter spins with preemption off until it has the lock: it stays on its CPU.
    ///
    /// A mutex's optimistic spinning is not this: it may end in sleep.
    pub fn is_spinning(self) -> bool {
        self.0 & (SPIN | MUTEX) == SPIN
    }

    /// A mutex, whichever phase: the only lock that begins several times in one wait.
    pub fn is_mutex(self) -> bool {
        self.0 & MUTEX != 0
    }

    /// A mutex's waiter that spins before it sleeps.
    pub fn is_spin_phase(self) -> bool {
        self.0 & SPIN != 0
    }

    /// What kind of lock this is.
    pub fn kind(self) -> WaitKind {
        match self.0 {
            0 => WaitKind::Semaphore,
            SPIN => WaitKind::Spinlock,
            f if f == SPIN | READ => WaitKind::RwlockRead,
            f if f == SPIN | WRITE => WaitKind::RwlockWrite,
            READ => WaitKind::RwsemRead,
            WRITE => WaitKind::RwsemWrite,
            RT => WaitKind::RtMutex,
            f if f == RT | READ => WaitKind::RwlockRtRead,
            f if f == RT | WRITE => WaitKind::RwlockRtWrite,
            f if f == PERCPU | READ => WaitKind::PercpuRead,
            f if f == PERCPU | WRITE => WaitKind::PercpuWrite,
            f if f & !SPIN == MUTEX => WaitKind::Mutex,
            _ => WaitKind::Unknown,
        }
    }
}

/// What `-Y` of `perf lock contention` calls which flags (tools/perf/builtin-lock.c, 7.3), with the
/// spellings of its manual. A name without a colon stands for all combinations of that lock.
const TYPE_NAMES: [(&str, &[u32]); 21] = [
    ("semaphore", &[0]),
    ("spinlock", &[SPIN]),
    ("rwlock", &[SPIN | READ, SPIN | WRITE]),
    ("rwlock:R", &[SPIN | READ]),
    ("rwlock:W", &[SPIN | WRITE]),
    ("rwsem", &[READ, WRITE]),
    ("rwsem:R", &[READ]),
    ("rwsem:W", &[WRITE]),
    ("rt-mutex", &[RT]),
    ("rtmutex", &[RT]),
    ("rwlock-rt", &[RT | READ, RT | WRITE]),
    ("rwlock-rt:R", &[RT | READ]),
    ("rwlock-rt:W", &[RT | WRITE]),
    ("percpu-rwsem", &[PERCPU | READ, PERCPU | WRITE]),
    ("percpu-rwmem", &[PERCPU | READ, PERCPU | WRITE]),
    ("pcpu-sem", &[PERCPU | READ, PERCPU | WRITE]),
    ("pcpu-sem:R", &[PERCPU | READ]),
    ("pcpu-sem:W", &[PERCPU | WRITE]),
    ("mutex", &[MUTEX, MUTEX | SPIN]),
    ("mutex:spin", &[MUTEX | SPIN]),
    ("mutex-spin", &[MUTEX | SPIN]),
];

impl LockFlags {
    /// The flags that a name of a lock type stands for; `None` where there is no such name.
    pub fn of_type_name(name: &str) -> Option<Vec<LockFlags>> {
        let (_, flags) = TYPE_NAMES.iter().find(|(known, _)| *known == name)?;
        Some(flags.iter().copied().map(LockFlags).collect())
    }

    /// All names that [`LockFlags::of_type_name`] knows.
    pub fn type_names() -> impl Iterator<Item = &'static str> {
        TYPE_NAMES.iter().map(|(name, _)| *name)
    }
}

/// As the kernel's own text has it: `SPIN|MUTEX`; bits without a name in hex; nothing for 0.
impl fmt::Display for LockFlags {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut rest = self.0;
        let mut bar = "";
        for (bit, name) in NAMES {
            if rest & bit != 0 {
                write!(f, "{bar}{name}")?;
                bar = "|";
                rest &= !bit;
            }
        }
        if rest != 0 {
            write!(f, "{bar}{rest:#x}")?;
        }
        Ok(())
    }
}

/// What is waited for: a kind of lock, under the names of `perf lock contention` where it has one,
/// or something else.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[expect(missing_docs, reason = "the names say it; `name` spells them")]
pub enum WaitKind {
    Semaphore,
    Spinlock,
    RwlockRead,
    RwlockWrite,
    RwsemRead,
    RwsemWrite,
    RtMutex,
    RwlockRtRead,
    RwlockRtWrite,
    PercpuRead,
    PercpuWrite,
    Mutex,
    /// A lock in user space.
    Futex,
    /// One with priority inheritance.
    FutexPi,
    /// No lock: any other sleep.
    Sleep,
    /// A combination of flags that no kernel read so far emits.
    Unknown,
}

impl WaitKind {
    /// Every kind, in the order of declaration.
    pub const ALL: [WaitKind; 16] = [
        WaitKind::Semaphore,
        WaitKind::Spinlock,
        WaitKind::RwlockRead,
        WaitKind::RwlockWrite,
        WaitKind::RwsemRead,
        WaitKind::RwsemWrite,
        WaitKind::RtMutex,
        WaitKind::RwlockRtRead,
        WaitKind::RwlockRtWrite,
        WaitKind::PercpuRead,
        WaitKind::PercpuWrite,
        WaitKind::Mutex,
        WaitKind::Futex,
        WaitKind::FutexPi,
        WaitKind::Sleep,
        WaitKind::Unknown,
    ];

    /// perf's spelling (tools/perf/builtin-lock.c, 7.3), for the kinds that it knows.
    pub fn name(self) -> &'static str {
        match self {
            WaitKind::Semaphore => "semaphore",
            WaitKind::Spinlock => "spinlock",
            WaitKind::RwlockRead => "rwlock:R",
            WaitKind::RwlockWrite => "rwlock:W",
            WaitKind::RwsemRead => "rwsem:R",
            WaitKind::RwsemWrite => "rwsem:W",
            WaitKind::RtMutex => "rt-mutex",
            WaitKind::RwlockRtRead => "rwlock-rt:R",
            WaitKind::RwlockRtWrite => "rwlock-rt:W",
            WaitKind::PercpuRead => "pcpu-sem:R",
            WaitKind::PercpuWrite => "pcpu-sem:W",
            WaitKind::Mutex => "mutex",
            WaitKind::Futex => "futex",
            WaitKind::FutexPi => "futex:pi",
            WaitKind::Sleep => "sleep",
            WaitKind::Unknown => "unknown",
        }
    }

    /// Its waiters spin until they have it: see [`LockFlags::is_spinning`].
    pub fn is_spinning(self) -> bool {
        matches!(self, WaitKind::Spinlock | WaitKind::RwlockRead | WaitKind::RwlockWrite)
    }

    /// Its place in [`WaitKind::ALL`].
    pub fn index(self) -> usize {
        self as usize
    }
}

#[cfg(test)]
mod tests {
    use super::{LockFlags, WaitKind};

    /// The table of `lock-semantics`: flags, kind, whether the waiter stays on its CPU.
    #[test]
    fn flags_give_perfs_kinds() {
        let table = [
            (0, "semaphore", false),
            (1, "spinlock", true),
            (3, "rwlock:R", true),
            (5, "rwlock:W", true),
            (2, "rwsem:R", false),
            (4, "rwsem:W", false),
            (8, "rt-mutex", false),
            (10, "rwlock-rt:R", false),
            (12, "rwlock-rt:W", false),
            (18, "pcpu-sem:R", false),
            (20, "pcpu-sem:W", false),
            (32, "mutex", false),
            (33, "mutex", false),
            (64, "unknown", false),
        ];
        for (flags, kind, spinning) in table {
            assert_eq!(LockFlags(flags).kind().name(), kind, "{flags}");
            assert_eq!(LockFlags(flags).is_spinning(), spinning, "{flags}");
            assert_eq!(LockFlags(flags).kind().is_spinning(), spinning, "{flags}");
        }
    }

    #[test]
    fn flags_print_as_the_kernel_prints_them_and_unknown_bits_in_hex() {
        assert_eq!(LockFlags(33).to_string(), "SPIN|MUTEX");
        assert_eq!(LockFlags(0x44).to_string(), "WRITE|0x40");
        assert_eq!(LockFlags(0).to_string(), "");
    }

    /// A type that is printed can be asked for, and gives back flags of that kind.
    #[test]
    fn every_kinds_name_is_a_type_name() {
        for kind in WaitKind::ALL.into_iter().take_while(|kind| *kind != WaitKind::Futex) {
            let flags = LockFlags::of_type_name(kind.name()).unwrap();
            assert!(flags.iter().all(|flags| flags.kind() == kind), "{kind:?}: {flags:?}");
        }
        assert_eq!(LockFlags::of_type_name("rwlock").unwrap(), [LockFlags(3), LockFlags(5)]);
        assert_eq!(LockFlags::of_type_name("mutex:spin").unwrap(), [LockFlags(33)]);
        assert_eq!(LockFlags::of_type_name("mutexes"), None);
    }

    #[test]
    fn a_kinds_index_is_its_place() {
        for (place, kind) in WaitKind::ALL.into_iter().enumerate() {
            assert_eq!(kind.index(), place);
        }
    }
}
