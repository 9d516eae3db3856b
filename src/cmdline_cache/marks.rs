//! What was told of a task at an instant, and what follows for the instants around it.

use super::Certainty;
use super::losses::Losses;
use crate::event::{Stamp, TextId, Tid};

/// Something known of a task at an instant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fact {
    /// What it is; none where it was never learned.
    pub text: Option<TextId>,
    /// How far it is to be trusted.
    pub certainty: Certainty,
}

impl Fact {
    /// What is certain, if it is kept.
    pub(super) fn known(text: Option<TextId>) -> Fact {
        let certainty = text.map_or(Certainty::Unknown, |_| Certainty::Known);
        Fact { text, certainty }
    }
}

/// A [`Fact`], and whether /proc can still tell more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Found {
    pub(super) fact: Fact,
    /// Nothing changed since, as far as is known: what /proc says now held then.
    pub(super) askable: bool,
}

/// An instant at which something was told: it holds from here on.
#[derive(Debug, Clone, Copy)]
pub(super) struct Mark {
    pub(super) at: Stamp,
    pub(super) source: Source,
    pub(super) text: Option<TextId>,
    /// False: it is only what is likely.
    pub(super) sure: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Source {
    /// It is what another task had at that instant.
    Inherited { from: Tid, how: Inherits },
    /// An event.
    Event,
    /// /proc, at the instant or somewhat later.
    Proc,
}

/// How a child takes what its parent has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Inherits {
    /// It has the same.
    Same,
    /// It has the same unless /proc says otherwise.
    Likely,
}

/// What holds between two marks.
pub(super) fn judge(
    before: Option<Mark>,
    behind: Option<Mark>,
    at: Stamp,
    losses: &Losses,
) -> Found {
    let told = before.filter(|mark| mark.text.is_some());
    let lost = before.is_some_and(|mark| losses.between(mark.at, at));
    let found = |text: Option<TextId>, sure: bool| {
        let certainty = match (text, sure) {
            (None, _) => Certainty::Unknown,
            (_, true) => Certainty::Known,
            (_, false) => Certainty::Unconfirmed,
        };
        Found { fact: Fact { text, certainty }, askable: false }
    };
    if let Some(told) = told.filter(|told| told.sure && !lost) {
        return found(told.text, true);
    }
    // /proc was read when this still held.
    let read = behind.filter(|mark| mark.source == Source::Proc && !losses.between(at, mark.at));
    if let Some(read) = read.filter(|read| read.text.is_some()) {
        return found(read.text, read.sure);
    }
    let is_last = behind.is_none() && !lost;
    let given_up = before.is_some_and(|mark| mark.source == Source::Proc);
    let told = told.or(behind.filter(|mark| mark.source == Source::Proc));
    Found { askable: is_last && !given_up, ..found(told.and_then(|told| told.text), false) }
}
