//! An event's `print fmt`: what the kernel's text of a record must be, as far as it follows from
//! the record's fields alone.

use ftlock::tracefs::Abi;
use ftlock::tracefs::EventFormat;
use ftlock::tracefs::Value;

#[derive(Debug)]
pub(crate) struct PrintFormat {
    parts: Vec<Part>,
}

#[derive(Debug)]
enum Part {
    Literal(String),
    /// `%03d` without the percent sign, and the expression it prints.
    Conversion(String, String),
}

/// Text with gaps: what stands between two of its parts is not known.
#[derive(Debug, Default)]
pub(crate) struct Expected {
    parts: Vec<Vec<u8>>,
}

impl PrintFormat {
    /// From the text of a format file.
    pub(crate) fn parse(text: &str) -> PrintFormat {
        let line = text.lines().find_map(|line| line.strip_prefix("print fmt: \"")).unwrap_or("");
        let (format, arguments) = line.split_once('"').unwrap_or((line, ""));
        let mut arguments = split_arguments(arguments).into_iter().skip(1);
        let mut parts = Vec::new();
        let mut rest = format;
        while let Some((literal, conversion)) = rest.split_once('%') {
            parts.push(Part::Literal(literal.to_owned()));
            let is_end = |c: char| c.is_ascii_alphabetic() && !matches!(c, 'l' | 'h');
            let end = conversion.find(is_end).map_or(conversion.len(), |at| at + 1);
            let (conversion, after) = conversion.split_at(end);
            // `%ps` and its like print something else than a number.
            let extension = conversion.ends_with('p') && after.starts_with(char::is_alphabetic);
            let (kind, after) =
                if extension { ("symbol", &after[1..]) } else { (conversion, after) };
            parts.push(Part::Conversion(kind.to_owned(), arguments.next().unwrap_or_default()));
            rest = after;
        }
        parts.push(Part::Literal(rest.to_owned()));
        PrintFormat { parts }
    }

    /// The text of a record. Addresses are known only where the kernel does not hash them.
    pub(crate) fn expect(
        &self,
        format: &EventFormat,
        payload: &[u8],
        abi: Abi,
        shows_addresses: bool,
    ) -> Expected {
        let mut expected = Expected { parts: vec![Vec::new()] };
        for part in &self.parts {
            let known = match part {
                Part::Literal(text) => Some(text.as_bytes().to_vec()),
                Part::Conversion(kind, argument) => {
                    field_name(argument).and_then(|name| format.field(name)).and_then(|field| {
                        let size = field.size_bytes as usize;
                        print(kind, &field.value(payload, abi), size, abi, shows_addresses)
                    })
                }
            };
            match (known, expected.parts.last_mut()) {
                (Some(known), Some(last)) => last.extend(known),
                _ => expected.parts.push(Vec::new()),
            }
        }
        expected
    }
}

impl Expected {
    /// `text` is this, whatever fills the gaps.
    pub(crate) fn fits(&self, text: &[u8]) -> bool {
        let [first, between @ .., last] = self.parts.as_slice() else {
            return self.parts.first().is_some_and(|only| only == text);
        };
        let inner = text.strip_prefix(first.as_slice());
        let Some(mut inner) = inner.and_then(|rest| rest.strip_suffix(last.as_slice())) else {
            return false;
        };
        between.iter().filter(|part| !part.is_empty()).all(|part| {
            let at = inner.windows(part.len()).position(|window| window == part);
            inner = at.map_or(&[], |at| &inner[at + part.len()..]);
            at.is_some()
        })
    }
}

/// At commas that stand in no brackets and no quotes.
fn split_arguments(text: &str) -> Vec<String> {
    let mut arguments = vec![String::new()];
    let (mut depth, mut quoted) = (0, false);
    for c in text.chars() {
        match c {
            '"' => quoted = !quoted,
            '(' | '{' if !quoted => depth += 1,
            ')' | '}' if !quoted => depth -= 1,
            _ => {}
        }
        match c {
            ',' if depth == 0 && !quoted => arguments.push(String::new()),
            _ => arguments.last_mut().unwrap().push(c),
        }
    }
    arguments
}

/// The field an expression prints as it is: `REC->name`, `__get_str(name)`, either with casts.
fn field_name(expression: &str) -> Option<&str> {
    let mut inner = expression.trim();
    if let Some(name) = inner.strip_prefix("__get_str(") {
        return name.strip_suffix(')');
    }
    while let Some((cast, rest)) = inner.strip_prefix('(').and_then(|rest| rest.split_once(')')) {
        if !cast.chars().all(|c| c.is_ascii_alphabetic() || c == ' ') {
            return None;
        }
        inner = rest.trim();
    }
    let name = inner.strip_prefix("REC->")?;
    name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_').then_some(name)
}

fn print(
    kind: &str,
    value: &Value<'_>,
    size: usize,
    abi: Abi,
    shows_addresses: bool,
) -> Option<Vec<u8>> {
    let mask = u64::MAX >> (64 - 8 * size.clamp(1, 8));
    let number = match (kind.trim_start_matches(|c: char| c.is_ascii_digit()), value) {
        ("s", Value::Text(text)) => return Some(text.to_vec()),
        ("p", Value::Address(address)) if shows_addresses => {
            return Some(format!("{address:0width$x}", width = 2 * abi.long_size_bytes).into());
        }
        ("d" | "ld" | "lld" | "hd", Value::Signed(number)) => number.to_string(),
        ("d" | "ld" | "lld" | "hd" | "u" | "lu" | "llu", Value::Unsigned(number)) => {
            number.to_string()
        }
        ("llu", Value::Signed(number)) => number.cast_unsigned().to_string(),
        ("x" | "lx" | "llx", Value::Unsigned(number)) => format!("{number:x}"),
        ("x" | "lx" | "llx", Value::Signed(number)) => {
            format!("{:x}", number.cast_unsigned() & mask)
        }
        _ => return None,
    };
    let digits: String = kind.chars().take_while(char::is_ascii_digit).collect();
    let width = digits.parse().unwrap_or(0);
    Some(format!("{number:0>width$}").into())
}
