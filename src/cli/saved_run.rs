//! What ftlock says in a file about the run that it recorded: a JSON object a line, the first when the file
//! is created, the last when it is finished. `docs/saved.md` describes them.

use serde::{Deserialize, Serialize};

use crate::cmdline_cache::{Look, Said, SeededTask};
use crate::event::{Cpu, Stamp};
use crate::pipeline::{Blocked, Extras, NameChange, NameNews, RingFill, SavedGap, Tiding};
use crate::report::StackSampling;

use super::byte_text::ByteText;
use super::config::Whose;
use super::saved_names::{DroppedLine, FutexesLine, LastingLine, OverLine};
use super::saved_tasks::{BlockedLine, LookLine, TaskLine};

/// Changes when the meaning of a field does.
pub(super) const SCHEMA: u32 = 1;

/// A line.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "record", rename_all = "snake_case")]
pub(super) enum Line {
    /// What was to be traced: the first line.
    Run(Box<Run>),
    /// A task that /proc showed.
    Task(TaskLine),
    /// Where /proc said that a task is.
    Cgroup(LookLine),
    /// What /proc said that its process's command line is.
    Cmdline(LookLine),
    /// Locks are traced from here on.
    Start(Start),
    /// Events are missing before a sub-buffer.
    Gap { cpu: u16, at_ns: u64, read_up_to_ns: u64 },
    /// Names were given up to here: told while a loss leaves them in doubt, for what is learned in time counts.
    Window { up_to_ns: u64 },
    /// What futexes of a process are called.
    Futexes(FutexesLine),
    /// A process's futexes have no names any more.
    FutexesOver(OverLine),
    /// No futex has.
    FutexesDropped(DroppedLine),
    /// Waits that were told of while they lasted.
    Lasting(LastingLine),
    /// A task that was blocked all the time.
    Blocked(BlockedLine),
    /// The beginning of the trace was given up: the file keeps the last of it.
    Forgot,
    /// How it ended: the last line.
    End(End),
    /// Of another version.
    #[serde(other)]
    Other,
}

/// What was to be traced.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Run {
    pub(super) schema: u32,
    pub(super) ftlock: String,
    pub(super) kernel: String,
    pub(super) host: String,
    pub(super) clock: String,
    /// The CPUs that have a ring.
    pub(super) cpus: Vec<u16>,
    pub(super) own_tid: u32,
    /// Whether the recorder was in a pid namespace of its own.
    pub(super) is_nested: bool,
    pub(super) command: Vec<ByteText>,
    pub(super) whose: Whose,
    /// Only waits that begin on these, if given.
    pub(super) only_cpus: Option<Vec<u16>>,
    pub(super) stacks: bool,
    pub(super) mmap_lock: bool,
    pub(super) extras: Extras,
    /// The flags of begins that the kernel let through; any if empty.
    pub(super) flags: Vec<u32>,
    /// The hierarchy whose cgroups were followed.
    pub(super) cgroups: Option<HierarchyLine>,
    /// Whether command lines were followed.
    pub(super) cmdlines: bool,
}

/// A hierarchy of cgroups.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct HierarchyLine {
    pub(super) id: u32,
    pub(super) is_nested: bool,
}

/// When tracing started.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Start {
    /// By the trace clock.
    pub(super) at_ns: u64,
    /// Since 1970.
    pub(super) date_ns: u64,
}

/// How it ended.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct End {
    /// By the trace clock.
    pub(super) at_ns: Option<u64>,
    /// Up to when it was known what happened.
    #[serde(default)]
    pub(super) known_up_to_ns: u64,
    pub(super) duration_ns: u64,
    pub(super) own_cpu_ns: u64,
    /// Whether all that was read is in the file.
    pub(super) is_all_saved: bool,
    /// What someone else changed meanwhile.
    pub(super) disturbances: Vec<String>,
    /// What could not be learned of processes.
    #[serde(default)]
    pub(super) given_up: GivenUp,
    /// How full rings were.
    #[serde(default)]
    pub(super) fill: RingFill,
    /// For how much of the time there are stacks, where their cost was limited.
    #[serde(default)]
    pub(super) sampling: Option<StackSampling>,
}

/// What could not be learned of processes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct GivenUp {
    /// Looks into /proc that were put off.
    pub(super) looks_put_off: u64,
    /// Processes that were gone before their futexes got names.
    pub(super) user_spaces_unread: u64,
    /// Names that were dropped for want of room.
    pub(super) user_names_dropped: u64,
}

/// All lines of a file.
#[derive(Debug, Clone)]
pub(super) struct SavedRun {
    pub(super) run: Run,
    /// Who was there at the start.
    pub(super) tasks: Vec<(SeededTask, Stamp)>,
    /// What was learned at the start beyond names.
    pub(super) looks: Vec<Look>,
    /// What was learned later, in the order of time.
    pub(super) tidings: Vec<Tiding>,
    pub(super) gaps: Vec<SavedGap>,
    /// Tasks that were blocked all the time.
    pub(super) blocked: Vec<Blocked>,
    /// Whether the beginning of the trace was given up.
    pub(super) forgot: bool,
    pub(super) start: Option<Start>,
    pub(super) end: Option<End>,
}

impl Line {
    pub(super) fn of_task(task: &(SeededTask, Stamp)) -> Line {
        Line::Task(TaskLine::new(task))
    }

    pub(super) fn of_look(look: Look) -> Line {
        let line = LookLine::new(&look);
        match look.said {
            Said::Cgroup(_) => Line::Cgroup(line),
            Said::Cmdline(_) => Line::Cmdline(line),
        }
    }

    pub(super) fn of_blocked(blocked: &Blocked) -> Line {
        Line::Blocked(BlockedLine::new(blocked))
    }

    pub(super) fn of_name_news(NameNews { since_ns, what }: NameNews) -> Line {
        match what {
            NameChange::Named { of, names } => Line::Futexes(FutexesLine::new(since_ns, of, names)),
            NameChange::Over(of) => Line::FutexesOver(OverLine::new(since_ns, of)),
            NameChange::Dropped => Line::FutexesDropped(DroppedLine::new(since_ns)),
        }
    }

    pub(super) fn of_gap(gap: SavedGap) -> Line {
        let SavedGap { cpu, at_ns, read_up_to_ns } = gap;
        Line::Gap { cpu: cpu.0, at_ns, read_up_to_ns }
    }

    /// As it stands in the file.
    pub(super) fn text(&self) -> Vec<u8> {
        // Memory takes every write, and every field has a JSON value.
        let mut text = serde_json::to_vec(self).unwrap_or_default();
        text.push(b'\n');
        text
    }
}

impl SavedRun {
    /// From the option's bytes. None if another program, or another version of us, wrote them: then the
    /// file is like anyone else's. Lines behind the first that cannot be read are left out.
    pub(super) fn parse(bytes: &[u8]) -> Option<SavedRun> {
        let mut lines = bytes.split(|&byte| byte == b'\n').map(serde_json::from_slice);
        let Ok(Line::Run(run)) = lines.next()? else { return None };
        if run.schema != SCHEMA {
            return None;
        }
        let (run, tasks, looks, tidings, gaps) = (*run, vec![], vec![], vec![], vec![]);
        let (blocked, forgot, start, end) = (vec![], false, None, None);
        let mut saved = SavedRun { run, tasks, looks, tidings, gaps, blocked, forgot, start, end };
        lines.flatten().for_each(|line| saved.add(line));
        Some(saved)
    }

    fn add(&mut self, line: Line) {
        let is_start = self.start.is_none();
        match line {
            Line::Task(line) if is_start => self.tasks.push(line.task()),
            Line::Task(line) => self.task(line.task()),
            Line::Window { up_to_ns } => self.tidings.push(Tiding::Window(up_to_ns)),
            Line::Cgroup(line) => self.look(line.look(Said::Cgroup)),
            Line::Cmdline(line) => self.look(line.look(Said::Cmdline)),
            Line::Futexes(line) => self.tidings.push(line.tiding()),
            Line::FutexesOver(line) => self.tidings.push(line.tiding()),
            Line::FutexesDropped(line) => self.tidings.push(line.tiding()),
            Line::Lasting(line) => self.tidings.push(line.tiding()),
            Line::Blocked(line) => self.blocked.push(line.blocked()),
            Line::Gap { cpu, at_ns, read_up_to_ns } => {
                self.gaps.push(SavedGap { cpu: Cpu(cpu), at_ns, read_up_to_ns });
            }
            Line::Start(start) => self.start = Some(start),
            Line::Forgot => self.forgot = true,
            Line::End(end) => self.end = Some(end),
            Line::Run(_) | Line::Other => {}
        }
    }

    fn task(&mut self, task: (SeededTask, Stamp)) {
        let window_ns = match self.tidings.last_mut() {
            Some(Tiding::Tasks { tasks, .. }) => return tasks.push(task),
            Some(Tiding::Window(window_ns)) => *window_ns,
            _ => task.1.ts_ns,
        };
        self.tidings.push(Tiding::Tasks { window_ns, tasks: vec![task] });
    }

    fn look(&mut self, look: Look) {
        match self.start {
            None => self.looks.push(look),
            Some(_) => self.tidings.push(Tiding::Look(look)),
        }
    }
}
