//! Kernel stacks: switched on and off while an instance records, and what it costs to record one.

use std::fs::OpenOptions;
use std::io::Write as _;
use std::path::PathBuf;
use std::time::Instant;

use super::error::Error;
use super::file;
use super::instance::Instance;

/// The event of `trace_marker`: whoever writes there raises it.
const MARK_EVENT: (&str, &str) = ("ftrace", "print");

/// Marks that are written at a time, and how often: the quickest time is the least disturbed one.
const MARKS: u32 = 32;
const TIMES: u32 = 16;

/// A trigger that records a stack with each of an event's records.
#[derive(Debug, Clone)]
pub struct StackSwitch {
    pub(super) path: PathBuf,
    pub(super) trigger: String,
}

impl StackSwitch {
    /// Stacks from now on, if there were none.
    pub fn on(&self) -> Result<(), Error> {
        match file::write(&self.path, &self.trigger) {
            Err(Error::Io { source, .. }) if source.kind() == std::io::ErrorKind::AlreadyExists => {
                Ok(())
            }
            written => written,
        }
    }

    /// No stacks from now on, if there were any. Returns when no CPU is at one any more, which takes the
    /// kernel tens of milliseconds.
    pub fn off(&self) -> Result<(), Error> {
        file::write(&self.path, "!stacktrace")
    }
}

impl Instance {
    /// What it costs a task to have a frame of its kernel stack recorded, in ns: by a stack of few frames,
    /// whose cost is more for each than that of many. The rings are empty before and after, and tracing
    /// is off.
    pub fn measure_frame_ns(&mut self) -> Result<f64, Error> {
        self.start()?;
        let bare_ns = self.mark_ns()?;
        let (system, event) = MARK_EVENT;
        let path = self.path().join("events").join(system).join(event).join("trigger");
        let stacks = StackSwitch { path, trigger: "stacktrace".to_owned() };
        stacks.on()?;
        let with_stacks_ns = self.mark_ns();
        stacks.off()?;
        self.stop()?;
        let path = self.path().join("trace");
        let text = file::read(&path)?;
        let lines = |begin: &str| text.lines().filter(|line| line.starts_with(begin)).count();
        let frames = lines(" => ") as f64 / f64::from(MARKS * TIMES);
        let emptied = OpenOptions::new().write(true).truncate(true).open(&path);
        let emptied = emptied.and_then(|mut file| file.write_all(b"\n"));
        emptied.map_err(|source| Error::at("empty", &path, source))?;
        Ok((with_stacks_ns? - bare_ns).max(1.0) / frames.max(1.0))
    }

    /// What a mark costs.
    fn mark_ns(&self) -> Result<f64, Error> {
        let mut least_ns = f64::MAX;
        for _ in 0..TIMES {
            let begin = Instant::now();
            for _ in 0..MARKS {
                self.mark("ftlock")?;
            }
            least_ns = least_ns.min(begin.elapsed().as_nanos() as f64 / f64::from(MARKS));
        }
        Ok(least_ns)
    }
}
