//! One incarnation of a thread id: from its birth to the next birth under the same number.

use smallvec::{SmallVec, smallvec};

use super::losses::Losses;
use super::{Certainty, TaskName};
use crate::event::{Comm, Stamp, Tid};

/// An instant at which something is known about a name: what it is from here on, and what it
/// was up to here.
#[derive(Debug, Clone, Copy)]
pub(super) struct Mark {
    pub(super) at: Stamp,
    pub(super) kind: Kind,
    /// `None` at a birth: what was before is another incarnation.
    pub(super) before: Option<Comm>,
    pub(super) after: Comm,
}

/// How a mark came to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Born,
    /// Born without a name of its own: it has its parent's, known as far as the parent's was.
    Heir(Certainty),
    Renamed,
    /// Named from here on, with no word of what was before.
    Named,
    /// A rename behind which two tasks had swapped their ids, somewhere since an instant: exec
    /// by a thread that is not the leader (fs/exec.c, `de_thread`).
    Exchanged {
        since: Stamp,
    },
    /// Read from /proc at the instant or somewhat later: the weakest word.
    Seeded {
        start_time: u64,
    },
}

impl Mark {
    pub(super) fn born(at: Stamp, comm: Comm) -> Mark {
        Mark { at, kind: Kind::Born, before: None, after: comm }
    }

    pub(super) fn heir(at: Stamp, comm: Comm, certainty: Certainty) -> Mark {
        Mark { at, kind: Kind::Heir(certainty), before: None, after: comm }
    }

    pub(super) fn named(at: Stamp, comm: Comm) -> Mark {
        Mark { at, kind: Kind::Named, before: None, after: comm }
    }

    pub(super) fn renamed(at: Stamp, old: Comm, new: Comm) -> Mark {
        Mark { at, kind: Kind::Renamed, before: Some(old), after: new }
    }

    pub(super) fn seeded(at: Stamp, comm: Comm, start_time: u64) -> Mark {
        Mark { at, kind: Kind::Seeded { start_time }, before: Some(comm), after: comm }
    }

    /// How far `after` is to be trusted where nothing is missing.
    fn certainty(&self) -> Certainty {
        match self.kind {
            Kind::Heir(certainty) => certainty,
            _ => Certainty::Known,
        }
    }

    fn is_seed(&self) -> bool {
        matches!(self.kind, Kind::Seeded { .. })
    }

    /// Whether `after` holds at an instant. The kernel raises a rename before it renames, so at
    /// the rename's own stamp the old name still stands.
    fn reaches(&self, at: Stamp) -> bool {
        match self.kind {
            Kind::Born | Kind::Heir(_) | Kind::Named | Kind::Seeded { .. } => self.at <= at,
            Kind::Renamed | Kind::Exchanged { .. } => self.at < at,
        }
    }
}

/// The numbers of incarnations, each given once.
#[derive(Debug, Default)]
pub(super) struct Incarnations(u32);

impl Incarnations {
    pub(super) fn next(&mut self) -> u32 {
        self.0 = self.0.wrapping_add(1);
        self.0
    }
}

/// One incarnation of a thread id.
#[derive(Debug)]
pub(super) struct Life {
    pub(super) incarnation: u32,
    /// `None`: before anything known.
    pub(super) born: Option<Stamp>,
    /// Who bore it; `None` where no event told of the birth.
    pub(super) parent: Option<Tid>,
    pub(super) tgid: Option<Tid>,
    /// When it began to leave. It may run on, and another thread may take its id over.
    pub(super) exited: Option<Stamp>,
    /// The start time in a seed that was forgotten.
    pub(super) start_time: Option<u64>,
    /// In time order, never empty. Nearly all tasks have one: it is looked for with every wait, so it lies
    /// where its task does.
    pub(super) marks: SmallVec<[Mark; 1]>,
}

impl Life {
    /// A life of which only this much is known.
    pub(super) fn seen(incarnation: u32, mark: Mark) -> Life {
        Life::with_marks(incarnation, smallvec![mark])
    }

    fn with_marks(incarnation: u32, marks: SmallVec<[Mark; 1]>) -> Life {
        let (born, parent, tgid, exited, start_time) = (None, None, None, None, None);
        Life { incarnation, born, parent, tgid, exited, start_time, marks }
    }

    pub(super) fn holds(&self, at: Stamp) -> bool {
        self.born.is_none_or(|born| born <= at)
    }

    /// The place of the first mark whose name does not hold yet at an instant.
    pub(super) fn ahead(&self, at: Stamp) -> usize {
        self.marks.iter().rposition(|mark| mark.reaches(at)).map_or(0, |last| last + 1)
    }

    /// Puts a mark in its place; an event may be late.
    pub(super) fn insert(&mut self, mark: Mark) {
        if self.marks.len() < 2 {
            // Most tasks change their name once, in exec.
            self.marks.reserve_exact(1);
        }
        let place = self.marks.iter().rposition(|known| known.at <= mark.at);
        self.marks.insert(place.map_or(0, |last| last + 1), mark);
    }

    /// Takes out what lies behind an instant, as a life of its own without a name of its own.
    pub(super) fn split_off(&mut self, at: Stamp) -> Life {
        let first = self.marks.partition_point(|mark| mark.at <= at);
        let exited = self.exited.take_if(|exited| at < *exited);
        let marks = self.marks.drain(first..).collect();
        Life { exited, ..Life::with_marks(self.incarnation, marks) }
    }

    /// Takes over the number and the knowledge of a life that proved to be this one.
    pub(super) fn take_over(&mut self, other: Life) {
        self.incarnation = other.incarnation;
        self.tgid = self.tgid.or(other.tgid);
        self.exited = self.exited.max(other.exited);
        other.marks.into_iter().for_each(|mark| self.insert(mark));
    }

    /// Drops the first marks.
    pub(super) fn forget(&mut self, marks: usize) {
        self.start_time = self.start_time();
        self.marks.drain(..marks);
        self.shrink();
    }

    /// Gives back the room of many dropped marks: a bound on names must bound the bytes too.
    pub(super) fn shrink(&mut self) {
        if self.marks.capacity() > 4 * self.marks.len().max(4) {
            self.marks.shrink_to_fit();
        }
    }

    /// The last start time that /proc gave, in clock ticks since boot.
    pub(super) fn start_time(&self) -> Option<u64> {
        let seeds = self.marks.iter().rev().filter_map(|mark| match mark.kind {
            Kind::Seeded { start_time } => Some(start_time),
            _ => None,
        });
        seeds.chain(self.start_time).next()
    }

    /// The name that the last mark before an instant gives.
    pub(super) fn comm_before(&self, at: Stamp) -> Option<Comm> {
        self.marks.iter().rfind(|mark| mark.at < at).map(|mark| mark.after)
    }

    /// The last rename before an instant and the exit before it, if the task had left by then:
    /// so it was another task that was renamed under its id. Of a task of which nothing older is
    /// known the exit may have gone unnoticed.
    pub(super) fn taken_over_before(&self, at: Stamp) -> Option<(Mark, Stamp)> {
        let place = self.marks.iter().rposition(|m| m.at < at && m.kind == Kind::Renamed)?;
        let rename = self.marks.get(place)?;
        let unnoticed = (place == 0 && self.born.is_none()).then_some(Stamp::MIN);
        Some((*rename, self.exited.filter(|&exited| exited < rename.at).or(unnoticed)?))
    }

    /// The name at an instant, from the mark before it or the one behind it, whichever no loss
    /// parts from the instant. `reborn`: the id has a later incarnation.
    pub(super) fn name_at(&self, at: Stamp, reborn: bool, losses: &Losses) -> Option<TaskName> {
        let name = |comm, certainty| {
            Some(TaskName { comm, tgid: self.tgid, incarnation: self.incarnation, certainty })
        };
        // Nearly always the last word, and nothing casts doubt on it.
        if let Some(last) = self.marks.last()
            && last.reaches(at)
            && !reborn
            && losses.is_empty()
            && last.certainty() == Certainty::Known
        {
            return name(last.after, Certainty::Known);
        }
        let ahead = self.ahead(at);
        let next = self.marks.get(ahead);
        let old = next.and_then(|next| match next.kind {
            Kind::Seeded { .. } => self.comm_from(ahead, reborn, losses),
            _ => next.before,
        });
        if let (Some(&Mark { kind: Kind::Exchanged { since }, .. }), Some(old)) = (next, old)
            && since < at
        {
            return name(old, Certainty::Unconfirmed);
        }
        let last = ahead.checked_sub(1).and_then(|last| self.marks.get(last).map(|m| (last, m)));
        let new = last.and_then(|(last, _)| self.comm_from(last, reborn, losses));
        let told = last.map_or(Certainty::Unconfirmed, |(_, last)| last.certainty());
        if let (Some((_, last)), Some(new)) = (last, new)
            && told == Certainty::Known
            && !losses.between(last.at, at)
        {
            return name(new, Certainty::Known);
        }
        if let (Some(next), Some(old)) = (next, old)
            && !losses.between(at, next.at)
        {
            return name(old, Certainty::Known);
        }
        name(new.or(old)?, told.max(Certainty::Unconfirmed))
    }

    /// The name that a mark starts. A seed was read somewhat behind its instant, so it may tell
    /// of a rename or a birth that is still to come: there the events' word stands.
    fn comm_from(&self, place: usize, reborn: bool, losses: &Losses) -> Option<Comm> {
        let mark = self.marks.get(place)?;
        if !mark.is_seed() {
            return Some(mark.after);
        }
        let event_says = match self.marks.get(place + 1) {
            Some(next) if next.is_seed() || losses.between(mark.at, next.at) => None,
            Some(next) => next.before,
            None if reborn => self.event_before(place, losses),
            None => None,
        };
        Some(event_says.unwrap_or(mark.after))
    }

    /// The name that events alone give at a mark's instant, where no loss casts doubt on it.
    fn event_before(&self, place: usize, losses: &Losses) -> Option<Comm> {
        let mark = self.marks.get(place)?;
        let event = self.marks.get(..place)?.iter().rev().find(|known| !known.is_seed())?;
        (!losses.between(event.at, mark.at)).then_some(event.after)
    }
}
