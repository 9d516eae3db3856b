//! Texts and files that tell what an address, a task or a process is: some of them are made by whoever is
//! traced.

use std::io::Write as _;

use ftlock::cmdline_cache::proc::kernels_comm;
use ftlock::output::escape;
use ftlock::symbols::Kallsyms;
use ftlock::user_symbols::{DataSymbols, readable};
use procfs::FromRead as _;
use procfs::process::{MemoryMaps, Stat};

/// `/proc/kallsyms`, and addresses looked up in it.
pub(crate) fn kallsyms(input: &[u8]) {
    let symbols = Kallsyms::parse(input);
    let lines = input.split(|&byte| byte == b'\n').filter(|line| !line.is_empty()).count();
    assert!(symbols.skipped() <= lines as u64);
    assert!(symbols.size_bytes() <= 32 * input.len());
    symbols.availability();
    let addresses = lines.min(64) as u64;
    for address in (0..addresses).map(|at| at << 58 | at).chain(words(input).take(256)) {
        let symbol = symbols.resolve(address);
        let _text = symbol.map(|symbol| symbol.to_string());
        symbols.resolve_data(address);
    }
}

/// What /proc shows of a task that calls itself so and maps files that are called so; and how each output
/// writes such a name.
pub(crate) fn proc(input: &[u8]) {
    for flags in [0, u32::MAX] {
        kernels_comm(input, flags);
    }
    // What stands around the name is the kernel's.
    let stat =
        [b"7 (", input, b") S 1 7 7 0 -1 4194560 0 0 0 0 0 0 0 0 20 0 1 0 33 0 0\n"].concat();
    let _stat = Stat::from_read(stat.as_slice());
    let map = [b"400000-401000 r--p 00000000 08:01 10   ", input, b"\n"].concat();
    let _maps = MemoryMaps::from_read(map.as_slice());
    let shown = escape::terminal(input);
    assert!(!shown.contains(|c: char| c.is_control()), "{shown:?}");
    escape::cell(input, ";");
    escape::frame(input);
    assert_eq!(escape::of_json_name(&escape::json_name(input)), input);
    assert!(!readable(input).contains(|c: char| c.is_control()));
}

/// A program that is traced, whose variables are looked for.
pub(crate) fn elf(input: &[u8]) {
    let mut file = memory("elf");
    file.write_all(input).unwrap();
    let Some(symbols) = DataSymbols::read(file) else { return };
    for address in words(input).take(256) {
        if let Some(address) = symbols.to_virtual(address, 0)
            && let Some((name, _)) = symbols.find(address)
        {
            readable(name);
        }
    }
}

/// Numbers that the input is about, more likely than others.
fn words(input: &[u8]) -> impl Iterator<Item = u64> {
    input.chunks_exact(8).map(|word| u64::from_le_bytes(word.try_into().unwrap()))
}

/// A file without a place on a disk.
pub(crate) fn memory(name: &str) -> std::fs::File {
    rustix::fs::memfd_create(name, rustix::fs::MemfdFlags::CLOEXEC).unwrap().into()
}
