//! What a file may claim at most. Real files are far below; lies end here.

/// One stored text: `kallsyms` of a large kernel has about 20 MB, names of all threads there can
/// be about 100 MB.
pub(super) const MAX_PART_BYTES: u64 = 128 << 20;

/// Event formats: ids have 16 bits.
pub(super) const MAX_FORMATS: u32 = 1 << 16;

/// All options' data; the largest are the memory maps of traced processes.
pub(super) const MAX_OPTIONS_BYTES: u64 = 64 << 20;

/// Options of one kind that are kept.
pub(super) const MAX_OPTIONS: usize = 1 << 16;

/// A NUL-terminated name: of a system, a buffer, a clock, a compression.
pub(super) const MAX_NAME_BYTES: usize = 4096;

/// Sections of options, each pointing to the next.
pub(super) const MAX_OPTION_SECTIONS: usize = 4096;

/// Buffers of one file: tracing instances.
pub(super) const MAX_BUFFERS: usize = 4096;

/// Rings of one buffer. The kernel has at most 8192 CPUs.
pub(super) const MAX_CPUS: u32 = 1 << 16;

/// Rings of all buffers together.
pub(super) const MAX_RINGS: usize = 1 << 18;

/// What is read of all rings, and not handed out yet: more than 8192 CPUs need.
pub(super) const MAX_HELD_BYTES: u64 = 1 << 30;

/// A sub-buffer. The kernel's write index counts to 1 MiB (kernel/trace/ring_buffer.c, 6.18).
pub(super) const MAX_SUB_BUFFER_BYTES: u32 = 16 << 20;

/// A compressed piece of a ring, uncompressed. trace-cmd packs some tens of sub-buffers.
pub(super) const MAX_CHUNK_BYTES: u64 = 64 << 20;

/// Notes kept; further ones are counted.
pub(super) const MAX_NOTES: usize = 64;
