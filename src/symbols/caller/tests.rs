use super::super::fixtures::{KERNELS, recording, stacks};
use super::{CallerFinder, Waiter};
use crate::symbols::Kallsyms;
use std::collections::BTreeSet;
use std::sync::Arc;

const LIST: &[u8] = b"\
1000 T futex_wake\n\
2000 T try_to_wake_up\n\
3000 t trace_event_raw_event_contention_begin\n\
3100 T __traceiter_contention_begin\n\
3200 T raw_spin_rq_lock_nested\n\
3300 t __rt_mutex_slowlock_locked.constprop.0\n\
3400 T percpu_down_write\n\
5000 T __sched_text_start\n\
5000 t __schedule\n\
5100 t __mutex_lock.constprop.0\n\
5fff T __sched_text_end\n\
6000 T __lock_text_start\n\
6000 T _raw_spin_lock\n\
6fff T __lock_text_end\n\
7000 T __pv_queued_spin_lock_slowpath\n\
8000 T entry_SYSCALL_64_after_hwframe\n";

const TRACER: u64 = 0x304b;
const TRACEITER: u64 = 0x312f;
const RQ_LOCK: u64 = 0x3210;
const RT_SLOWLOCK: u64 = 0x3310;
const PERCPU: u64 = 0x34fe;
const SCHEDULE: u64 = 0x5010;
const MUTEX_LOCK: u64 = 0x5110;
const RAW_SPIN_LOCK: u64 = 0x603b;
const SLOWPATH: u64 = 0x710e;
const FUTEX_WAKE: u64 = 0x10c4;
const WAKE_UP: u64 = 0x2206;
const ENTRY: u64 = 0x8076;
const UNKNOWN: u64 = 0x7fff_0000_0000;

#[test]
fn the_caller_is_the_first_frame_that_is_not_the_locks() {
    use Waiter::{Sleeping, Spinning};
    let finder = CallerFinder::new(Arc::new(Kallsyms::parse(LIST)));
    let table: [(&[u64], Waiter, Option<u64>); 10] = [
        (&[TRACER, TRACEITER, SLOWPATH, RAW_SPIN_LOCK, FUTEX_WAKE], Spinning, Some(FUTEX_WAKE)),
        (&[FUTEX_WAKE, ENTRY], Spinning, Some(FUTEX_WAKE)),
        (&[TRACER, SLOWPATH, RAW_SPIN_LOCK, RQ_LOCK, SCHEDULE, ENTRY], Spinning, Some(SCHEDULE)),
        (&[TRACER, MUTEX_LOCK, SCHEDULE, WAKE_UP], Sleeping, Some(WAKE_UP)),
        (&[TRACER, RT_SLOWLOCK, FUTEX_WAKE], Sleeping, Some(FUTEX_WAKE)),
        (&[TRACER, PERCPU, FUTEX_WAKE], Sleeping, Some(FUTEX_WAKE)),
        // The tracer's frames count as such on top only.
        (&[FUTEX_WAKE, TRACER, WAKE_UP], Spinning, Some(FUTEX_WAKE)),
        (&[TRACER, UNKNOWN, FUTEX_WAKE], Spinning, Some(UNKNOWN)),
        (&[TRACER, SLOWPATH, RAW_SPIN_LOCK], Spinning, Some(RAW_SPIN_LOCK)),
        (&[], Spinning, None),
    ];
    for (frames, waiter, caller) in table {
        assert_eq!(finder.caller(frames, waiter), caller, "{frames:x?} {waiter:?}");
    }
}

#[test]
fn without_symbols_the_top_frame_is_the_caller() {
    let finder = CallerFinder::new(Arc::new(Kallsyms::parse(b"")));
    assert_eq!(finder.caller(&[FUTEX_WAKE, ENTRY], Waiter::Sleeping), Some(FUTEX_WAKE));
}

/// What the recorded load contends for: pipes, futexes, one directory's inode, one mm.
const EXPECTED: [(&str, &[&str]); 6] = [
    ("amd64-6.1", &["spinlock futex_wake", "rwsem:W vm_mmap_pgoff", "rwsem:W do_unlinkat"]),
    ("amd64-6.1-rt", &["rt-mutex futex_wake", "rwlock-rt:W vm_mmap_pgoff"]),
    ("amd64-6.12", &["spinlock futex_wake", "mutex pipe_write", "rwlock:W do_exit"]),
    ("amd64-6.18-live", &["spinlock unix_stream_sendmsg", "spinlock __schedule"]),
    ("armhf-6.1", &["rwsem:W vm_mmap_pgoff", "pcpu-sem:W __cgroup_procs_write"]),
    ("s390x-6.1", &["rwsem:W path_openat", "pcpu-sem:W cgroup_procs_write_start"]),
];

/// Words of lock functions and of the tracer: no caller's name may have one.
const NOT_CALLERS: [&str; 11] = [
    "slowpath",
    "slowlock",
    "mutex",
    "rwsem",
    "rwbase",
    "spin_lock",
    "down_",
    "rq_lock",
    "lruvec_lock",
    "trace_event",
    "traceiter",
];

#[test]
fn recorded_stacks_give_callers_and_never_the_lock_or_the_tracer() {
    for (kernel, expected) in EXPECTED {
        assert!(KERNELS.contains(&kernel));
        let Some(list) = recording(kernel, "_kernel/kallsyms.txt.zst") else { return };
        let Some(trace) = recording(kernel, "stack/trace.symaddr.txt.zst") else { return };
        let symbols = Arc::new(Kallsyms::parse(&list));
        let finder = CallerFinder::new(Arc::clone(&symbols));
        let mut callers = BTreeSet::new();
        for stack in stacks(&trace) {
            let spinning = stack.flags.is_spinning();
            let waiter = if spinning { Waiter::Spinning } else { Waiter::Sleeping };
            let frames: Vec<u64> = stack.frames.iter().map(|&(_, addr)| addr).collect();
            let caller = finder.caller(&frames, waiter).unwrap();
            let name = symbols.resolve(caller).unwrap().name;
            assert!(!NOT_CALLERS.iter().any(|word| name.contains(word)), "{kernel}: {name}");
            callers.insert(format!("{} {name}", stack.flags.kind().name()));
        }
        for caller in expected {
            assert!(callers.contains(*caller), "{kernel}: no {caller} in {callers:?}");
        }
    }
}
