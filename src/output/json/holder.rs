//! Where a wait's time went, and who had the lock.

use super::{caller_name, comm};
use crate::output::StreamHolder;
use crate::report::OffCpu;
use crate::symbols::Kallsyms;
use serde::Serialize;
use std::borrow::Cow;

/// A wait's time; the four add up to it.
#[derive(Serialize)]
pub(super) struct JsonSplit {
    spin_ns: u64,
    blocked_ns: u64,
    runnable_ns: u64,
    preempted_ns: u64,
}

impl JsonSplit {
    pub(super) fn new(wait_ns: u64, off: OffCpu) -> JsonSplit {
        let OffCpu { blocked_ns, runnable_ns, preempted_ns } = off;
        let spin_ns = wait_ns.saturating_sub(off.total_ns());
        JsonSplit { spin_ns, blocked_ns, runnable_ns, preempted_ns }
    }
}

/// Whoever had the lock.
#[derive(Serialize)]
pub(super) struct JsonHolder<'a> {
    ts: u64,
    tid: u32,
    comm: Option<Cow<'a, str>>,
    by: &'static str,
    caller: Option<String>,
    held_ns: Option<u64>,
}

impl<'a> JsonHolder<'a> {
    pub(super) fn new(holder: &'a StreamHolder, symbols: &Kallsyms) -> JsonHolder<'a> {
        JsonHolder {
            ts: holder.ts_ns,
            tid: holder.tid.0,
            comm: comm(holder.comm.as_ref()),
            by: holder.evidence.name(),
            caller: holder.caller.map(|addr| caller_name(addr, symbols)),
            held_ns: holder.held_ns,
        }
    }
}
