//! The columns: those of the JSON lines' `wait`, under the same names, and what tells runs apart.

use ::parquet::basic::{LogicalType, Repetition, TimeUnit, Type as Physical};
use ::parquet::errors::ParquetError;
use ::parquet::schema::types::{ColumnPath, Type};
use std::borrow::Cow;
use std::time::UNIX_EPOCH;

use crate::event::Comm;
use crate::output::escape::json_name;
use crate::output::lock::KnownLock;
use crate::output::text::{caller_text, reason_text};
use crate::output::{ReportInfo, StreamHolder, StreamWait};
use crate::report::OffCpu;
use crate::symbols::Kallsyms;

/// What is the same in all rows.
#[derive(Debug)]
pub(super) struct Run {
    host: Option<String>,
    kernel: String,
    /// When the run began: by the date, in µs since 1970, and in ns of the trace clock.
    start: Option<(i64, u64)>,
}

impl Run {
    pub(super) fn new(info: &ReportInfo<'_>) -> Run {
        let date = info.date.and_then(|date| date.duration_since(UNIX_EPOCH).ok());
        let date_us = date.and_then(|date| i64::try_from(date.as_micros()).ok());
        Run {
            host: info.host.map(str::to_owned),
            kernel: info.run.kernel.to_owned(),
            start: date_us.zip(info.start_ns),
        }
    }

    /// The date of an instant of the trace clock, in µs since 1970.
    fn date_us(&self, ns: u64) -> Option<i64> {
        let (date_us, start_ns) = self.start?;
        let since_ns = i128::from(ns) - i128::from(start_ns);
        i64::try_from(i128::from(date_us) + since_ns.div_euclid(1000)).ok()
    }
}

/// All that the cells of a row are made of.
pub(super) struct Row<'a> {
    wait: &'a StreamWait<'a>,
    known: Option<KnownLock<'a>>,
    symbols: &'a Kallsyms,
    run: &'a Run,
}

impl<'a> Row<'a> {
    pub(super) fn new(wait: &'a StreamWait<'a>, run: &'a Run, symbols: &'a Kallsyms) -> Row<'a> {
        let known = KnownLock::of(wait.cause, wait.lock, wait.lock_name, symbols);
        Row { wait, known, symbols, run }
    }

    fn holder(&self) -> Option<&StreamHolder> {
        self.wait.holder.as_ref()?.as_ref()
    }

    fn code(&self, address: Option<u64>) -> Option<Cow<'_, str>> {
        address.map(|address| caller_text(Some(address), self.symbols).into())
    }

    fn off_cpu(&self, part: fn(OffCpu) -> u64) -> Option<u64> {
        self.wait.off_cpu.map(part)
    }
}

/// A cell's value, if there is one.
type Cell<T> = fn(&Row<'_>) -> Option<T>;

/// What a column is of.
#[derive(Debug, Clone, Copy)]
pub(super) enum Values {
    Flag(Cell<bool>),
    /// A CPU's number.
    Cpu(Cell<u16>),
    /// A thread or a process.
    Id(Cell<u32>),
    /// 0, or a negative errno.
    Errno(Cell<i32>),
    /// Nanoseconds. Signed, so that differences can be told; no clock gets further.
    Ns(Cell<u64>),
    Address(Cell<u64>),
    /// UTC, µs since 1970: some readers know no shorter unit.
    Date(Cell<i64>),
    Text(for<'r> fn(&'r Row<'_>) -> Option<Cow<'r, str>>),
}

/// A column.
#[derive(Debug)]
pub(super) struct Column {
    name: &'static str,
    pub(super) is_optional: bool,
    pub(super) values: Values,
}

impl Column {
    pub(super) fn declared(&self) -> Result<Type, ParquetError> {
        let unsigned = |bits| Some(LogicalType::integer(bits, false));
        let (physical, logical) = match self.values {
            Values::Flag(_) => (Physical::BOOLEAN, None),
            Values::Cpu(_) => (Physical::INT32, unsigned(16)),
            Values::Id(_) => (Physical::INT32, unsigned(32)),
            Values::Errno(_) => (Physical::INT32, None),
            Values::Ns(_) => (Physical::INT64, None),
            Values::Address(_) => (Physical::INT64, unsigned(64)),
            Values::Date(_) => {
                (Physical::INT64, Some(LogicalType::timestamp(true, TimeUnit::MICROS)))
            }
            Values::Text(_) => (Physical::BYTE_ARRAY, Some(LogicalType::String)),
        };
        let repetition = if self.is_optional { Repetition::OPTIONAL } else { Repetition::REQUIRED };
        let column = Type::primitive_type_builder(self.name, physical);
        column.with_repetition(repetition).with_logical_type(logical).build()
    }

    pub(super) fn path(&self) -> ColumnPath {
        ColumnPath::from(self.name)
    }

    /// Whether its values are hardly ever twice the same, but near each other.
    pub(super) fn is_of_time(&self) -> bool {
        matches!(self.values, Values::Ns(_) | Values::Date(_))
    }
}

const fn always(name: &'static str, values: Values) -> Column {
    Column { name, is_optional: false, values }
}

const fn if_known(name: &'static str, values: Values) -> Column {
    Column { name, is_optional: true, values }
}

/// All columns, in order.
pub(super) const COLUMNS: &[Column] = &[
    if_known("host", Values::Text(|row| row.run.host.as_deref().map(Cow::from))),
    always("kernel", Values::Text(|row| Some((&*row.run.kernel).into()))),
    if_known("run_start", Values::Date(|row| row.run.start.map(|(date_us, _)| date_us))),
    if_known("time", Values::Date(|row| row.run.date_us(row.wait.begin_ns))),
    always("table", Values::Text(|row| Some(row.wait.table.name().into()))),
    always("ts", Values::Ns(|row| Some(row.wait.begin_ns))),
    always("end", Values::Ns(|row| Some(row.wait.end_ns))),
    always("wait_ns", Values::Ns(|row| Some(row.wait.wait_ns))),
    always("tid", Values::Id(|row| Some(row.wait.tid.0))),
    if_known("pid", Values::Id(|row| row.wait.pid.map(|pid| pid.0))),
    if_known("comm", Values::Text(|row| row.wait.comm.map(name))),
    always("comm_confirmed", Values::Flag(|row| Some(row.wait.comm_confirmed))),
    always("cpu", Values::Cpu(|row| Some(row.wait.cpu.0))),
    always("lock", Values::Address(|row| Some(row.wait.lock))),
    if_known(
        "lock_name",
        Values::Text(|row| row.known.as_ref().map(|known| (&*known.name).into())),
    ),
    if_known("lock_name_by", Values::Text(|row| row.known.as_ref().map(|known| known.by.into()))),
    always("kind", Values::Text(|row| Some(row.wait.cause.kind().name().into()))),
    if_known("flags", Values::Text(|row| Some(row.wait.cause.flags()?.to_string().into()))),
    if_known("shared", Values::Flag(|row| Some(row.wait.cause.futex()?.shared))),
    if_known("idle", Values::Flag(is_idle)),
    if_known("reason", Values::Text(|row| Some(reason_text(row.wait.reason?, row.symbols).into()))),
    always("context", Values::Text(|row| Some(row.wait.context.name().into()))),
    always("ret", Values::Errno(|row| Some(row.wait.ret))),
    if_known("caller", Values::Text(|row| row.code(row.wait.caller))),
    if_known("cgroup", Values::Text(|row| row.wait.cgroup?.map(json_name))),
    if_known("cmdline", Values::Text(|row| row.wait.cmdline?.map(json_name))),
    always("uncertain", Values::Flag(|row| Some(row.wait.uncertain))),
    if_known("spin_ns", Values::Ns(spin_ns)),
    if_known("blocked_ns", Values::Ns(|row| row.off_cpu(|off| off.blocked_ns))),
    if_known("runnable_ns", Values::Ns(|row| row.off_cpu(|off| off.runnable_ns))),
    if_known("preempted_ns", Values::Ns(|row| row.off_cpu(|off| off.preempted_ns))),
    if_known("holder_ts", Values::Ns(|row| Some(row.holder()?.ts_ns))),
    if_known("holder_tid", Values::Id(|row| Some(row.holder()?.tid.0))),
    if_known("holder_comm", Values::Text(|row| row.holder()?.comm.as_ref().map(name))),
    if_known("holder_by", Values::Text(|row| Some(row.holder()?.evidence.name().into()))),
    if_known("holder_caller", Values::Text(|row| row.code(row.holder()?.caller))),
    if_known("held_ns", Values::Ns(|row| row.holder()?.held_ns)),
];

fn name(comm: &Comm) -> Cow<'_, str> {
    json_name(comm.as_bytes())
}

fn is_idle(row: &Row<'_>) -> Option<bool> {
    row.wait.cause.flags().is_none().then(|| row.wait.table.is_idle())
}

fn spin_ns(row: &Row<'_>) -> Option<u64> {
    row.wait.off_cpu.map(|off| row.wait.wait_ns.saturating_sub(off.total_ns()))
}
