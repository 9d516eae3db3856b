//! Names that do harm to whoever takes them for something else than text, and whether they did.

/// Names that tasks gave themselves.
pub(crate) const NAMES: [&[u8]; 12] = [
    b"\x1b[2J\x1b]0;x\x07",
    b"x\r\ny\ttab",
    b"q\"'`,;hst=\"",
    b"</b><hst>&hst;",
    b"\xff\xc3(\xe2\x80",
    "\u{202e}txt.exe".as_bytes(),
    b"=cmd|' /C'!A0",
    b"a;b c 12",
    b"\xc2\x9b31mC1",
    b"%s%n{}$(x)",
    b"\\x1b\\n",
    "\u{2028}\u{fffe}x".as_bytes(),
];

/// Whatever is printed, somebody's terminal may show it, or a page.
#[track_caller]
pub(crate) fn is_clean(what: &str, printed: &[u8]) {
    let text = str::from_utf8(printed).unwrap_or_else(|error| panic!("{what}: {error}"));
    let hidden = |c: char| {
        c.is_control() && c != '\n'
            || matches!(c, '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
    };
    let found = text.char_indices().find(|(_, c)| hidden(*c));
    let around = found.map(|(at, _)| text.get(at.saturating_sub(40)..at + 40));
    assert_eq!(found, None, "{what}: {around:?}");
}

/// Whatever is a page, or a picture in one.
#[track_caller]
pub(crate) fn is_clean_markup(what: &str, printed: &[u8]) {
    is_clean(what, printed);
    let text = str::from_utf8(printed).unwrap();
    for part in ["<hst", "&hst;", "\"hst", "hst=\"", "hst='", "</title><hst"] {
        assert!(!text.contains(part), "{what}: {part}");
    }
    assert!(text.contains("&lt;hst") || text.contains("&lt;/b&gt;"), "{what}: not there at all");
}
