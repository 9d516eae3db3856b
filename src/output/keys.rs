//! What a row stands for, as columns: declared once for the table and the machine formats.

use std::borrow::Cow;
use std::sync::Arc;

use super::Summary;
use super::cgroup::short;
use super::escape::{message, terminal};
use super::lock::KnownLock;
use super::text::{caller_text, comm_text, reason_text};
use crate::event::{Comm, StackId, Tid, WaitKind};
use crate::report::{By, ChainId, Owner, Part, RowKey, Table};
use crate::symbols::{Kallsyms, Waiter};

/// What stands where the name of a row would, if it holds what found no room.
pub(super) const OVERFLOW: &str = "(overflow)";

/// What stands where a caller would, if stacks were not recorded just then.
const SAMPLED_OUT: &str = "(no stack: sampled out)";

/// One column of a row's identity.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct KeyColumn {
    /// Its name in machine formats.
    pub(super) id: &'static str,
    /// Its heading in a table.
    pub(super) title: &'static str,
    /// Right-aligned to this width; text has none and is left-aligned.
    pub(super) width: Option<usize>,
}

/// One column's value in a row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum KeyValue {
    /// A number.
    Number(u64),
    /// An address.
    Address(u64),
    /// Yes or no.
    Flag(bool),
    /// Text of ours: a kind, a symbol.
    Text(String),
    /// A task's name.
    Name(Comm),
    /// A cgroup's path.
    Cgroup(Arc<[u8]>),
    /// Text with names in it, by their bytes.
    Bytes(Vec<u8>),
    /// What is not known.
    Unknown,
}

impl KeyValue {
    /// The value as it is; addresses begin with `0x`. None where it is not known.
    pub(super) fn bytes(&self) -> Option<Cow<'_, [u8]>> {
        Some(match self {
            KeyValue::Number(number) => number.to_string().into_bytes().into(),
            KeyValue::Flag(flag) => flag.to_string().into_bytes().into(),
            KeyValue::Address(address) => format!("{address:#x}").into_bytes().into(),
            KeyValue::Text(text) => text.as_bytes().into(),
            KeyValue::Name(comm) => comm.as_bytes().into(),
            KeyValue::Cgroup(path) => (&**path).into(),
            KeyValue::Bytes(text) => text.into(),
            KeyValue::Unknown => return None,
        })
    }
}

const fn number(id: &'static str, title: &'static str, width: usize) -> KeyColumn {
    KeyColumn { id, title, width: Some(width) }
}

const fn text(id: &'static str, title: &'static str) -> KeyColumn {
    KeyColumn { id, title, width: None }
}

const TYPE: KeyColumn = number("type", "type", 10);
const CALLER: KeyColumn = text("caller", "caller");

/// The columns of one key.
fn columns_of(table: Table, by: By) -> &'static [KeyColumn] {
    const LOCK: [KeyColumn; 4] = [
        number("lock", "address", 16),
        text("lock_name", "symbol"),
        text("lock_name_by", ""),
        TYPE,
    ];
    const FUTEX: [KeyColumn; 6] = [
        number("pid", "pid", 10),
        number("lock", "address", 16),
        number("shared", "shared", 6),
        text("lock_name", "symbol"),
        text("lock_name_by", ""),
        TYPE,
    ];
    const TASK: [KeyColumn; 2] = [number("tid", "pid", 10), text("comm", "comm")];
    const PROCESS: [KeyColumn; 2] = [number("pid", "pid", 10), text("process", "process")];
    match by {
        By::Caller | By::Stack => &const { [TYPE, CALLER] },
        By::Lock if matches!(table, Table::Futexes | Table::IdleFutexes) => &FUTEX,
        By::Lock => &LOCK,
        By::Task => &TASK,
        By::Process => &PROCESS,
        By::Comm => &const { [text("comm", "comm")] },
        By::Cgroup => &const { [text("cgroup", "cgroup")] },
        By::Type => &const { [TYPE] },
        By::Cpu => &const { [number("cpu", "cpu", 5)] },
        By::Context => &const { [number("context", "context", 8)] },
        By::Owner => &const { [number("owner_tid", "pid", 10), text("owner", "owner")] },
        By::Chain => &const { [text("chain", "chain")] },
        By::Reason => &const { [text("reason", "reason")] },
    }
}

/// The columns of all keys; what two keys share stands once.
pub(super) fn columns(summary: &Summary<'_>) -> Vec<KeyColumn> {
    columns_by(summary.table, summary.by)
}

/// The columns of these keys in that table.
pub(super) fn columns_by(table: Table, by: &[By]) -> Vec<KeyColumn> {
    let mut columns: Vec<KeyColumn> = Vec::new();
    let all = by.iter().flat_map(|&by| columns_of(table, by));
    for column in all {
        if !columns.iter().any(|known| known.id == column.id) {
            columns.push(*column);
        }
    }
    columns
}

/// A row's values for those columns. Of an overflow row only the kind of lock is known.
pub(super) fn values(key: &RowKey, columns: &[KeyColumn], summary: &Summary<'_>) -> Vec<KeyValue> {
    let value = |column: &KeyColumn| match key {
        RowKey::Of(..) => {
            let found = key.parts().find_map(|part| value(part, column.id, summary));
            found.unwrap_or(KeyValue::Unknown)
        }
        RowKey::Overflow(_, kind) if column.id == TYPE.id => {
            KeyValue::Text(kind.map_or("any", WaitKind::name).to_owned())
        }
        RowKey::Overflow(..) => KeyValue::Unknown,
    };
    columns.iter().map(value).collect()
}

/// What a part says about a column, if anything.
fn value(part: &Part, id: &str, summary: &Summary<'_>) -> Option<KeyValue> {
    let symbols = summary.symbols;
    let owned = |text: &str| KeyValue::Text(text.to_owned());
    let name = |comm: Option<Comm>| comm.map_or(KeyValue::Unknown, KeyValue::Name);
    Some(match (*part, id) {
        (Part::Caller(_, kind) | Part::Stack(_, kind) | Part::Lock(_, kind), "type") => {
            owned(kind.name())
        }
        (Part::Type(kind) | Part::Futex { kind, .. }, "type") => owned(kind.name()),
        (Part::Futex { pid, .. }, "pid") => {
            pid.map_or(KeyValue::Unknown, |pid| KeyValue::Number(pid.0.into()))
        }
        (Part::Futex { shared, .. }, "shared") => KeyValue::Flag(shared),
        (Part::Futex { address, .. }, "lock") => KeyValue::Address(address),
        (part @ Part::Futex { .. }, "lock_name") => match known_futex(&part, summary) {
            Some(known) => KeyValue::Text(known.name.into_owned()),
            None => KeyValue::Unknown,
        },
        (part @ Part::Futex { .. }, "lock_name_by") => match known_futex(&part, summary) {
            Some(known) => owned(known.by),
            None => KeyValue::Unknown,
        },
        (Part::Owner(Some(owner)), "owner_tid") => KeyValue::Number(owner.tid.0.into()),
        (Part::Owner(Some(owner)), "owner") => name(owner.comm),
        (Part::Chain(Some(chain)), "chain") => KeyValue::Bytes(chain_text(chain, summary)),
        (Part::Reason(reason), "reason") => KeyValue::Text(reason_text(reason, symbols)),
        (Part::Caller(None, kind) | Part::Stack(None, kind), "caller") => {
            without_stack(kind, summary)
        }
        (Part::Caller(caller, _), "caller") => function(caller, symbols),
        (Part::Stack(stack, kind), "caller") => {
            let caller = |stack| summary.stacks.caller(stack, Waiter::of(kind));
            function(stack.and_then(caller), symbols)
        }
        (Part::Lock(lock, _), "lock") => KeyValue::Address(lock),
        (Part::Lock(lock, _), "lock_name") => match known_lock(lock, summary) {
            Some(known) => KeyValue::Text(known.name.into_owned()),
            None => KeyValue::Unknown,
        },
        (Part::Lock(lock, _), "lock_name_by") => match known_lock(lock, summary) {
            Some(known) => owned(known.by),
            None => KeyValue::Unknown,
        },
        (Part::Task { tid, .. }, "tid") => KeyValue::Number(tid.0.into()),
        (Part::Task { comm, .. }, "comm") => name(comm),
        (Part::Interrupt(context), "comm") => KeyValue::Text(format!("[{}]", context.name())),
        (Part::Process { pid, .. }, "pid") => {
            pid.map_or(KeyValue::Unknown, |pid| KeyValue::Number(pid.0.into()))
        }
        (Part::Process { comm, .. }, "process") => name(comm),
        (Part::Comm(comm), "comm") => name(comm),
        (Part::Cgroup(id), "cgroup") => {
            let path = id.zip(summary.cgroups).and_then(|(id, paths)| paths.get(id));
            path.map_or(KeyValue::Unknown, KeyValue::Cgroup)
        }
        (Part::Cpu(cpu), "cpu") => KeyValue::Number(cpu.0.into()),
        (Part::Context(context), "context") => owned(context.name()),
        _ => return None,
    })
}

/// Each waiter with what it waits for, and behind an arrow who had that.
fn chain_text(chain: ChainId, summary: &Summary<'_>) -> Vec<u8> {
    let mut text = Vec::new();
    for (place, link) in summary.chains.links(chain).enumerate() {
        if place > 0 {
            text.extend(b" <- ");
        }
        text.extend(link.comm.as_ref().map_or(&b"?"[..], |comm| comm.as_bytes()));
        if let Some(waits) = link.waits {
            let (kind, caller) = (waits.kind.name(), caller_text(waits.caller, summary.symbols));
            text.extend(format!(" ({kind} {caller})").bytes());
        }
    }
    text
}

/// What is known of a lock.
fn known_lock<'a>(lock: u64, summary: &Summary<'a>) -> Option<KnownLock<'a>> {
    KnownLock::find(lock, summary.lock_names.get(&lock).copied(), summary.symbols)
}

/// What is known of a futex.
fn known_futex(part: &Part, summary: &Summary<'_>) -> Option<KnownLock<'static>> {
    summary.futex_names.get(&part.futex()?).copied().map(KnownLock::named)
}

/// The function that a rule has named a row's lock by.
pub(super) fn lock_rule(key: &RowKey, summary: &Summary<'_>) -> Option<&'static str> {
    let lock = key.parts().find_map(|part| match part {
        Part::Lock(lock, _) => Some(*lock),
        _ => None,
    });
    known_lock(lock?, summary)?.rule
}

/// What stands where the caller would if there is no stack.
fn without_stack(kind: WaitKind, summary: &Summary<'_>) -> KeyValue {
    let is_sampled = summary.quality.stack_sampling.is_some_and(|stacks| stacks.is_partial());
    let never_has_one = matches!(kind, WaitKind::Futex | WaitKind::FutexPi);
    match is_sampled && !never_has_one {
        true => KeyValue::Text(SAMPLED_OUT.to_owned()),
        false => KeyValue::Unknown,
    }
}

fn function(caller: Option<u64>, symbols: &Kallsyms) -> KeyValue {
    match caller {
        Some(_) => KeyValue::Text(caller_text(caller, symbols)),
        None => KeyValue::Unknown,
    }
}

/// The stack that a row stands for, if rows are told apart by stacks.
pub(super) fn stack_of(key: &RowKey) -> Option<StackId> {
    key.parts().find_map(|part| match part {
        Part::Stack(stack, _) => *stack,
        _ => None,
    })
}

/// The thread that a row stands for, if it does for one.
pub(super) fn tid_of(key: &RowKey) -> Option<Tid> {
    key.parts().next().and_then(|part| match part {
        Part::Task { tid, .. } | Part::Owner(Some(Owner { tid, .. })) => Some(*tid),
        _ => None,
    })
}

/// A value as people read it. `tid` stands in for a name that was never learned.
pub(super) fn shown(value: &KeyValue, tid: Option<Tid>) -> String {
    match value {
        KeyValue::Number(number) => number.to_string(),
        KeyValue::Address(address) => format!("{address:016x}"),
        KeyValue::Flag(is) => (if *is { "yes" } else { "no" }).to_owned(),
        KeyValue::Text(text) => message(text).into_owned(),
        KeyValue::Name(comm) => comm_text(tid.unwrap_or(Tid(0)), Some(*comm)),
        KeyValue::Cgroup(path) => terminal(&short(path)).into_owned(),
        KeyValue::Bytes(text) => terminal(text).into_owned(),
        KeyValue::Unknown => tid.map_or("-".to_owned(), |tid| comm_text(tid, None)),
    }
}
