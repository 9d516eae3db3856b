//! A recording as the source: whole rings, read once.

use super::engine::Engine;
use super::results::Sink;
use super::setup::Chunk;

/// Feeds recorded rings, in the order of the engine's CPUs, and processes all of them.
///
/// `rings` are whole sub-buffers of `sub_buffer_bytes` one after the other, as read from
/// `trace_pipe_raw`. A last one that is cut short is decoded as far as it goes.
pub fn replay(engine: &mut Engine, rings: &[&[u8]], sub_buffer_bytes: usize, sink: &mut dyn Sink) {
    let chunks = rings.iter().map(|ring| {
        let sub_buffers = ring.chunks(sub_buffer_bytes.max(1));
        sub_buffers
            .map(|sub_buffer| Chunk {
                sub_buffer,
                resumes: false,
                read_up_to_ns: 0,
                is_behind_gap: false,
            })
            .collect()
    });
    engine.decode(chunks.collect());
    engine.window(u64::MAX, sink);
}
