//! The kernel's tracefs: an own instance, its per-CPU rings, and what stands in them.
//!
//! [`Tracefs::find`] gives the mount, [`Instance::create`] an instance of one's own in it,
//! [`Instance::open_ring`] one CPU's ring, and [`Ring::drain`] whole sub-buffers in an
//! [`Arena`]. Nothing at tracefs's top level is ever written: other tracers do not notice.
//!
//! [`walk`] takes a sub-buffer apart, [`EventFormat`] says what stands in a record: pure functions
//! over bytes and text, so the same code serves a live ring and a recording, of this machine's
//! kernel or another's. Nothing in them trusts a length, panics, or allocates for a record.
//!
//! Written as if it were its own crate; absent on purpose: what any event means.

mod abi;
mod arena;
mod clock;
mod cpus;
mod descriptors;
mod error;
mod field;
mod file;
mod format;
mod header;
mod instance;
mod join;
mod leftovers;
mod mmap;
mod mount;
mod number;
mod owner;
mod page;
mod ring;
mod settings;
mod stacks;
mod stats;
mod value;
mod watch;

pub use abi::{Abi, Endian};
pub use arena::{Arena, Chunk};
pub use clock::Clock;
pub use cpus::{CpuListError, parse_cpu_list};
pub use descriptors::raise_descriptor_limit;
pub use error::{Error, Unmappable};
pub use field::{Field, FieldFault};
pub use format::{EventFormat, FormatError};
pub use header::{HeaderPageError, SubbufLayout};
pub use instance::Instance;
pub use join::{Joined, Tail, is_behind_loss};
pub use leftovers::{Left, Leftovers, remove_leftovers};
pub use mmap::MappedRing;
pub use mount::Tracefs;
pub use number::Number;
pub use owner::Owner;
pub use page::{MAX_DATA_SIZE_BYTES, PageFault, Record, Resume, Step, Walk, walk};
pub use ring::{Drained, End, ReadRing, Reader, Ring};
pub use settings::Config;
pub use stacks::StackSwitch;
pub use stats::{CpuStats, StatsError};
pub use value::{List, Value};
pub use watch::{Disturbance, Setting};
