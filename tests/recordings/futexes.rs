//! Futex calls of recordings against a count of the kernel's own text of the same buffer.

use std::collections::{BTreeMap, HashMap};

use ftlock::contention::Begins;
use ftlock::event::WaitKind;
use ftlock::pipeline::NamedWait;
use ftlock::report::Table;

use crate::fixtures;
use crate::scenarios;
use crate::totals::Recorded;

/// Operations that wait (include/uapi/linux/futex.h), without the flags for private ones and clocks.
const WAITING: [u64; 5] = [0, 6, 9, 11, 13];

/// A number of the text, which newer kernels mark as hexadecimal.
fn hex(text: &str) -> u64 {
    u64::from_str_radix(text.trim_start_matches("0x"), 16).unwrap()
}

fn argument(line: &str, name: &str) -> u64 {
    let from = line.split_once(&format!("{name}: ")).unwrap().1;
    hex(from.split([',', ')']).next().unwrap())
}

/// What became of the waits that the lines tell of: woken, given up, not waited, no end; and how
/// many ends belong to other calls.
#[derive(Debug, Default, PartialEq, Eq)]
struct Count {
    ok: u64,
    failed: u64,
    not_waited: u64,
    open: u64,
    others: u64,
}

fn count(text: &str) -> Count {
    let mut calls: HashMap<&str, bool> = HashMap::new();
    let mut count = Count::default();
    for line in text.lines().filter(|line| line.contains(": sys_futex")) {
        let task = line.split(" [").next().unwrap();
        let pid = task.rsplit('-').next().unwrap();
        if let Some((_, result)) = line.split_once("sys_futex -> ") {
            match (calls.remove(pid), hex(result).cast_signed()) {
                (Some(true), -11) => count.not_waited += 1,
                (Some(true), 0..) => count.ok += 1,
                (Some(true), _) => count.failed += 1,
                (Some(false) | None, _) => count.others += 1,
            }
        } else {
            let operation = argument(line, "op") & !(128 | 256);
            calls.insert(pid, WAITING.contains(&operation));
        }
    }
    count.open = calls.values().filter(|waits| **waits).count() as u64;
    count
}

#[test]
fn waits_are_those_of_the_kernels_text() {
    let mut compared = BTreeMap::new();
    for folder in scenarios::folders() {
        if fixtures::name(&folder) != "futex-syscalls" {
            continue;
        }
        let name = folder.display().to_string();
        let text = String::from_utf8_lossy(&fixtures::read(&folder.join("trace.txt"))).into_owned();
        let expected = count(&text);
        let (collected, results) = Recorded::scenario(&folder).run(false, Begins::All, 1 << 10);
        let futexes = results.counts.futexes;
        let found = Count {
            ok: futexes.ok,
            failed: futexes.failed,
            not_waited: futexes.not_waited,
            open: futexes.open + futexes.lost_end,
            others: futexes.filtered_end,
        };
        assert_eq!(found, expected, "{name}");
        let of = |table| collected.waits.iter().filter(move |named| named.table == table);
        let (busy, idle) = (of(Table::Futexes), of(Table::IdleFutexes));
        assert_eq!(
            (busy.clone().count() + idle.clone().count()) as u64,
            futexes.finished(),
            "{name}"
        );
        // Whatever the words say, those that the kernel itself knows as locks are no idle waiting.
        let is_pi = |named: &&NamedWait| named.wait.cause.kind() == WaitKind::FutexPi;
        assert_eq!(idle.filter(is_pi).count(), 0, "{name}");
        compared.insert(name, (expected.ok, busy.filter(is_pi).count()));
    }
    println!("{compared:#?}");
    assert!(compared.is_empty() || compared.values().all(|(ok, pi)| *ok > 500 && *pi > 20));
}

/// Hand-made lines in both of the kernel's styles.
#[test]
fn the_count_itself_counts_what_the_text_says() {
    let text = "\
        a-1 [0] 1.0: sys_futex(uaddr: 10, op: 80, val: 2, utime: 0, uaddr2: 0, val3: 0)\n\
        b-c-2 [1] 1.1: sys_futex(uaddr: 0x10, op: 0x81, val: 0x1, utime: 0x0)\n\
        b-c-2 [1] 1.2: sys_futex -> 0x1\n\
        a-1 [0] 1.3: sys_futex -> 0x0\n\
        a-1 [0] 1.4: sys_futex(uaddr: 10, op: 189, val: 2, utime: 0)\n\
        a-1 [0] 1.5: sys_futex -> 0xfffffffffffffff5\n\
        a-1 [0] 1.6: sys_futex(uaddr: 10, op: 86, val: 2, utime: 0)\n\
        a-1 [0] 1.7: sys_futex -> 0xffffffffffffff92\n\
        a-1 [0] 1.8: sys_futex(uaddr: 10, op: 0, val: 2, utime: 0)\n";
    let expected = Count { ok: 1, failed: 1, not_waited: 1, open: 1, others: 1 };
    assert_eq!(count(text), expected);
}
