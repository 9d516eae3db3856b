//! Threads that fight for a `std::sync::Mutex` with a name: `rust_mutex LOG SECONDS`.
//!
//! The log is that of mutexes.c: `{"record":"lock", name, pid, address}`, and for each
//! time that the lock was not free `{"record":"wait", lock, tid, comm, enter_ns, leave_ns,
//! holder_tid}`. The library (Rust 1.62 and later) waits in
//! futex(FUTEX_WAIT_BITSET_PRIVATE, 2) without a time-out.

use std::fs::File;
use std::io::Write;
use std::sync::Mutex;
use std::thread;
use std::time::Duration;

/// The tid of who had it last.
static THE_LOCK: Mutex<u64> = Mutex::new(0);

#[repr(C)]
struct Timespec {
    seconds: i64,
    nanoseconds: i64,
}

unsafe extern "C" {
    safe fn gettid() -> i32;
    safe fn clock_gettime(clock: i32, time: &mut Timespec) -> i32;
}

const CLOCK_MONOTONIC: i32 = 1;

fn now() -> u64 {
    let mut time = Timespec { seconds: 0, nanoseconds: 0 };
    assert_eq!(clock_gettime(CLOCK_MONOTONIC, &mut time), 0);
    (time.seconds * 1_000_000_000 + time.nanoseconds) as u64
}

fn fight(log: &File, end_ns: u64) {
    let (tid, thread) = (gettid(), thread::current());
    let comm = thread.name().unwrap();
    while now() < end_ns {
        let mut last = match THE_LOCK.try_lock() {
            Ok(free) => free,
            Err(_) => {
                let enter_ns = now();
                let last = THE_LOCK.lock().unwrap();
                let line = format!(
                    "{{\"record\":\"wait\",\"lock\":\"THE_LOCK\",\"tid\":{tid},\"comm\":\"{comm}\",\
                     \"enter_ns\":{enter_ns},\"leave_ns\":{},\"holder_tid\":{}}}\n",
                    now(),
                    *last
                );
                (&mut &*log).write_all(line.as_bytes()).unwrap();
                last
            }
        };
        thread::sleep(Duration::from_millis(2));
        *last = tid as u64;
        drop(last);
        thread::sleep(Duration::from_millis(1));
    }
}

fn main() {
    let mut arguments = std::env::args().skip(1);
    let mut log = File::create(arguments.next().unwrap()).unwrap();
    let seconds: f64 = arguments.next().unwrap().parse().unwrap();
    let end_ns = now() + (seconds * 1e9) as u64;
    let (pid, address) = (std::process::id(), &raw const THE_LOCK as usize);
    writeln!(
        log,
        "{{\"record\":\"lock\",\"name\":\"THE_LOCK\",\"pid\":{pid},\"address\":{address}}}"
    )
    .unwrap();
    thread::scope(|scope| {
        for number in 0..4 {
            let log = &log;
            let name = format!("fighter-{number}");
            thread::Builder::new().name(name).spawn_scoped(scope, move || fight(log, end_ns)).unwrap();
        }
    });
}
