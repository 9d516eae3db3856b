//! What is told of a slice beside its name and its time: under the names that the JSON lines have for it.

use super::interned::Interned;
use super::proto::{DebugAnnotation, Value};
use crate::event::{Comm, StackId};
use crate::output::escape::{message, terminal};
use crate::output::lock::KnownLock;
use crate::output::text::{caller_text, reason_text};
use crate::output::{StreamHolder, StreamOpen, StreamWait};
use crate::report::{Cause, OffCpu};
use crate::symbols::{Kallsyms, LockName, StackTable};

/// Where names for numbers are.
#[derive(Debug, Clone, Copy)]
pub struct Names<'a> {
    /// Those of addresses.
    pub symbols: &'a Kallsyms,
    /// The stacks that waits name.
    pub stacks: &'a StackTable,
}

/// Arguments in their order.
pub(super) struct Args<'a> {
    interned: &'a mut Interned,
    names: Names<'a>,
    list: Vec<DebugAnnotation>,
}

impl<'a> Args<'a> {
    pub(super) fn of_wait(
        wait: &StreamWait<'_>,
        stack: Option<StackId>,
        interned: &'a mut Interned,
        names: Names<'a>,
    ) -> Vec<DebugAnnotation> {
        let mut args = Args { interned, names, list: Vec::new() };
        args.comm("comm", wait.comm);
        if !wait.comm_confirmed {
            args.value("comm_confirmed", Value::Bool(false));
        }
        args.value("cpu", Value::Unsigned(wait.cpu.0.into()));
        args.lock(wait.cause, wait.lock, wait.lock_name);
        if let Some(flags) = wait.cause.flags() {
            args.text("flags", &flags.to_string());
        } else {
            args.value("idle", Value::Bool(wait.table.is_idle()));
        }
        if let Some(reason) = wait.reason {
            args.text("reason", &reason_text(reason, names.symbols));
        }
        args.text("context", wait.context.name());
        args.code("caller", wait.caller);
        args.value("ret", Value::Signed(wait.ret.into()));
        args.value("uncertain", Value::Bool(wait.uncertain));
        for (name, text) in [("cgroup", wait.cgroup), ("cmdline", wait.cmdline)] {
            if let Some(Some(text)) = text {
                args.text(name, &terminal(text));
            }
        }
        if let Some(off) = wait.off_cpu {
            args.split(wait.wait_ns, off);
        }
        if let Some(Some(holder)) = &wait.holder {
            args.holder(holder);
        }
        args.stack(stack);
        args.list
    }

    pub(super) fn of_open(
        wait: &StreamOpen,
        interned: &'a mut Interned,
        names: Names<'a>,
    ) -> Vec<DebugAnnotation> {
        let mut args = Args { interned, names, list: Vec::new() };
        args.value("still_waiting", Value::Bool(true));
        args.comm("comm", wait.comm.as_ref());
        args.value("cpu", Value::Unsigned(wait.cpu.0.into()));
        args.lock(wait.cause, wait.lock, wait.lock_name);
        args.text("context", wait.context.name());
        args.code("caller", wait.caller);
        if let Some(holder) = &wait.holder {
            args.holder(holder);
        }
        args.stack(wait.stack);
        args.list
    }

    /// Of the moment at which a lock is let go.
    pub(super) fn of_release(
        holder: &StreamHolder,
        wait: &StreamWait<'_>,
        interned: &'a mut Interned,
        names: Names<'a>,
    ) -> Vec<DebugAnnotation> {
        let mut args = Args { interned, names, list: Vec::new() };
        args.comm("comm", holder.comm.as_ref());
        args.lock(wait.cause, wait.lock, wait.lock_name);
        args.code("caller", holder.caller);
        if let Some(held_ns) = holder.held_ns {
            args.value("held_ns", Value::Unsigned(held_ns));
        }
        args.list
    }

    /// How many events are missing, where that is known.
    pub(super) fn of_loss(missed: Option<u64>, interned: &'a mut Interned) -> Vec<DebugAnnotation> {
        let missed = missed.map(|missed| DebugAnnotation {
            name_iid: Some(interned.argument_name("missed")),
            value: Some(Value::Unsigned(missed)),
            dict_entries: Vec::new(),
        });
        missed.into_iter().collect()
    }

    fn value(&mut self, name: &str, value: Value) {
        let name_iid = Some(self.interned.argument_name(name));
        self.list.push(DebugAnnotation { name_iid, value: Some(value), dict_entries: Vec::new() });
    }

    fn text(&mut self, name: &str, text: &str) {
        let text = self.interned.value(&message(text));
        self.value(name, Value::Text(text));
    }

    fn comm(&mut self, name: &str, comm: Option<&Comm>) {
        if let Some(comm) = comm {
            self.text(name, &terminal(comm.as_bytes()));
        }
    }

    fn code(&mut self, name: &str, address: Option<u64>) {
        if address.is_some() {
            self.text(name, &caller_text(address, self.names.symbols));
        }
    }

    /// A sleep has none.
    fn lock(&mut self, cause: Cause, lock: u64, name: Option<LockName>) {
        if lock == 0 {
            return;
        }
        self.value("lock", Value::Pointer(lock));
        if let Some(known) = KnownLock::of(cause, lock, name, self.names.symbols) {
            self.text("lock_name", &known.name);
            self.text("lock_name_by", known.by);
        }
    }

    fn split(&mut self, wait_ns: u64, off: OffCpu) {
        let OffCpu { blocked_ns, runnable_ns, preempted_ns } = off;
        self.value("spin_ns", Value::Unsigned(wait_ns.saturating_sub(off.total_ns())));
        self.value("blocked_ns", Value::Unsigned(blocked_ns));
        self.value("runnable_ns", Value::Unsigned(runnable_ns));
        self.value("preempted_ns", Value::Unsigned(preempted_ns));
    }

    fn holder(&mut self, holder: &StreamHolder) {
        let around = std::mem::take(&mut self.list);
        self.value("ts", Value::Unsigned(holder.ts_ns));
        self.value("tid", Value::Unsigned(holder.tid.0.into()));
        self.comm("comm", holder.comm.as_ref());
        self.text("by", holder.evidence.name());
        self.code("caller", holder.caller);
        if let Some(held_ns) = holder.held_ns {
            self.value("held_ns", Value::Unsigned(held_ns));
        }
        let dict_entries = std::mem::replace(&mut self.list, around);
        let name_iid = Some(self.interned.argument_name("holder"));
        self.list.push(DebugAnnotation { name_iid, value: None, dict_entries });
    }

    /// The frames in one text, innermost first: a stack that was told once takes but a number.
    fn stack(&mut self, stack: Option<StackId>) {
        let Names { symbols, stacks } = self.names;
        let Some((stack, frames)) = stack.and_then(|id| Some((id, stacks.frames(id)?))) else {
            return;
        };
        let frames = || {
            let frames = frames.iter().map(|&frame| caller_text(Some(frame), symbols));
            frames.collect::<Vec<_>>().join(" < ")
        };
        let text = self.interned.stack(stack, frames);
        self.value("stack", Value::Text(text));
    }
}
