//! Files that `report` and `diff` are given: all of the way from the bytes to what is printed.

use std::fs::File;
use std::io::Write as _;
use std::os::fd::AsRawFd as _;

use ftlock::cli;
use ftlock::trace_file::TraceFile;
use ftlock::tracefs::walk;

use super::kernels::{self, Kernel, project};
use super::texts::memory;

#[path = "../recordings/trace_dat_build.rs"]
mod build;

/// How it may be shown. Inputs name them by their places: new ones go to the end.
const VIEWS: [&[&str]; 10] = [
    &["--format", "json", "--by", "task,lock"],
    &["--format", "table", "--sched", "--by", "owner"],
    &["--format", "html"],
    &["--format", "perfetto", "--sched"],
    &["--format", "folded"],
    &["--format", "flamegraph", "--by", "comm"],
    &["--format", "csv", "--sleep", "--by", "reason"],
    &["--raw", "--stream", "json"],
    &["--stream", "text", "--futex", "-v"],
    &["--format", "latency_stats", "-a"],
];

/// How it is shown, and a trace.dat.
pub(crate) fn trace_dat(input: &[u8]) {
    let [view, bytes @ ..] = input else { return };
    let file = filled(bytes);
    let path = path(&file);
    report(*view, &path);
    // Rings that no report chooses, or whose events nobody knows.
    let Ok(trace) = TraceFile::open(path.as_ref()) else { return };
    for buffer in &trace.buffers {
        let (layout, abi) = (trace.layout(buffer), trace.abi());
        for extent in &buffer.cpus {
            let mut ring = trace.cpu_data(buffer, extent);
            while let Ok(Some(piece)) = ring.next(65_536) {
                let pages = piece.chunks(layout.size_bytes());
                pages.for_each(|page| walk(page, &layout, abi, None).for_each(drop));
            }
        }
    }
}

/// How it is shown, the kernel, what ftlock says about its run up to a NUL, and pages of two CPUs.
pub(crate) fn saved_run(input: &[u8]) {
    let [view, kernel, rest @ ..] = input else { return };
    let mut parts = rest.splitn(2, |&byte| byte == 0);
    let said = parts.next().unwrap_or_default();
    let pages = parts.next().unwrap_or_default();
    let kernel = kernels::chosen_by(*kernel);
    let page_bytes = kernel.layout.size_bytes();
    let first = pages.len().div_ceil(page_bytes) / 2 * page_bytes;
    let rings = pages.split_at(first.min(pages.len()));
    report(*view, &path(&filled(&trace(kernel, said, &[rings.0, rings.1]))));
}

/// A file of version 6, around what was made up.
pub(crate) fn trace(kernel: &Kernel, said: &[u8], rings: &[&[u8]]) -> Vec<u8> {
    let page_bytes = u32::try_from(kernel.layout.size_bytes()).unwrap();
    let mut file = build::File::new(kernel.abi.endian, "6", page_bytes);
    (16..=21).for_each(|id| file.texts(id, &kernel.header_page, &kernel.formats));
    file.count(rings.len());
    file.bytes.extend(b"options  \0");
    file.option(0xf71c, |file| file.bytes.extend(said));
    file.u16(0);
    file.bytes.extend(b"flyrecord\0");
    let mut offset = file.offset() + 16 * rings.len() as u64;
    for ring in rings {
        file.u64(offset);
        file.u64(ring.len() as u64);
        offset += ring.len() as u64;
    }
    rings.iter().for_each(|ring| file.bytes.extend(*ring));
    file.bytes
}

/// A report in JSON, or anything else, against the bundled recording.
pub(crate) fn diff(input: &[u8]) {
    let [order, bytes @ ..] = input else { return };
    let file = filled(bytes);
    let (made_up, sound) = (path(&file), demo());
    let files = if order % 2 == 0 { [&made_up, &sound] } else { [&sound, &made_up] };
    let format = ["table", "csv", "json"][usize::from(order / 2) % 3];
    let words = ["ftlock", "diff", "-q", "--output", "/dev/null", "--format", format];
    cli::run_words(words.into_iter().chain(files.map(String::as_str)));
    cli::run_words(words.into_iter().chain([made_up.as_str(), made_up.as_str()]));
}

/// Runs `report` on a file, in one of the views.
fn report(view: u8, path: &str) {
    let view = VIEWS[usize::from(view) % VIEWS.len()];
    let words = ["ftlock", "report", "-q", "--output", "/dev/null"];
    cli::run_words(words.into_iter().chain(view.iter().copied()).chain([path]));
}

/// The bundled recording.
pub(crate) fn demo() -> String {
    project().join("assets/demo/trace.dat").into_os_string().into_string().unwrap()
}

fn filled(bytes: &[u8]) -> File {
    let mut file = memory("made up");
    file.write_all(bytes).unwrap();
    file
}

fn path(file: &File) -> String {
    format!("/proc/self/fd/{}", file.as_raw_fd())
}
