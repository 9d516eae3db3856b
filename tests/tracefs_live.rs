//! The live half of `tracefs` against the running kernel.
//!
//! Needs root and a mounted tracefs; says so and passes where they are not to be had. Every test
//! works in instances of its own.

#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::print_stdout,
    reason = "helpers of tests fail as tests do, and say what they skip"
)]

use std::env;
use std::fs;
use std::io;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::Command;
use std::sync::mpsc;
use std::thread;

use ftlock::tracefs::{
    Arena, Chunk, Clock, Config, End, Error, Instance, Owner, Reader, Ring, Setting, Tracefs,
    raise_descriptor_limit, remove_leftovers,
};

const ROOT: &str = "/sys/kernel/tracing";
const BOTH: [Reader; 2] = [Reader::Read, Reader::Mapped];

fn tracefs() -> Option<Tracefs> {
    match Tracefs::find(Some(Path::new(ROOT))) {
        Ok(tracefs) if rustix::process::geteuid().is_root() => Some(tracefs),
        Ok(_) => skip("root is needed"),
        Err(error) => skip(&error.to_string()),
    }
}

fn skip<T>(why: &str) -> Option<T> {
    println!("skipped: {why}");
    None
}

fn tracing_switches(tracefs: &Tracefs, config: &Config) -> Instance {
    let mut instance = Instance::create(tracefs, config).unwrap();
    for event in ["sched_switch", "sched_waking"] {
        instance.enable("sched", event).unwrap();
    }
    instance
}

/// Every CPU's ring; none where this kernel cannot map.
fn open_rings(instance: &Instance, reader: Reader) -> Option<Vec<Ring>> {
    let rings = instance.cpus().unwrap().into_iter().map(|cpu| instance.open_ring(cpu, reader));
    match rings.collect() {
        Ok(rings) => Some(rings),
        Err(Error::Unmappable { reason, .. }) => skip(&format!("cannot map: {reason}")),
        Err(error) => panic!("{error}"),
    }
}

/// Makes at least two task switches a round.
fn ping_pong(rounds: usize) {
    let (ping, pings) = mpsc::sync_channel(0);
    let (pong, pongs) = mpsc::sync_channel(0);
    let echo = thread::spawn(move || pings.into_iter().for_each(|round| pong.send(round).unwrap()));
    for round in 0..rounds {
        ping.send(round).unwrap();
        assert_eq!(pongs.recv(), Ok(round));
    }
    drop(ping);
    echo.join().unwrap();
}

/// What a walk over chunks has met.
#[derive(Debug, Default, PartialEq, Eq)]
struct Seen {
    records: u64,
    lost: u64,
    /// Sub-buffers before which events are missing, how many is not said.
    gaps: u64,
    resumed: u64,
}

impl Seen {
    fn drain(&mut self, ring: &mut Ring, arena: &mut Arena) {
        for _ in 0..10_000 {
            arena.clear();
            let drained = ring.drain(arena, 16).unwrap();
            assert_eq!(arena.chunks().count(), drained.chunks);
            arena.chunks().for_each(|chunk| self.walk(chunk));
            match drained.end {
                End::Capped => assert_eq!(drained.chunks, 16),
                End::CaughtUp | End::Offline => return,
                End::Busy => {}
            }
        }
        panic!("the ring does not run dry");
    }

    /// Counts the records of a chunk, which have to fill it to the byte.
    fn walk(&mut self, chunk: Chunk<'_>) {
        let word = |at: usize| u32::from_le_bytes(chunk.bytes[at..at + 4].try_into().unwrap());
        let commit = word(8);
        let end = 16 + (commit & 0x7ff_ffff) as usize;
        match commit >> 30 {
            3 => self.lost += u64::from(word(end)),
            2 => self.gaps += 1,
            _ => {}
        }
        self.resumed += u64::from(chunk.resume_from > 0);
        let mut at = 16 + chunk.resume_from;
        while at < end {
            let type_len = word(at) & 31;
            self.records += u64::from(type_len <= 28);
            at += match type_len {
                0 | 29 => 4 + word(at + 4).next_multiple_of(4) as usize,
                30 | 31 => 8,
                words => 4 + 4 * words as usize,
            };
        }
        assert_eq!(at, end);
    }
}

/// The oracle is the kernel's own count of events unread, and of events read.
/// Whoever looks from another pid namespace takes the owner for dead: `rmdir` has to fail all the same.
#[test]
fn nobody_else_removes_an_instance_even_before_its_rings_are_open() {
    let Some(tracefs) = tracefs() else { return };
    let instance = Instance::create(&tracefs, &Config::default()).unwrap();
    let path = instance.path().to_owned();
    let busy = std::fs::remove_dir(&path).unwrap_err();
    assert_eq!(busy.kind(), std::io::ErrorKind::ResourceBusy, "{busy}");
    instance.remove().unwrap();
    assert!(!path.exists());
}

#[test]
fn both_readers_bring_every_event() {
    let Some(tracefs) = tracefs() else { return };
    for (reader, subbuf_size_kb) in BOTH.into_iter().flat_map(|reader| [(reader, 4), (reader, 64)])
    {
        let config = Config { subbuf_size_kb, buffer_size_kb: 4096, ..Config::default() };
        let mut instance = tracing_switches(&tracefs, &config);
        let Some(mut rings) = open_rings(&instance, reader) else { return };
        instance.start().unwrap();
        ping_pong(3000);
        instance.stop().unwrap();

        let (mut arena, mut records) = (Arena::new(), 0);
        for (cpu, ring) in instance.cpus().unwrap().into_iter().zip(&mut rings) {
            let before = instance.stats(cpu).unwrap();
            let mut seen = Seen::default();
            seen.drain(ring, &mut arena);
            let after = instance.stats(cpu).unwrap();
            assert_eq!((before.overrun, before.read_events), (0, 0));
            assert_eq!(seen, Seen { records: before.entries, ..Seen::default() });
            assert_eq!((after.entries, after.read_events), (0, before.entries));
            records += seen.records;
        }
        assert!(records >= 6000, "{records}");
        drop(rings);
        instance.remove().unwrap();
    }
}

/// Draining while events are recorded brings some sub-buffers in parts, and no event twice.
#[test]
fn draining_while_tracing_brings_every_event_once() {
    let Some(tracefs) = tracefs() else { return };
    for reader in BOTH {
        let mut instance = tracing_switches(&tracefs, &Config::default());
        let Some(mut rings) = open_rings(&instance, reader) else { return };
        let (mut arena, mut seen) = (Arena::new(), Seen::default());
        instance.start().unwrap();
        for _ in 0..20 {
            ping_pong(100);
            rings.iter_mut().for_each(|ring| seen.drain(ring, &mut arena));
        }
        instance.stop().unwrap();
        rings.iter_mut().for_each(|ring| seen.drain(ring, &mut arena));

        let cpus = instance.cpus().unwrap();
        let stats = cpus.iter().map(|&cpu| instance.stats(cpu).unwrap());
        let (left, lost, read) = stats.fold((0, 0, 0), |(left, lost, read), stats| {
            (left + stats.entries, lost + stats.overrun, read + stats.read_events)
        });
        assert_eq!((left, lost, seen.lost, seen.gaps), (0, 0, 0, 0));
        assert_eq!(seen.records, read);
        assert_eq!(seen.resumed > 0, reader == Reader::Mapped, "{seen:?}");
        drop(rings);
        instance.remove().unwrap();
    }
}

#[test]
fn an_overflowed_ring_says_how_many_events_are_missing() {
    let Some(tracefs) = tracefs() else { return };
    for reader in BOTH {
        let config = Config { buffer_size_kb: 64, subbuf_size_kb: 4, ..Config::default() };
        let mut instance = tracing_switches(&tracefs, &config);
        let Some(mut rings) = open_rings(&instance, reader) else { return };
        instance.start().unwrap();
        ping_pong(4000);
        instance.stop().unwrap();

        let (mut arena, mut overrun) = (Arena::new(), 0);
        for (cpu, ring) in instance.cpus().unwrap().into_iter().zip(&mut rings) {
            let mut seen = Seen::default();
            seen.drain(ring, &mut arena);
            let stats = instance.stats(cpu).unwrap();
            assert_eq!((stats.entries, seen.records), (0, stats.read_events));
            // A sub-buffer that is full to the brim has no room for the count.
            let lost = if seen.gaps == 0 { stats.overrun } else { 0 };
            assert_eq!((seen.lost, seen.resumed), (lost, 0), "{reader:?}");
            assert_eq!(seen.gaps > 0 || seen.lost > 0, stats.overrun > 0);
            overrun += stats.overrun;
        }
        assert!(overrun > 0);
        drop(rings);
        instance.remove().unwrap();
    }
}

#[test]
fn a_drain_stops_at_its_cap_and_goes_on_there() {
    let Some(tracefs) = tracefs() else { return };
    for reader in BOTH {
        let config = Config { subbuf_size_kb: 4, ..Config::default() };
        let mut instance = tracing_switches(&tracefs, &config);
        let Some(mut rings) = open_rings(&instance, reader) else { return };
        instance.start().unwrap();
        ping_pong(2000);
        instance.stop().unwrap();

        let (mut arena, mut seen, mut capped) = (Arena::new(), Seen::default(), 0);
        for ring in &mut rings {
            for _ in 0..10_000 {
                arena.clear();
                let drained = ring.drain(&mut arena, 3).unwrap();
                assert!(drained.chunks <= 3);
                arena.chunks().for_each(|chunk| seen.walk(chunk));
                if drained.end != End::Capped {
                    break;
                }
                assert_eq!(drained.chunks, 3);
                capped += 1;
            }
        }
        let cpus = instance.cpus().unwrap();
        let read: u64 = cpus.iter().map(|&cpu| instance.stats(cpu).unwrap().read_events).sum();
        assert_eq!(seen.records, read);
        assert!(capped > 10, "{capped}");
        drop(rings);
        instance.remove().unwrap();
    }
}

/// A fork and exec closes duplicates of the descriptor, which makes empty reads return 0 for good.
#[test]
fn a_ring_goes_on_after_a_process_was_spawned() {
    let Some(tracefs) = tracefs() else { return };
    let mut instance = tracing_switches(&tracefs, &Config::default());
    let mut rings = open_rings(&instance, Reader::Read).unwrap();
    assert!(Command::new("true").status().unwrap().success());
    let mut arena = Arena::new();
    for ring in &mut rings {
        let drained = ring.drain(&mut arena, 4).unwrap();
        assert_eq!((drained.chunks, drained.end), (0, End::CaughtUp));
    }
    instance.start().unwrap();
    ping_pong(100);
    instance.stop().unwrap();
    let mut seen = Seen::default();
    rings.iter_mut().for_each(|ring| seen.drain(ring, &mut arena));
    assert!(seen.records >= 200, "{seen:?}");
    drop(rings);
    instance.remove().unwrap();
}

#[test]
fn a_mapped_ring_that_someone_empties_says_so() {
    let Some(tracefs) = tracefs() else { return };
    let mut instance = tracing_switches(&tracefs, &Config::default());
    let Some(mut rings) = open_rings(&instance, Reader::Mapped) else { return };
    let (mut arena, mut seen) = (Arena::new(), Seen::default());
    instance.start().unwrap();
    ping_pong(500);
    rings.iter_mut().for_each(|ring| seen.drain(ring, &mut arena));
    assert!(seen.records > 0);
    fs::write(instance.path().join("trace"), "").unwrap();
    let mut emptied = 0;
    for ring in &mut rings {
        match ring.drain(&mut arena, 4) {
            Err(Error::Emptied { .. }) => emptied += 1,
            other => assert!(other.is_ok(), "{other:?}"),
        }
    }
    assert!(emptied > 0);
    drop(rings);
    instance.remove().unwrap();
}

#[test]
fn everything_relied_on_is_set() {
    let Some(tracefs) = tracefs() else { return };
    let config = Config { buffer_size_kb: 300, buffer_percent: 40, ..Config::default() };
    let mut instance = Instance::create(&tracefs, &config).unwrap();
    instance.enable("lock", "contention_begin").unwrap();
    instance.record_stacks("lock", "contention_begin", None).unwrap();
    instance.record_stacks("lock", "contention_begin", None).unwrap();

    let path = instance.path().to_owned();
    let read = |name: &str| fs::read_to_string(path.join(name)).unwrap();
    for (name, text) in [
        ("tracing_on", "0\n"),
        ("options/overwrite", "1\n"),
        ("options/stacktrace", "0\n"),
        ("options/userstacktrace", "0\n"),
        ("options/pause-on-trace", "0\n"),
        ("options/block", "0\n"),
        ("buffer_percent", "40\n"),
        ("events/lock/contention_begin/enable", "1*\n"),
        ("events/sched/sched_switch/enable", "0\n"),
    ] {
        assert_eq!(read(name), text, "{name}");
    }
    assert!(read("trace_clock").contains("[mono]"));
    assert!(read("events/lock/contention_begin/trigger").starts_with("stacktrace"));
    assert_eq!(read("buffer_size_kb"), format!("{}\n", instance.buffer_size_kb()));
    assert!(instance.buffer_size_kb() >= 300);
    let data = format!("offset:16;\tsize:{};", instance.subbuf_size() - 16);
    let header_page = instance.header_page().unwrap();
    assert!(header_page.contains(&data), "{data} {header_page}");
    let format = instance.event_format("lock", "contention_begin").unwrap();
    assert!(format.starts_with("name: contention_begin\n"));

    instance.disable_all().unwrap();
    assert!(read("events/lock/contention_begin/enable").starts_with('0'));
}

#[test]
fn the_kernels_time_and_ours_are_one() {
    let Some(tracefs) = tracefs() else { return };
    for clock in [Clock::Mono, Clock::MonoRaw, Clock::Boot, Clock::Tai] {
        let config = Config { clock, buffer_size_kb: 64, ..Config::default() };
        let instance = Instance::create(&tracefs, &config).unwrap();
        let cpu = instance.cpus().unwrap()[0];
        let before = clock.now_ns().unwrap();
        let now = instance.stats(cpu).unwrap().now_ns.unwrap();
        let after = clock.now_ns().unwrap();
        // `stats` rounds to the microsecond.
        assert!(before - 1000 <= now && now <= after + 1000, "{clock:?}: {before} {now} {after}");
    }
}

#[test]
fn the_top_level_stays_as_it_was() {
    let Some(tracefs) = tracefs() else { return };
    let state = || {
        [
            "trace_clock",
            "tracing_on",
            "trace_options",
            "buffer_size_kb",
            "buffer_percent",
            "set_event",
            "set_event_pid",
            "current_tracer",
        ]
        .map(|name| fs::read_to_string(Path::new(ROOT).join(name)).unwrap())
    };
    let before = state();
    let mut instance = tracing_switches(&tracefs, &Config::default());
    instance.record_stacks("lock", "contention_begin", None).unwrap();
    let (from, until) = (("lock", "contention_end"), ("mmap_lock", "mmap_lock_released"));
    instance.record_between(("mmap_lock", "mmap_lock_acquire_returned"), from, until).unwrap();
    let mut rings = open_rings(&instance, Reader::Read).unwrap();
    instance.start().unwrap();
    ping_pong(100);
    let (mut arena, mut seen) = (Arena::new(), Seen::default());
    rings.iter_mut().for_each(|ring| seen.drain(ring, &mut arena));
    assert_eq!(state(), before);
    drop(rings);
    drop(instance);
    assert_eq!(state(), before);
}

#[test]
fn what_someone_else_changes_is_told() {
    let Some(tracefs) = tracefs() else { return };
    let config = Config { buffer_size_kb: 256, ..Config::default() };
    let mut instance = Instance::create(&tracefs, &config).unwrap();
    instance.enable("sched", "sched_switch").unwrap();
    // Which shows in the event's own file.
    instance.record_stacks("sched", "sched_switch", Some("next_pid == 1")).unwrap();
    instance.start().unwrap();
    assert_eq!(instance.disturbances().unwrap(), []);
    let has_sizes = instance.path().join("buffer_subbuf_size_kb").exists();
    for (file, text) in [
        ("tracing_on", "0"),
        ("trace_clock", "boot"),
        ("buffer_subbuf_size_kb", "8"),
        ("per_cpu/cpu0/buffer_size_kb", "512"),
        ("events/enable", "0"),
    ] {
        if file != "buffer_subbuf_size_kb" || has_sizes {
            fs::write(instance.path().join(file), text).unwrap();
        }
    }
    let told = instance.disturbances().unwrap();
    let settings: Vec<Setting> = told.iter().map(|disturbance| disturbance.setting).collect();
    let all = [
        Setting::TracingOn,
        Setting::Clock,
        Setting::SubbufSize,
        Setting::BufferSize,
        Setting::Event,
    ];
    // Kernels before 6.8 have one size of sub-buffers.
    let settable = |setting: &Setting| has_sizes || *setting != Setting::SubbufSize;
    assert_eq!(settings, all.into_iter().filter(settable).collect::<Vec<_>>());
    assert_eq!(told[1].to_string(), "someone else changed trace_clock from mono to boot");
}

#[test]
fn an_instance_goes_when_it_is_dropped_and_when_its_owner_panics() {
    let Some(tracefs) = tracefs() else { return };
    let instance = tracing_switches(&tracefs, &Config::default());
    let path = instance.path().to_owned();
    assert!(path.exists());
    drop(instance);
    assert!(!path.exists());

    let instance = tracing_switches(&tracefs, &Config::default());
    let path = instance.path().to_owned();
    let panicked = thread::spawn(move || {
        assert!(!instance.path().exists(), "on purpose");
    });
    assert!(panicked.join().is_err());
    assert!(!path.exists());
}

#[test]
fn an_open_ring_keeps_its_instance() {
    let Some(tracefs) = tracefs() else { return };
    let instance = Instance::create(&tracefs, &Config::default()).unwrap();
    let path = instance.path().to_owned();
    let cpu = instance.cpus().unwrap()[0];
    let ring = instance.open_ring(cpu, Reader::Read).unwrap();
    let error = instance.remove().unwrap_err();
    let text = format!("cannot remove {}: Device or resource busy (os error 16)", path.display());
    assert_eq!(error.to_string(), text);
    drop(ring);
    fs::remove_dir(&path).unwrap();
}

#[test]
fn instances_of_the_dead_are_removed_and_those_of_the_living_are_not() {
    let Some(tracefs) = tracefs() else { return };
    let mut dead = Command::new("true").spawn().unwrap();
    dead.wait().unwrap();
    let name = |start_time: u32| format!("ftlock-{}-{start_time}", dead.id());
    let path = |start_time| tracefs.root().join("instances").join(name(start_time));
    fs::create_dir(path(1)).unwrap();
    fs::create_dir(path(2)).unwrap();
    let open = fs::File::open(path(2).join("trace_pipe")).unwrap();
    let living = Instance::create(&tracefs, &Config::default()).unwrap();

    let found = remove_leftovers(&tracefs).unwrap();
    assert!(found.removed.contains(&name(1)));
    let stuck = found.stuck.iter().find(|left| left.name == name(2)).unwrap();
    assert_eq!(stuck.source.kind(), io::ErrorKind::ResourceBusy);
    let own = living.path().file_name().unwrap().to_str().unwrap();
    assert!(found.alive.iter().any(|name| name == own));
    assert!(living.path().exists() && path(2).exists() && !path(1).exists());
    drop(open);
    assert!(remove_leftovers(&tracefs).unwrap().removed.contains(&name(2)));
}

#[test]
fn what_this_kernel_lacks_is_named() {
    let Some(tracefs) = tracefs() else { return };
    let mut instance = Instance::create(&tracefs, &Config::default()).unwrap();
    let missing = instance.enable("lock", "contention_middle").unwrap_err();
    assert_eq!(missing.to_string(), "this kernel has no event lock:contention_middle");
    assert!(missing.hint().unwrap().contains("5.19"));
    for (system, event) in [("..", "options"), ("sched/sched_switch", "."), ("", "enable")] {
        let error = instance.enable(system, event).unwrap_err();
        assert!(matches!(error, Error::MissingEvent { .. }), "{error}");
    }
    let error = instance.open_ring(8191, Reader::Read).unwrap_err();
    assert!(error.to_string().contains("per_cpu/cpu8191/trace_pipe_raw: No such file"), "{error}");
}

const ROLE: &str = "FTLOCK_TEST_ROLE";

/// Runs one test of this binary again, in a process of its own, under a wrapper program.
fn rerun(test: &str, role: &str, wrapper: &[&str]) -> Command {
    let exe = env::current_exe().unwrap();
    let mut command = match wrapper {
        [] => Command::new(&exe),
        [program, arguments @ ..] => {
            let mut command = Command::new(program);
            command.args(arguments).arg(&exe);
            command
        }
    };
    command.args([test, "--exact", "--nocapture"]).env(ROLE, role);
    command
}

fn assert_passes(mut child: Command) {
    let output = child.output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success() && text.contains("1 passed"), "{text}{output:?}");
}

#[test]
fn rings_that_do_not_fit_are_refused_and_leave_nothing() {
    let test = "rings_that_do_not_fit_are_refused_and_leave_nothing";
    let Some(tracefs) = tracefs() else { return };
    if env::var(ROLE).is_err() {
        return assert_passes(rerun(test, "alone", &[]));
    }
    let config = Config { buffer_size_kb: 999_999_999, ..Config::default() };
    let error = Instance::create(&tracefs, &config).unwrap_err();
    assert!(error.to_string().starts_with("no memory for 999999999 KiB on each of "), "{error}");
    let own = Owner::this_process().unwrap();
    let left = fs::read_dir(tracefs.root().join("instances")).unwrap().filter(|entry| {
        let name = entry.as_ref().unwrap().file_name();
        name.to_str().and_then(Owner::of_instance) == Some(own)
    });
    assert_eq!(left.count(), 0);
}

#[test]
fn who_may_not_enter_is_told_what_to_do() {
    if env::var(ROLE).is_ok() {
        let error = Tracefs::find(None).unwrap_err();
        let text = format!("cannot enter {ROOT}/events: Permission denied (os error 13)");
        assert_eq!(error.to_string(), text);
        assert_eq!(error.hint().unwrap(), "run it as root, with sudo");
        return;
    }
    if tracefs().is_some() {
        let mut child = rerun("who_may_not_enter_is_told_what_to_do", "nobody", &[]);
        child.uid(65534).gid(65534);
        assert_passes(child);
    }
}

/// In mount namespaces of its own, so that this machine's mounts stay as they are.
#[test]
fn tracefs_is_found_wherever_it_is_mounted() {
    let test = "tracefs_is_found_wherever_it_is_mounted";
    if let Ok(role) = env::var(ROLE) {
        let found = Tracefs::find(None).unwrap();
        let how = if found.mounted_here() { "mounted" } else { "found" };
        assert_eq!(format!("{how} {}", found.root().display()), role);
        let instance = Instance::create(&found, &Config::default()).unwrap();
        assert!(instance.path().starts_with(found.root()));
        return;
    }
    if tracefs().is_none() {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let odd = dir.path().join("t f");
    fs::create_dir(&odd).unwrap();
    let odd = odd.display();
    for (setup, role) in [
        (format!("umount -l {ROOT}"), format!("mounted {ROOT}")),
        (format!("mount -t tmpfs nodev {ROOT}"), format!("mounted {ROOT}")),
        (format!("umount -l {ROOT} && mount -t tracefs nodev '{odd}'"), format!("found {odd}")),
    ] {
        let script = format!("{setup} && exec \"$0\" \"$@\"");
        assert_passes(rerun(test, &role, &["unshare", "-m", "sh", "-c", &script]));
    }
}

#[test]
fn the_limit_on_open_files_is_raised_as_far_as_it_goes() {
    let test = "the_limit_on_open_files_is_raised_as_far_as_it_goes";
    if let Ok(role) = env::var(ROLE) {
        let raised = raise_descriptor_limit(200).map_err(|error| error.to_string());
        let refused = "200 open files are needed, the hard limit is 64".to_owned();
        assert_eq!(raised, if role == "soft" { Ok(()) } else { Err(refused) });
        let files: Vec<_> = (0..150).map(|_| fs::File::open("/dev/null")).collect();
        assert_eq!(files.iter().all(Result::is_ok), role == "soft");
        return;
    }
    for (role, limit) in [("soft", "ulimit -S -n 64"), ("hard", "ulimit -n 64")] {
        let script = format!("{limit} && exec \"$0\" \"$@\"");
        assert_passes(rerun(test, role, &["sh", "-c", &script]));
    }
}
