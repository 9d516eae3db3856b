//! The stages of a run, whether it is traced now or was saved.

use std::io;
use std::sync::Arc;

use anyhow::Context;

use crate::cmdline_cache::CmdlineCache;
use crate::cmdline_cache::proc::PidNamespace;
use crate::event::decode::Decoder;
use crate::event::{Comm, Cpu, Tid};
use crate::output::RunInfo;
use crate::pipeline::{
    Engine, Extras, Filters, Format, Keep, Processes, Queue, Setup, Shows, Stream, Targets,
};
use crate::report::Keys;
use crate::symbols::{CallerFinder, Kallsyms, StackTable};
use crate::tracefs::SubbufLayout;

use super::config::{RecordConfig, Whose};
use super::facts::Facts;

/// Names held at once: every task of a large machine, and the renames of a busy second.
const MAX_NAMES: usize = 1 << 18;

/// How what is traced looks.
#[derive(Debug)]
pub(super) struct Traced {
    pub(super) layout: SubbufLayout,
    pub(super) decoder: Decoder,
    /// The tracer itself.
    pub(super) own: Tid,
    /// Whether /proc shows the ids that events carry.
    pub(super) namespace: PidNamespace,
    /// Whether its processes can be looked at now.
    pub(super) is_live: bool,
    /// Names that tasks had at some time or other.
    pub(super) hearsay: Vec<(Tid, Comm)>,
}

/// All stages, without any event yet.
pub(super) fn engine(
    config: &RecordConfig,
    traced: Traced,
    cpus: impl Iterator<Item = Cpu>,
    symbols: &Arc<Kallsyms>,
    filters: Filters,
    facts: &Facts,
) -> Engine {
    let numbers = |numbers: &[u32]| numbers.iter().copied().map(Tid).collect();
    let targets = match &config.whose {
        Whose::All => Targets::All,
        Whose::Processes(pids) => Targets::Processes(numbers(pids)),
        Whose::Threads(tids) => Targets::Threads(numbers(tids)),
        Whose::Command => Targets::children_of(traced.own),
    };
    let finder = Arc::new(CallerFinder::new(Arc::clone(symbols)));
    let cache = CmdlineCache::new(MAX_NAMES).with_hearsay(traced.hearsay);
    let setup = Setup {
        layout: traced.layout,
        decoder: traced.decoder,
        stacks: StackTable::new(StackTable::DEFAULT_CAPACITY, finder),
        cache: facts.kept_in(cache, MAX_NAMES, traced.namespace),
        keep: Keep {
            targets,
            cpus: config.cpus.clone(),
            min_wait_ns: config.min_wait_ns,
            filters,
            own: traced.own,
            by: Keys::new(&config.by),
            max_stack: config.max_stack,
        },
        rows: config.rows,
        processes: match traced.namespace {
            _ if !config.plan.extras.futexes => Processes::Unknown,
            _ if !traced.is_live => Processes::Told,
            PidNamespace::Initial => Processes::Here,
            PidNamespace::Nested => Processes::Unknown,
        },
        sleeps: config.plan.extras.sleeps,
        chains: config.plan.extras.holders,
        raw: config.raw,
        begins: config.plan.begins(),
    };
    Engine::new(setup, cpus)
}

/// The stream, with its first line, if there is to be one.
pub(super) fn stream<'a>(
    config: &RecordConfig,
    symbols: &'a Kallsyms,
    facts: &Facts,
    info: &RunInfo<'_>,
) -> anyhow::Result<Option<Stream<'a>>> {
    let Some(format) = config.stream else { return Ok(None) };
    let queue = Queue::new(io::stdout(), config.stream_bytes)
        .context("cannot start the stream's thread")?;
    let Extras { split, holders, .. } = config.plan.extras;
    let stream = Stream::new(format, symbols, queue).with_texts(facts.texts());
    let mut stream = stream.showing(Shows { split, holders });
    if config.raw && format == Format::Text {
        // trace_pipe has no headings either.
        return Ok(Some(stream));
    }
    stream.header(info);
    stream.flush();
    Ok(Some(stream))
}
