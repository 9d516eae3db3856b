//! Lock contention from the kernel's own trace rings, without BPF.
//!
//! ftlock reads the lock and task events straight from the per-CPU rings of an own tracefs
//! instance, pairs begins and ends into waits, names each under the name its task had at that
//! instant, sums them in a bounded map, and streams them live. `ARCHITECTURE.md` is the map.

pub mod aggregate;
pub mod cli;
pub mod cmdline_cache;
pub mod contention;
pub mod event;
pub mod output;
pub mod perf_data;
pub mod pipeline;
pub mod report;
pub mod symbols;
pub mod trace_file;
pub mod tracefs;
pub mod user_symbols;
