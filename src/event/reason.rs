//! What a task sleeps for.

/// What a task sleeps for, as its kernel stack tells.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Reason {
    /// A reason that has a name.
    Named(&'static str),
    /// None that is known: the function that called the scheduler, by its first address.
    Function(u64),
}
