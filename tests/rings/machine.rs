//! The generated machine: CPUs with tasks on them that wait, one thing at a time.

use super::formats::{Comm, On, Record};
use super::page::Pages;
use super::{Dice, Rings, Spec};

const SPIN: u32 = 1;
const WRITE: u32 = 4;
const FIRST_LOCK: u64 = 0xffff_8880_0000_0000;
const LOCK_BYTES: u64 = 4096;

/// A wait, as the machine knows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct TruthWait {
    /// Who waited.
    pub(crate) tid: u32,
    /// What it was called when it began.
    pub(crate) comm: Comm,
    /// In a softirq on top of it.
    pub(crate) in_softirq: bool,
    /// From when to when, in ns.
    pub(crate) begin_ns: u64,
    pub(crate) end_ns: u64,
    /// For what.
    pub(crate) lock: u64,
    pub(crate) flags: u32,
}

#[derive(Debug, Clone, Copy)]
struct Task {
    tid: u32,
    comm: Comm,
}

struct Machine {
    spec: Spec,
    dice: Dice,
    now_ns: u64,
    cpus: Vec<Pages>,
    /// Tasks that can run; those that sleep are in `sleepers`.
    ready: Vec<Task>,
    sleepers: Vec<(Task, TruthWait)>,
    next_tid: u32,
    waits: Vec<TruthWait>,
    events: usize,
    lock_events: usize,
}

/// Rings of a machine as specified.
pub(crate) fn generate(spec: &Spec) -> Rings {
    let mut machine = Machine {
        spec: *spec,
        dice: Dice::new(spec.seed),
        now_ns: 1_000_000_000,
        cpus: (0..spec.cpus).map(|_| Pages::default()).collect(),
        ready: Vec::new(),
        sleepers: Vec::new(),
        next_tid: 1000,
        waits: Vec::new(),
        events: 0,
        lock_events: 0,
    };
    // All tasks are born in the trace, so that every name in it is known.
    for _ in 0..spec.tasks.max(2) {
        machine.birth();
    }
    while machine.waits.len() < spec.waits {
        machine.step();
    }
    while !machine.sleepers.is_empty() {
        machine.wake();
    }
    let Machine { cpus, waits, events, lock_events, .. } = machine;
    let (rings, lost): (Vec<_>, Vec<_>) = cpus.into_iter().map(Pages::finish).unzip();
    Rings { rings, waits, events, lock_events, lost: lost.iter().sum() }
}

fn comm(tid: u32, name: u64) -> Comm {
    let mut comm = [0; 16];
    let text = format!("t{tid}n{name}");
    comm[..text.len().min(15)].copy_from_slice(&text.as_bytes()[..text.len().min(15)]);
    comm
}

impl Machine {
    fn step(&mut self) {
        if self.dice.hits(self.spec.forks_per_mille) {
            self.birth();
            self.exit();
        }
        if self.dice.hits(self.spec.renames_per_mille) {
            self.rename();
        }
        // Two tasks always can run: somebody has to wake the others.
        let may_sleep = self.ready.len() > 2;
        match !self.sleepers.is_empty() && (!may_sleep || self.dice.below(2) == 0) {
            true => self.wake(),
            false if may_sleep && self.dice.hits(self.spec.sleeping_per_mille) => self.sleep(),
            false => self.spin(),
        }
    }

    /// Some task's turn, out of those that can run.
    fn pick(&mut self) -> usize {
        self.dice.below(self.ready.len() as u64) as usize
    }

    fn lock(&mut self) -> u64 {
        FIRST_LOCK + LOCK_BYTES * self.dice.below(self.spec.locks)
    }

    fn cpu(&mut self) -> usize {
        self.dice.below(self.cpus.len() as u64) as usize
    }

    fn birth(&mut self) {
        let tid = self.next_tid;
        self.next_tid += 1;
        let child = Task { tid, comm: comm(tid, 0) };
        let parent = self.ready.first().map_or(1, |task| task.tid);
        let cpu = self.cpu();
        self.write(cpu, Record::new_task(On { tid: parent, in_softirq: false }, tid, &child.comm));
        self.ready.push(child);
    }

    fn exit(&mut self) {
        if self.ready.len() > 2 {
            let place = self.pick();
            let task = self.ready.swap_remove(place);
            let cpu = self.cpu();
            self.write(cpu, Record::exit(On { tid: task.tid, in_softirq: false }, &task.comm));
        }
    }

    fn rename(&mut self) {
        let (place, name) = (self.pick(), self.dice.below(1 << 20));
        let Task { tid, comm: old } = self.ready[place];
        let new = comm(tid, name);
        let cpu = self.cpu();
        self.write(cpu, Record::rename(On { tid, in_softirq: false }, tid, &old, &new));
        self.ready[place].comm = new;
    }

    /// Begin and end on one CPU, and perhaps an interrupt's wait in between.
    fn spin(&mut self) {
        let (place, cpu, lock) = (self.pick(), self.cpu(), self.lock());
        let task = self.ready[place];
        let mut wait = self.begin(cpu, task, false, lock, SPIN);
        if self.dice.hits(self.spec.nested_per_mille) {
            let lock = self.lock();
            let mut inner = self.begin(cpu, task, true, lock, SPIN);
            self.end(cpu, &mut inner);
        }
        self.end(cpu, &mut wait);
    }

    fn sleep(&mut self) {
        let (place, cpu, lock) = (self.pick(), self.cpu(), self.lock());
        let task = self.ready.swap_remove(place);
        let wait = self.begin(cpu, task, false, lock, WRITE);
        self.sleepers.push((task, wait));
    }

    /// A sleeper gets its lock, wherever it runs now.
    fn wake(&mut self) {
        let place = self.dice.below(self.sleepers.len() as u64) as usize;
        let (task, mut wait) = self.sleepers.swap_remove(place);
        let cpu = self.cpu();
        self.end(cpu, &mut wait);
        self.ready.push(task);
    }

    fn begin(
        &mut self,
        cpu: usize,
        task: Task,
        in_softirq: bool,
        lock: u64,
        flags: u32,
    ) -> TruthWait {
        let Task { tid, comm } = task;
        self.write(cpu, Record::begin(On { tid, in_softirq }, lock, flags));
        self.lock_events += 1;
        let begin_ns = self.now_ns;
        TruthWait { tid, comm, in_softirq, begin_ns, end_ns: 0, lock, flags }
    }

    fn end(&mut self, cpu: usize, wait: &mut TruthWait) {
        let on = On { tid: wait.tid, in_softirq: wait.in_softirq };
        self.write(cpu, Record::end(on, wait.lock));
        self.lock_events += 1;
        wait.end_ns = self.now_ns;
        self.waits.push(*wait);
    }

    fn write(&mut self, cpu: usize, record: Record) {
        self.now_ns += 50 + self.dice.below(400);
        self.events += 1;
        let (dice, lost_per_mille) = (&mut self.dice, self.spec.lost_per_mille);
        self.cpus[cpu].push(self.now_ns, record.bytes(), || dice.hits(lost_per_mille));
    }
}
