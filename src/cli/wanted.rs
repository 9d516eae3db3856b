//! The filters of the command line. One that can match nothing is an error.

use std::path::PathBuf;
use std::sync::Arc;

use regex::Regex;
use regex::bytes::Regex as BytesRegex;

use crate::event::{Context, LockFlags};
use crate::pipeline::{Extras, Filters};
use crate::symbols::{Availability, Kallsyms, is_lock_name};

use super::common_args::FilterArgs;
use super::exit::Usage;

/// Filters as typed, checked as far as that goes without the kernel's symbols.
#[derive(Debug, Clone)]
pub(super) struct Wanted {
    flags: Vec<LockFlags>,
    locks: Vec<String>,
    stack: Vec<String>,
    comm: Option<BytesRegex>,
    cmdline: Option<BytesRegex>,
    cgroups: Vec<PathBuf>,
    caller: Option<Regex>,
    contexts: Vec<Context>,
}

impl Wanted {
    pub(super) fn new(args: &FilterArgs) -> Result<Wanted, Usage> {
        let mut flags = Vec::new();
        for name in &args.type_filter {
            let known = LockFlags::of_type_name(name).ok_or_else(|| {
                let names = LockFlags::type_names().collect::<Vec<_>>().join(", ");
                Usage(format!("-Y {name}: no such type of lock; there are {names}"))
            })?;
            flags.extend(known);
        }
        Ok(Wanted {
            flags,
            locks: args.lock_filter.clone(),
            stack: args.callstack_filter.clone(),
            comm: args.comm.clone(),
            cmdline: args.cmdline.clone(),
            cgroups: args.cgroup_filter.clone(),
            caller: args.caller.clone(),
            contexts: args.context.clone(),
        })
    }

    /// The flags that begins of wanted locks have; empty for all. A mutex's later phases are among
    /// them even where only its spinning is wanted.
    pub(super) fn flags(&self) -> &[LockFlags] {
        &self.flags
    }

    /// What command lines must match.
    pub(super) fn cmdline(&self) -> Option<&BytesRegex> {
        self.cmdline.as_ref()
    }

    /// The cgroups that tasks must be in, as typed; empty for all.
    pub(super) fn cgroups(&self) -> &[PathBuf] {
        &self.cgroups
    }

    /// The filters on locks, callers and names, with names looked up.
    pub(super) fn filters(
        &self,
        symbols: &Arc<Kallsyms>,
        traced: &Extras,
    ) -> Result<Filters, Usage> {
        let mut filters = Filters::new(Arc::clone(symbols));
        for lock in &self.locks {
            match address(lock, symbols) {
                Ok(address) => filters.locks.push(address),
                // A rule's name is shown with a tilde, and may be asked for so.
                Err(_) if is_lock_name(lock.trim_start_matches('~')) => {
                    filters.lock_names.push(lock.trim_start_matches('~').to_owned());
                }
                // What programs call their variables is known when they wait for them.
                Err(_) if traced.futexes => filters.lock_names.push(lock.clone()),
                Err(unknown) => return Err(unknown),
            }
        }
        for name in &self.stack {
            if !symbols.any_function(|symbol| symbol.contains(name.as_str())) {
                return Err(Usage(format!("-S {name}: no function's name contains it")));
            }
        }
        filters.flags = self.flags.clone();
        filters.contexts = self.contexts.clone();
        filters.comm = self.comm.clone();
        filters.caller = self.caller.clone();
        filters.stack = self.stack.clone();
        Ok(filters)
    }
}

/// A lock's address, given as such, in hex, or by its symbol.
fn address(lock: &str, symbols: &Kallsyms) -> Result<u64, Usage> {
    let hex = lock.strip_prefix("0x").unwrap_or(lock);
    if let Ok(address) = u64::from_str_radix(hex, 16) {
        return Ok(address);
    }
    symbols.address_of_data(lock).ok_or_else(|| {
        let why = match symbols.availability() {
            _ if lock.starts_with('&') => "slab caches cannot be told without BPF",
            Availability::Full => "the kernel has no such variable, and no rule gives that name",
            Availability::TextOnly => {
                "this kernel lists no variables (CONFIG_KALLSYMS_ALL is off), and no rule gives that name"
            }
            Availability::Restricted | Availability::Empty => "the kernel hides its symbols",
        };
        Usage(format!("-L {lock}: {why}"))
    })
}
