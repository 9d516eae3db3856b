//! Conditions on texts that tasks have: a cgroup's path, a command line.

use std::path::PathBuf;
use std::sync::Arc;

use regex::bytes::Regex as BytesRegex;

use crate::cmdline_cache::is_within;
use crate::event::{TextId, Texts};

use super::filters::Answers;

/// What a text must be.
#[derive(Debug)]
pub enum TextCondition {
    /// It matches.
    Matches(BytesRegex),
    /// As a cgroup's path it is one of these, or lies below one.
    IsWithin(Vec<PathBuf>),
}

/// A condition whose answers are remembered.
#[derive(Debug)]
pub struct TextFilter {
    condition: TextCondition,
    texts: Arc<Texts>,
    answers: Answers<TextId>,
}

impl TextFilter {
    /// A condition on texts of this set.
    pub fn new(condition: TextCondition, texts: Arc<Texts>) -> TextFilter {
        TextFilter { condition, texts, answers: Answers::default() }
    }

    /// Whether the text meets the condition; where it is not known, whether `instead` does.
    pub(super) fn pass(&self, text: Option<TextId>, instead: Option<&[u8]>) -> bool {
        let known = text.and_then(|id| {
            self.answers.get_or(id, || self.texts.get(id).map(|text| self.condition.holds(&text)))
        });
        known.unwrap_or_else(|| instead.is_some_and(|instead| self.condition.holds(instead)))
    }
}

impl TextCondition {
    fn holds(&self, text: &[u8]) -> bool {
        match self {
            TextCondition::Matches(regex) => regex.is_match(text),
            TextCondition::IsWithin(cgroups) => {
                cgroups.iter().any(|cgroup| is_within(text, cgroup))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use regex::bytes::Regex as BytesRegex;

    use super::{TextCondition, TextFilter};
    use crate::event::Texts;

    #[test]
    fn a_text_is_asked_and_where_there_is_none_what_stands_in_for_it() {
        let texts = Arc::new(Texts::new(1 << 10));
        let [sleep, cat] = [b"sleep 100", b"cat \xff foo"].map(|t| texts.intern(t).unwrap());
        let regex = BytesRegex::new("^sleep [0-9]+$").unwrap();
        let filter = TextFilter::new(TextCondition::Matches(regex), Arc::clone(&texts));
        // Asked twice: the second answer comes from memory.
        for _ in 0..2 {
            assert!(filter.pass(Some(sleep), None));
            assert!(!filter.pass(Some(cat), Some(b"sleep 1")));
            assert!(filter.pass(None, Some(b"sleep 1")) && !filter.pass(None, Some(b"sleep")));
        }
        let cgroups = TextCondition::IsWithin(vec!["/a".into(), "/b/c".into()]);
        let filter = TextFilter::new(cgroups, Arc::clone(&texts));
        for (path, within) in [("/a/x", true), ("/b/c", true), ("/b", false), ("/ab", false)] {
            assert_eq!(filter.pass(texts.intern(path.as_bytes()), None), within, "{path}");
        }
        assert!(!filter.pass(None, None));
    }
}
