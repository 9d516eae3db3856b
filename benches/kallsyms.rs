//! How long the kernel's symbols take to read, and what they hold: `cargo bench --bench kallsyms`.
//!
//! Of this machine's own list, and of 200,000 lines made in its likeness: more than any kernel of
//! a distribution lists.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::print_stdout,
    reason = "a bench may stop, and prints"
)]

use std::fmt::Write;
use std::fs;
use std::hint::black_box;
use std::path::Path;
use std::time::{Duration, Instant};

use ftlock::symbols::Kallsyms;

const LINES: u64 = 200_000;
const RUNS: usize = 15;

fn main() {
    let dir = tempfile::tempdir().unwrap();
    let made = dir.path().join("kallsyms");
    fs::write(&made, list()).unwrap();
    // The first reading, before the allocator holds memory that was used already.
    fs::write("/proc/self/clear_refs", "5").unwrap();
    let before_kb = status_kb("VmRSS");
    let table_kb = Kallsyms::read(&made).unwrap().size_bytes() / 1024;
    let peak_kb = status_kb("VmHWM") - before_kb;
    println!("{LINES} lines: a table of {table_kb} kB, {peak_kb} kB at most while reading");
    for path in [&made, Path::new("/proc/kallsyms")] {
        measure(path);
    }
}

fn measure(path: &Path) {
    let mut times: Vec<Duration> = (0..RUNS).map(|_| time(path)).collect();
    times.sort();
    let lines = fs::read(path).unwrap().iter().filter(|&&byte| byte == b'\n').count();
    let (path, median, worst) = (path.display(), times[RUNS / 2], times[RUNS - 1]);
    println!("{path}: {lines} lines in {median:.1?} (median), {worst:.1?} (worst of {RUNS})");
}

fn time(path: &Path) -> Duration {
    let begin = Instant::now();
    black_box(Kallsyms::read(path).unwrap());
    begin.elapsed()
}

/// Functions, data and modules in the shares of a distribution's kernel, names of 26 bytes in the
/// mean as there; the modules' in no order.
fn list() -> String {
    let mut text = String::new();
    for line in 0..LINES {
        let kind = if line % 4 == 0 { 'd' } else { 't' };
        let tail = "x".repeat(usize::try_from(line * 7 % 28).unwrap());
        let module = line >= LINES / 2;
        let addr = match module {
            false => 0xffff_ffff_8100_0000 + line * 0x60,
            true => 0xffff_ffff_c000_0000 + (line * 7919 % LINES) * 0x60,
        };
        write!(text, "{addr:016x} {kind} function_{line:06}{tail}").unwrap();
        if module {
            write!(text, "\t[module_{}]", line / 500).unwrap();
        }
        text.push('\n');
    }
    text
}

fn status_kb(field: &str) -> usize {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with(field)).unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}
