//! A lock's name where the kernel has no symbol for it: from its kind and the stack.

use super::lock_rules::LOCK_RULES;
use crate::event::WaitKind;

/// Frames further out than the caller that a rule may ask for.
pub(super) const FRAMES_BEYOND_CALLER: usize = 3;

/// The locks that a rule is about. On PREEMPT_RT the kernel tells them no longer apart by kind;
/// the functions that take them still do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Class {
    /// Spinlocks inside other locks.
    Inner,
    Spin,
    Rwlock,
    Mutex,
    Rwsem,
    Percpu,
    Semaphore,
}

/// A lock's name, and the functions that take it: see [`LOCK_RULES`].
#[derive(Debug)]
pub(super) struct LockRule {
    pub(super) class: Class,
    pub(super) name: &'static str,
    /// Patterns, with blanks between them.
    pub(super) functions: &'static str,
}

/// What a lock is known as beside its address.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LockName {
    /// An address space's `mmap_lock`, learned from the kernel's own events about it.
    MmapLock,
    /// Derived by a rule.
    Derived(DerivedName),
    /// What lies there in a process, of a futex.
    User(UserName),
}

impl LockName {
    /// The name.
    pub fn name(self) -> &'static str {
        match self {
            LockName::MmapLock => "mmap_lock",
            LockName::Derived(derived) => derived.name,
            LockName::User(user) => user.name,
        }
    }

    /// Whether it is meant by that text: its name, or a variable's without the place in it and the
    /// library.
    pub fn is_called(self, text: &str) -> bool {
        let name = self.name();
        let variable = match self {
            LockName::User(UserName { by: NamedBy::Global, .. }) => {
                name.split([' ', '+']).next().unwrap_or(name)
            }
            _ => name,
        };
        text == name || text == variable
    }
}

/// Whether locks may be given that name.
pub fn is_lock_name(name: &str) -> bool {
    name == LockName::MmapLock.name() || LOCK_RULES.iter().any(|rule| rule.name == name)
}

/// What lies at a futex's address.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UserName {
    /// A variable and the place in it, or a mapping and the place in it.
    pub name: &'static str,
    /// Which of the two.
    pub by: NamedBy,
}

/// What a name in user space is that of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NamedBy {
    /// A variable of a program or library.
    Global,
    /// A mapping: a file, the heap, a stack.
    Mapping,
}

impl NamedBy {
    /// `global` or `mapping`.
    pub fn name(self) -> &'static str {
        match self {
            NamedBy::Global => "global",
            NamedBy::Mapping => "mapping",
        }
    }
}

/// A name that a rule gave: likely, not certain.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DerivedName {
    /// The kernel's name for such locks.
    pub name: &'static str,
    /// The function that takes them, as the rule has it: `a<b` is `a` called by `b`.
    pub function: &'static str,
}

/// The name of a lock of this kind. `functions` are the stack's, innermost first, and `caller`
/// is the place of the one that wanted the lock.
pub(super) fn derive(kind: WaitKind, functions: &[&str], caller: usize) -> Option<DerivedName> {
    let class = class(kind, functions)?;
    let inner = if kind == WaitKind::Spinlock { Class::Inner } else { class };
    let of_class = LOCK_RULES.iter().filter(|rule| rule.class == class || rule.class == inner);
    of_class
        .flat_map(|rule| rule.functions.split_whitespace().map(|function| (rule.name, function)))
        .find(|(_, function)| (0..=caller).any(|at| is_called(function, functions.get(at..))))
        .map(|(name, function)| DerivedName { name, function })
}

/// Whether the stack begins with the pattern's functions.
fn is_called(pattern: &str, stack: Option<&[&str]>) -> bool {
    let mut frames = stack.unwrap_or_default().iter();
    pattern.split('<').all(|function| frames.next().is_some_and(|frame| fits(function, frame)))
}

/// Whether a pattern, which may end in `*`, stands for that function.
pub(super) fn fits(pattern: &str, function: &str) -> bool {
    match pattern.strip_suffix('*') {
        Some(prefix) => function.starts_with(prefix),
        None => function == pattern,
    }
}

fn class(kind: WaitKind, functions: &[&str]) -> Option<Class> {
    let through = |prefixes: &[&str]| {
        functions.iter().any(|function| prefixes.iter().any(|prefix| function.starts_with(prefix)))
    };
    Some(match kind {
        WaitKind::Spinlock => Class::Spin,
        WaitKind::RwlockRead | WaitKind::RwlockWrite => Class::Rwlock,
        WaitKind::Mutex => Class::Mutex,
        WaitKind::RwsemRead | WaitKind::RwsemWrite => Class::Rwsem,
        WaitKind::PercpuRead | WaitKind::PercpuWrite => Class::Percpu,
        WaitKind::Semaphore => Class::Semaphore,
        WaitKind::RtMutex | WaitKind::RwlockRtRead | WaitKind::RwlockRtWrite => match () {
            () if through(&["rt_read_", "rt_write_"]) => Class::Rwlock,
            () if through(&["rwbase_", "__rwbase_", "down_read", "down_write"]) => Class::Rwsem,
            () if through(&["rt_spin_"]) => Class::Spin,
            () if through(&["mutex_lock", "__mutex_lock"]) => Class::Mutex,
            () => return None,
        },
        WaitKind::Futex | WaitKind::FutexPi | WaitKind::Sleep | WaitKind::Unknown => return None,
    })
}

#[cfg(test)]
mod tests;
