//! The variables of a program or library, by its symbol table.
//!
//! Whoever is traced may have made the file: no offset, size or count in it is believed, and what is kept
//! of it has a bound, however often it names one and the same byte.

use std::fs::File;

use object::elf::{
    FileHeader32, FileHeader64, PT_LOAD, SHT_DYNSYM, SHT_SYMTAB, STT_OBJECT, SectionType,
};
use object::read::elf::{FileHeader, ProgramHeader, SectionHeader, Sym};
use object::{Endianness, FileKind, ReadCache};

/// The largest section that is read: no symbols are worth more memory.
const MAX_SECTION_BYTES: u64 = 256 << 20;

/// Variables that are kept of a file.
const MAX_SYMBOLS: usize = 1 << 18;

/// A longer name is cut: templates of C++ have such ones, of which no table shows so much.
const MAX_NAME_BYTES: usize = 4096;

/// Bytes of names that are kept of a file: many symbols may have one and the same long name.
const MAX_NAMES_BYTES: usize = 64 << 20;

/// Variables and segments of one file.
#[derive(Debug, Default)]
pub struct DataSymbols {
    segments: Vec<Segment>,
    /// By address.
    symbols: Vec<Symbol>,
    names: Vec<u8>,
}

/// A part of the file that is loaded.
#[derive(Debug)]
struct Segment {
    address: u64,
    offset: u64,
    end: u64,
}

#[derive(Debug)]
struct Symbol {
    address: u64,
    size: u64,
    name_at: usize,
    name_bytes: usize,
}

impl DataSymbols {
    /// Those of an ELF file; nothing of any other one.
    pub fn read(file: File) -> Option<DataSymbols> {
        let cache = ReadCache::new(file);
        match FileKind::parse(&cache).ok()? {
            FileKind::Elf32 => parse::<FileHeader32<Endianness>>(&cache).ok(),
            FileKind::Elf64 => parse::<FileHeader64<Endianness>>(&cache).ok(),
            _ => None,
        }
    }

    /// The memory that they take.
    pub(super) fn size_bytes(&self) -> usize {
        self.names.len() + self.symbols.len() * size_of::<Symbol>()
    }

    /// The file's own address of one in a process that has the file's beginning at `start`; nothing
    /// if the file does not reach there.
    pub fn to_virtual(&self, address: u64, start: u64) -> Option<u64> {
        let page = u64::try_from(rustix::param::page_size()).ok()?;
        let first = self.segments.iter().find(|segment| segment.offset < page)?;
        let in_file = address.wrapping_sub(start).wrapping_add(first.address & !(page - 1));
        let is_in = |segment: &Segment| {
            let end = segment.end.checked_next_multiple_of(page).unwrap_or(u64::MAX);
            (segment.address & !(page - 1)..end).contains(&in_file)
        };
        self.segments.iter().any(is_in).then_some(in_file)
    }

    /// The variable at an address of the file, and how far into it.
    pub fn find(&self, address: u64) -> Option<(&[u8], u64)> {
        let behind = self.symbols.partition_point(|symbol| symbol.address <= address);
        let symbol = self.symbols.get(behind.checked_sub(1)?)?;
        let offset = address - symbol.address;
        let name = self.names.get(symbol.name_at..symbol.name_at + symbol.name_bytes)?;
        (offset < symbol.size).then_some((name, offset))
    }
}

fn parse<Elf: FileHeader<Endian = Endianness>>(
    file: &ReadCache<File>,
) -> object::Result<DataSymbols> {
    let header = Elf::parse(file)?;
    let endian = header.endian()?;
    let loaded = header.program_headers(endian, file)?.iter();
    let loaded = loaded.filter(|segment| segment.p_type(endian) == PT_LOAD);
    let segment = |segment: &Elf::ProgramHeader| {
        let address = segment.p_vaddr(endian).into();
        let end = address.saturating_add(segment.p_memsz(endian).into());
        Segment { address, offset: segment.p_offset(endian).into(), end }
    };
    let mut found =
        DataSymbols { segments: loaded.map(segment).collect(), ..DataSymbols::default() };
    // What is exported is in the first table too, where that was not stripped.
    for table in [SHT_SYMTAB, SHT_DYNSYM] {
        if found.symbols.is_empty() {
            add_symbols::<Elf>(&mut found, header, endian, file, table)?;
        }
    }
    found.symbols.sort_by_key(|symbol| symbol.address);
    Ok(found)
}

fn add_symbols<Elf: FileHeader<Endian = Endianness>>(
    found: &mut DataSymbols,
    header: &Elf,
    endian: Endianness,
    file: &ReadCache<File>,
    table: SectionType,
) -> object::Result<()> {
    let sections = header.sections(endian, file)?;
    let is_small =
        |section: &Elf::SectionHeader| section.sh_size(endian).into() <= MAX_SECTION_BYTES;
    let Some(section) = sections.iter().find(|section| section.sh_type(endian) == table) else {
        return Ok(());
    };
    let strings = sections.section(section.link(endian))?;
    if !is_small(section) || !is_small(strings) {
        return Ok(());
    }
    let strings = strings.data(endian, file)?;
    for symbol in sections.symbols(endian, file, table)?.iter() {
        let (address, size) = (symbol.st_value(endian).into(), symbol.st_size(endian).into());
        if symbol.st_type() != STT_OBJECT || symbol.is_undefined(endian) || size == 0 {
            continue;
        }
        let name = strings.get(symbol.st_name(endian) as usize..).unwrap_or_default();
        let name = name.get(..MAX_NAME_BYTES).unwrap_or(name);
        let name = name.split(|&byte| byte == 0).next().unwrap_or_default();
        if name.is_empty() {
            continue;
        }
        let (name_at, name_bytes) = (found.names.len(), name.len());
        if found.symbols.len() >= MAX_SYMBOLS
            || name_at.saturating_add(name_bytes) > MAX_NAMES_BYTES
        {
            break;
        }
        found.names.extend(name);
        found.symbols.push(Symbol { address, size, name_at, name_bytes });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use proptest::prelude::*;

    use super::{DataSymbols, Segment};

    /// `readelf -lW` of a program that is loaded where it likes, on a kernel with pages of 4 KiB.
    #[test]
    fn addresses_of_a_process_become_those_of_the_file() {
        let segment = |offset, address, size: u64| Segment { address, offset, end: address + size };
        let segments = vec![
            segment(0, 0, 0x628),
            segment(0x1000, 0x1000, 0x1d1),
            segment(0x2dd0, 0x3dd0, 0x2a8),
        ];
        let symbols = DataSymbols { segments, ..DataSymbols::default() };
        let start = 0x5555_5555_4000_u64;
        let table = [(0x10, Some(0x10)), (0x3dd0, Some(0x3dd0)), (0x4070, Some(0x4070))];
        let outside = [(0x5000, None), (0x2000, None), (u64::MAX, None)];
        for (at, expected) in table.into_iter().chain(outside) {
            assert_eq!(symbols.to_virtual(start.wrapping_add(at), start), expected, "{at:#x}");
        }
    }

    /// An ELF file of 64 bits with a symbol table: this many variables, all of one name.
    fn with_symbols(count: u64, name: &[u8]) -> Vec<u8> {
        let mut strings = [b"\0", name].concat();
        let strings_bytes = strings.len() as u64;
        // Sections of numbers begin at multiples of eight, as linkers put them.
        strings.resize(strings.len().next_multiple_of(8), 0);
        let symbols: Vec<u8> = (0..=count)
            .flat_map(|number| {
                let kind = if number == 0 { [0, 0, 0, 0] } else { [1, 0, 1, 0] };
                let head = [u32::from(number > 0).to_le_bytes(), kind].concat();
                [head, (8 * number).to_le_bytes().to_vec(), 8_u64.to_le_bytes().to_vec()].concat()
            })
            .collect();
        let section = |kind: u32, at: u64, size: u64, link: u32, entry: u64| {
            let words = [0, kind].map(u32::to_le_bytes).concat();
            let places = [0, 0, at, size].map(u64::to_le_bytes).concat();
            let links = [link, 0].map(u32::to_le_bytes).concat();
            [words, places, links, [1, entry].map(u64::to_le_bytes).concat()].concat()
        };
        let (strings_at, symbols_at) = (64, 64 + strings.len() as u64);
        let sections_at = symbols_at + symbols.len() as u64;
        let mut file = b"\x7fELF\x02\x01\x01".to_vec();
        file.resize(16, 0);
        file.extend([3_u16, 62].map(u16::to_le_bytes).concat());
        file.extend(1_u32.to_le_bytes());
        file.extend([0, 0, sections_at].map(u64::to_le_bytes).concat());
        file.extend(0_u32.to_le_bytes());
        file.extend([64_u16, 56, 0, 64, 3, 1].map(u16::to_le_bytes).concat());
        file.extend(strings);
        file.extend(&symbols);
        file.extend(section(0, 0, 0, 0, 0));
        file.extend(section(3, strings_at, strings_bytes, 0, 0));
        file.extend(section(2, symbols_at, symbols.len() as u64, 1, 24));
        file
    }

    #[test]
    fn names_are_kept_within_a_bound_however_many_symbols_share_one() {
        let read = |bytes: &[u8]| {
            let mut file = tempfile::tempfile().unwrap();
            file.write_all(bytes).unwrap();
            DataSymbols::read(file).unwrap()
        };
        let few = read(&with_symbols(2, b"the_lock\0"));
        assert_eq!(few.find(17), Some((&b"the_lock"[..], 1)));
        // 320 MB, if each were kept whole.
        let many = read(&with_symbols(40_000, &[b'x'; 8192]));
        assert_eq!(many.find(8), Some((&[b'x'; 4096][..], 0)));
        assert!(many.names.len() <= super::MAX_NAMES_BYTES, "{}", many.names.len());
        assert_eq!(many.symbols.len(), super::MAX_NAMES_BYTES / 4096);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(300))]
        /// Whoever may be traced may have made the file.
        #[test]
        fn a_damaged_file_is_read_or_refused(
            damage in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..24),
            cut in any::<prop::sample::Index>(),
            address in any::<u64>(),
        ) {
            let whole = std::fs::read("/bin/true").unwrap();
            let mut bytes = whole.clone();
            for (number, (at, byte)) in damage.into_iter().enumerate() {
                // The headers stand at the beginning and at the end.
                let at = at.index(2048);
                let place = if number % 2 == 0 { at % 512 } else { bytes.len() - 1 - at };
                bytes[place] = byte;
            }
            bytes.truncate(bytes.len() - cut.index(2) * cut.index(whole.len()));
            let mut file = tempfile::tempfile().unwrap();
            file.write_all(&bytes).unwrap();
            if let Some(symbols) = DataSymbols::read(file) {
                symbols.to_virtual(address, 0);
                symbols.find(address);
            }
        }
    }
}
