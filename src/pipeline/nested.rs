//! A container's own pid namespace: which number events have for us.

use std::fs;

use crate::cmdline_cache::proc::SeededTask;
use crate::event::decode::Decoder;
use crate::event::{Comm, Tid};
use crate::tracefs::{
    Abi, Arena, Config, Endian, EventFormat, Instance, Reader, Step, SubbufLayout, Tracefs, walk,
};

use super::error::Error;

/// What such a namespace means.
pub const NESTED: &str = "a container's own: events carry the host's numbers, so tasks that were \
                          there before the trace have no name";

/// The way out of it.
pub const NESTED_HINT: &str = "run it in the host's pid namespace (docker run --pid=host)";

/// Our own main thread under the number that events carry: what we write into an instance's
/// marker is recorded as an event of ours.
pub(super) fn own_task(tracefs: &Tracefs) -> Result<Option<SeededTask>, Error> {
    let config = Config { buffer_size_kb: 64, subbuf_size_kb: 4, ..Config::default() };
    let mut instance = Instance::create(tracefs, &config)?;
    let layout = SubbufLayout::parse(&instance.header_page()?)?;
    let abi = Abi::new(Endian::NATIVE, &layout);
    let text = instance.event_format("ftrace", "print")?;
    let format = EventFormat::parse(&text)
        .map_err(|source| Error::Format { event: "ftrace:print".to_owned(), source })?;
    let decoder = Decoder::new(abi, [format])?;
    instance.start()?;
    instance.mark("ftlock was here")?;
    instance.stop()?;
    let mut arena = Arena::new();
    for cpu in instance.cpus()? {
        instance.open_ring(cpu, Reader::Read)?.drain(&mut arena, usize::MAX)?;
    }
    let steps = arena.chunks().flat_map(|chunk| walk(chunk.bytes, &layout, abi, None));
    let mut tids = steps.filter_map(|step| match step {
        // Nobody else writes to this instance, and no event is enabled in it.
        Step::Record(record) => decoder.head(record.payload).map(|head| head.tid),
        _ => None,
    });
    let own = tids.next().map(seeded);
    instance.remove()?;
    Ok(own)
}

fn seeded(tid: Tid) -> SeededTask {
    let comm = fs::read("/proc/self/comm").unwrap_or_default();
    SeededTask {
        tid,
        tgid: tid,
        comm: Comm::new(comm.strip_suffix(b"\n").unwrap_or(&comm)),
        start_time: 0,
        kernel_thread: false,
    }
}
