//! A live trace: an own instance, its rings, and the loop that turns them into windows.

use std::io;
use std::os::fd::AsRawFd;
use std::time::{Duration, Instant};

use mio::unix::SourceFd;
use mio::{Events, Interest, Poll, Token};
use serde::{Deserialize, Serialize};

use crate::event::Cpu;
use crate::tracefs::{self, Arena, CpuStats, Disturbance, End, Instance, Reader, Ring, Unmappable};

use super::engine::Engine;
use super::error::Error;
use super::pace::Pace;
use super::results::Sink;
use super::save::Saver;
use super::setup::Chunk;

/// Bytes read of one CPU before the others get their turn.
const MAX_TURN_BYTES: usize = 4 << 20;

/// A virtual CPU may lose its host between taking the time and committing the event: what is this
/// young stays for the next window.
const SLACK_NS: u64 = 1_000_000;

/// How often the instance is looked after: has someone changed it.
const WATCH: Duration = Duration::from_secs(1);

/// How long the last reads may take: rings of any size are read by then, and what is left after a
/// kernel that refuses to give it is counted.
const LAST_READS: Duration = Duration::from_secs(10);

const SIGNAL: Token = Token(usize::MAX);
const READER_GONE: Token = Token(usize::MAX - 1);

/// The rings of an instance that traces.
#[derive(Debug)]
pub struct Live {
    // The rings before the instance: it cannot be removed while one of them is open.
    rings: Vec<OneCpu>,
    poll: Poll,
    events: Events,
    instance: Instance,
    saver: Option<Saver>,
    pace: Pace,
    watched: Instant,
    disturbances: Vec<Disturbance>,
}

#[derive(Debug)]
struct OneCpu {
    cpu: Cpu,
    ring: Ring,
    arena: Arena,
    end: End,
    /// Up to when everything was read before the last drain.
    read_up_to_ns: u64,
    /// What was read since everything was last read.
    backlog_bytes: u64,
}

/// What is left when a live trace has ended.
#[derive(Debug, Default)]
pub struct Ended {
    /// Each CPU's counters, after the last drain.
    pub stats: Vec<(Cpu, Option<CpuStats>)>,
    /// What someone else changed meanwhile.
    pub disturbances: Vec<Disturbance>,
    /// Each CPU's ring in KiB.
    pub buffer_size_kb: u64,
    /// How full rings were.
    pub fill: RingFill,
}

/// How full rings were when they were read.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RingFill {
    /// The fullest, in percent.
    pub peak_percent: u64,
    /// How often one was so full that they were read more often from then on.
    pub hurried: u64,
}

impl Live {
    /// Opens the rings of an instance.
    pub fn open(instance: Instance, reader: Reader) -> Result<Live, Error> {
        let cpus = instance.cpus()?;
        // Besides the rings: epoll, signals, the standard streams, and files read in passing.
        tracefs::raise_descriptor_limit(cpus.len() as u64 + 32)?;
        let poll = Poll::new().map_err(Error::Poll)?;
        let mut rings = Vec::with_capacity(cpus.len());
        for cpu in cpus {
            let ring = open_ring(&instance, cpu, reader)?;
            let fd = ring.as_raw_fd();
            poll.registry()
                .register(&mut SourceFd(&fd), Token(rings.len()), Interest::READABLE)
                .map_err(Error::Poll)?;
            rings.push(OneCpu {
                cpu: Cpu(cpu),
                ring,
                arena: Arena::new(),
                end: End::CaughtUp,
                read_up_to_ns: 0,
                backlog_bytes: 0,
            });
        }
        let (events, watched) = (Events::with_capacity(64), Instant::now());
        let disturbances = Vec::new();
        let (saver, pace) = (None, Pace::new());
        Ok(Live { rings, poll, events, instance, saver, pace, watched, disturbances })
    }

    /// The CPUs that have a ring, in the order the engine knows them.
    pub fn cpus(&self) -> impl Iterator<Item = Cpu> {
        self.rings.iter().map(|one| one.cpu)
    }

    /// The instance, to enable events in it.
    pub fn instance(&mut self) -> &mut Instance {
        &mut self.instance
    }

    /// Saves everything that is read from now on.
    pub fn save_to(&mut self, saver: Saver) {
        self.saver = Some(saver);
    }

    /// Whatever saves what is read.
    pub fn saver(&mut self) -> Option<&mut Saver> {
        self.saver.as_mut()
    }

    /// Saves no more.
    pub fn take_saver(&mut self) -> Option<Saver> {
        self.saver.take()
    }

    /// Also wakes when `fd` becomes readable.
    pub fn wake_on(&self, fd: &impl AsRawFd) -> Result<(), Error> {
        let fd = fd.as_raw_fd();
        let registry = self.poll.registry();
        registry.register(&mut SourceFd(&fd), SIGNAL, Interest::READABLE).map_err(Error::Poll)
    }

    /// Also wakes when nobody reads the pipe `fd` any more. Of files there is nothing to wait for.
    pub fn wake_when_unread(&self, fd: &impl AsRawFd) {
        let fd = fd.as_raw_fd();
        let source = &mut SourceFd(&fd);
        // A regular file cannot be watched, and need not be.
        let _ = self.poll.registry().register(source, READER_GONE, Interest::PRIORITY).is_ok();
    }

    /// Now, in ns of the trace clock.
    pub fn now_ns(&self) -> Result<u64, Error> {
        if let Some(now) = self.instance.clock().now_ns() {
            return Ok(now);
        }
        // Such a clock can only be read where the kernel prints it.
        let cpu = self.rings.first().map_or(0, |one| one.cpu.0);
        Ok(self.instance.stats(cpu)?.now_ns.unwrap_or(0))
    }

    /// Waits for a full ring, a signal or the tick, which is shorter while rings fill up. Returns whether the stream lost its reader.
    pub fn wait(&mut self, tick: Duration) -> Result<bool, Error> {
        if self.rings.iter().any(|one| matches!(one.end, End::Capped | End::Busy)) {
            return Ok(false);
        }
        let tick = self.pace.tick(tick);
        match self.poll.poll(&mut self.events, Some(tick)) {
            Err(error) if error.kind() != io::ErrorKind::Interrupted => {
                return Err(Error::Poll(error));
            }
            _ => {}
        }
        Ok(self.events.iter().any(|event| {
            event.token() == READER_GONE && (event.is_error() || event.is_write_closed())
        }))
    }

    /// Reads what there is, and processes what is old enough to be in order. Without an engine it
    /// is only saved.
    pub fn pump(&mut self, engine: Option<&mut Engine>, sink: &mut dyn Sink) -> Result<(), Error> {
        let now_ns = self.now_ns()?;
        self.drain()?;
        self.rearm()?;
        if let Some(engine) = engine {
            let watermark = self.feed(engine, now_ns);
            engine.window(watermark.saturating_sub(SLACK_NS), sink);
        }
        self.note_read(now_ns);
        if self.watched.elapsed() >= WATCH {
            self.watch()?;
        }
        Ok(())
    }

    /// Stops tracing, and reads and processes the rest.
    pub fn stop(
        &mut self,
        mut engine: Option<&mut Engine>,
        sink: &mut dyn Sink,
    ) -> Result<Ended, Error> {
        self.watch()?;
        self.instance.stop()?;
        let mut quiet = 0;
        let give_up = Instant::now() + LAST_READS;
        // An event that was being written when tracing stopped is committed a moment later.
        while quiet < 2 && Instant::now() < give_up {
            let now_ns = self.now_ns()?;
            self.drain()?;
            if let Some(engine) = &mut engine {
                self.feed(engine, now_ns);
            }
            self.note_read(now_ns);
            let all_read = self.rings.iter().all(|one| one.arena.used_bytes() == 0);
            quiet = if all_read { quiet + 1 } else { 0 };
        }
        if let Some(engine) = engine {
            engine.window(u64::MAX, sink);
        }
        let stats = self.rings.iter().map(|one| (one.cpu, self.instance.stats(one.cpu.0).ok()));
        let stats = stats.collect();
        if let Some(saver) = &mut self.saver {
            saver.set_stats(&self.instance);
        }
        let buffer_size_kb = self.instance.buffer_size_kb();
        let disturbances = std::mem::take(&mut self.disturbances);
        let fill = self.pace.fill;
        Ok(Ended { stats, disturbances, buffer_size_kb, fill })
    }

    /// Removes the instance.
    pub fn remove(self) -> Result<(), Error> {
        drop(self.rings);
        Ok(self.instance.remove()?)
    }

    fn drain(&mut self) -> Result<(), Error> {
        let max_subbufs = (MAX_TURN_BYTES / self.instance.subbuf_size().max(1)).max(1);
        for one in &mut self.rings {
            one.arena.clear();
            one.end = one.ring.drain(&mut one.arena, max_subbufs)?.end;
            if let Some(saver) = &mut self.saver {
                saver.take(one.cpu, &one.arena, one.read_up_to_ns);
            }
        }
        for one in &mut self.rings {
            one.backlog_bytes += one.arena.used_bytes() as u64;
        }
        let most_bytes = self.rings.iter().map(|one| one.backlog_bytes).max();
        for one in self.rings.iter_mut().filter(|one| one.end != End::Capped) {
            one.backlog_bytes = 0;
        }
        let ring_bytes = self.instance.buffer_size_kb().saturating_mul(1024).max(1);
        self.pace.note((100 * most_bytes.unwrap_or(0) / ring_bytes).min(100));
        Ok(())
    }

    fn note_read(&mut self, now_ns: u64) {
        let read = self.rings.iter_mut().filter(|one| is_all_read(one.end));
        read.for_each(|one| one.read_up_to_ns = now_ns);
    }

    /// mio waits for edges, and with `buffer_percent` above 0 the kernel gives one and then none
    /// while the ring stays above the mark (kernel/trace/ring_buffer.c, 6.18): so ask anew.
    fn rearm(&self) -> Result<(), Error> {
        for (index, one) in self.rings.iter().enumerate() {
            let fd = one.ring.as_raw_fd();
            self.poll
                .registry()
                .reregister(&mut SourceFd(&fd), Token(index), Interest::READABLE)
                .map_err(Error::Poll)?;
        }
        Ok(())
    }

    /// Decodes what was drained; returns up to which instant every CPU has been read.
    fn feed(&self, engine: &mut Engine, now_ns: u64) -> u64 {
        let chunks = self.rings.iter().map(|one| {
            let chunks = one.arena.chunks();
            chunks.map(|chunk| Chunk {
                sub_buffer: chunk.bytes,
                resumes: chunk.resume_from > 0,
                read_up_to_ns: 0,
                is_behind_gap: false,
            })
        });
        engine.decode(chunks.map(Iterator::collect).collect());
        let mut watermark = now_ns;
        for (index, one) in self.rings.iter().enumerate() {
            match is_all_read(one.end) {
                true => engine.set_read_up_to(index, now_ns),
                false => watermark = watermark.min(engine.last_ns(index)),
            }
        }
        watermark
    }

    fn watch(&mut self) -> Result<(), Error> {
        self.watched = Instant::now();
        for disturbance in self.instance.disturbances()? {
            if !self.disturbances.contains(&disturbance) {
                self.disturbances.push(disturbance);
            }
        }
        Ok(())
    }
}

/// Whether a drain that ended so has brought everything recorded before it.
fn is_all_read(end: End) -> bool {
    matches!(end, End::CaughtUp | End::Offline)
}

/// A CPU that was never online has no ring to map; read, it has nothing to give yet.
fn open_ring(instance: &Instance, cpu: u16, reader: Reader) -> Result<Ring, tracefs::Error> {
    match instance.open_ring(cpu, reader) {
        Err(tracefs::Error::Unmappable { reason: Unmappable::Offline, .. }) => {
            instance.open_ring(cpu, Reader::Read)
        }
        opened => opened,
    }
}
