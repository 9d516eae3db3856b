//! What a lock is called, and how that is known.

use crate::report::Cause;
use crate::symbols::{Kallsyms, LockName};
use std::borrow::Cow;

/// A lock that has a name.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct KnownLock<'a> {
    /// The name.
    pub(super) name: Cow<'a, str>,
    /// `symbol`, `mmap_lock`, `rule`, `global` or `mapping`.
    pub(super) by: &'static str,
    /// Where a rule gave the name: the function it goes by.
    pub(super) rule: Option<&'static str>,
}

impl<'a> KnownLock<'a> {
    /// What stands before a name that is only likely.
    pub(super) fn mark(&self) -> &'static str {
        if self.rule.is_some() { "~" } else { "" }
    }

    /// What was waited for so. The kernel's symbols say nothing of an address in a process.
    pub(super) fn of(
        cause: Cause,
        lock: u64,
        name: Option<LockName>,
        symbols: &'a Kallsyms,
    ) -> Option<KnownLock<'a>> {
        match cause {
            Cause::Futex(_) => name.map(KnownLock::named),
            Cause::Lock(_) | Cause::Sleep(_) => KnownLock::find(lock, name, symbols),
        }
    }

    /// The kernel's own symbol at the address, or else what has been found out about the lock.
    pub(super) fn find(
        lock: u64,
        name: Option<LockName>,
        symbols: &'a Kallsyms,
    ) -> Option<KnownLock<'a>> {
        if let Some(symbol) = symbols.resolve_data(lock) {
            let name = match (symbol.offset, symbol.module) {
                (0, None) => symbol.name.into(),
                (0, Some(module)) => format!("{} [{module}]", symbol.name).into(),
                _ => symbol.to_string().into(),
            };
            return Some(KnownLock { name, by: "symbol", rule: None });
        }
        name.map(KnownLock::named)
    }

    /// What has been found out.
    pub(super) fn named(name: LockName) -> KnownLock<'a> {
        match name {
            name @ LockName::MmapLock => {
                KnownLock { name: name.name().into(), by: "mmap_lock", rule: None }
            }
            LockName::User(user) => {
                KnownLock { name: user.name.into(), by: user.by.name(), rule: None }
            }
            LockName::Derived(derived) => {
                KnownLock { name: derived.name.into(), by: "rule", rule: Some(derived.function) }
            }
        }
    }
}
