//! Every format file of every kernel at hand.

use std::path::Path;

use ftlock::tracefs::EventFormat;
use ftlock::tracefs::SubbufLayout;
use ftlock::tracefs::Value;
use ftlock::tracefs::{Abi, Endian};

use crate::fixtures;

/// Format files and `header_page`s below a folder.
fn check(folder: &Path) -> (usize, usize) {
    let (mut formats, mut header_pages) = (0, 0);
    for path in fixtures::files(folder) {
        let name = fixtures::name(&path);
        if name == "format" || path.extension().is_some_and(|extension| extension == "format") {
            check_format(&path);
            formats += 1;
        } else if name.contains("header_page") {
            let layout = SubbufLayout::parse(&fixtures::text(&path)).unwrap();
            assert!(layout.size_bytes().is_power_of_two(), "{}", path.display());
            header_pages += 1;
        }
    }
    (formats, header_pages)
}

fn check_format(path: &Path) {
    let text = fixtures::text(path);
    let format = EventFormat::parse(&text).unwrap();
    let shown = path.display();
    let lines = text.lines().filter(|line| line.trim().starts_with("field:")).count();
    assert_eq!(format.common.len() + format.fields.len(), lines, "{shown}");
    assert!(text.contains(&format!("name: {}\n", format.name)), "{shown}");
    assert!(text.contains(&format!("ID: {}\n", format.id)), "{shown}");
    assert!(format.common.iter().all(|field| field.name.starts_with("common_")), "{shown}");
    assert!(format.fields.iter().all(|field| !field.name.starts_with("common_")), "{shown}");

    // What a print format shows as a string is text, or the address of one.
    let record = [0; 4096];
    let abi = Abi { endian: Endian::Little, long_size_bytes: 8 };
    for name in text.split("__get_str(").skip(1).filter_map(|rest| rest.split(')').next()) {
        let value = format.field(name).unwrap().value(&record, abi);
        assert_eq!(value, Value::Text(b""), "{shown}: {name}");
    }
    for field in format.fields.iter().filter(|field| field.name.ends_with("comm")) {
        assert_eq!(field.value(&record, abi), Value::Text(b""), "{shown}: {}", field.name);
    }
}

#[test]
fn every_own_format_file_is_understood() {
    assert_eq!(check(&fixtures::own()), FIGURES);
}

/// Counted with `find`.
const FIGURES: (usize, usize) = (515, 68);

#[test]
fn every_other_format_file_is_understood() {
    for part in ["kernels", "external", "traces"] {
        if let Some(folder) = fixtures::shared(part) {
            let (formats, header_pages) = check(&folder);
            println!("{part}: {formats} event formats, {header_pages} header_page");
            assert!(formats > 0 && header_pages > 0);
        }
    }
}
