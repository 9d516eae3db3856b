//! All incarnations of one thread id.

use smallvec::SmallVec;

use super::TaskName;
use super::life::{Incarnations, Kind, Life, Mark};
use super::losses::Losses;
use crate::event::{Stamp, Tid};

/// The lives under one number, in time order.
#[derive(Debug, Default)]
pub(super) struct History {
    pub(super) lives: SmallVec<[Life; 1]>,
}

/// How a rename's `old` agrees with the name known so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Agreement {
    Agrees,
    /// It overrules what /proc said.
    Corrects,
    /// Two events disagree though none is known to be missing.
    Contradicts,
}

impl History {
    /// The place of the life that holds at an instant.
    fn place(&self, at: Stamp) -> Option<usize> {
        self.lives.iter().rposition(|life| life.holds(at))
    }

    pub(super) fn life_at(&self, at: Stamp) -> Option<&Life> {
        self.lives.get(self.place(at)?)
    }

    pub(super) fn life_at_mut(&mut self, at: Stamp) -> Option<&mut Life> {
        let place = self.place(at)?;
        self.lives.get_mut(place)
    }

    pub(super) fn name_at(&self, at: Stamp, losses: &Losses) -> Option<TaskName> {
        let place = self.place(at)?;
        let reborn = place + 1 < self.lives.len();
        self.lives.get(place)?.name_at(at, reborn, losses)
    }

    /// Starts the life that an event bore. What was already known behind that instant, from
    /// /proc or from events that came earlier than this one, becomes part of it.
    pub(super) fn bear(&mut self, mut newborn: Life) {
        let Some(born) = newborn.born else { return };
        let next = self.place(born).map_or(0, |place| place + 1);
        let behind = |life: &Life| life.marks.last().is_some_and(|mark| born < mark.at);
        let untouched =
            next.checked_sub(1).and_then(|p| self.lives.get(p)).is_none_or(|l| !behind(l));
        if untouched && self.lives.get(next).is_some_and(|life| is_same_birth(life, &newborn)) {
            newborn.take_over(self.lives.remove(next));
        }
        self.start(born, newborn);
    }

    /// Puts a life in its place; what the one before it knew of a later time is the new one's.
    fn start(&mut self, born: Stamp, mut life: Life) {
        let Some(place) = self.place(born) else { return self.put(0, life) };
        let Some(before) = self.lives.get_mut(place) else { return };
        let behind = before.split_off(born);
        if before.marks.is_empty() {
            life.take_over(Life { incarnation: before.incarnation, tgid: before.tgid, ..behind });
            *before = life;
        } else {
            life.take_over(Life { incarnation: life.incarnation, tgid: None, ..behind });
            self.put(place + 1, life);
        }
    }

    /// Nearly every id has one life at a time: room for four would double what a task takes.
    fn put(&mut self, place: usize, life: Life) {
        self.lives.reserve_exact(1);
        self.lives.insert(place, life);
    }

    /// Enters a rename and says how its old name agrees with what was known.
    pub(super) fn rename(
        &mut self,
        mark: Mark,
        incarnations: &mut Incarnations,
        losses: &Losses,
    ) -> Agreement {
        let Some(life) = self.life_at_mut(mark.at) else {
            self.put(0, Life::seen(incarnations.next(), mark));
            return Agreement::Agrees;
        };
        let last = life.ahead(mark.at).checked_sub(1).and_then(|last| life.marks.get(last));
        let agreement = match last {
            Some(last) if Some(last.after) == mark.before => Agreement::Agrees,
            Some(last) if losses.between(last.at, mark.at) => Agreement::Agrees,
            Some(Mark { kind: Kind::Seeded { .. }, .. }) => Agreement::Corrects,
            // Who left does not rename itself: another thread of the process has its id now.
            Some(_) if life.exited.is_some_and(|exited| exited < mark.at) => Agreement::Agrees,
            Some(_) => Agreement::Contradicts,
            None => Agreement::Agrees,
        };
        life.insert(mark);
        agreement
    }

    /// Enters a name that holds from an instant on.
    pub(super) fn name(&mut self, mark: Mark, tgid: Tid, incarnations: &mut Incarnations) {
        match self.life_at_mut(mark.at) {
            None => {
                let seen = Life::seen(incarnations.next(), mark);
                self.put(0, Life { tgid: Some(tgid), ..seen });
            }
            Some(life) => {
                life.tgid = life.tgid.or(Some(tgid));
                life.insert(mark);
            }
        }
    }

    /// Enters what /proc said; returns whether it contradicts the events with no loss to explain it.
    pub(super) fn seed(
        &mut self,
        mark: Mark,
        tgid: Tid,
        incarnations: &mut Incarnations,
        losses: &Losses,
    ) -> bool {
        let Kind::Seeded { start_time } = mark.kind else { return false };
        let mut seen = || Life { tgid: Some(tgid), ..Life::seen(incarnations.next(), mark) };
        let Some(place) = self.place(mark.at) else {
            let seen = seen();
            self.put(0, seen);
            return false;
        };
        let Some(life) = self.lives.get_mut(place) else { return false };
        if life.start_time().is_some_and(|known| known != start_time) {
            // Born unseen: in the last loss, or in events that are still to come.
            let heard = life.marks.last().map_or(mark.at, |last| last.at);
            let born = losses.last_end(mark.at).filter(|&end| end > heard).unwrap_or(mark.at);
            self.start(born, Life { born: Some(born), ..seen() });
            return false;
        }
        let last = life.ahead(mark.at).checked_sub(1).and_then(|last| life.marks.get(last));
        let contradicts =
            last.is_some_and(|last| last.after != mark.after && !losses.between(last.at, mark.at));
        life.tgid = life.tgid.or(Some(tgid));
        life.insert(mark);
        contradicts
    }

    /// Notes that the task began to leave.
    pub(super) fn exit(&mut self, at: Stamp) {
        let Some(life) = self.life_at_mut(at) else { return };
        let taken_over = life
            .marks
            .iter_mut()
            .find(|mark| at < mark.at && matches!(mark.kind, Kind::Exchanged { .. }));
        match taken_over {
            // Late: the exit that made way for the thread that has the id since.
            Some(Mark { kind: Kind::Exchanged { since }, .. }) => *since = at.max(*since),
            _ => life.exited = life.exited.max(Some(at)),
        }
    }

    /// Drops what no look-up from the horizon on needs; returns how many marks are left.
    pub(super) fn forget_before(&mut self, horizon: Stamp) -> usize {
        let needed = self.place(horizon).unwrap_or(0);
        self.lives.drain(..needed);
        for life in &mut self.lives {
            let superseded = life.ahead(horizon).saturating_sub(1);
            life.forget(superseded);
        }
        self.lives.iter().map(|life| life.marks.len()).sum()
    }
}

/// Whether a life is the newborn's own, started before word of its birth came: from /proc, or
/// from the fork event, which cannot tell a thread from a process.
fn is_same_birth(life: &Life, newborn: &Life) -> bool {
    life.parent.is_none() || life.tgid.is_none() && life.parent == newborn.parent
}
