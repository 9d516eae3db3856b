//! The stream for people: one line for each wait, or for each raw event.

use super::errno::Errno;
use super::escape::terminal;
use super::lock::KnownLock;
use super::{FieldValue, RawEvent, StreamBlocked, StreamLoss, StreamOpen, StreamWait};
use crate::event::{Comm, Context, Tid};
use crate::report::{Cause, Reason, scaled};
use crate::symbols::{Kallsyms, StackTable, Symbol};
use std::fmt;
use std::io::{self, Write};
use unicode_width::UnicodeWidthStr;

/// Where each column of a wait's line begins or ends.
const TIME_END: usize = 12;
const CPU_END: usize = 17;
const TASK_START: usize = 19;
const TYPE_START: usize = 42;
const WAIT_END: usize = 60;
const CALLER_START: usize = 62;

/// The headings of the lines that [`wait`] writes.
///
/// # Errors
///
/// Those of `out`, as in every function here.
pub fn header(out: &mut dyn Write) -> io::Result<()> {
    let mut line = Line::default();
    line.right(TIME_END, "TIME");
    line.right(CPU_END, "CPU");
    line.left(TASK_START, "TASK");
    line.left(TYPE_START, "TYPE");
    line.right(WAIT_END, "WAIT");
    line.left(CALLER_START, "CALLER");
    line.write(out)
}

/// One finished wait. `?` behind the time: an upper bound, the wait overlaps a loss.
pub fn wait(wait: &StreamWait<'_>, symbols: &Kallsyms, out: &mut dyn Write) -> io::Result<()> {
    let mut line = Line::default();
    line.right(TIME_END, &Seconds(wait.begin_ns).to_string());
    line.right(CPU_END, &wait.cpu.0.to_string());
    line.left(TASK_START, &task_text(wait.tid, wait.comm, wait.context));
    line.left(TYPE_START, type_text(wait));
    line.right(WAIT_END, &scaled(wait.wait_ns).to_string());
    if wait.uncertain {
        line.append("?");
    }
    line.left(CALLER_START, &place_text(wait, symbols));
    if let Some(Some(holder)) = &wait.holder {
        let comm = holder.comm.as_ref();
        line.append(&format!("  <- {}", task_text(holder.tid, comm, Context::Task)));
    }
    if wait.ret < 0 {
        line.append(&format!("  failed {}", Errno(wait.ret)));
    }
    line.write(out)
}

/// A wait that lasts, and its stack below.
pub fn open(
    wait: &StreamOpen,
    stacks: &StackTable,
    symbols: &Kallsyms,
    out: &mut dyn Write,
) -> io::Result<()> {
    let mut line = Line::default();
    line.right(TIME_END, &Seconds(wait.begin_ns).to_string());
    line.right(CPU_END, &wait.cpu.0.to_string());
    line.left(TASK_START, &format!("[still waiting] {}", open_text(wait, symbols)));
    line.write(out)?;
    let frames = wait.stack.and_then(|stack| stacks.frames(stack));
    for &frame in frames.iter().flat_map(|frames| frames.iter()) {
        let mut line = Line::default();
        line.left(CALLER_START, &caller_text(Some(frame), symbols));
        line.write(out)?;
    }
    Ok(())
}

/// An open wait: who waits, for what, since when, where, and who has it.
pub fn open_text(wait: &StreamOpen, symbols: &Kallsyms) -> String {
    let waiter = task_text(wait.tid, wait.comm.as_ref(), wait.context);
    let (kind, age) = (wait.cause.kind().name(), scaled(wait.age_ns));
    if let Some(reason) = wait.reason {
        let (reason, caller) = (reason_text(reason, symbols), caller_text(wait.caller, symbols));
        return format!("{waiter} asleep for {reason} since {age}, {caller}");
    }
    let known = KnownLock::of(wait.cause, wait.lock, wait.lock_name, symbols);
    let name = known.map(|known| format!(" {}{}", known.mark(), known.name));
    let caller = caller_text(wait.caller, symbols);
    let holder = wait.holder.as_ref().map(|holder| {
        let task = task_text(holder.tid, holder.comm.as_ref(), Context::Task);
        format!(", likely held by {task}")
    });
    let (name, holder) = (name.unwrap_or_default(), holder.unwrap_or_default());
    format!("{waiter} for {kind}{name} {:#x} since {age}, {caller}{holder}", wait.lock)
}

/// A task that no event tells of: where it sleeps.
pub fn blocked(task: &StreamBlocked<'_>) -> String {
    let name = task_text(task.tid, Some(task.comm), Context::Task);
    let place = task.stack.first().map_or("its stack cannot be read", String::as_str);
    format!("{name}, {place}")
}

fn type_text(wait: &StreamWait<'_>) -> &'static str {
    if wait.table.is_idle() { "idle" } else { wait.cause.kind().name() }
}

/// Where a lock was wanted; of a futex its address, of a sleep its reason.
pub(super) fn place_text(wait: &StreamWait<'_>, symbols: &Kallsyms) -> String {
    match (wait.cause, wait.reason) {
        (_, Some(reason)) => reason_text(reason, symbols),
        (Cause::Futex(_), None) => {
            let address = || format!("{:#x}", wait.lock);
            wait.lock_name
                .map_or_else(address, |name| terminal(name.name().as_bytes()).into_owned())
        }
        (_, None) => caller_text(wait.caller, symbols),
    }
}

/// A gap in one CPU's events.
pub fn loss(loss: &StreamLoss, out: &mut dyn Write) -> io::Result<()> {
    let mut line = Line::default();
    line.right(TIME_END, &Seconds(loss.before_ns).to_string());
    line.right(CPU_END, &loss.cpu.0.to_string());
    let missed = loss.missed.map_or_else(|| "events".to_owned(), |n| format!("{n} events"));
    line.left(TASK_START, &format!("[lost {missed} since {}]", Seconds(loss.after_ns)));
    line.write(out)
}

/// A raw event, in the shape of the kernel's `trace_pipe` (kernel/trace/trace_output.c, 6.18)
/// but under the name the task had then, with all fields by name and addresses in full.
pub fn event<'a>(
    event: &RawEvent<'_>,
    fields: impl IntoIterator<Item = (&'a str, FieldValue<'a>)>,
    out: &mut dyn Write,
) -> io::Result<()> {
    let comm = event.comm.map_or("<...>".into(), |comm| terminal(comm.as_bytes()));
    let pad = 16usize.saturating_sub(comm.width());
    write!(out, "{:pad$}{comm}-{:<7} [{:03}] ", "", event.tid, event.cpu.0)?;
    let context = RawContext { flags: event.flags, preempt_count: event.preempt_count };
    write!(
        out,
        "{context} {:>12}: {}:",
        Seconds(event.ts_ns).to_string(),
        terminal(event.event.as_bytes())
    )?;
    for (name, value) in fields {
        write!(out, " {}={value}", terminal(name.as_bytes()))?;
    }
    writeln!(out)
}

/// `name+0x12`, the address where it has no name, `-` where there was no stack.
pub(super) fn caller_text(caller: Option<u64>, symbols: &Kallsyms) -> String {
    match caller {
        Some(addr) => symbols
            .resolve(addr)
            .map_or_else(|| format!("{addr:#x}"), |symbol: Symbol<'_>| symbol.to_string()),
        None => "-".to_owned(),
    }
}

/// The reason's name, or that of the function that sleeps.
pub(super) fn reason_text(reason: Reason, symbols: &Kallsyms) -> String {
    match reason {
        Reason::Named(name) => name.to_owned(),
        Reason::Function(start) => function_text(start, symbols),
    }
}

/// `name`, or the address where it has none.
pub(super) fn function_text(addr: u64, symbols: &Kallsyms) -> String {
    match symbols.resolve(addr) {
        Some(Symbol { name, module: Some(module), .. }) => format!("{name} [{module}]"),
        Some(Symbol { name, .. }) => name.to_owned(),
        None => format!("{addr:#x}"),
    }
}

/// `name-tid`, or `?tid` where the name was never learned; interrupts stand on top of it.
pub(super) fn task_text(tid: Tid, comm: Option<&Comm>, context: Context) -> String {
    let task = match comm {
        Some(comm) => format!("{}-{tid}", terminal(comm.as_bytes())),
        None => unknown_task(tid),
    };
    match context {
        Context::Task => task,
        context => format!("[{}] on {task}", context.name()),
    }
}

/// A task's name in a table: without its id, unless that is all there is.
pub(super) fn comm_text(tid: Tid, comm: Option<Comm>) -> String {
    comm.map_or_else(|| unknown_task(tid), |comm| terminal(comm.as_bytes()).into_owned())
}

fn unknown_task(tid: Tid) -> String {
    format!("?{tid}")
}

/// Nanoseconds as seconds, rounded to microseconds like the kernel's text.
pub(super) struct Seconds(pub(super) u64);

impl fmt::Display for Seconds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let us = self.0 / 1000 + u64::from(self.0 % 1000 >= 500);
        write!(f, "{}.{:06}", us / 1_000_000, us % 1_000_000)
    }
}

/// The five characters between CPU and time: interrupts off, reschedule wanted, context,
/// preemption depth, migration-off depth (`trace_print_lat_fmt`, 6.18).
struct RawContext {
    flags: u8,
    preempt_count: u8,
}

impl fmt::Display for RawContext {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let has = |bit: u8| self.flags & bit != 0;
        let irqs_off = match (has(0x01), has(0x80)) {
            (true, true) => 'D',
            (true, false) => 'd',
            (false, true) => 'b',
            (false, false) => '.',
        };
        // Lazy, now, preempt. Up to 6.12 the first bit says that the architecture has no
        // interrupt state, which none of ftlock's has.
        let resched = match (has(0x02), has(0x04), has(0x20)) {
            (true, true, true) => 'B',
            (false, true, true) => 'N',
            (true, false, true) => 'L',
            (true, true, false) => 'b',
            (false, true, false) => 'n',
            (true, false, false) => 'l',
            (false, false, true) => 'p',
            (false, false, false) => '.',
        };
        let level = match (has(0x40), has(0x08), has(0x10)) {
            (true, true, _) => 'Z',
            (true, false, _) => 'z',
            (false, true, true) => 'H',
            (false, true, false) => 'h',
            (false, false, true) => 's',
            (false, false, false) => '.',
        };
        write!(f, "{irqs_off}{resched}{level}")?;
        for depth in [self.preempt_count & 0xf, self.preempt_count >> 4] {
            if depth == 0 { write!(f, ".")? } else { write!(f, "{depth:x}")? }
        }
        Ok(())
    }
}

impl fmt::Display for FieldValue<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            FieldValue::Signed(value) => value.fmt(f),
            FieldValue::Unsigned(value) => value.fmt(f),
            FieldValue::Address(value) => write!(f, "{value:#x}"),
            FieldValue::Code(symbol) => f.write_str(symbol),
            FieldValue::Text(value) => f.write_str(&terminal(value)),
            FieldValue::List(values) => {
                f.write_str("{")?;
                for (place, value) in values.iter().enumerate() {
                    let comma = if place == 0 { "" } else { "," };
                    write!(f, "{comma}{value}")?;
                }
                f.write_str("}")
            }
            FieldValue::Fault => f.write_str("?"),
        }
    }
}

/// A line whose fields keep to their columns while they fit, and at least two blanks apart.
#[derive(Default)]
struct Line {
    text: String,
    width: usize,
}

impl Line {
    fn left(&mut self, start: usize, field: &str) {
        let nearest = if self.width == 0 { 0 } else { self.width + 2 };
        let start = start.max(nearest);
        self.append(&" ".repeat(start - self.width));
        self.append(field);
    }

    fn right(&mut self, end: usize, field: &str) {
        self.left(end.saturating_sub(field.width()), field);
    }

    fn append(&mut self, text: &str) {
        self.text.push_str(text);
        self.width += text.width();
    }

    fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        writeln!(out, "{}", self.text)
    }
}

#[cfg(test)]
mod tests;
