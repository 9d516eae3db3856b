//! What a fuzzer once found goes through the same functions again: see `docs/fuzzing.md`.

#![allow(clippy::unwrap_used, reason = "a test may stop at whatever is not as it should be")]

mod fuzzing;

use std::fs;
use std::path::{Path, PathBuf};

/// The inputs kept for a target: `tests/data/fuzz/TARGET/`.
fn inputs(target: &str) -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/fuzz").join(target);
    let mut inputs: Vec<_> =
        fs::read_dir(folder).into_iter().flatten().map(|entry| entry.unwrap().path()).collect();
    inputs.sort();
    inputs
}

#[test]
fn what_was_found_once_does_no_harm_any_more() {
    for (name, target) in fuzzing::TARGETS {
        for path in inputs(name) {
            println!("{}", path.display());
            target(&fs::read(&path).unwrap());
        }
        // What every target has to bear.
        [&b""[..], b"\0", b"\xff\xff\xff\xff", &[0; 4096]].into_iter().for_each(target);
    }
}

#[test]
fn every_folder_of_inputs_has_its_target() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/fuzz");
    let names = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name());
    for name in names {
        let name = name.into_string().unwrap();
        assert!(fuzzing::TARGETS.iter().any(|(known, _)| *known == name), "{name}");
    }
}
