//! Names for kernel addresses, the caller of a kernel stack, and what lock or what else it waits for.
//!
//! Addresses in, names out: nothing here knows of tracefs.

mod caller;
mod kallsyms;
mod lock_name;
mod lock_rules;
mod sleep_reason;
mod sleep_rules;
mod stacks;

#[cfg(test)]
mod fixtures;

pub use caller::{CallerFinder, Waiter};
pub use kallsyms::{Availability, Kallsyms, Symbol};
pub use lock_name::{DerivedName, LockName, NamedBy, UserName, is_lock_name};
pub use sleep_reason::SleepReason;
pub use stacks::StackTable;

use std::io;
use std::path::PathBuf;

/// What can go wrong where symbols are read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The symbol list cannot be read.
    #[error("cannot read kernel symbols from {}: {source}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// The system's own words.
        source: io::Error,
    },
}
