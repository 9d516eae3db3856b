//! What is stored beside the rings: the kernel's own texts.

/// A version of the format.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Version {
    /// One header in a fixed order, then the rings.
    V6,
    /// Sections in any order, which options point to; may be compressed.
    V7,
}

/// An event's format.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EventText {
    /// Its system.
    pub system: String,
    /// The text of its `format` file.
    pub text: String,
}

/// Texts of the traced kernel.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Texts {
    /// `events/header_page`.
    pub header_page: String,
    /// `events/header_event`.
    pub header_event: String,
    /// The formats of the system `ftrace`.
    pub ftrace_formats: Vec<String>,
    /// The formats of all other systems, those of one system side by side.
    pub event_formats: Vec<EventText>,
    /// `/proc/kallsyms`.
    pub kallsyms: Vec<u8>,
    /// `printk_formats`.
    pub printk_formats: Vec<u8>,
    /// `saved_cmdlines`: a line for each thread, its id, a blank, its name.
    pub saved_cmdlines: Vec<u8>,
}

impl Texts {
    /// Every format, those of the system `ftrace` first.
    pub fn formats(&self) -> impl Iterator<Item = &str> {
        let ftrace = self.ftrace_formats.iter().map(String::as_str);
        ftrace.chain(self.event_formats.iter().map(|event| event.text.as_str()))
    }

    /// The names of threads as last known when the file was written.
    pub fn saved_names(&self) -> SavedNames<'_> {
        let list = self.saved_cmdlines.split(|&byte| byte == 0).next();
        SavedNames { rest: list.unwrap_or_default(), unread_lines: 0 }
    }
}

/// Thread ids and names. See [`Texts::saved_names`].
#[derive(Debug, Clone)]
pub struct SavedNames<'a> {
    rest: &'a [u8],
    unread_lines: u64,
}

impl SavedNames<'_> {
    /// Lines so far that were no id and name: a name with a line end gives one.
    pub fn unread_lines(&self) -> u64 {
        self.unread_lines
    }
}

impl<'a> Iterator for SavedNames<'a> {
    /// A thread's id and its name, which need not be UTF-8.
    type Item = (u32, &'a [u8]);

    fn next(&mut self) -> Option<Self::Item> {
        while !self.rest.is_empty() {
            let mut parts = self.rest.splitn(2, |&byte| byte == b'\n');
            let line = parts.next()?;
            self.rest = parts.next().unwrap_or_default();
            match split(line) {
                Some(found) => return Some(found),
                None => self.unread_lines += u64::from(!line.is_empty()),
            }
        }
        None
    }
}

fn split(line: &[u8]) -> Option<(u32, &[u8])> {
    let digits = line.iter().position(|&byte| byte == b' ')?;
    let (tid, name) = line.split_at_checked(digits)?;
    Some((std::str::from_utf8(tid).ok()?.parse().ok()?, name.get(1..)?))
}

#[cfg(test)]
mod tests {
    use super::Texts;

    #[test]
    fn names_end_at_the_line_and_the_list_at_a_nul() {
        let list = b"1 init\n12 a b  c\nbroken\n7 \xff\n\n8 \n9 x\0\0\n10 y\n".to_vec();
        let texts = Texts { saved_cmdlines: list, ..Texts::default() };
        let mut names = texts.saved_names();
        let found: Vec<_> = names.by_ref().collect();
        let expected: [(u32, &[u8]); 5] =
            [(1, b"init"), (12, b"a b  c"), (7, b"\xff"), (8, b""), (9, b"x")];
        assert_eq!(found, expected);
        assert_eq!(names.unread_lines(), 1);
        assert_eq!(Texts::default().saved_names().count(), 0);
    }
}
