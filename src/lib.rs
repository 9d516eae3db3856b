//! Lock contention from the kernel's own trace rings, without BPF.

pub mod aggregate;
pub mod contention;
pub mod event;
