//! Texts that a trace has once and names by numbers from there on.

use super::proto::{InternedData, InternedName};
use crate::event::StackId;
use foldhash::fast::RandomState;
use std::collections::HashMap;

/// Texts known at once; with more all are told anew.
const MAX_TEXTS: usize = 1 << 16;

/// Every text that was told, by what it is for.
#[derive(Debug, Default)]
pub(super) struct Interned {
    categories: Texts,
    event_names: Texts,
    argument_names: Texts,
    values: Texts,
    stacks: HashMap<StackId, u64, RandomState>,
    /// What is not told yet.
    fresh: InternedData,
}

#[derive(Debug, Default)]
struct Texts {
    numbers: HashMap<String, u64, RandomState>,
}

impl Texts {
    fn number(&mut self, text: &str, fresh: &mut Vec<InternedName>) -> u64 {
        if let Some(&known) = self.numbers.get(text) {
            return known;
        }
        // 0 stands for none.
        let number = self.numbers.len() as u64 + 1;
        self.numbers.insert(text.to_owned(), number);
        fresh.push(InternedName { iid: Some(number), name: Some(text.to_owned()) });
        number
    }
}

impl Interned {
    pub(super) fn category(&mut self, text: &str) -> u64 {
        self.categories.number(text, &mut self.fresh.event_categories)
    }

    pub(super) fn event_name(&mut self, text: &str) -> u64 {
        self.event_names.number(text, &mut self.fresh.event_names)
    }

    pub(super) fn argument_name(&mut self, text: &str) -> u64 {
        self.argument_names.number(text, &mut self.fresh.debug_annotation_names)
    }

    pub(super) fn value(&mut self, text: &str) -> u64 {
        self.values.number(text, &mut self.fresh.debug_annotation_string_values)
    }

    /// A stack's text, which is made only if it is not known.
    pub(super) fn stack(&mut self, stack: StackId, text: impl FnOnce() -> String) -> u64 {
        if let Some(&known) = self.stacks.get(&stack) {
            return known;
        }
        let number = self.value(&text());
        self.stacks.insert(stack, number);
        number
    }

    /// What has to stand in the packet that first uses it.
    pub(super) fn take_fresh(&mut self) -> Option<InternedData> {
        let fresh = std::mem::take(&mut self.fresh);
        (fresh != InternedData::default()).then_some(fresh)
    }

    pub(super) fn is_full(&self) -> bool {
        let texts = [&self.categories, &self.event_names, &self.argument_names, &self.values];
        texts.iter().map(|texts| texts.numbers.len()).sum::<usize>() >= MAX_TEXTS
    }
}
