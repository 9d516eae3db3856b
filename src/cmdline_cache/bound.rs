//! What is forgotten, and when.

use super::CmdlineCache;
use super::history::History;
use crate::event::Stamp;

/// How much a name would be missed; the lesser goes first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Need {
    /// Its task left before the horizon. It may still contend (a large address space takes
    /// seconds to tear down), so it stays while there is room.
    Left,
    /// It ended, but behind the horizon.
    Ended,
    /// It stands.
    Stands,
}

impl CmdlineCache {
    /// Nothing will be asked about instants before `horizon` any more: names and incarnations
    /// that were superseded by then go. For each id what held at the horizon stays.
    ///
    /// Amortised over the events: it sweeps only once enough was superseded.
    pub fn forget_before(&mut self, horizon: Stamp) {
        self.horizon = self.horizon.max(horizon);
        self.losses.forget_before(self.horizon);
        if self.superseded * 4 >= self.names {
            self.drop_superseded();
        }
        self.forget_facts(self.horizon);
    }

    /// Keeps the books after an insertion, and the bound.
    pub(super) fn added(&mut self) {
        self.names += 1;
        self.superseded += 1;
        if self.names > self.bound {
            self.drop_superseded();
            self.make_room();
        }
    }

    fn drop_superseded(&mut self) {
        let horizon = self.horizon;
        self.names = self.tasks.values_mut().map(|history| history.forget_before(horizon)).sum();
        self.superseded = 0;
    }

    /// Drops the least needed names. The next time must be far enough away to pay for this one:
    /// an eighth of the room is freed in any case, half of it where that costs only dead tasks.
    fn make_room(&mut self) {
        self.changes.note_all();
        let horizon = self.horizon;
        let mut all: Vec<_> = self.tasks.values().flat_map(|task| needs(task, horizon)).collect();
        let left = all.iter().filter(|(need, _)| *need == Need::Left).count();
        let excess = all.len().saturating_sub(self.bound - self.bound / 8);
        let excess = excess.max(left.min(all.len().saturating_sub(self.bound / 2)));
        let Some(last) = excess.checked_sub(1) else { return };
        let (_, &mut most_dropped, _) = all.select_nth_unstable(last);
        for (need, _) in all.into_iter().filter(|&need| need <= most_dropped) {
            self.names -= 1;
            match need {
                Need::Left => self.counters.forgotten += 1,
                Need::Ended | Need::Stands => self.counters.evicted += 1,
            }
        }
        self.tasks.retain(|_, history| {
            let kept: Vec<_> = needs(history, horizon).map(|need| need > most_dropped).collect();
            let mut kept = kept.into_iter();
            for life in &mut history.lives {
                life.marks.retain(|_| kept.next().unwrap_or(true));
                life.shrink();
            }
            history.lives.retain(|life| !life.marks.is_empty());
            !history.lives.is_empty()
        });
    }
}

/// How much each name of an id would be missed, and since when it is not the current one.
fn needs(history: &History, horizon: Stamp) -> impl Iterator<Item = (Need, Stamp)> {
    history.lives.iter().enumerate().flat_map(move |(place, life)| {
        let reborn = history.lives.get(place + 1).and_then(|next| next.born);
        life.marks.iter().enumerate().map(move |(place, mark)| {
            let superseded = life.marks.get(place + 1).map(|next| next.at).or(reborn);
            match (superseded, life.exited) {
                (Some(at), _) => (Need::Ended, at),
                (None, Some(at)) if at < horizon => (Need::Left, at),
                (None, Some(at)) => (Need::Ended, at),
                (None, None) => (Need::Stands, mark.at),
            }
        })
    })
}
