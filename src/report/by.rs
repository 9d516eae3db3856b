//! What rows are told apart by.

/// What rows are told apart by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum By {
    /// A calling function, and a kind of lock.
    Caller,
    /// A whole call stack, and a kind of lock.
    Stack,
    /// One lock.
    Lock,
    /// A thread under one name, or an interrupt context.
    Task,
    /// A process under one name.
    Process,
    /// A name, whoever bears it.
    Comm,
    /// A cgroup.
    Cgroup,
    /// A kind of lock.
    Type,
    /// The CPU a wait began on.
    Cpu,
    /// Task, softirq, hard interrupt or NMI.
    Context,
    /// Whoever had the lock.
    Owner,
    /// Who waited for whom, who waited for whom.
    Chain,
    /// What a task sleeps for. Rows of sleeps have it always, others never.
    Reason,
}

/// Keys that a row can have at once.
pub const MAX_KEYS: usize = 4;

impl By {
    /// Those that can be asked for, as `--help` lists them.
    pub const ALL: [By; 12] = [
        By::Caller,
        By::Stack,
        By::Lock,
        By::Task,
        By::Process,
        By::Comm,
        By::Cgroup,
        By::Type,
        By::Cpu,
        By::Context,
        By::Owner,
        By::Chain,
    ];

    /// Its name as `--by` takes it.
    pub fn name(self) -> &'static str {
        match self {
            By::Caller => "caller",
            By::Stack => "stack",
            By::Lock => "lock",
            By::Task => "task",
            By::Process => "process",
            By::Comm => "comm",
            By::Cgroup => "cgroup",
            By::Type => "type",
            By::Cpu => "cpu",
            By::Context => "context",
            By::Owner => "owner",
            By::Chain => "chain",
            By::Reason => "reason",
        }
    }

    /// What tells its rows apart, in a few words for `--help`.
    pub fn about(self) -> &'static str {
        match self {
            By::Caller => "The function that wanted the lock, and the lock's kind",
            By::Stack => "The whole call stack, and the lock's kind",
            By::Lock => "The lock's address",
            By::Task => "The thread, under each name it had",
            By::Process => "The process, under each name its leader had",
            By::Comm => "The name, whoever bore it",
            By::Cgroup => "The cgroup that the task was in",
            By::Type => "The lock's kind",
            By::Cpu => "The CPU a wait began on",
            By::Context => "Task, softirq, hardirq or nmi",
            By::Owner => "The thread that made others wait: it had the lock",
            By::Chain => "Who waited for whom, while that one waited for another",
            By::Reason => "What a task sleeps for",
        }
    }
}
