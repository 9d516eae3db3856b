//! Lock contention from the kernel's own trace rings, without BPF.

pub mod event;
