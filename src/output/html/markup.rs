//! Text in a page.

use std::fmt::{self, Display, Write};

/// A text as the content of an element, or within double quotes as that of an attribute.
pub(super) struct Text<T>(pub(super) T);

impl<T: Display> Display for Text<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(Escaping(f), "{}", self.0)
    }
}

struct Escaping<'a, 'f>(&'a mut fmt::Formatter<'f>);

impl Write for Escaping<'_, '_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let mut plain = 0;
        for (place, character) in text.match_indices(['&', '<', '>', '"', '\'']) {
            self.0.write_str(text.get(plain..place).unwrap_or_default())?;
            self.0.write_str(match character {
                "&" => "&amp;",
                "<" => "&lt;",
                ">" => "&gt;",
                "\"" => "&quot;",
                _ => "&#39;",
            })?;
            plain = place + 1;
        }
        self.0.write_str(text.get(plain..).unwrap_or_default())
    }
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
            ("", ""),
        ];
        for (text, expected) in table {
            assert_eq!(Text(text).to_string(), expected);
        }
    }
}
