//! A tracing instance of one's own: made, set up, and removed on every way out.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use rustix::io::Errno;

use super::clock::Clock;
use super::cpus;
use super::error::Error;
use super::file;
use super::mmap::MappedRing;
use super::mount::Tracefs;
use super::owner::Owner;
use super::ring::{ReadRing, Reader, Ring};
use super::settings::{self, Config, Sizes};
use super::stacks::StackSwitch;
use super::stats::CpuStats;
use super::watch::{self, Disturbance, Expected};

/// Instances of one process at a time.
const MAX_INSTANCES: u32 = 64;

/// `rmdir` is EBUSY while any file of the instance is open anywhere; someone may be reading one.
const REMOVE_TRIES: u32 = 20;
const REMOVE_PAUSE: Duration = Duration::from_millis(10);

/// A trigger's count that never runs out: the largest of the kernel's, which is a `long`.
const ENDLESS: usize = usize::MAX >> 1;

/// An instance below `instances/`, with rings, events and settings of its own.
///
/// Dropping it removes it. Its rings have to be dropped before, or the kernel refuses and the
/// instance stays until [`remove_leftovers`](super::remove_leftovers) finds it.
#[derive(Debug)]
pub struct Instance {
    path: PathBuf,
    /// An open file of it: `rmdir` by anybody else fails from the start. Whoever looks from another
    /// pid namespace takes the instance for that of a dead process.
    pin: Option<File>,
    expected: Expected,
    /// The events that are recorded, as `SYSTEM/EVENT`.
    enabled: Vec<String>,
    /// The `trigger` files we have written to, and what takes our trigger away.
    triggers: Vec<(PathBuf, String)>,
    stack_switches: Vec<StackSwitch>,
    removed: bool,
}

impl Instance {
    /// Makes an instance, named after this process, that traces nothing yet.
    ///
    /// Everything relied on is set here and read back, since an instance inherits the top
    /// level's options. On an error nothing stays behind.
    pub fn create(tracefs: &Tracefs, config: &Config) -> Result<Instance, Error> {
        let path = make_directory(&tracefs.root().join("instances"), Owner::this_process()?)?;
        let pin = File::open(path.join("tracing_on")).ok();
        let mut instance = Instance {
            path,
            pin,
            expected: Expected {
                tracing_on: false,
                clock: config.clock,
                sizes: Sizes { buffer_size_kb: 0, subbuf_size: 0 },
            },
            enabled: Vec::new(),
            triggers: Vec::new(),
            stack_switches: Vec::new(),
            removed: false,
        };
        instance.stop()?; // A new instance traces.
        settings::set_options(&instance.path)?;
        settings::set_clock(&instance.path, config.clock)?;
        let cpus = instance.cpus()?.len();
        instance.expected.sizes = settings::set_sizes(&instance.path, config, cpus)?;
        settings::set_buffer_percent(&instance.path, config.buffer_percent)?;
        Ok(instance)
    }

    /// Its directory.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The clock that stamps its events.
    pub fn clock(&self) -> Clock {
        self.expected.clock
    }

    /// Each CPU's ring in KiB: at least what was asked for.
    pub fn buffer_size_kb(&self) -> u64 {
        self.expected.sizes.buffer_size_kb
    }

    /// A sub-buffer with its header, in bytes.
    pub fn subbuf_size(&self) -> usize {
        self.expected.sizes.subbuf_size
    }

    /// The text of `events/header_page`: where in a sub-buffer what stands.
    ///
    /// The top level's file is about the top level's sub-buffers.
    pub fn header_page(&self) -> Result<String, Error> {
        file::read(&self.path.join("events/header_page"))
    }

    /// The text of `events/header_event`: the kinds of records.
    pub fn header_event(&self) -> Result<String, Error> {
        file::read(&self.path.join("events/header_event"))
    }

    /// The text of an event's `format` file.
    pub fn event_format(&self, system: &str, event: &str) -> Result<String, Error> {
        file::read(&self.event_dir(system, event)?.join("format"))
    }

    /// Records an event from the next [`Instance::start`] on.
    pub fn enable(&mut self, system: &str, event: &str) -> Result<(), Error> {
        file::write(&self.event_dir(system, event)?.join("enable"), "1")?;
        self.enabled.push(format!("{system}/{event}"));
        Ok(())
    }

    /// Whether this kernel has the event.
    pub fn has_event(&self, system: &str, event: &str) -> bool {
        self.event_dir(system, event).is_ok()
    }

    /// Records only those of an event's records that meet a condition on its fields, in the
    /// language of Documentation/trace/events.rst.
    pub fn filter(&mut self, system: &str, event: &str, condition: &str) -> Result<(), Error> {
        file::write(&self.event_dir(system, event)?.join("filter"), condition)
    }

    /// Records no event any more. Enabled events cost time even while tracing is stopped.
    pub fn disable_all(&mut self) -> Result<(), Error> {
        self.enabled.clear();
        file::write(&self.path.join("events/enable"), "0")
    }

    /// Records a kernel stack behind each of an event's records, or those that meet a condition.
    /// Set twice, it is set once.
    pub fn record_stacks(
        &mut self,
        system: &str,
        event: &str,
        condition: Option<&str>,
    ) -> Result<(), Error> {
        let condition = condition.map(|condition| format!(" if {condition}")).unwrap_or_default();
        self.set_trigger((system, event), "stacktrace", &condition, None)?;
        let path = self.event_dir(system, event)?.join("trigger");
        let trigger = format!("stacktrace{condition}");
        self.stack_switches.push(StackSwitch { path, trigger });
        Ok(())
    }

    /// What switches the stacks of each event that has them.
    pub fn stack_switches(&self) -> Vec<StackSwitch> {
        self.stack_switches.clone()
    }

    /// Records an event only from an event `from` to the next `until`, each given by system and name.
    ///
    /// With a count, which never runs out, the kernel looks whether there is something to switch
    /// before it writes; without one every `until` would write to memory that all CPUs share
    /// (`event_enable_count_trigger`, kernel/trace/trace_events_trigger.c, 6.18).
    pub fn record_between(
        &mut self,
        (system, event): (&str, &str),
        from: (&str, &str),
        until: (&str, &str),
    ) -> Result<(), Error> {
        self.event_dir(system, event)?;
        let what = format!(":{system}:{event}");
        self.set_trigger(until, "disable_event", &what, Some(ENDLESS))?;
        self.set_trigger(from, "enable_event", &what, Some(ENDLESS))
    }

    fn set_trigger(
        &mut self,
        (system, event): (&str, &str),
        trigger: &'static str,
        what: &str,
        count: Option<usize>,
    ) -> Result<(), Error> {
        let path = self.event_dir(system, event)?.join("trigger");
        let text = file::read(&path)?;
        // Without a trigger the file lists which there are.
        let offered = text.lines().filter(|line| line.starts_with('#'));
        if offered.clone().count() > 0
            && !offered.flat_map(str::split_whitespace).any(|word| word == trigger)
        {
            let (system, event) = (system.to_owned(), event.to_owned());
            return Err(Error::MissingTrigger { system, event, trigger });
        }
        let count = count.map(|count| format!(":{count}")).unwrap_or_default();
        match file::write(&path, &format!("{trigger}{what}{count}")) {
            Err(Error::Io { source, .. }) if source.kind() == io::ErrorKind::AlreadyExists => {}
            written => {
                written?;
                self.triggers.push((path, format!("!{trigger}{what}")));
            }
        }
        Ok(())
    }

    /// Lets events be recorded.
    pub fn start(&mut self) -> Result<(), Error> {
        file::write(&self.path.join("tracing_on"), "1")?;
        self.expected.tracing_on = true;
        Ok(())
    }

    /// Lets no event be recorded. What is in the rings can still be drained.
    pub fn stop(&mut self) -> Result<(), Error> {
        file::write(&self.path.join("tracing_on"), "0")?;
        self.expected.tracing_on = false;
        Ok(())
    }

    /// Writes a text into the ring, as an event of the calling thread.
    pub fn mark(&self, text: &str) -> Result<(), Error> {
        file::write(&self.path.join("trace_marker"), text)
    }

    /// The CPUs that have a ring: all that are possible, online or not.
    pub fn cpus(&self) -> Result<Vec<u16>, Error> {
        cpus::in_directory(&self.path.join("per_cpu"))
    }

    /// One CPU's counters.
    pub fn stats(&self, cpu: u16) -> Result<CpuStats, Error> {
        let path = self.cpu_file(cpu, "stats");
        CpuStats::parse(&self.stats_text(cpu)?).map_err(|source| Error::Stats { path, source })
    }

    /// The text of one CPU's counters.
    pub fn stats_text(&self, cpu: u16) -> Result<String, Error> {
        file::read(&self.cpu_file(cpu, "stats"))
    }

    /// Opens one CPU's ring. Two readers of a ring take each other's events, unnoticed.
    pub fn open_ring(&self, cpu: u16, reader: Reader) -> Result<Ring, Error> {
        let path = self.cpu_file(cpu, "trace_pipe_raw");
        Ok(match reader {
            Reader::Read => Ring::Read(ReadRing::open(&path, self.subbuf_size())?),
            Reader::Mapped => Ring::Mapped(MappedRing::open(&path, self.subbuf_size())?),
        })
    }

    /// What someone else has changed of what we have set; empty when all is well.
    pub fn disturbances(&self) -> Result<Vec<Disturbance>, Error> {
        watch::disturbances(&self.path, self.expected, &self.enabled)
    }

    /// Stops tracing and removes the instance. Its rings have to be dropped before.
    pub fn remove(mut self) -> Result<(), Error> {
        self.tear_down()
    }

    fn tear_down(&mut self) -> Result<(), Error> {
        self.removed = true;
        // The directory has to go, whether or not these worked; but where it cannot, at
        // least nothing is recorded any more.
        let quiet = self.stop().and_then(|()| self.disable_all());
        let triggers = std::mem::take(&mut self.triggers);
        let no_triggers = triggers.iter().try_for_each(|(path, text)| file::write(path, text));
        self.pin = None;
        remove_directory(&self.path)?;
        match quiet.and(no_triggers) {
            Err(Error::Io { source, .. }) if source.kind() == io::ErrorKind::NotFound => Ok(()),
            done => done,
        }
    }

    fn cpu_file(&self, cpu: u16, name: &str) -> PathBuf {
        self.path.join(format!("per_cpu/cpu{cpu}/{name}"))
    }

    /// The event's directory. What is no name of an event does not exist.
    fn event_dir(&self, system: &str, event: &str) -> Result<PathBuf, Error> {
        let missing = || Error::MissingEvent { system: system.to_owned(), event: event.to_owned() };
        if [system, event].iter().any(|name| name.is_empty() || name.contains(['/', '.'])) {
            return Err(missing());
        }
        let path = self.path.join("events").join(system).join(event);
        match fs::metadata(path.join("format")) {
            Ok(_) => Ok(path),
            Err(source) if source.kind() == io::ErrorKind::NotFound => Err(missing()),
            Err(source) => Err(Error::at("enter", &path, source)),
        }
    }
}

impl Drop for Instance {
    fn drop(&mut self) {
        if !self.removed {
            // There is nobody to tell; `remove` tells.
            self.tear_down().ok();
        }
    }
}

fn make_directory(instances: &Path, owner: Owner) -> Result<PathBuf, Error> {
    for number in 1..=MAX_INSTANCES {
        let path = instances.join(owner.instance_name(number));
        match fs::create_dir(&path) {
            Ok(()) => return Ok(path),
            Err(source) if source.kind() == io::ErrorKind::AlreadyExists => {}
            Err(source) => return Err(Error::at("create", &path, source)),
        }
    }
    Err(Error::NamesTaken { path: instances.join(owner.instance_name(1)) })
}

fn remove_directory(path: &Path) -> Result<(), Error> {
    let mut tries = 1;
    loop {
        match fs::remove_dir(path) {
            Err(source) if source.kind() == io::ErrorKind::NotFound => return Ok(()),
            Err(source)
                if source.raw_os_error() == Some(Errno::BUSY.raw_os_error())
                    && tries < REMOVE_TRIES =>
            {
                thread::sleep(REMOVE_PAUSE);
                tries += 1;
            }
            done => return done.map_err(|source| Error::at("remove", path, source)),
        }
    }
}
