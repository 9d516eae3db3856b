//! Names from the kernel, made fit for where they go.
//!
//! A task may call itself anything. All functions are injective: two different names never
//! give the same text. A name that needs no escape and has no text that looks like one is
//! given as it is; in any other, every backslash is doubled.

use std::borrow::Cow;
use std::fmt::Write;

/// A name that moves no cursor, breaks no line, turns no writing direction and hides nothing.
///
/// Control characters (C0, DEL, C1), line and paragraph separators, bidirectional controls
/// and characters without a width become `\n`, `\t`, `\xNN` or `\u{NN}`; bytes that are not UTF-8 become `\xNN`.
pub fn terminal(name: &[u8]) -> Cow<'_, str> {
    escape(name, |_, c| is_hidden(c), looks_escaped)
}

/// A message to the user, whatever went into it: what moves a cursor, breaks a line or turns the writing
/// direction is shown as [`terminal`] shows it, and nothing else is touched. Names that may be mistaken for
/// one another have to be escaped before.
pub fn message(text: &str) -> Cow<'_, str> {
    if !text.contains(is_hidden) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::new();
    for c in text.chars() {
        match is_hidden(c) {
            true => push_escape(&mut shown, c),
            false => shown.push(c),
        }
    }
    Cow::Owned(shown)
}

/// A name as a cell of CSV: as on a terminal, where CSV may end up, and further
///
/// * without a character of `separator`: such CSV has no quotes;
/// * not beginning with `=`, `+`, `-` or `@`, which a spreadsheet would calculate;
/// * never empty: that is left for what is not known, and an empty name is `\x00`.
pub fn cell<'a>(name: &'a [u8], separator: &str) -> Cow<'a, str> {
    let is_formula = |place, c| place == 0 && matches!(c, '=' | '+' | '-' | '@');
    match name {
        [] => Cow::Borrowed("\\x00"),
        name => escape(
            name,
            |place, c| is_hidden(c) || separator.contains(c) || is_formula(place, c),
            looks_escaped,
        ),
    }
}

/// A name as a frame of a folded stack, which ends at a semicolon and, if it is the last one, at the
/// blank before the weight. So these blanks are escaped: a first and a last one, and one with nothing but
/// digits behind it, which would be read as a weight too. Whatever XML cannot hold is escaped as well. Never
/// empty: an empty name is `\x00`.
pub fn frame(name: &[u8]) -> Cow<'_, str> {
    let is_blank_to_keep = |place: usize| {
        let behind = name.get(place + 1..).unwrap_or_default();
        place > 0 && behind.iter().any(|byte| !byte.is_ascii_digit() && !b". ".contains(byte))
    };
    match name {
        [] => Cow::Borrowed("\\x00"),
        name => escape(
            name,
            |place, c| match c {
                ' ' => !is_blank_to_keep(place),
                ';' | '\u{fffe}' | '\u{ffff}' => true,
                c => is_hidden(c),
            },
            looks_escaped,
        ),
    }
}

/// A name as a JSON string's content (the JSON writer escapes control characters itself).
///
/// Bytes that are not UTF-8 become `\xNN`.
pub fn json_name(name: &[u8]) -> Cow<'_, str> {
    escape(name, |_, _| false, has_byte_escape)
}

/// The name that [`json_name`] made such a text of.
pub fn of_json_name(text: &str) -> Vec<u8> {
    if !has_byte_escape(text) {
        return text.as_bytes().to_vec();
    }
    let mut name = Vec::new();
    let mut rest = text.as_bytes();
    while let [first, behind @ ..] = rest {
        let byte = match behind {
            [b'x', digits @ ..] if *first == b'\\' => digits
                .split_at_checked(2)
                .and_then(|(digits, rest)| Some((str::from_utf8(digits).ok()?, rest)))
                .and_then(|(digits, rest)| Some((u8::from_str_radix(digits, 16).ok()?, rest))),
            [b'\\', rest @ ..] if *first == b'\\' => Some((b'\\', rest)),
            _ => None,
        };
        let (byte, left) = byte.unwrap_or((*first, behind));
        name.push(byte);
        rest = left;
    }
    name
}

/// `needs_escape` is asked for each character and its place, in bytes. `looks_escaped` must find
/// every text that is written for a character it tells and for a byte that is not UTF-8: that
/// keeps the function injective.
fn escape(
    name: &[u8],
    needs_escape: impl Fn(usize, char) -> bool,
    looks_escaped: fn(&str) -> bool,
) -> Cow<'_, str> {
    if let Ok(text) = str::from_utf8(name)
        && !text.char_indices().any(|(place, c)| needs_escape(place, c))
        && !looks_escaped(text)
    {
        return Cow::Borrowed(text);
    }
    let mut escaped = String::new();
    let mut start = 0;
    for chunk in name.utf8_chunks() {
        for (place, c) in chunk.valid().char_indices() {
            match c {
                '\\' => escaped.push_str("\\\\"),
                c if needs_escape(start + place, c) => push_escape(&mut escaped, c),
                c => escaped.push(c),
            }
        }
        for byte in chunk.invalid() {
            push_byte(&mut escaped, *byte);
        }
        start += chunk.valid().len() + chunk.invalid().len();
    }
    Cow::Owned(escaped)
}

/// Whether a text has what is written for a hidden character or a byte.
fn looks_escaped(text: &str) -> bool {
    has_byte_escape(text) || ["\\u{", "\\n", "\\t"].iter().any(|escape| text.contains(escape))
}

/// `\xNN` with any two hexadecimal digits.
fn has_byte_escape(text: &str) -> bool {
    text.as_bytes().windows(4).any(|window| {
        matches!(window, [b'\\', b'x', high, low] if high.is_ascii_hexdigit() && low.is_ascii_hexdigit())
    })
}

/// Control characters and those that are seen as nothing: of Unicode's format characters all that can
/// stand alone, and separators of lines.
pub(super) fn is_hidden(c: char) -> bool {
    c.is_control()
        || matches!(
            c,
            '\u{ad}'
                | '\u{61c}'
                | '\u{180e}'
                | '\u{200b}'..='\u{200f}'
                | '\u{2028}'..='\u{202e}'
                | '\u{2060}'..='\u{206f}'
                | '\u{feff}'
                | '\u{fff9}'..='\u{fffb}'
                | '\u{e0000}'..='\u{e0fff}'
        )
}

fn push_escape(text: &mut String, c: char) {
    match c {
        '\n' => text.push_str("\\n"),
        '\t' => text.push_str("\\t"),
        _ => match u8::try_from(c) {
            Ok(byte) if byte.is_ascii() => push_byte(text, byte),
            _ => text.extend(c.escape_unicode()),
        },
    }
}

fn push_byte(text: &mut String, byte: u8) {
    // Writing to a string cannot fail.
    let _ = write!(text, "\\x{byte:02x}");
}

#[cfg(test)]
mod tests {
    use super::{cell, frame, json_name, message, terminal};
    use proptest::prelude::*;
    use std::borrow::Cow;

    #[test]
    fn names_become_harmless() {
        let table: [(&[u8], &str, &str); 14] = [
            (b"kworker/0:1-events", "kworker/0:1-events", "kworker/0:1-events"),
            ("über-日本".as_bytes(), "über-日本", "über-日本"),
            (b"q\"u\\o", "q\"u\\o", "q\"u\\o"),
            (b"x\ny\tz", "x\\ny\\tz", "x\ny\tz"),
            (b"\x01\x1b[2J\x7f", "\\x01\\x1b[2J\\x7f", "\x01\x1b[2J\x7f"),
            (b"a\xff", "a\\xff", "a\\xff"),
            (b"a\\xff", "a\\\\xff", "a\\\\xff"),
            (b"a\\xff\xff", "a\\\\xff\\xff", "a\\\\xff\\xff"),
            (b"back\\slash\xfe", "back\\\\slash\\xfe", "back\\\\slash\\xfe"),
            ("\u{85}\u{202e}".as_bytes(), "\\u{85}\\u{202e}", "\u{85}\u{202e}"),
            ("a\u{200b}b\u{feff}".as_bytes(), "a\\u{200b}b\\u{feff}", "a\u{200b}b\u{feff}"),
            (b"\\n", "\\\\n", "\\n"),
            (b"C:\\xampp.exe", "C:\\xampp.exe", "C:\\xampp.exe"),
            (b"", "", ""),
        ];
        for (name, on_terminal, in_json) in table {
            assert_eq!(terminal(name), on_terminal, "{}", name.escape_ascii());
            assert_eq!(json_name(name), in_json, "{}", name.escape_ascii());
        }
    }

    /// As the name, the separator, and the cell.
    #[test]
    fn cells_neither_end_early_nor_calculate() {
        let table: [(&[u8], &str, &str); 12] = [
            (b"kworker/0:1-events", ",", "kworker/0:1-events"),
            (b"a,b", ",", "a\\x2cb"),
            (b"a,b", "", "a,b"),
            (b"a\\x2cb", ",", "a\\\\x2cb"),
            (b"a\\,", ",", "a\\\\\\x2c"),
            (b"a|;b", "|;", "a\\x7c\\x3bb"),
            ("a\u{a6}b".as_bytes(), "\u{a6}", "a\\u{a6}b"),
            (b"=1+1", "", "\\x3d1+1"),
            (b"-sh", ";", "\\x2dsh"),
            (b"\xff=1", "", "\\xff=1"),
            (b"x\ny\x1b[2J", "", "x\\ny\\x1b[2J"),
            (b"", ",", "\\x00"),
        ];
        for (name, separator, expected) in table {
            assert_eq!(cell(name, separator), expected, "{}", name.escape_ascii());
        }
    }

    #[test]
    fn frames_end_where_they_should_and_can_stand_in_xml() {
        let table: [(&[u8], &str); 12] = [
            (b"kworker/0:1-events", "kworker/0:1-events"),
            (b"Web Content", "Web Content"),
            (b"nfs_lookup [nfs]", "nfs_lookup [nfs]"),
            (b"a;b", "a\\x3bb"),
            (b"a\\x3bb", "a\\\\x3bb"),
            (b"pool 12", "pool\\x2012"),
            (b"pool 1 2 x", "pool 1 2 x"),
            (b"pool 1 2", "pool\\x201\\x202"),
            (b" a ", "\\x20a\\x20"),
            (b"a\nb", "a\\nb"),
            ("\u{ffff}".as_bytes(), "\\u{ffff}"),
            (b"", "\\x00"),
        ];
        for (name, expected) in table {
            assert_eq!(frame(name), expected, "{}", name.escape_ascii());
        }
    }

    #[test]
    fn a_message_hides_nothing_and_names_that_were_escaped_stay_so() {
        for (text, shown) in [
            ("cannot open a\x1b[2J\n: no", "cannot open a\\x1b[2J\\n: no"),
            ("host \u{202e}x", "host \\u{202e}x"),
            ("still waiting: a\\x1b[2J\\\\", "still waiting: a\\x1b[2J\\\\"),
        ] {
            assert_eq!(message(text), shown);
        }
    }

    #[test]
    fn a_plain_name_is_not_copied() {
        assert!(matches!(terminal(b"hackbench"), Cow::Borrowed(_)));
        assert!(matches!(json_name(b"hackbench"), Cow::Borrowed(_)));
    }

    /// Names out of the few characters that could be confused.
    fn names() -> impl Strategy<Value = Vec<u8>> {
        let pieces: Vec<&[u8]> = vec![
            b"\\",
            b"x",
            b"u",
            b"{",
            b"n",
            b"f",
            b"0",
            b"}",
            b"\n",
            b"\x0f",
            b"\xff",
            b"\xc2\x85",
            b",",
            b"=",
            b";",
            b" ",
        ];
        prop::collection::vec(prop::sample::select(pieces), 0..6).prop_map(|p| p.concat())
    }

    proptest! {
        #[test]
        fn different_names_stay_different(names in prop::collection::hash_set(names(), 2..200)) {
            let distinct = |texts: Vec<Cow<'_, str>>| {
                texts.into_iter().collect::<std::collections::HashSet<_>>().len()
            };
            for escape in [terminal, json_name, frame] {
                prop_assert_eq!(distinct(names.iter().map(|n| escape(n)).collect()), names.len());
            }
            for separator in ["", ","] {
                let cells = names.iter().map(|n| cell(n, separator)).collect();
                prop_assert_eq!(distinct(cells), names.len());
            }
        }

        #[test]
        fn a_name_comes_back_out_of_json(name in names()) {
            prop_assert_eq!(super::of_json_name(&json_name(&name)), name);
        }

        #[test]
        fn nothing_hidden_reaches_a_terminal(name in prop::collection::vec(any::<u8>(), 0..32)) {
            prop_assert!(!terminal(&name).chars().any(super::is_hidden));
        }
    }
}
