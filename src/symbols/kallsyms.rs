//! `/proc/kallsyms` as a compact table: from address to name.

mod builder;

use super::Error;
use std::fmt;
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::ops::Range;
use std::path::Path;

use builder::Builder;

/// The kernel writes the list anew for every read, as far as that goes.
const READ_BYTES: usize = 64 << 10;

/// kallsyms has no sizes. Behind the last symbol before a hole lies nothing that bears its name:
/// an address farther from its symbol than this has none.
const MAX_OFFSET_BYTES: u64 = 1 << 20;

/// The linker's marks behind the kernel's code and data: what follows them is not theirs.
const END_MARKS: [&str; 6] =
    ["_etext", "_einittext", "_edata", "__bss_stop", "_end", "__brk_limit"];

/// A kernel without `CONFIG_KALLSYMS_ALL` still lists some linker's marks as data (74 for
/// 122,000 functions on a 6.18). Below this share of the functions no lock has a name.
const DENSE_DATA_SHARE: usize = 16;

/// A kernel symbol and the distance to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Symbol<'a> {
    /// Its name, printable ASCII.
    pub name: &'a str,
    /// Bytes from its start.
    pub offset: u64,
    /// The module it belongs to; none for the kernel itself.
    pub module: Option<&'a str>,
}

/// `name+0x12`, or `name+0x12 [module]`.
impl fmt::Display for Symbol<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}+{:#x}", self.name, self.offset)?;
        match self.module {
            Some(module) => write!(f, " [{module}]"),
            None => Ok(()),
        }
    }
}

/// What a symbol list is good for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Availability {
    /// Functions and data have names.
    Full,
    /// Functions have names, data (and so static locks) has none.
    TextOnly,
    /// All addresses are zero: the kernel hides them from us.
    Restricted,
    /// No symbol at all.
    Empty,
}

impl Availability {
    /// What to tell the user once, where something is missing.
    pub fn note(self) -> Option<&'static str> {
        match self {
            Availability::Full => None,
            Availability::TextOnly => Some(
                "no lock has a symbol of its own: this kernel lists no data (CONFIG_KALLSYMS_ALL is off)",
            ),
            Availability::Restricted => Some(
                "callers are shown by address: the kernel hides its symbols' addresses (kernel.kptr_restrict)",
            ),
            Availability::Empty => {
                Some("callers are shown by address: the kernel lists no symbols")
            }
        }
    }

    /// The command that mends it.
    pub fn hint(self) -> Option<&'static str> {
        match self {
            Availability::Restricted => Some("sudo sysctl kernel.kptr_restrict=1, and run as root"),
            _ => None,
        }
    }
}

/// One symbol: 16 bytes, the name stands in the table's text.
#[derive(Debug, Clone, Copy)]
struct Entry {
    addr: u64,
    name_start: u32,
    name_len: u16,
    /// An index into the modules; 0 is the kernel itself.
    module: u16,
}

/// The kernel's symbols, read once. About 40 bytes a symbol.
#[derive(Debug)]
pub struct Kallsyms {
    names: Box<str>,
    modules: Box<[Box<str>]>,
    text: Box<[Entry]>,
    data: Box<[Entry]>,
    restricted: bool,
    skipped: u64,
}

impl Kallsyms {
    /// Reads `path`, which is `/proc/kallsyms` or a copy of it.
    ///
    /// # Errors
    ///
    /// [`Error::Read`] where the file cannot be read.
    pub fn read(path: &Path) -> Result<Kallsyms, Error> {
        let failed = |source| Error::Read { path: path.to_owned(), source };
        let mut builder = Builder::default();
        let mut list = BufReader::with_capacity(READ_BYTES, File::open(path).map_err(failed)?);
        let mut line = Vec::new();
        while list.read_until(b'\n', &mut line).map_err(failed)? > 0 {
            builder.push(line.strip_suffix(b"\n").unwrap_or(&line));
            line.clear();
        }
        Ok(builder.finish())
    }

    /// Takes the text of `/proc/kallsyms`, sorted or not. Lines it cannot use are counted.
    pub fn parse(text: &[u8]) -> Kallsyms {
        let mut builder = Builder::default();
        text.split(|&byte| byte == b'\n').for_each(|line| builder.push(line));
        builder.finish()
    }

    /// The function at a code address.
    pub fn resolve(&self, addr: u64) -> Option<Symbol<'_>> {
        self.nearest(&self.text, addr)
    }

    /// The data object at the address of a lock. Never a function.
    pub fn resolve_data(&self, addr: u64) -> Option<Symbol<'_>> {
        if self.has_data() { self.nearest(&self.data, addr) } else { None }
    }

    /// The first address of that name, code or data.
    pub fn address_of(&self, name: &str) -> Option<u64> {
        let entries = self.text.iter().chain(&self.data);
        entries.filter(|e| self.name(e) == Some(name)).map(|e| e.addr).next()
    }

    /// The first address of a variable of that name.
    pub fn address_of_data(&self, name: &str) -> Option<u64> {
        let mut data = self.data.iter();
        data.find(|entry| self.name(entry) == Some(name)).map(|entry| entry.addr)
    }

    /// Whether there is a function with such a name.
    pub fn any_function(&self, wanted: impl Fn(&str) -> bool) -> bool {
        self.text.iter().any(|entry| self.name(entry).is_some_and(&wanted))
    }

    /// What this list is good for.
    pub fn availability(&self) -> Availability {
        match (self.text.is_empty(), self.restricted) {
            (true, true) => Availability::Restricted,
            (true, false) => Availability::Empty,
            (false, _) if self.has_data() => Availability::Full,
            (false, _) => Availability::TextOnly,
        }
    }

    /// Lines that were malformed, or beyond the bound.
    pub fn skipped(&self) -> u64 {
        self.skipped
    }

    /// Bytes this table holds.
    pub fn size_bytes(&self) -> usize {
        self.names.len() + (self.text.len() + self.data.len()) * size_of::<Entry>()
    }

    fn has_data(&self) -> bool {
        self.data.len() > self.text.len() / DENSE_DATA_SHARE
    }

    fn name(&self, entry: &Entry) -> Option<&str> {
        let start = usize::try_from(entry.name_start).ok()?;
        self.names.get(start..start.checked_add(usize::from(entry.name_len))?)
    }

    /// The last symbol at or before `addr`; of several there, the first one listed: the kernel
    /// lists the best one first and prints that one itself (kernel/kallsyms.c, 6.1 to 7.3).
    fn nearest(&self, entries: &[Entry], addr: u64) -> Option<Symbol<'_>> {
        let behind = entries.partition_point(|e| e.addr <= addr);
        let start = entries.get(behind.checked_sub(1)?)?.addr;
        let entry = entries.get(entries.partition_point(|e| e.addr < start))?;
        let name = self.name(entry)?;
        let offset = addr.checked_sub(start)?;
        if offset >= MAX_OFFSET_BYTES || END_MARKS.contains(&name) {
            return None;
        }
        let module = usize::from(entry.module).checked_sub(1);
        let module = module.and_then(|index| self.modules.get(index)).map(AsRef::as_ref);
        Some(Symbol { name, offset, module })
    }
}

/// The addresses from the symbol `<section>_start` to `<section>_end`; empty where one is missing.
pub(super) fn section(symbols: &Kallsyms, start: &str, end: &str) -> Range<u64> {
    match (symbols.address_of(start), symbols.address_of(end)) {
        (Some(start), Some(end)) => start..end,
        _ => 0..0,
    }
}

#[cfg(test)]
mod tests;
