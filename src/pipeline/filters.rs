//! What a wait has to be to reach rows and stream, beyond whose it is.

use std::hash::Hash;
use std::sync::Arc;

use dashmap::DashMap;
use foldhash::fast::RandomState;
use regex::Regex;
use regex::bytes::Regex as BytesRegex;

use crate::contention::Cause;
use crate::event::{Context, LockFlags, StackId};
use crate::symbols::{Kallsyms, LockName, StackTable};

use super::named::NamedWait;
use super::text_filter::TextFilter;

/// Answers remembered for each question; beyond, they are worked out anew.
const MAX_ANSWERS: usize = 1 << 16;

/// Conditions, all of which a wait must meet. An empty list asks for nothing.
#[derive(Debug)]
pub struct Filters {
    /// The flags of the first begin are one of these.
    pub flags: Vec<LockFlags>,
    /// The lock's address is one of these, or its name one of the next.
    pub locks: Vec<u64>,
    /// Names that locks are given where the kernel has no symbol for them.
    pub lock_names: Vec<String>,
    /// The context is one of these.
    pub contexts: Vec<Context>,
    /// The task's name matches.
    pub comm: Option<BytesRegex>,
    /// The command line of the task's process matches; where it was never learned, the task's name.
    pub cmdline: Option<TextFilter>,
    /// The task was in one of these cgroups, or below, when the wait began.
    pub cgroup: Option<TextFilter>,
    /// The caller, `name+0xoffset`, matches.
    pub caller: Option<Regex>,
    /// A symbol of the stack contains one of these.
    pub stack: Vec<String>,
    symbols: Arc<Kallsyms>,
    callers: Answers<u64>,
    stacks: Answers<StackId>,
}

impl Filters {
    /// Without any condition yet; `symbols` tell what callers and stacks are called.
    pub fn new(symbols: Arc<Kallsyms>) -> Filters {
        Filters {
            flags: Vec::new(),
            locks: Vec::new(),
            lock_names: Vec::new(),
            contexts: Vec::new(),
            comm: None,
            cmdline: None,
            cgroup: None,
            caller: None,
            stack: Vec::new(),
            symbols,
            callers: Answers::default(),
            stacks: Answers::default(),
        }
    }

    /// Whether a condition is about what locks are known as.
    pub(super) fn ask_for_names(&self) -> bool {
        !self.lock_names.is_empty()
    }

    /// Whether a wait meets all conditions.
    pub(super) fn pass(&self, named: &NamedWait, stacks: &StackTable) -> bool {
        let wait = &named.wait;
        self.flags_match(wait.cause)
            && self.lock_matches(named)
            && among(&self.contexts, &wait.begin.context)
            && self.comm.as_ref().is_none_or(|comm| comm.is_match(named.name.comm.as_bytes()))
            && self.cmdline.as_ref().is_none_or(|filter| {
                filter.pass(
                    named.cmdline.and_then(|fact| fact.text),
                    Some(named.name.comm.as_bytes()),
                )
            })
            && self
                .cgroup
                .as_ref()
                .is_none_or(|filter| filter.pass(named.cgroup.and_then(|fact| fact.text), None))
            && self.caller.as_ref().is_none_or(|regex| self.caller_matches(regex, named.caller))
            && (self.stack.is_empty() || self.stack_matches(wait.stack, stacks))
    }

    /// What is no lock of the kernel's has no flags to ask for.
    fn flags_match(&self, cause: Cause) -> bool {
        cause.flags().is_none_or(|flags| among(&self.flags, &flags))
    }

    fn lock_matches(&self, named: &NamedWait) -> bool {
        let is_one = |name: LockName| self.lock_names.iter().any(|asked| name.is_called(asked));
        let has_name = || named.lock_name.is_some_and(is_one);
        let asks_nothing = self.locks.is_empty() && self.lock_names.is_empty();
        asks_nothing || self.locks.contains(&named.wait.lock) || has_name()
    }

    fn caller_matches(&self, regex: &Regex, caller: Option<u64>) -> bool {
        let Some(caller) = caller else { return false };
        self.callers.get(caller, || match self.symbols.resolve(caller) {
            Some(symbol) => regex.is_match(&symbol.to_string()),
            None => regex.is_match(&format!("{caller:#x}")),
        })
    }

    fn stack_matches(&self, stack: Option<StackId>, stacks: &StackTable) -> bool {
        let Some(stack) = stack else { return false };
        self.stacks.get(stack, || {
            let frames = stacks.frames(stack);
            let symbols = frames.iter().flat_map(|frames| frames.iter());
            symbols
                .filter_map(|&addr| self.symbols.resolve(addr))
                .any(|symbol| self.stack.iter().any(|wanted| symbol.name.contains(wanted.as_str())))
        })
    }
}

fn among<T: PartialEq>(wanted: &[T], found: &T) -> bool {
    wanted.is_empty() || wanted.contains(found)
}

/// Answers to a yes-or-no question that is asked again and again, from several threads.
#[derive(Debug)]
pub(super) struct Answers<K: Eq + Hash>(DashMap<K, bool, RandomState>);

impl<K: Eq + Hash> Default for Answers<K> {
    fn default() -> Self {
        Answers(DashMap::default())
    }
}

impl<K: Eq + Hash> Answers<K> {
    fn get(&self, question: K, work_out: impl FnOnce() -> bool) -> bool {
        self.get_or(question, || Some(work_out())).unwrap_or(false)
    }

    /// None where there is no answer, which is not remembered.
    pub(super) fn get_or(
        &self,
        question: K,
        work_out: impl FnOnce() -> Option<bool>,
    ) -> Option<bool> {
        if let Some(known) = self.0.get(&question) {
            return Some(*known);
        }
        let answer = work_out()?;
        if self.0.len() < MAX_ANSWERS {
            self.0.insert(question, answer);
        }
        Some(answer)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use regex::Regex;
    use regex::bytes::Regex as BytesRegex;

    use super::Filters;
    use crate::cmdline_cache::{Certainty, TaskName};
    use crate::contention::{Cause, OffCpu, Wait};
    use crate::event::{Comm, Context, Cpu, Head, LockFlags, StackId, Stamp, Tid};
    use crate::pipeline::NamedWait;
    use crate::report::Table;
    use crate::symbols::{CallerFinder, Kallsyms, LockName, StackTable};

    const LIST: &[u8] = b"1000 t anon_pipe_write\n2000 t vfs_write\n3000 t ksys_write\n";

    fn named(flags: u32, context: Context, comm: &[u8], stack: Option<StackId>) -> NamedWait {
        let (cpu, tid) = (Cpu(0), Tid(7));
        let begin = Head { stamp: Stamp::before(1), ts_ns: 1, cpu, tid, context };
        let name = TaskName {
            comm: Comm::new(comm),
            tgid: Some(tid),
            incarnation: 1,
            certainty: Certainty::Known,
        };
        let wait = Wait {
            begin,
            end_ns: 2,
            lock: 64,
            cause: Cause::Lock(LockFlags(flags)),
            ret: 0,
            stack,
            slept: false,
            off_cpu: OffCpu::default(),
            holder: None,
            uncertain: false,
            internal: false,
            idle: false,
        };
        let caller = stack.map(|_| 0x1043);
        let lock_name = Some(LockName::MmapLock);
        NamedWait {
            wait,
            table: Table::Locks,
            name,
            caller,
            lock_name,
            process: None,
            holder: None,
            chain: None,
            reason: None,
            cgroup: None,
            cmdline: None,
        }
    }

    #[test]
    fn every_condition_must_be_met() {
        let symbols = Arc::new(Kallsyms::parse(LIST));
        let stacks = StackTable::new(9, Arc::new(CallerFinder::new(Arc::clone(&symbols))));
        let stack = stacks.intern(&[0x1043, 0x2010]);
        let wait = named(33, Context::Task, b"x\xffy", stack);
        type Set = fn(&mut Filters);
        let cases: [(Set, bool); 19] = [
            (|_| {}, true),
            (|f| f.flags = vec![LockFlags(1), LockFlags(33)], true),
            (|f| f.flags = vec![LockFlags(1)], false),
            (|f| f.locks = vec![64], true),
            (|f| f.locks = vec![65], false),
            (|f| f.lock_names = vec!["mmap_lock".to_owned()], true),
            (|f| f.lock_names = vec!["rq_lock".to_owned()], false),
            (|f| (f.locks, f.lock_names) = (vec![65], vec!["mmap_lock".to_owned()]), true),
            (|f| f.contexts = vec![Context::Task], true),
            (|f| f.contexts = vec![Context::Softirq], false),
            (|f| f.comm = Some(BytesRegex::new("^x").unwrap()), true),
            (|f| f.comm = Some(BytesRegex::new("^y").unwrap()), false),
            (|f| f.caller = Some(Regex::new(r"^anon_pipe_write\+0x43$").unwrap()), true),
            (|f| f.caller = Some(Regex::new("vfs_write").unwrap()), false),
            (|f| f.stack = vec!["no".to_owned(), "fs_wr".to_owned()], true),
            (|f| f.stack = vec!["ksys_write".to_owned()], false),
            (|f| (f.locks, f.contexts) = (vec![64], vec![Context::Nmi]), false),
            (|f| (f.locks, f.contexts) = (vec![1], vec![Context::Task]), false),
            (|f| (f.locks, f.contexts) = (vec![64], vec![Context::Task]), true),
        ];
        for (place, (set, passes)) in cases.into_iter().enumerate() {
            let mut filters = Filters::new(Arc::clone(&symbols));
            set(&mut filters);
            // Asked twice: the second answer comes from memory.
            for _ in 0..2 {
                assert_eq!(filters.pass(&wait, &stacks), passes, "case {place}");
            }
        }
    }

    #[test]
    fn a_wait_without_a_stack_has_no_caller_to_match() {
        let symbols = Arc::new(Kallsyms::parse(LIST));
        let stacks = StackTable::new(9, Arc::new(CallerFinder::new(Arc::clone(&symbols))));
        let wait = named(33, Context::Task, b"x", None);
        let mut filters = Filters::new(Arc::clone(&symbols));
        filters.caller = Some(Regex::new("").unwrap());
        assert!(!filters.pass(&wait, &stacks));
        let mut filters = Filters::new(symbols);
        filters.stack = vec![String::new()];
        assert!(!filters.pass(&wait, &stacks));
    }
}
