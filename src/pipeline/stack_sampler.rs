//! Stacks for a part of the time only, where they would cost too much.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use crate::report::StackSampling;
use crate::tracefs::{Error, StackSwitch};

/// How often it is looked at what stacks cost.
const LOOK: Duration = Duration::from_secs(1);

/// The first look is sooner: up to there they cost what they cost.
const FIRST_LOOK: Duration = Duration::from_millis(100);

/// Stacks are switched on once in this time, at a chance moment of it: waits that come at a beat are met
/// as others are.
const PERIOD: Duration = Duration::from_millis(500);

/// They are on for at least so long, or the kernel would do little else than switch: for less of them the
/// period gets longer.
const LEAST_ON: Duration = Duration::from_millis(2);

/// What a look leaves of what was seen before: half of it is gone after six.
const REMEMBERED: f64 = 0.9;

/// The least part of the time that they are on.
const LEAST: f64 = 0.0002;

/// Keeps the cost of stacks below a limit.
#[derive(Debug)]
pub struct StackSampler {
    /// A share of a CPU's time.
    limit: f64,
    /// What it costs to record a frame, in ns.
    frame_ns: f64,
    shared: Arc<Shared>,
    /// Dropped to end the thread.
    ending: Option<Sender<()>>,
    thread: Option<JoinHandle<Result<(), Error>>>,
    started: Instant,
    looked: Instant,
    /// Frames of each CPU, and how long stacks were on, up to the last look.
    frames: Vec<u64>,
    on_ns: u64,
    /// Frames and ns that stacks were on, of late: the longer ago, the less of them.
    lately: (f64, f64),
}

/// What the thread that switches is told, and tells.
#[derive(Debug)]
struct Shared {
    /// How much of the time stacks are on, from 0 to 1, as bits.
    duty: AtomicU64,
    on_ns: AtomicU64,
}

impl StackSampler {
    /// Starts with stacks on all the time. A frame costs `frame_ns`; no CPU is to spend a larger
    /// share of its time on them than `limit`.
    ///
    /// # Errors
    /// If no thread can be started.
    pub fn start(
        switches: Vec<StackSwitch>,
        frame_ns: f64,
        limit: f64,
    ) -> io::Result<StackSampler> {
        let shared = Shared { duty: AtomicU64::new(1f64.to_bits()), on_ns: AtomicU64::new(0) };
        let shared = Arc::new(shared);
        let theirs = Arc::clone(&shared);
        let (ending, end) = mpsc::channel();
        let thread = thread::Builder::new().name("ftlock-stacks".to_owned()).spawn(move || {
            let wait = |time: Duration| end.recv_timeout(time) == Err(RecvTimeoutError::Timeout);
            theirs.switch(&switches, wait)
        })?;
        let now = Instant::now();
        Ok(StackSampler {
            limit,
            frame_ns,
            shared,
            ending: Some(ending),
            thread: Some(thread),
            started: now,
            looked: now,
            frames: Vec::new(),
            on_ns: 0,
            lately: (0.0, 0.0),
        })
    }

    /// Tells how many frames each CPU has recorded so far: from time to time that decides how much of the
    /// time stacks are on.
    pub fn adapt(&mut self, frames: impl Iterator<Item = u64>) {
        let least = if self.frames.is_empty() { FIRST_LOOK } else { LOOK };
        if self.looked.elapsed() < least {
            return;
        }
        let on_ns = self.shared.on_ns.load(Ordering::Relaxed);
        let frames: Vec<u64> = frames.collect();
        let before = self.frames.iter().copied().chain(std::iter::repeat(0));
        let most = frames.iter().zip(before).map(|(now, before)| now.saturating_sub(before)).max();
        // The less of the time they are on, the more chance there is in how many there are.
        let (frames_lately, on_lately) = self.lately;
        let frames_lately = REMEMBERED * frames_lately + most.unwrap_or(0) as f64;
        let on_lately = REMEMBERED * on_lately + on_ns.saturating_sub(self.on_ns) as f64;
        let cost = frames_lately * self.frame_ns / on_lately.max(1.0);
        self.shared.duty.store(duty(cost, self.limit).to_bits(), Ordering::Relaxed);
        self.lately = (frames_lately, on_lately);
        (self.looked, self.frames, self.on_ns) = (Instant::now(), frames, on_ns);
    }

    /// Switches no more, and says how much of the time stacks were recorded.
    ///
    /// # Errors
    /// If they could not be switched.
    pub fn end(mut self) -> Result<StackSampling, Error> {
        drop(self.ending.take());
        let ended = self.thread.take().map(JoinHandle::join);
        let all_ns = self.started.elapsed().as_nanos().max(1) as f64;
        let on_ns = self.shared.on_ns.load(Ordering::Relaxed) as f64;
        // A thread that panicked has said so.
        ended.and_then(Result::ok).unwrap_or(Ok(()))?;
        Ok(StackSampling::new(self.limit, self.frame_ns, on_ns / all_ns))
    }
}

impl Shared {
    /// Switches stacks on and off until `wait` says that the end has come.
    fn switch(
        &self,
        switches: &[StackSwitch],
        wait: impl Fn(Duration) -> bool,
    ) -> Result<(), Error> {
        let (mut is_on, mut since) = (true, Instant::now());
        let mut chance = Chance::default();
        loop {
            let duty = f64::from_bits(self.duty.load(Ordering::Relaxed));
            let (before, on, behind) = parts(duty, chance.next());
            if is_on && duty < 1.0 {
                self.count(&mut since);
                switches.iter().try_for_each(StackSwitch::off)?;
                is_on = false;
            }
            let mut goes_on = wait(before);
            if !is_on {
                switches.iter().try_for_each(StackSwitch::on)?;
                (is_on, since) = (true, Instant::now());
            }
            goes_on = goes_on && wait(on);
            self.count(&mut since);
            if goes_on && duty < 1.0 {
                // It is off at once; then the kernel waits until no CPU is at it any more.
                let begin = Instant::now();
                switches.iter().try_for_each(StackSwitch::off)?;
                is_on = false;
                goes_on = wait(behind.saturating_sub(begin.elapsed()));
            }
            if !goes_on {
                return Ok(());
            }
        }
    }

    /// Stacks were on up to now.
    fn count(&self, since: &mut Instant) {
        let now = Instant::now();
        let on_ns = u64::try_from((now - *since).as_nanos()).unwrap_or(u64::MAX);
        self.on_ns.fetch_add(on_ns, Ordering::Relaxed);
        *since = now;
    }
}

/// How much of the time stacks may be on, if they cost such a share of a CPU's time while they are.
fn duty(cost: f64, limit: f64) -> f64 {
    if cost <= limit { 1.0 } else { (limit / cost).max(LEAST) }
}

/// For how long stacks are off, on and off again, at that chance of 0 to 1.
fn parts(duty: f64, chance: f64) -> (Duration, Duration, Duration) {
    if duty >= 1.0 {
        return (Duration::ZERO, PERIOD / 10, Duration::ZERO);
    }
    let duty = duty.max(LEAST);
    let on = PERIOD.mul_f64(duty).max(LEAST_ON);
    let off = on.mul_f64(1.0 / duty - 1.0);
    let before = off.mul_f64(chance);
    (before, on, off - before.min(off))
}

/// Numbers that look like chance, from 0 to 1 (xorshift, Marsaglia 2003).
#[derive(Debug)]
struct Chance(u64);

impl Default for Chance {
    fn default() -> Chance {
        Chance(0x9e37_79b9_7f4a_7c15)
    }
}

impl Chance {
    fn next(&mut self) -> f64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as f64 / (1u64 << 53) as f64
    }
}

#[cfg(test)]
mod tests {
    use super::{Chance, LEAST, LEAST_ON, duty, parts};

    /// (share of a CPU's time, limit, part of the time)
    #[test]
    fn stacks_are_on_as_long_as_the_limit_allows() {
        let table = [
            (0.0, 0.01, 1.0),
            (0.001, 0.01, 1.0),
            (0.1, 0.01, 0.1),
            (0.2, 0.01, 0.05),
            (1e18, 0.01, LEAST),
        ];
        for (cost, limit, expected) in table {
            let duty = duty(cost, limit);
            assert!((duty - expected).abs() < 1e-9, "{cost}: {duty}");
        }
    }

    #[test]
    fn a_period_has_its_share_at_any_moment_of_it() {
        let mut chance = Chance::default();
        let mut befores = Vec::new();
        for duty in [LEAST, 0.001, 0.01, 0.3, 0.999_999] {
            for _ in 0..100 {
                let (before, on, behind) = parts(duty, chance.next());
                let all = (before + on + behind).as_secs_f64();
                let share = on.as_secs_f64() / all;
                assert!((share / duty - 1.0).abs() < 0.001, "{duty}: {share}");
                assert!(on >= LEAST_ON);
                if duty < 0.3 {
                    befores.push(before.as_secs_f64() / all);
                }
            }
        }
        let mean = befores.iter().sum::<f64>() / befores.len() as f64;
        assert!((0.4..0.6).contains(&mean), "{mean}");
    }
}
