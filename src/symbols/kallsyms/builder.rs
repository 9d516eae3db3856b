//! From the lines of `/proc/kallsyms` to the table.

use std::collections::HashMap;

use super::{Entry, Kallsyms};

/// More lines than any kernel has (163,000 with all of Debian's 6.12); further ones are skipped.
const MAX_SYMBOLS: usize = 1 << 20;

/// `KSYM_NAME_LEN` (include/linux/kallsyms.h, 6.1 to 7.3).
const MAX_NAME_BYTES: usize = 512;

/// A table that grows line by line.
#[derive(Default)]
pub(super) struct Builder {
    names: String,
    modules: Vec<Box<str>>,
    module_ids: HashMap<Box<str>, u16>,
    text: Vec<Entry>,
    data: Vec<Entry>,
    zeros: u64,
    skipped: u64,
}

impl Builder {
    /// Takes a line without its end; one that is unusable is counted.
    pub(super) fn push(&mut self, line: &[u8]) {
        if line.is_empty() {
            return;
        }
        if self.add(line).is_none() {
            self.skipped += 1;
        }
    }

    /// None where the line is unusable.
    fn add(&mut self, line: &[u8]) -> Option<()> {
        let line = str::from_utf8(line).ok()?;
        let (addr, rest) = line.split_once(' ')?;
        let (kind, rest) = rest.split_once(' ')?;
        let (name, module) = match rest.split_once('\t') {
            Some((name, module)) => (name, Some(module.strip_prefix('[')?.strip_suffix(']')?)),
            None => (rest, None),
        };
        let addr = u64::from_str_radix(addr, 16).ok()?;
        // Absolute symbols are numbers and per-CPU offsets, not places.
        let is_text = match kind {
            "T" | "t" | "W" | "w" => true,
            "B" | "b" | "D" | "d" | "R" | "r" | "V" | "v" => false,
            "A" | "a" => return Some(()),
            _ => return None,
        };
        if addr == 0 {
            self.zeros += 1;
            return Some(());
        }
        if !is_plain(name) || self.text.len() + self.data.len() >= MAX_SYMBOLS {
            return None;
        }
        let entry = Entry {
            addr,
            name_start: u32::try_from(self.names.len()).ok()?,
            name_len: u16::try_from(name.len()).ok()?,
            module: module.map_or(Some(0), |module| self.module_id(module))?,
        };
        self.names.push_str(name);
        if is_text {
            self.text.push(entry)
        } else {
            self.data.push(entry)
        }
        Some(())
    }

    fn module_id(&mut self, module: &str) -> Option<u16> {
        if let Some(&id) = self.module_ids.get(module) {
            return Some(id);
        }
        if !is_plain(module) {
            return None;
        }
        let id = u16::try_from(self.modules.len() + 1).ok()?;
        self.modules.push(module.into());
        self.module_ids.insert(module.into(), id);
        Some(id)
    }

    pub(super) fn finish(mut self) -> Kallsyms {
        // Stable: of one address, the first listed stays first.
        self.text.sort_by_key(|e| e.addr);
        self.data.sort_by_key(|e| e.addr);
        Kallsyms {
            names: self.names.into(),
            modules: self.modules.into(),
            text: self.text.into(),
            data: self.data.into(),
            restricted: self.zeros > 0,
            skipped: self.skipped,
        }
    }
}

fn is_plain(name: &str) -> bool {
    (1..MAX_NAME_BYTES).contains(&name.len()) && name.bytes().all(|b| b.is_ascii_graphic())
}
