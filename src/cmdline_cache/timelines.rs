//! What a task has for an interval of time, and passes on to its children.

use foldhash::{HashMap, HashMapExt};

use super::Certainty;
use super::losses::Losses;
use super::marks::{Fact, Found, Inherits, Mark, Source, judge};
use crate::event::{Stamp, TextId, Tid};

/// The marks of all tasks. What comes late is put in its place, and heirs inherit anew.
#[derive(Debug)]
pub(super) struct Timelines {
    tasks: HashMap<Tid, Vec<Mark>>,
    marks: usize,
    bound: usize,
    /// Heirs that have not got their part yet.
    heirs: Vec<(Stamp, Tid)>,
    /// The last event so far, and the one up to which all heirs have their part.
    latest: Stamp,
    settled: Stamp,
    /// The first event since then that came behind it.
    late: Option<Stamp>,
    /// What was told before is forgotten but for the last.
    horizon: Stamp,
    evicted: u64,
}

impl Timelines {
    /// At most `bound` marks (40 bytes each).
    pub(super) fn new(bound: usize) -> Timelines {
        Timelines {
            tasks: HashMap::new(),
            marks: 0,
            bound: bound.max(1),
            heirs: Vec::new(),
            latest: Stamp::MIN,
            settled: Stamp::MIN,
            late: None,
            horizon: Stamp::MIN,
            evicted: 0,
        }
    }

    /// A task begins with what `from` has at that instant.
    pub(super) fn inherit(&mut self, at: Stamp, tid: Tid, from: Tid, how: Inherits) {
        self.heirs.push((at, tid));
        let source = Source::Inherited { from, how };
        self.event(tid, Mark { at, source, text: None, sure: false });
    }

    /// An event says what a task has from here on; unsure, it is only likely.
    pub(super) fn tell(&mut self, at: Stamp, tid: Tid, text: Option<TextId>, sure: bool) {
        self.event(tid, Mark { at, source: Source::Event, text, sure: sure && text.is_some() });
    }

    /// /proc said what a task has; none: it could not be read, and what is likely has to do.
    pub(super) fn read(
        &mut self,
        at: Stamp,
        tid: Tid,
        text: Option<TextId>,
        likely: Option<TextId>,
    ) {
        let (text, sure) = (text.or(likely), text.is_some());
        self.insert(tid, Mark { at, source: Source::Proc, text, sure });
    }

    /// Gives all heirs their part, in the order of time; `find` says what a task has.
    pub(super) fn settle(&mut self, find: impl Fn(&Timelines, Tid, Stamp) -> Fact) {
        if let Some(late) = self.late.take() {
            // Whom earlier heirs inherited from may be forgotten.
            let late = late.max(self.horizon);
            let tasks = self.tasks.iter();
            let marks = tasks.flat_map(|(&tid, marks)| marks.iter().map(move |mark| (tid, mark)));
            let since = marks.filter(|(_, mark)| late <= mark.at);
            let heirs = since.filter(|(_, mark)| matches!(mark.source, Source::Inherited { .. }));
            self.heirs = heirs.map(|(tid, mark)| (mark.at, tid)).collect();
        }
        self.settled = self.latest;
        let mut heirs = std::mem::take(&mut self.heirs);
        heirs.sort_unstable();
        for (at, tid) in heirs.drain(..) {
            let Some((place, from, how)) = self.birth(tid, at) else { continue };
            let part = find(self, from, at);
            let mark = self.tasks.get_mut(&tid).and_then(|marks| marks.get_mut(place));
            if let Some(mark) = mark {
                mark.text = part.text;
                mark.sure = how == Inherits::Same && part.certainty == Certainty::Known;
            }
        }
        self.heirs = heirs;
    }

    /// What a task has at an instant. `leader`: what is told of that task is likely of this one.
    pub(super) fn find(&self, tid: Tid, leader: Option<Tid>, at: Stamp, losses: &Losses) -> Found {
        let (mut before, mut behind) = self.around(tid, at);
        if let Some(leader) = leader.filter(|&leader| leader != tid) {
            let (told, next) = self.told_around(leader, at);
            let told = told.map(|told| Mark { sure: false, ..told });
            if told.map(|told| told.at) > before.map(|mark| mark.at) {
                before = told;
            }
            behind = match (behind, next) {
                (Some(own), Some(next)) if own.at < next.at => Some(own),
                (own, next) => next.or(own),
            };
        }
        judge(before, behind, at, losses)
    }

    /// How many marks were dropped for want of room though something might still ask for them.
    pub(super) fn evicted(&self) -> u64 {
        self.evicted
    }

    /// Every text that a mark has.
    pub(super) fn texts(&self) -> impl Iterator<Item = TextId> {
        self.tasks.values().flatten().filter_map(|mark| mark.text)
    }

    /// Nothing will be asked about instants before the horizon, nor of tasks that are not kept.
    pub(super) fn forget_before(&mut self, horizon: Stamp, is_kept: impl Fn(Tid) -> bool) {
        self.tasks.retain(|&tid, marks| {
            let past = marks.partition_point(|mark| mark.at <= horizon);
            let is_told = |mark: &Mark| mark.source != Source::Proc;
            // What /proc said of a leader later does not settle what the event means for its threads.
            let told = marks.iter().take(past).rposition(is_told);
            let mut place = 0..;
            marks.retain(|_| {
                let place = place.next().unwrap_or(past);
                place + 1 >= past || Some(place) == told
            });
            if marks.capacity() > 4 * marks.len().max(4) {
                marks.shrink_to_fit();
            }
            is_kept(tid)
        });
        self.marks = self.tasks.values().map(Vec::len).sum();
        self.horizon = self.horizon.max(horizon);
    }

    /// The place of an heir's mark, whom it inherits from, and how.
    fn birth(&self, tid: Tid, at: Stamp) -> Option<(usize, Tid, Inherits)> {
        self.of(tid).iter().enumerate().find_map(|(place, mark)| match mark.source {
            Source::Inherited { from, how } if mark.at == at => Some((place, from, how)),
            _ => None,
        })
    }

    fn of(&self, tid: Tid) -> &[Mark] {
        self.tasks.get(&tid).map_or(&[], Vec::as_slice)
    }

    /// The last mark up to an instant, and the first behind it.
    fn around(&self, tid: Tid, at: Stamp) -> (Option<Mark>, Option<Mark>) {
        let marks = self.of(tid);
        let (before, behind) = marks.split_at(marks.partition_point(|mark| mark.at <= at));
        (before.last().copied(), behind.first().copied())
    }

    /// The same of what events told, within the life that holds at the instant.
    fn told_around(&self, tid: Tid, at: Stamp) -> (Option<Mark>, Option<Mark>) {
        let marks = self.of(tid);
        let (before, behind) = marks.split_at(marks.partition_point(|mark| mark.at <= at));
        let mut lately = before.iter().rev().filter(|mark| mark.source != Source::Proc);
        let told = lately.next().filter(|mark| mark.source == Source::Event);
        let mut next = behind.iter().filter(|mark| mark.source != Source::Proc);
        (told.copied(), next.next().copied())
    }

    fn event(&mut self, tid: Tid, mark: Mark) {
        if mark.at <= self.settled {
            self.late = Some(self.late.map_or(mark.at, |late| late.min(mark.at)));
        }
        self.latest = self.latest.max(mark.at);
        self.insert(tid, mark);
    }

    fn insert(&mut self, tid: Tid, mark: Mark) {
        let marks = self.tasks.entry(tid).or_default();
        if marks.len() < 2 {
            marks.reserve_exact(1);
        }
        let place = marks.partition_point(|known| known.at <= mark.at);
        marks.insert(place, mark);
        self.marks += 1;
        if self.marks > self.bound {
            self.make_room();
        }
    }

    /// Drops the past, and then the tasks longest silent: an eighth of the room gets free.
    fn make_room(&mut self) {
        let most = self.bound - self.bound / 8;
        let held = self.marks;
        for marks in self.tasks.values_mut() {
            marks.drain(..marks.len().saturating_sub(1));
            marks.shrink_to_fit();
        }
        let mut heard: Vec<Stamp> =
            self.tasks.values().filter_map(|marks| marks.last()).map(|mark| mark.at).collect();
        if let Some(excess) = heard.len().checked_sub(most).filter(|&excess| excess > 0) {
            let (_, &mut silent, _) = heard.select_nth_unstable(excess - 1);
            self.tasks.retain(|_, marks| marks.last().is_some_and(|mark| silent < mark.at));
        }
        self.marks = self.tasks.len();
        self.evicted += (held - self.marks) as u64;
    }
}
