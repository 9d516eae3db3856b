//! The texts of the running kernel that make its rings readable elsewhere.

use std::fs;

use super::super::texts::{EventText, Texts};
use crate::tracefs::{Error, Instance};

/// Where the kernel's symbols are.
const KALLSYMS: &str = "/proc/kallsyms";

/// What is to be stored beside an instance's rings: the formats of these events, given by system
/// and name, and everything else a reader may want.
///
/// Without symbols, printk formats and names the rings can be read all the same: what of them
/// cannot be had is empty.
///
/// # Errors
/// If `header_page` or a format cannot be read.
pub fn live_texts(instance: &Instance, events: &[(&str, &str)]) -> Result<Texts, Error> {
    let mut event_formats = Vec::new();
    for &(system, event) in events {
        let text = instance.event_format(system, event)?;
        event_formats.push(EventText { system: system.to_owned(), text });
    }
    event_formats.sort_by(|one, other| one.system.cmp(&other.system));
    // Names and printk formats are the top level's, which the instance lies two levels below.
    let folder = instance.path();
    let root = folder.ancestors().nth(2).unwrap_or(folder);
    Ok(Texts {
        header_page: instance.header_page()?,
        header_event: instance.header_event()?,
        ftrace_formats: ftrace_formats(instance)?,
        event_formats,
        kallsyms: fs::read(KALLSYMS).unwrap_or_default(),
        printk_formats: fs::read(root.join("printk_formats")).unwrap_or_default(),
        saved_cmdlines: fs::read(root.join("saved_cmdlines")).unwrap_or_default(),
    })
}

/// Those of the kernel's own records: stacks, marks.
fn ftrace_formats(instance: &Instance) -> Result<Vec<String>, Error> {
    let folder = instance.path().join("events/ftrace");
    let entries = fs::read_dir(&folder);
    let entries = entries.map_err(|source| Error::Io { action: "list", path: folder, source })?;
    let is_event = |entry: &fs::DirEntry| entry.path().join("format").exists();
    let names = entries.flatten().filter(is_event).map(|entry| entry.file_name());
    let mut names: Vec<_> = names.filter_map(|name| name.into_string().ok()).collect();
    names.sort();
    names.iter().map(|name| instance.event_format("ftrace", name)).collect()
}
