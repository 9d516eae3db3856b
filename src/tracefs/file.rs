//! Reading and writing tracefs's small text files.

use std::fs::{File, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::path::Path;

use super::error::Error;

/// More than any file that has to be read at once is long.
const FIRST_READ_BYTES: usize = 16 * 1024;

/// The file's text. Its size on the file system is 0 and means nothing.
pub(super) fn read(path: &Path) -> Result<String, Error> {
    let text = || {
        let mut file = File::open(path)?;
        // Not by `read_to_string`, which begins with a few bytes: `events/header_page` answers
        // the first read only (kernel/trace/trace_events.c `show_header`, 6.18).
        let mut bytes = vec![0; FIRST_READ_BYTES];
        let len = file.read(&mut bytes)?;
        bytes.truncate(len);
        file.read_to_end(&mut bytes)?;
        String::from_utf8(bytes).map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))
    };
    text().map_err(|source| Error::at("read", path, source))
}

/// The file's text without the white space around it.
pub(super) fn read_trimmed(path: &Path) -> Result<String, Error> {
    read(path).map(|text| text.trim().to_owned())
}

/// Writes the text in one piece, into a file that is there.
///
/// Never truncates: opening `trigger` or `set_event` with `O_TRUNC` removes what is set
/// (kernel/trace/trace_events_trigger.c, trace_events.c, 6.18).
pub(super) fn write(path: &Path, text: &str) -> Result<(), Error> {
    OpenOptions::new()
        .write(true)
        .open(path)
        .and_then(|mut file| file.write_all(text.as_bytes()))
        .map_err(|source| Error::at("write", path, source))
}
