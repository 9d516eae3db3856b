//! What lies at an address of a process: a variable of its program or libraries, or else a place in
//! a file, on its heap, on its stack.
//!
//! A process and an address in, a text out. /proc is read: the process must still be there.

mod elf;
mod space;

use std::collections::HashMap;
use std::fmt::{self, Write};

use cpp_demangle::DemangleOptions;

use self::space::{FileId, Module, Region};

pub use self::elf::DataSymbols;
pub use self::space::AddressSpace;

/// Files whose symbols are held, and the memory that these take. With more, all are dropped, and read again
/// where they are needed.
const MAX_FILES: usize = 256;
const MAX_HELD_BYTES: usize = 256 << 20;

/// A name is cut behind so many characters: templates of C++ have any length.
const MAX_NAME_CHARS: usize = 200;

/// What lies at an address.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Found {
    /// A variable: its name as in the source, how far into it, and the library that it is of.
    Global(String),
    /// A place in a mapping that no symbol covers.
    Mapping(String),
}

/// The variables of programs and libraries, read as they are asked for.
#[derive(Debug, Default)]
pub struct UserSymbols {
    files: HashMap<FileId, Option<DataSymbols>>,
    held_bytes: usize,
}

impl UserSymbols {
    /// What lies at the address; nothing where nothing is mapped there.
    pub fn find(&mut self, space: &AddressSpace, address: u64) -> Option<Found> {
        let region = space.region(address)?;
        let module = space.module(address, region);
        let in_module = module.and_then(|module| self.in_module(space, &module, address));
        Some(in_module.unwrap_or_else(|| Found::Mapping(place(region, address))))
    }

    fn in_module(
        &mut self,
        space: &AddressSpace,
        module: &Module<'_>,
        address: u64,
    ) -> Option<Found> {
        let (file, id) = space.file_of(module.first)?;
        if !self.files.contains_key(&id) {
            let read = file.open().and_then(DataSymbols::read);
            let size_bytes = read.as_ref().map_or(0, DataSymbols::size_bytes);
            if self.files.len() >= MAX_FILES || self.held_bytes + size_bytes > MAX_HELD_BYTES {
                self.files.clear();
                self.held_bytes = 0;
            }
            self.held_bytes += size_bytes;
            self.files.insert(id, read);
        }
        let symbols = self.files.get(&id)?.as_ref()?;
        let virtual_address = symbols.to_virtual(address, module.first.start)?;
        let Some((name, offset)) = symbols.find(virtual_address) else {
            return Some(Found::Mapping(format!("{}+{virtual_address:#x}", module.first.name)));
        };
        let offset = if offset == 0 { String::new() } else { format!("+{offset:#x}") };
        let library =
            if module.is_program { String::new() } else { format!(" [{}]", module.first.name) };
        Some(Found::Global(format!("{}{offset}{library}", readable(name))))
    }
}

/// `[heap]`, `[stack]`, `[anon]`; of a file the place in it.
fn place(region: &Region, address: u64) -> String {
    match region.is_file() {
        true => format!("{}+{:#x}", region.name, address - region.start + region.offset),
        false => region.name.clone(),
    }
}

/// A symbol as the source has it, if it is mangled; without what a terminal would obey.
pub fn readable(symbol: &[u8]) -> String {
    let symbol = String::from_utf8_lossy(symbol);
    let rust = rustc_demangle::try_demangle(&symbol).ok();
    let rust = rust.and_then(|name| Beginning::of(|out| write!(out, "{name:#}")));
    let cpp = || {
        let options = DemangleOptions::default();
        let name = cpp_demangle::Symbol::new(symbol.as_bytes()).ok()?;
        Beginning::of(|out| name.structured_demangle(out, &options))
    };
    let name = rust.or_else(cpp).unwrap_or_else(|| symbol.chars().take(MAX_NAME_CHARS).collect());
    let shown = |c: char| if c.is_control() { char::REPLACEMENT_CHARACTER } else { c };
    name.chars().map(shown).collect()
}

/// The beginning of a text, whose writer is stopped there: a short symbol can stand for a name of gigabytes,
/// in which each part has the one before it twice.
#[derive(Default)]
struct Beginning {
    text: String,
    chars: usize,
}

impl Beginning {
    /// Nothing if it fails before that.
    fn of(write: impl FnOnce(&mut Beginning) -> fmt::Result) -> Option<String> {
        let mut beginning = Beginning::default();
        let written = write(&mut beginning);
        (written.is_ok() || beginning.chars == MAX_NAME_CHARS).then_some(beginning.text)
    }
}

impl Write for Beginning {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        for c in text.chars() {
            if self.chars == MAX_NAME_CHARS {
                return Err(fmt::Error);
            }
            self.text.push(c);
            self.chars += 1;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use super::{AddressSpace, Found, UserSymbols, readable};

    static IN_BSS: Mutex<u64> = Mutex::new(0);
    static mut IN_DATA: [u64; 4] = [1, 2, 3, 4];

    fn find(address: u64) -> Option<Found> {
        let space = AddressSpace::read(std::process::id()).unwrap();
        UserSymbols::default().find(&space, address)
    }

    fn global(address: u64) -> String {
        match find(address) {
            Some(Found::Global(name)) => name,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn variables_of_the_program_have_their_names() {
        let name = global(&raw const IN_BSS as u64);
        assert!(name.ends_with("user_symbols::tests::IN_BSS"), "{name}");
        let name = global(&raw const IN_DATA as u64 + 24);
        assert!(name.ends_with("user_symbols::tests::IN_DATA+0x18"), "{name}");
    }

    #[test]
    fn what_is_no_variable_has_its_place() {
        let on_stack = 0u64;
        let boxed = Box::new(0u64);
        let mapping = |address: u64| match find(address) {
            Some(Found::Mapping(place)) => place,
            other => panic!("{other:?}"),
        };
        // Tests run on threads, whose stacks are anonymous, and may have heaps of their own.
        let places = [mapping(&raw const on_stack as u64), mapping(&raw const *boxed as u64)];
        let known = ["[heap]", "[stack]", "[anon]"];
        assert!(places.iter().all(|place| known.contains(&place.as_str())), "{places:?}");
        assert_eq!(find(8), None);
    }

    /// Names as compilers mangle them; the C++ ones from the Itanium ABI's own examples.
    #[test]
    fn names_are_readable_and_harmless() {
        let table: [(&[u8], &str); 5] = [
            (b"the_lock", "the_lock"),
            (b"_ZN10rust_mutex8THE_LOCK17h0123456789abcdefE", "rust_mutex::THE_LOCK"),
            (b"_RNvCs1234_5basic3foo", "basic::foo"),
            (b"_ZN3foo3barE", "foo::bar"),
            (b"a\x1b[31m", "a\u{fffd}[31m"),
        ];
        for (symbol, expected) in table {
            assert_eq!(readable(symbol), expected);
        }
        assert_eq!(readable(&[b'x'; 999]).len(), 200);
    }

    /// Each of 60 parameters is a pair of the one before it, twice: 10^18 characters.
    #[test]
    fn a_symbol_that_stands_for_a_name_without_an_end_costs_no_more_than_others() {
        // Substitutions count by digits and capitals: S_, S0_, .. S9_, SA_, .. SZ_, S10_.
        let digits: Vec<char> = ('0'..='9').chain('A'..='Z').collect();
        let number = |place: usize| match place.checked_sub(1) {
            None => "S_".to_owned(),
            Some(n @ 0..36) => format!("S{}_", digits[n]),
            Some(n) => format!("S{}{}_", digits[n / 36], digits[n % 36]),
        };
        let pairs = (1..60).map(|place| format!("S_I{0}{0}E", number(place)));
        let symbol = format!("_Z1f4pairIiiE{}", pairs.collect::<String>());
        let name = readable(symbol.as_bytes());
        assert!(
            name.starts_with("f(pair<int, int>, pair<pair<int, int>, pair<int, int> >"),
            "{name}"
        );
        assert_eq!(name.chars().count(), 200);
    }
}
