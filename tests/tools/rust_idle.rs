//! Threads that wait for something to do, not for a lock: `rust_idle LOG SECONDS`.
//!
//! The log is that of idle_pool.c, `{"record":"idle", what, tid, comm, enter_ns, leave_ns}`:
//! - condvar: futex(FUTEX_WAIT_BITSET_PRIVATE, n), n counting the notifications from 0, so
//!   the third wait has the value that waits for a mutex have
//! - recv, park: futex(FUTEX_WAIT_BITSET_PRIVATE, 0xffffffff); a receiver that is woken may then
//!   wait some microseconds, with 2, for the channel's own mutex: that is contention
//! - join: futex(FUTEX_WAIT_BITSET|REALTIME, tid), shared; woken by the thread's exit

use std::fs::File;
use std::io::Write;
use std::sync::{Condvar, Mutex, mpsc};
use std::thread;
use std::time::Duration;

static WORK: Mutex<i64> = Mutex::new(0);
static WORK_READY: Condvar = Condvar::new();

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

/// Does what it is given and logs how long that took.
fn idle<T>(log: &File, what: &str, wait: impl FnOnce() -> T) -> T {
    let enter_ns = now();
    let got = wait();
    let (leave_ns, tid, thread) = (now(), gettid(), thread::current());
    let comm = thread.name().unwrap();
    let line = format!(
        "{{\"record\":\"idle\",\"what\":\"{what}\",\"tid\":{tid},\"comm\":\"{comm}\",\
         \"enter_ns\":{enter_ns},\"leave_ns\":{leave_ns}}}\n"
    );
    (&mut &*log).write_all(line.as_bytes()).unwrap();
    got
}

fn take_work() -> i64 {
    let mut work = WORK_READY.wait_while(WORK.lock().unwrap(), |work| *work == 0).unwrap();
    if *work > 0 {
        *work -= 1;
    }
    *work
}

fn give_work(change: impl FnOnce(&mut i64)) {
    change(&mut WORK.lock().unwrap());
    WORK_READY.notify_all();
}

fn main() {
    let mut arguments = std::env::args().skip(1);
    let log = &File::create(arguments.next().unwrap()).unwrap();
    let seconds: f64 = arguments.next().unwrap().parse().unwrap();
    let end_ns = now() + (seconds * 1e9) as u64;
    let (sender, receiver) = mpsc::channel::<u32>();
    thread::scope(|scope| {
        let named = |name: &str| thread::Builder::new().name(name.to_owned());
        let worker = move || while idle(log, "condvar", take_work) >= 0 {};
        named("worker").spawn_scoped(scope, worker).unwrap();
        let consumer = move || while idle(log, "recv", || receiver.recv()).is_ok() {};
        named("consumer").spawn_scoped(scope, consumer).unwrap();
        let parker = move || {
            while now() < end_ns {
                idle(log, "park", thread::park);
            }
        };
        let parker = named("parker").spawn_scoped(scope, parker).unwrap();
        let joiner = move || {
            while now() < end_ns {
                let napper = named("napper").spawn(|| thread::sleep(Duration::from_millis(30)));
                idle(log, "join", || napper.unwrap().join().unwrap());
            }
        };
        named("joiner").spawn_scoped(scope, joiner).unwrap();
        while now() < end_ns {
            thread::sleep(Duration::from_millis(20));
            give_work(|work| *work += 1);
            sender.send(1).unwrap();
            parker.thread().unpark();
        }
        give_work(|work| *work = -1);
        drop(sender);
        parker.thread().unpark();
    });
}
