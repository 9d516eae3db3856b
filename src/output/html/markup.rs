//! Text in a page.

use std::fmt::{self, Display, Write};

use crate::output::escape::message;

/// A text as the content of an element, or within double quotes as that of an attribute. It may have lines;
/// whatever else cannot be seen, or would turn the writing direction, is shown as on a terminal.
pub(super) struct Text<T>(pub(super) T);

impl<T: Display> Display for Text<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(Escaping(f), "{}", self.0)
    }
}

struct Escaping<'a, 'f>(&'a mut fmt::Formatter<'f>);

impl Write for Escaping<'_, '_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        for (place, line) in text.split('\n').enumerate() {
            if place > 0 {
                self.0.write_str("\n")?;
            }
            write_line(self.0, &message(line))?;
        }
        Ok(())
    }
}

fn write_line(out: &mut fmt::Formatter<'_>, line: &str) -> fmt::Result {
    let mut plain = 0;
    for (place, character) in line.match_indices(['&', '<', '>', '"', '\'']) {
        out.write_str(line.get(plain..place).unwrap_or_default())?;
        out.write_str(match character {
            "&" => "&amp;",
            "<" => "&lt;",
            ">" => "&gt;",
            "\"" => "&quot;",
            _ => "&#39;",
        })?;
        plain = place + 1;
    }
    out.write_str(line.get(plain..).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::Text;

    #[test]
    fn text_ends_neither_an_element_nor_an_attribute() {
        let table = [
            ("plain über 日本", "plain über 日本"),
            ("<b>&amp;\"'", "&lt;b&gt;&amp;amp;&quot;&#39;"),
            ("x</script>", "x&lt;/script&gt;"),
            ("\x1b[2J\n\u{202e}", "\\x1b[2J\n\\u{202e}"),
            ("", ""),
        ];
        for (text, expected) in table {
            assert_eq!(Text(text).to_string(), expected);
        }
    }
}
