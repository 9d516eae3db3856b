//! The stages wired to a source: a live trace, or a recording.
//!
//! ```text
//!   Live: rings --> Engine: decode, pair, name, sum --> Sink: the stream
//!                       \--> Summary: rows, counters
//! ```
//!
//! The work goes in windows. A window reads the trace clock, drains every CPU, and then processes
//! all events up to that instant: first the spinning waits, each CPU for itself; then what
//! concerns tasks - births, names, sleeping waits - merged over all CPUs; then, with every name
//! of the window known, naming and summing, each CPU for itself again. An event that turns up
//! behind its window is counted as late and still processed.

mod blocked;
mod chaining;
mod engine;
mod error;
mod export;
mod filters;
mod futex_owner;
mod keep;
mod lane;
mod live;
mod lock_names;
mod merge;
mod mmap_locks;
mod named;
mod naming;
mod nested;
mod offline;
mod outputs;
mod pace;
#[cfg(feature = "parquet")]
mod parquet_export;
mod parts;
mod plan;
mod queue;
mod raw;
mod recording;
mod results;
mod save;
mod session;
mod setup;
mod signals;
mod spaces;
mod stack_sampler;
mod stream;
mod summary;
mod sums;
mod targets;
mod text_filter;
mod user_names;
mod watched;
mod workers;
mod workload;

pub use blocked::{Blocked, SinceBefore};
pub use engine::{Engine, Lasting};
pub use error::Error;
pub use export::{Exporter, PerfettoExport};
pub use filters::Filters;
pub use futex_owner::futex_owner;
pub use keep::Keep;
pub use lane::{Item, ReadCounts, What};
pub use live::{Ended, Live, RingFill};
pub use named::{Kept, NamedHolder, NamedWait, OpenNamed};
pub use nested::{NESTED, NESTED_HINT};
pub use offline::{Offline, Tiding};
pub use outputs::{Export, Outputs};
#[cfg(feature = "parquet")]
pub use parquet_export::ParquetExport;
pub use plan::{CGROUP_EVENTS, Extras, FUTEX_EVENTS, LOCK_EVENTS, Plan, TASK_EVENTS};
pub use queue::Queue;
pub use raw::{RawEvent, RawHead};
pub use recording::replay;
pub use results::{Results, Sink};
pub use save::{Beside, Bound, SaveError, Saved, SavedGap, Saver, Stopped};
pub use session::{Session, enter};
pub use setup::{Chunk, Processes, Setup};
pub use signals::Signals;
pub use stack_sampler::StackSampler;
pub use stream::{Format, Shows, Stream, StreamTexts};
pub use summary::{Stacks, open_waits, quality, stream_blocked, stream_open};
pub use targets::{Family, Targets};
pub use text_filter::{TextCondition, TextFilter};
pub use user_names::{Moment, NameChange, NameNews, NamesGivenUp, ToldName};
pub use watched::{Asked, NotThere, Watched};
pub use workload::{CannotStart, Workload, status_code};
