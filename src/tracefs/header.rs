//! The layout of a sub-buffer, from the text of `events/header_page`.

#![deny(clippy::indexing_slicing, clippy::arithmetic_side_effects)]

use thiserror::Error;

use super::format::FieldLine;

/// Where a sub-buffer's parts lie.
///
/// Read from the *instance's* `events/header_page`: from 6.8 on, each instance has its own
/// sub-buffer size (`buffer_subbuf_size_kb`), which the top level's file does not show.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SubbufLayout {
    /// Where the word with the data's size and the loss flags stands.
    pub commit_offset: usize,
    /// How wide it is: 4 or 8, the size of the kernel's `long`.
    pub commit_size_bytes: usize,
    /// Where the records begin.
    pub data_offset: usize,
    /// How much room they have.
    pub data_size_bytes: usize,
}

/// What is wrong with a `header_page`.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum HeaderPageError {
    /// A line that should describe a field does not.
    #[error("header_page line {line}: not a field description: {text:?}")]
    BadField {
        /// The line's number, from 1.
        line: usize,
        /// The line.
        text: String,
    },
    /// A field that every kernel has is not there.
    #[error("header_page has no field \"{0}\"")]
    MissingField(&'static str),
    /// The numbers describe nothing a kernel could write.
    #[error("header_page describes an impossible sub-buffer: {0:?}")]
    Impossible(SubbufLayout),
}

impl SubbufLayout {
    /// From the text of `events/header_page`, with tabs or spaces, with or without `signed:`.
    ///
    /// # Errors
    /// If `commit` or `data` is missing or unreadable, if `commit` is not 4 or 8 bytes wide
    /// within the header, or if there is no room for data or more than a commit word can count.
    pub fn parse(text: &str) -> Result<SubbufLayout, HeaderPageError> {
        let mut commit = None;
        let mut data = None;
        for (text, line) in text.lines().zip(1..) {
            if text.trim().is_empty() {
                continue;
            }
            let field = FieldLine::parse(text)
                .ok_or_else(|| HeaderPageError::BadField { line, text: text.to_owned() })?;
            match field.name {
                "commit" => commit = Some(field),
                "data" => data = Some(field),
                _ => {}
            }
        }
        let commit = commit.ok_or(HeaderPageError::MissingField("commit"))?;
        let data = data.ok_or(HeaderPageError::MissingField("data"))?;
        let layout = SubbufLayout {
            commit_offset: commit.offset as usize,
            commit_size_bytes: commit.size_bytes as usize,
            data_offset: data.offset as usize,
            data_size_bytes: data.size_bytes as usize,
        };
        if layout.is_possible() { Ok(layout) } else { Err(HeaderPageError::Impossible(layout)) }
    }

    /// A sub-buffer's whole size: what one `read()` must ask for.
    pub fn size_bytes(&self) -> usize {
        self.data_offset.saturating_add(self.data_size_bytes)
    }

    fn is_possible(&self) -> bool {
        let header_end = self.commit_offset.saturating_add(self.commit_size_bytes);
        matches!(self.commit_size_bytes, 4 | 8)
            && self.commit_offset >= size_of::<u64>()
            && header_end <= self.data_offset
            && self.data_offset <= 4096
            && (1..=super::page::MAX_DATA_SIZE_BYTES).contains(&self.data_size_bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::{HeaderPageError, SubbufLayout};

    const WIDE: &str = "\tfield: u64 timestamp;\toffset:0;\tsize:8;\tsigned:0;\n\
        \tfield: local_t commit;\toffset:8;\tsize:8;\tsigned:1;\n\
        \tfield: int overwrite;\toffset:8;\tsize:1;\tsigned:1;\n\
        \tfield: char data;\toffset:16;\tsize:4080;\tsigned:0;\n";

    #[test]
    fn both_word_sizes_and_both_kinds_of_blanks_are_read() {
        let wide = SubbufLayout::parse(WIDE).unwrap();
        assert_eq!(
            wide,
            SubbufLayout {
                commit_offset: 8,
                commit_size_bytes: 8,
                data_offset: 16,
                data_size_bytes: 4080
            }
        );
        assert_eq!(wide.size_bytes(), 4096);
        assert_eq!(SubbufLayout::parse(&WIDE.replace('\t', "        ")), Ok(wide));
        let unsigned_missing = WIDE.replace("\tsigned:1;", "").replace("\tsigned:0;", "");
        assert_eq!(SubbufLayout::parse(&unsigned_missing), Ok(wide));

        let narrow = WIDE
            .replace("commit;\toffset:8;\tsize:8", "commit;\toffset:8;\tsize:4")
            .replace("offset:16;\tsize:4080", "offset:12;\tsize:65524");
        let narrow = SubbufLayout::parse(&narrow).unwrap();
        assert_eq!((narrow.commit_size_bytes, narrow.data_offset), (4, 12));
        assert_eq!(narrow.size_bytes(), 65_536);
    }

    #[test]
    fn each_fault_is_named() {
        let no_commit = WIDE.replace("commit", "committed");
        assert_eq!(SubbufLayout::parse(&no_commit), Err(HeaderPageError::MissingField("commit")));
        assert_eq!(SubbufLayout::parse(""), Err(HeaderPageError::MissingField("commit")));
        let bad_size = WIDE.replace("size:4080", "size:4k");
        assert_eq!(
            SubbufLayout::parse(&bad_size).unwrap_err().to_string(),
            "header_page line 4: not a field description: \
             \"\\tfield: char data;\\toffset:16;\\tsize:4k;\\tsigned:0;\""
        );
        for (from, to) in [
            ("size:4080", "size:0"),
            ("size:4080", "size:134217728"),
            ("offset:16;", "offset:12;"),
            ("offset:16;", "offset:4294967295;"),
            ("commit;\toffset:8;\tsize:8", "commit;\toffset:8;\tsize:2"),
            ("commit;\toffset:8;", "commit;\toffset:4;"),
        ] {
            let text = WIDE.replace(from, to);
            assert!(
                matches!(SubbufLayout::parse(&text), Err(HeaderPageError::Impossible(_))),
                "{to}"
            );
        }
    }
}
