//! JSON in which nothing is hidden: it may be looked at on a terminal too.
//!
//! JSON asks for escapes of the controls up to U+001F only. DEL, the controls from U+0080 on, of which a
//! terminal may obey some, and what turns the writing direction or has no width are escaped here as well:
//! whoever parses it gets the same text.

use crate::output::escape::is_hidden;
use serde::Serialize;
use serde_json::Serializer;
use serde_json::ser::Formatter;
use std::io::{self, Write};

/// Writes a value in one line, without its end.
pub(super) fn write(value: &impl Serialize, out: &mut dyn Write) -> io::Result<()> {
    value.serialize(&mut Serializer::with_formatter(out, Visible)).map_err(io::Error::from)
}

struct Visible;

impl Formatter for Visible {
    fn write_string_fragment<W: ?Sized + Write>(
        &mut self,
        out: &mut W,
        fragment: &str,
    ) -> io::Result<()> {
        if fragment.bytes().all(|byte| matches!(byte, b' '..=b'~')) {
            return out.write_all(fragment.as_bytes());
        }
        let mut plain = 0;
        for (place, c) in fragment.char_indices().filter(|(_, c)| is_hidden(*c)) {
            out.write_all(fragment.get(plain..place).unwrap_or_default().as_bytes())?;
            for unit in c.encode_utf16(&mut [0; 2]) {
                write!(out, "\\u{unit:04x}")?;
            }
            plain = place + c.len_utf8();
        }
        out.write_all(fragment.get(plain..).unwrap_or_default().as_bytes())
    }
}

#[cfg(test)]
mod tests {
    use super::write;

    #[test]
    fn what_is_hidden_is_escaped_and_reads_back_as_it_was() {
        let table = [
            ("plain", r#""plain""#),
            ("über 日本", r#""über 日本""#),
            ("a\u{9b}31m\u{7f}", r#""a\u009b31m\u007f""#),
            ("\u{202e}x\u{e0041}\n", r#""\u202ex\udb40\udc41\n""#),
            ("\u{1b}[2J", r#""\u001b[2J""#),
        ];
        for (text, expected) in table {
            let mut out = Vec::new();
            write(&text, &mut out).unwrap();
            assert_eq!(str::from_utf8(&out).unwrap(), expected);
            assert_eq!(serde_json::from_slice::<String>(&out).unwrap(), text);
        }
    }
}
