use super::{NameChange, NameNews, UserNames};
use crate::cmdline_cache::CmdlineCache;
use crate::contention::Process;
use crate::event::{Comm, Context, Cpu, Head, Stamp, TaskEvent, Tid};
use crate::pipeline::Processes;

static WAITED_FOR: u64 = 7;

fn address() -> u64 {
    &raw const WAITED_FOR as u64
}

fn head(ts_ns: u64, tid: u32) -> Head {
    let stamp = Stamp::before(ts_ns);
    Head { stamp, ts_ns, cpu: Cpu(0), tid: Tid(tid), context: Context::Task }
}

fn names(processes: Processes) -> UserNames {
    UserNames::new(processes).unwrap()
}

fn name(names: &UserNames, process: Process, at: u64) -> Option<&'static str> {
    names.name(process, Stamp::before(at), address()).map(|name| name.name())
}

/// This process, born at 1.
fn own() -> (CmdlineCache, u32, Process) {
    let own = std::process::id();
    let (comm, thread, own_cgroup) = (Comm::new(b"a"), false, false);
    let mut cache = CmdlineCache::new(9);
    cache.apply(&head(1, 1), &TaskEvent::New { tid: Tid(own), comm, thread, own_cgroup });
    let process = super::super::spaces::process(&head(2, own), &cache);
    (cache, own, process)
}

#[test]
fn a_futex_has_the_name_of_the_program_that_waited() {
    let (cache, own, process) = own();
    let mut names = names(Processes::Here);
    let look = |names: &mut UserNames, at| {
        names.note(&head(at, own), address());
        names.learn((at - 1, at), &cache, |_, _| true);
    };
    look(&mut names, 10);
    names.end_window(10);
    assert!(name(&names, process, 10).unwrap().ends_with("tests::WAITED_FOR"));

    // Who waited before it became another program had the name; who waits after has none yet.
    names.replaced(process, Stamp::before(20));
    look(&mut names, 30);
    assert!(name(&names, process, 15).is_some() && name(&names, process, 30).is_none());
    names.end_window(30);
    names.learn((30, 31), &cache, |_, _| true);
    assert!(name(&names, process, 30).is_some());

    names.ended(process);
    assert!(name(&names, process, 31).is_some());
    names.end_window(31);
    assert_eq!((name(&names, process, 31), names.held.held), (None, 0));
}

#[test]
fn a_process_that_is_gone_or_not_asked_for_gives_no_names() {
    let mut names = names(Processes::Here);
    let (cache, nobody) = (CmdlineCache::new(9), u32::MAX);
    names.note(&head(1, nobody), 64);
    names.learn((0, 1), &cache, |_, _| false);
    assert_eq!(names.given_up().unread, 0);
    names.note(&head(2, nobody), 64);
    names.learn((1, 2), &cache, |_, _| true);
    names.note(&head(3, nobody), 64);
    names.learn((2, 3), &cache, |_, _| true);
    assert_eq!((names.given_up().unread, names.held.held), (1, 1));
}

/// What one learns, over windows that end at 10, 20, ..: two programs of one process, and its end.
fn news() -> Vec<NameNews> {
    let (cache, own, process) = own();
    let mut names = names(Processes::Here);
    names.keep_news();
    // It waits for the first time at 14, and becomes another program at 25 of the third window.
    for up_to_ns in [10, 20, 30, 40, 50] {
        match up_to_ns {
            20 => [14, 16].map(|at| names.note(&head(at, own), address())).into_iter().collect(),
            30 => {
                names.replaced(process, Stamp::before(25));
                names.note(&head(27, own), address());
            }
            50 => names.ended(process),
            _ => {}
        }
        names.learn((up_to_ns - 10, up_to_ns), &cache, |_, _| true);
        names.end_window(up_to_ns);
    }
    names.take_news()
}

#[test]
fn who_is_told_has_the_same_names_in_whichever_windows() {
    let news = news();
    let since: Vec<u64> = news.iter().map(|news| news.since_ns).collect();
    assert_eq!(since, [10, 30, 30, 50]);
    assert!(matches!(news[1].what, NameChange::Over(_)), "{news:?}");
    assert!(matches!(news[3].what, NameChange::Over(_)), "{news:?}");
    let (_, own, process) = own();
    for length_ns in [1, 3, 7, 10] {
        let mut cache = CmdlineCache::new(9);
        let mut told = names(Processes::Told);
        let mut coming = news.clone().into_iter().peekable();
        let mut at_ns = 0;
        while at_ns < 60 {
            let next = coming.peek().map_or(u64::MAX, |news| news.since_ns);
            let up_to_ns = (at_ns + length_ns).min(next.max(at_ns + 1));
            let is_in = |ns: u64| at_ns < ns && ns <= up_to_ns;
            if is_in(1) {
                let (comm, thread, own_cgroup) = (Comm::new(b"a"), false, false);
                let born = TaskEvent::New { tid: Tid(own), comm, thread, own_cgroup };
                cache.apply(&head(1, 1), &born);
            }
            if is_in(25) {
                told.replaced(process, Stamp::before(25));
            }
            if is_in(45) {
                told.ended(process);
            }
            told.learn((at_ns, up_to_ns), &cache, |_, _| true);
            let named = |begin: u64| name(&told, process, begin).is_some();
            // A wait that ends in this window has a name if it had one in the run's window.
            if up_to_ns >= 27 {
                let is_again = (31..=50).contains(&up_to_ns);
                assert_eq!(named(27), is_again, "{up_to_ns} of {length_ns}");
            }
            if up_to_ns <= 30 {
                assert_eq!(named(14), up_to_ns >= 14, "{up_to_ns} of {length_ns}");
            }
            told.end_window(up_to_ns);
            at_ns = up_to_ns;
            while let Some(news) = coming.next_if(|news| news.since_ns <= at_ns) {
                told.tell(news, &cache);
            }
        }
        assert_eq!(told.held.held, 0);
    }
}
