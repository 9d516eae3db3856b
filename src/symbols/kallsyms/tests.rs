use super::super::fixtures::{KERNELS, recording, stacks};
use super::{Availability, Kallsyms};

const LIST: &[u8] = b"\
ffffffff81000200 t second\n\
0000000000015c40 A pcpu_x\n\
0000000000000000 A fixed_percpu_data\n\
ffffffff81000100 t alias_listed_first\n\
ffffffff81000100 T alias_listed_later\n\
ffffffff81000300 T _etext\n\
ffffffffc0000010 t helper\t[some_mod]\n\
ffffffffc0000000 t entry\t[some_mod]\n\
ffffffff82000000 D tasklist_lock\n\
ffffffff82000040 b futex_queues\n\
ffffffffc0100000 d state\t[other]\n\
not a line\n\
ffffffff81000400 T \x01evil\n\
ffffffff81000400 ? what\n";

#[test]
fn addresses_resolve_to_the_symbol_before_them() {
    let symbols = Kallsyms::parse(LIST);
    let table = [
        (0xffff_ffff_8100_0100, Some("alias_listed_first+0x0")),
        (0xffff_ffff_8100_01ff, Some("alias_listed_first+0xff")),
        (0xffff_ffff_8100_0200, Some("second+0x0")),
        (0xffff_ffff_8100_0310, None), // Behind the kernel's text.
        (0xffff_ffff_8100_00ff, None), // Before it; the absolute symbols do not count.
        (0x15c41, None),
        (0, None),
        (0xffff_ffff_c000_000f, Some("entry+0xf [some_mod]")),
        (0xffff_ffff_c000_0012, Some("helper+0x2 [some_mod]")),
        (0xffff_ffff_c010_0011, None), // 1 MiB behind.
        (0xffff_ffff_8200_0000, None), // Data has no function.
        (u64::MAX, None),
    ];
    for (addr, expected) in table {
        let found = symbols.resolve(addr).map(|symbol| symbol.to_string());
        assert_eq!(found.as_deref(), expected, "{addr:#x}");
    }
    assert_eq!(symbols.skipped(), 3);
}

#[test]
fn a_lock_is_named_by_data_only() {
    let symbols = Kallsyms::parse(LIST);
    let name = |addr| symbols.resolve_data(addr).map(|symbol| symbol.to_string());
    assert_eq!(name(0xffff_ffff_8200_0008).as_deref(), Some("tasklist_lock+0x8"));
    assert_eq!(name(0xffff_ffff_c010_0000).as_deref(), Some("state+0x0 [other]"));
    assert_eq!(name(0xffff_8881_3344_5566), None);
    assert_eq!(name(0xffff_ffff_8100_0200), None);
    assert_eq!(symbols.address_of("futex_queues"), Some(0xffff_ffff_8200_0040));
    assert_eq!(symbols.address_of("no_such_lock"), None);
    assert_eq!(symbols.availability(), Availability::Full);
}

#[test]
fn hidden_addresses_name_nothing() {
    let zeros = b"0000000000000000 T _stext\n0000000000000000 t do_fork\n0000000000000000 d x\n";
    let symbols = Kallsyms::parse(zeros);
    assert_eq!(symbols.availability(), Availability::Restricted);
    assert_eq!(symbols.resolve(0xffff_ffff_8100_0000), None);
    assert_eq!(Kallsyms::parse(b"").availability(), Availability::Empty);
}

/// The kernel's own text of the stacks of six kernels of three architectures is the oracle.
#[test]
fn stacks_get_the_names_the_kernel_gives_them() {
    for kernel in KERNELS {
        let Some(list) = recording(kernel, "_kernel/kallsyms.txt.zst") else { return };
        let Some(trace) = recording(kernel, "stack/trace.symaddr.txt.zst") else { return };
        let symbols = Kallsyms::parse(&list);
        assert_eq!(symbols.skipped(), 0, "{kernel}");
        let mut frames = 0;
        for (name, addr) in stacks(&trace).into_iter().flat_map(|stack| stack.frames) {
            let symbol = symbols.resolve(addr).map(|symbol| symbol.to_string());
            assert_eq!(symbol, Some(name), "{kernel} {addr:#x}");
            frames += 1;
        }
        assert!(frames > 500, "{kernel}: {frames}");
        let lines = list.iter().filter(|&&byte| byte == b'\n').count();
        assert!(symbols.size_bytes() < lines * 64, "{kernel}: {}", symbols.size_bytes());
    }
}

/// Figures counted in the recordings: data symbols and functions of each kernel.
#[test]
fn kernels_without_data_symbols_are_told() {
    for kernel in KERNELS {
        let Some(list) = recording(kernel, "_kernel/kallsyms.txt.zst") else { return };
        let expected = match kernel {
            "amd64-6.1" | "amd64-6.1-rt" | "amd64-6.12" => Availability::Full,
            _ => Availability::TextOnly,
        };
        assert_eq!(Kallsyms::parse(&list).availability(), expected, "{kernel}");
    }
}
