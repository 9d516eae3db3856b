//! Bytes that are nearly always text, as JSON strings that give the same bytes again.

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

/// Bytes; in JSON a string, where `\xNN` stands for a byte that is not UTF-8 and for a backslash.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ByteText(pub(super) Vec<u8>);

impl Serialize for ByteText {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut text = String::new();
        for chunk in self.0.utf8_chunks() {
            text.push_str(&chunk.valid().replace('\\', "\\x5c"));
            chunk.invalid().iter().for_each(|byte| text.push_str(&format!("\\x{byte:02x}")));
        }
        serializer.serialize_str(&text)
    }
}

impl<'de> Deserialize<'de> for ByteText {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<ByteText, D::Error> {
        let text = String::deserialize(deserializer)?;
        let bytes = bytes(&text).ok_or_else(|| de::Error::custom("a backslash without xNN"))?;
        Ok(ByteText(bytes))
    }
}

fn bytes(text: &str) -> Option<Vec<u8>> {
    let mut parts = text.split('\\');
    let mut bytes = parts.next()?.as_bytes().to_vec();
    for part in parts {
        let hex = part.strip_prefix('x')?;
        let (hex, rest) = hex.split_at_checked(2)?;
        bytes.push(u8::from_str_radix(hex, 16).ok()?);
        bytes.extend(rest.as_bytes());
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::ByteText;

    #[test]
    fn bytes_come_back_as_they_were() {
        let table: [(&[u8], &str); 5] = [
            (b"make -j8", r#""make -j8""#),
            (b"a\\b\"\n", r#""a\\x5cb\"\n""#),
            (b"\xff\xc3\xa4\xc3", "\"\\\\xff\u{e4}\\\\xc3\""),
            (b"\\xff", r#""\\x5cxff""#),
            (b"\0", r#""\u0000""#),
        ];
        for (bytes, json) in table {
            let text = ByteText(bytes.to_vec());
            assert_eq!(serde_json::to_string(&text).unwrap(), json);
            assert_eq!(serde_json::from_str::<ByteText>(json).unwrap(), text);
        }
        for wrong in [r#""\\""#, r#""\\x1""#, r#""\\xg0""#, r#""\\y00""#] {
            assert!(serde_json::from_str::<ByteText>(wrong).is_err(), "{wrong}");
        }
    }
}
