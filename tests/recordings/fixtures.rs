//! Where recordings lie, and how to read them.

use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};

/// The recordings that came with the sources.
pub(crate) fn own() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data")
}

/// Further recordings, which are too many or not ours to keep: the folder `FTLOCK_FIXTURES`
/// names, or `shared/fixtures` beside the project's folder or one further up. Says so where
/// there is none.
pub(crate) fn shared(part: &str) -> Option<PathBuf> {
    let project = Path::new(env!("CARGO_MANIFEST_DIR"));
    let named = std::env::var_os("FTLOCK_FIXTURES").map(PathBuf::from);
    let beside = ["../shared/fixtures", "../../shared/fixtures"].map(|path| project.join(path));
    let found = named.into_iter().chain(beside).map(|root| root.join(part)).find(|p| p.is_dir());
    if found.is_none() {
        println!("skipped: no fixtures/{part} here");
    }
    found
}

/// A file's bytes, be it stored as it is, with `.zst` or with `.gz`.
pub(crate) fn read_any(path: &Path) -> Option<Vec<u8>> {
    let with = |suffix: &str| fs::read(format!("{}{suffix}", path.display())).ok();
    let mut bytes = Vec::new();
    if let Some(plain) = with("") {
        return Some(plain);
    } else if let Some(packed) = with(".zst") {
        ruzstd::decoding::StreamingDecoder::new(packed.as_slice())
            .unwrap()
            .read_to_end(&mut bytes)
            .unwrap();
    } else {
        flate2::read::GzDecoder::new(with(".gz")?.as_slice()).read_to_end(&mut bytes).unwrap();
    }
    Some(bytes)
}

/// A file that must be there.
pub(crate) fn read(path: &Path) -> Vec<u8> {
    read_any(path).unwrap_or_else(|| panic!("no {}", path.display()))
}

/// A text file that must be there.
pub(crate) fn text(path: &Path) -> String {
    String::from_utf8(read(path)).unwrap()
}

/// A JSON file that must be there.
pub(crate) fn json(path: &Path) -> serde_json::Value {
    serde_json::from_slice(&read(path)).unwrap()
}

/// What is in a folder, in the order of names.
pub(crate) fn entries(folder: &Path) -> Vec<PathBuf> {
    let mut entries: Vec<_> =
        fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    entries.sort();
    entries
}

/// All files below a folder.
pub(crate) fn files(folder: &Path) -> Vec<PathBuf> {
    let below = |path: PathBuf| if path.is_dir() { files(&path) } else { vec![path] };
    entries(folder).into_iter().flat_map(below).collect()
}

/// A path's last part.
pub(crate) fn name(path: &Path) -> &str {
    path.file_name().unwrap().to_str().unwrap()
}

/// A counter of `per_cpu/cpuN/stats`.
pub(crate) fn stat(text: &str, key: &str) -> u64 {
    let line = text.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(": ")).unwrap();
    line.trim().parse().unwrap()
}
