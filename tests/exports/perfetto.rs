//! The trace for Perfetto against the JSON lines of the same run, and of waits that are made up.

use std::collections::BTreeMap;
use std::fs;
use std::time::{Duration, SystemTime};

use ftlock::event::{Comm, Context, Cpu, LockFlags, Tid};
use ftlock::output::perfetto::{Names, Trace, Who};
use ftlock::output::{ReportInfo, RunInfo, StreamHolder, StreamLoss, StreamWait};
use ftlock::report::{Cause, Evidence, Series, Table, Timeline};
use ftlock::symbols::{CallerFinder, Kallsyms, StackTable};
use serde_json::Value;

use crate::decoder::{Decoded, Slice, decode};
use crate::support::demo;

/// What both have of a wait, as text.
type Told = BTreeMap<String, String>;

fn told_by_json(record: &Value) -> Told {
    let text = |name: &str| match &record[name] {
        Value::Null => None,
        Value::String(text) => Some(text.clone()),
        other => Some(other.to_string()),
    };
    let names = [
        "ts",
        "end",
        "tid",
        "pid",
        "comm",
        "cpu",
        "lock",
        "lock_name",
        "kind",
        "flags",
        "context",
        "ret",
        "caller",
        "uncertain",
    ];
    names.into_iter().filter_map(|name| Some((name.to_owned(), text(name)?))).collect()
}

fn told_by_slice(slice: &Slice, decoded: &Decoded) -> Told {
    let mut told = slice.arguments.clone();
    let track = &decoded.tracks[&slice.track];
    let track = track.parent.map_or(track, |parent| &decoded.tracks[&parent]);
    if let Some((pid, tid, _)) = &track.thread {
        told.insert("tid".to_owned(), tid.to_string());
        told.insert("pid".to_owned(), pid.to_string());
    }
    told.insert("ts".to_owned(), slice.begin.to_string());
    told.insert("end".to_owned(), slice.end.unwrap().to_string());
    told.insert("kind".to_owned(), slice.category.clone());
    told.retain(|name, _| !["stack", "lock_name_by", "comm_confirmed"].contains(&name.as_str()));
    told
}

#[test]
fn every_wait_is_a_slice_with_its_times_and_what_the_json_lines_say_of_it() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("waits.pftrace");
    let name = file.to_str().unwrap();
    let run = demo(&["--format", "perfetto", "--stream", "json", "--output", name]);
    let lines = String::from_utf8(run.stdout).unwrap();
    let records: Vec<Value> =
        lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let summary = records.last().unwrap();
    assert_eq!(summary["record"], "summary");
    let decoded = decode(&fs::read(&file).unwrap());
    assert_eq!(decoded.primary_clock, Some(3));

    let mut by_json: Vec<Told> =
        records.iter().filter(|record| record["record"] == "wait").map(told_by_json).collect();
    // On a CPU's track no thread is told, nor where the task's process is not known.
    for told in &mut by_json {
        if told["context"] != "task" || told["tid"] == "0" || !told.contains_key("pid") {
            told.remove("tid");
            told.remove("pid");
        }
    }
    let ended = decoded.slices.iter().filter(|slice| slice.end.is_some() && !slice.is_instant);
    let mut by_slices: Vec<Told> = ended.map(|slice| told_by_slice(slice, &decoded)).collect();
    by_json.sort();
    by_slices.sort();
    assert!(by_json.len() > 2000);
    assert_eq!(by_slices.len(), by_json.len());
    for (slice, json) in by_slices.iter().zip(&by_json) {
        assert_eq!(slice, json);
    }
    let open = decoded.slices.iter().filter(|slice| slice.end.is_none()).count();
    assert_eq!(Some(open), summary["open"].as_array().map(Vec::len));
    assert!(decoded.slices.iter().any(|slice| slice.depth > 0), "no wait within another one");
    let on_cpus =
        decoded.tracks.values().filter(|track| track.thread.is_none() && !track.is_counter);
    let mut names: Vec<_> = on_cpus.filter_map(|track| track.name.clone()).collect();
    names.sort();
    let distinct = names.len();
    names.dedup();
    assert_eq!(names.len(), distinct, "a track twice");
    assert!(names.iter().any(|name| name == "CPU 0 softirq"), "{names:?}");
    let stacks = decoded.slices.iter().filter_map(|slice| slice.arguments.get("stack"));
    assert!(stacks.filter(|stack| stack.contains(" < do_syscall_64+0x")).count() > 1000);
}

/// What the counters show, times the length of their steps, is the time of all waits of the kind.
#[test]
fn the_counters_add_up_to_the_time_of_the_waits() {
    let decoded = decode(&demo(&["--format", "perfetto"]).stdout);
    let mut times: BTreeMap<&str, u64> = BTreeMap::new();
    for slice in decoded.slices.iter().filter(|slice| !slice.is_instant) {
        let time = slice.end.map_or(0, |end| end - slice.begin);
        *times.entry(&slice.category).or_default() += time;
    }
    assert!(times.len() > 3, "{times:?}");
    for (kind, time) in times {
        let counter = &decoded.counters[&format!("waiting: {kind}")];
        let steps = counter.windows(2);
        let sum: f64 = steps.map(|step| (step[1].0 - step[0].0) as f64 * step[0].1).sum();
        assert!((sum - time as f64).abs() < 1.0, "{kind}: {sum} {time}");
        assert_eq!(counter.last().unwrap().1, 0.0);
    }
}

/// Made-up waits of one run.
struct Made {
    symbols: Kallsyms,
    stacks: StackTable,
    trace: Trace,
}

impl Made {
    fn new() -> Made {
        let run = RunInfo { clock: "boot", kernel: "6.18", cpus: 2, command: &[] };
        let date = Some(SystemTime::UNIX_EPOCH + Duration::from_secs(1_700_000_000));
        let info = ReportInfo { run, host: None, date, start_ns: Some(5), end_ns: None };
        let symbols = Kallsyms::parse(b"1000 t anon_pipe_write\n");
        let finder = CallerFinder::new(std::sync::Arc::new(Kallsyms::parse(b"")));
        let stacks = StackTable::new(9, std::sync::Arc::new(finder));
        Made { symbols, stacks, trace: Trace::new(&info) }
    }

    fn wait(&mut self, of: &Who, (begin_ns, end_ns): (u64, u64), holder: Option<(Who, u64)>) {
        let told = holder.map(|(who, ts_ns)| StreamHolder {
            ts_ns,
            tid: who.tid,
            comm: who.comm,
            evidence: Evidence::Waking,
            caller: Some(0x1010),
            held_ns: Some(77),
        });
        let wait = StreamWait {
            begin_ns,
            end_ns,
            wait_ns: end_ns - begin_ns,
            cpu: Cpu(1),
            tid: of.tid,
            pid: of.pid,
            comm: of.comm.as_ref(),
            comm_confirmed: true,
            lock: 0xffff_8881_0000_0000,
            lock_name: None,
            table: Table::Locks,
            cause: Cause::Lock(LockFlags(32)),
            reason: None,
            off_cpu: None,
            holder: Some(told),
            context: Context::Task,
            ret: 0,
            caller: Some(0x1043),
            cgroup: None,
            cmdline: None,
            uncertain: false,
        };
        let names = Names { symbols: &self.symbols, stacks: &self.stacks };
        self.trace.wait(&wait, of, holder.as_ref().map(|(who, _)| who), None, names);
    }

    fn decoded(mut self) -> Decoded {
        decode(&self.trace.take().0)
    }
}

fn who(tid: u32, pid: u32, comm: &[u8]) -> Who {
    Who { tid: Tid(tid), incarnation: tid, pid: Some(Tid(pid)), comm: Some(Comm::new(comm)) }
}

#[test]
fn an_arrow_leads_from_whoever_lets_the_lock_go_to_the_end_of_the_wait() {
    let mut made = Made::new();
    let holder = who(8, 4, b"holder");
    made.wait(&who(7, 7, b"waiter"), (100, 200), Some((holder, 200)));
    let decoded = made.decoded();
    let [(from, to)] = decoded.arrows[..] else { panic!("{:?}", decoded.arrows) };
    let (from, to) = (&decoded.slices[from], &decoded.slices[to]);
    assert_eq!((from.begin, from.is_instant, from.name.as_str()), (200, true, "waking"));
    assert_eq!(decoded.tracks[&from.track].thread, Some((4, 8, Some("holder".to_owned()))));
    assert_eq!(from.arguments["caller"], "anon_pipe_write+0x10");
    assert_eq!((to.begin, to.end), (100, Some(200)));
    assert_eq!(to.name, "mutex anon_pipe_write+0x43");
    assert_eq!(decoded.tracks[&to.track].thread, Some((7, 7, Some("waiter".to_owned()))));
    assert_eq!((&*to.arguments["holder.comm"], &*to.arguments["holder.held_ns"]), ("holder", "77"));
    assert_eq!(decoded.processes, BTreeMap::from([(7, "waiter".to_owned())]));
    assert_eq!(decoded.primary_clock, Some(6));
}

#[test]
fn waits_that_nest_share_a_track_and_others_get_one_below_it() {
    let mut made = Made::new();
    let task = who(7, 7, b"task");
    let waits = [(110, 120), (120, 130), (100, 140), (135, 150), (100, 160), (170, 170)];
    for span in waits {
        made.wait(&task, span, None);
    }
    let decoded = made.decoded();
    let mut spans: Vec<_> =
        decoded.slices.iter().map(|slice| (slice.begin, slice.end.unwrap())).collect();
    spans.sort_unstable();
    let mut expected = waits;
    expected.sort_unstable();
    assert_eq!(spans, expected);
    let below = |slice: &&Slice| decoded.tracks[&slice.track].parent.is_some();
    let (below, own): (Vec<&Slice>, Vec<&Slice>) = decoded.slices.iter().partition(below);
    let begins = |slices: &[&Slice]| slices.iter().map(|slice| slice.begin).collect::<Vec<_>>();
    assert_eq!(begins(&own), [100, 110, 120, 170]);
    assert_eq!(begins(&below), [100, 135]);
    assert_eq!(own.iter().map(|slice| slice.depth).collect::<Vec<_>>(), [0, 1, 1, 0]);
}

/// A name belongs to an instant: each slice has its own, the track the last one. An id that is borne
/// anew is another track.
#[test]
fn names_are_those_of_the_instant() {
    let mut made = Made::new();
    let hostile = b"\x1b[2J\xff";
    made.wait(&who(7, 4, b"before"), (100, 110), None);
    made.wait(&who(7, 4, hostile), (120, 130), None);
    made.wait(&Who { incarnation: 99, ..who(7, 5, b"another") }, (140, 150), None);
    made.wait(&Who { pid: None, comm: None, ..who(9, 0, b"") }, (140, 150), None);
    let decoded = made.decoded();
    let comms: Vec<_> = decoded.slices.iter().map(|slice| slice.arguments.get("comm")).collect();
    let comms: Vec<_> = comms.into_iter().map(|comm| comm.map(String::as_str)).collect();
    assert_eq!(comms, [Some("before"), Some("\\x1b[2J\\xff"), Some("another"), None]);
    let tracks: Vec<_> = decoded.slices.iter().map(|slice| &decoded.tracks[&slice.track]).collect();
    assert_eq!(tracks[0].thread, Some((4, 7, Some("\\x1b[2J\\xff".to_owned()))));
    assert_eq!(decoded.slices[0].track, decoded.slices[1].track);
    assert_eq!(tracks[2].thread, Some((5, 7, Some("another".to_owned()))));
    assert_eq!((&tracks[3].thread, tracks[3].name.as_deref()), (&None, Some("?-9")));
}

/// The decoder fails on a number or a track that it was never told.
#[test]
fn where_a_piece_is_lost_all_is_told_anew() {
    let mut made = Made::new();
    let task = who(7, 7, b"task");
    let mut kept = made.trace.take().0;
    made.wait(&task, (100, 110), None);
    assert_eq!(made.trace.take().1, 1);
    made.trace.tell_anew();
    made.wait(&task, (120, 130), None);
    made.trace.loss(&StreamLoss { cpu: Cpu(1), missed: Some(5), after_ns: 132, before_ns: 140 });
    let mut timeline = Timeline::default();
    let series = Series { idle: false, kind: Cause::Lock(LockFlags(32)).kind() };
    timeline.add(series, 120, 130);
    made.trace.counters(&timeline);
    kept.extend(made.trace.take().0);
    let decoded = decode(&kept);
    let spans: Vec<_> = decoded.slices.iter().map(|slice| (slice.begin, slice.end)).collect();
    assert_eq!(spans, [(120, Some(130)), (132, Some(140))]);
    let lost = &decoded.slices[1];
    assert_eq!(decoded.tracks[&lost.track].name.as_deref(), Some("CPU 1 lost events"));
    assert_eq!(lost.arguments["missed"], "5");
    assert_eq!(decoded.counters["waiting: mutex"], [(0, 10.0 / 1024.0), (1024, 0.0)]);
}

/// With many texts and many tasks: numbers and tracks are forgotten and told again, and memory is bounded.
#[test]
fn whatever_there_is_to_tell_the_trace_reads_back() {
    let mut made = Made::new();
    let mut trace = Vec::new();
    for n in 0..150_000_u32 {
        let name = format!("t{n}");
        made.wait(
            &who(n + 1, n + 1, name.as_bytes()),
            (u64::from(n) * 10, u64::from(n) * 10 + 5),
            None,
        );
        if n % 10_000 == 0 {
            trace.extend(made.trace.take().0);
        }
    }
    trace.extend(made.trace.take().0);
    let decoded = decode(&trace);
    assert_eq!(decoded.slices.len(), 150_000);
    for (n, slice) in decoded.slices.iter().enumerate() {
        assert_eq!(slice.arguments["comm"], format!("t{n}"));
    }
    assert_eq!(made.trace.left_out(), 0);
}
