//! What the stages are told before the first event, and what they are fed.

use crate::cmdline_cache::CmdlineCache;
use crate::contention::Begins;
use crate::event::decode::Decoder;
use crate::symbols::StackTable;
use crate::tracefs::SubbufLayout;

use super::keep::Keep;

/// How the machine's trace is to be read and what is to be kept of it.
#[derive(Debug)]
pub struct Setup {
    /// The instance's `events/header_page`.
    pub layout: SubbufLayout,
    /// The events' formats.
    pub decoder: Decoder,
    /// Where kernel stacks are kept.
    pub stacks: StackTable,
    /// Who was who when.
    pub cache: CmdlineCache,
    /// Which waits reach the rows and the stream.
    pub keep: Keep,
    /// Most rows that are kept apart.
    pub rows: usize,
    /// Whether chains of waits are followed.
    pub chains: bool,
    /// Where it can be learned what lies in the processes of the trace.
    pub processes: Processes,
    /// Whether every event is streamed instead of the waits.
    pub raw: bool,
    /// Whether the kernel filters some begins out.
    pub begins: Begins,
    /// Whether sleeps are waits of their own.
    pub sleeps: bool,
}

/// Where it can be learned what lies at the addresses of processes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Processes {
    /// Nowhere, or it is not asked for.
    Unknown,
    /// In /proc, under the numbers that events carry.
    Here,
    /// Whoever recorded them tells.
    Told,
}

/// A piece of a CPU's ring, as the reader got it.
#[derive(Debug, Clone, Copy)]
pub struct Chunk<'a> {
    /// One sub-buffer's bytes.
    pub sub_buffer: &'a [u8],
    /// They are those of the chunk before, grown.
    pub resumes: bool,
    /// Everything of this CPU up to here was read before this chunk, where that is not told by
    /// [`Engine::set_read_up_to`](super::Engine::set_read_up_to); 0 is no news.
    pub read_up_to_ns: u64,
    /// Events before it are missing, whatever it says itself.
    pub is_behind_gap: bool,
}
