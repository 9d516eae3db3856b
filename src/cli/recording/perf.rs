//! A perf.data: what it tells of itself, and the symbols of its kernel.

use std::fs::{self, File};
use std::path::Path;

use crate::perf_data::{Features, PerfData};
use crate::symbols::Kallsyms;

use super::super::saved_run::Start;
use super::{Recording, Source, Told, formats};

impl Recording {
    pub(super) fn of_perf(file: File, path: &Path) -> anyhow::Result<Recording> {
        let file = PerfData::open(file, path)?;
        let Features { host, release, cpus, command, clock_at, .. } = &file.features;
        let online = match file.cpus.len() {
            0 => cpus.and_then(|cpus| usize::try_from(cpus).ok()).unwrap_or(0),
            known => known,
        };
        let told = Told {
            clock: Some(file.clock().to_owned()),
            kernel: release.clone(),
            host: host.clone(),
            cpus: online,
            command: command.clone(),
            start: clock_at.map(|(at_ns, date_ns)| Start { at_ns, date_ns }),
        };
        let formats = formats(&file.texts);
        let source = Source::Perf(Box::new(file));
        Ok(Recording { saved: None, path: path.to_owned(), told, formats, source })
    }
}

/// perf leaves the list of symbols out; the kernel that runs now may still be the one that was recorded.
pub(super) fn symbols(file: &PerfData) -> Kallsyms {
    let own = Kallsyms::parse(&file.texts.kallsyms);
    if own.size_bytes() > 0 || !is_build_running(file.features.build_id.as_deref()) {
        return own;
    }
    let running = Kallsyms::read(Path::new("/proc/kallsyms")).ok();
    // Each boot may put the kernel elsewhere.
    let begin = |symbols: &Kallsyms| {
        let names = ["_text", "_stext"].iter();
        names.filter_map(|name| symbols.address_of(name)).collect::<Vec<_>>()
    };
    let is_there = |symbols: &Kallsyms| {
        file.kernel_begin.is_some_and(|address| begin(symbols).contains(&address))
    };
    running.filter(is_there).unwrap_or(own)
}

/// Whether the kernel that runs now is of that build.
fn is_build_running(build_id: Option<&[u8]>) -> bool {
    let notes = fs::read("/sys/kernel/notes").unwrap_or_default();
    build_id.is_some_and(|id| own_build_id(&notes) == Some(id))
}

/// The build id among the notes of an ELF file: lengths of name and contents, kind, name, contents, in
/// words of this machine.
fn own_build_id(notes: &[u8]) -> Option<&[u8]> {
    const BUILD_ID: u32 = 3;
    let word = |bytes: &[u8], offset: usize| {
        bytes.get(offset..)?.first_chunk().copied().map(u32::from_ne_bytes)
    };
    let mut rest = notes;
    loop {
        let (name_bytes, bytes, kind) = (word(rest, 0)?, word(rest, 4)?, word(rest, 8)?);
        let behind = rest.get(12..)?;
        let (name, behind) = behind.split_at_checked(name_bytes.next_multiple_of(4) as usize)?;
        let contents = behind.get(..bytes as usize)?;
        if kind == BUILD_ID && name.starts_with(b"GNU\0") {
            return Some(contents);
        }
        rest = behind.get(bytes.next_multiple_of(4) as usize..)?;
    }
}

#[cfg(test)]
mod tests {
    use super::own_build_id;

    #[test]
    fn the_build_id_is_found_among_other_notes() {
        let note = |kind: u32, name: &[u8], contents: &[u8]| {
            let sizes = [name.len(), contents.len()].map(|size| u32::try_from(size).unwrap());
            let padded = |bytes: &[u8]| {
                let mut bytes = bytes.to_vec();
                bytes.resize(bytes.len().next_multiple_of(4), 0);
                bytes
            };
            let head = [sizes[0], sizes[1], kind].map(u32::to_ne_bytes).concat();
            [head, padded(name), padded(contents)].concat()
        };
        let notes = [note(3, b"Xen\0", b"no"), note(5, b"GNU\0", b"n"), note(3, b"GNU\0", b"id!")];
        let notes = notes.concat();
        assert_eq!(own_build_id(&notes), Some(&b"id!"[..]));
        assert_eq!(own_build_id(&notes[..notes.len() - 4]), None);
        assert_eq!(own_build_id(b""), None);
    }
}
