//! The numbers of options, and of the sections that bear the same.

pub(super) const DONE: u16 = 0;
pub(super) const DATE: u16 = 1;
pub(super) const CPU_STAT: u16 = 2;
pub(super) const BUFFER: u16 = 3;
pub(super) const TRACE_CLOCK: u16 = 4;
pub(super) const UNAME: u16 = 5;
pub(super) const HOOK: u16 = 6;
pub(super) const OFFSET: u16 = 7;
pub(super) const CPU_COUNT: u16 = 8;
pub(super) const VERSION: u16 = 9;
pub(super) const PROC_MAPS: u16 = 10;
pub(super) const TRACE_ID: u16 = 11;
pub(super) const TIME_SHIFT: u16 = 12;
pub(super) const GUEST: u16 = 13;
pub(super) const TSC_TO_NS: u16 = 14;
pub(super) const HEADER_INFO: u16 = 16;
pub(super) const FTRACE_EVENTS: u16 = 17;
pub(super) const EVENT_FORMATS: u16 = 18;
pub(super) const KALLSYMS: u16 = 19;
pub(super) const PRINTK: u16 = 20;
pub(super) const CMDLINES: u16 = 21;
pub(super) const BUFFER_TEXT: u16 = 22;

/// ftlock's own configuration. trace-cmd counts its options up from 1; this one is out of the
/// way, and other readers skip what they do not know by its length.
pub(super) const FTLOCK: u16 = 0xf71c;
