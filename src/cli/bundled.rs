//! The recording that `demo` shows where tracing is not allowed.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;

use crate::cmdline_cache::CmdlineCache;
use crate::contention::Begins;
use crate::event::decode::Decoder;
use crate::event::{Cpu, Tid};
use crate::output::{ReportInfo, RunInfo};
use crate::pipeline::{Engine, Keep, Outputs, Queue, Setup, Stream, Targets, replay};
use crate::symbols::{CallerFinder, Kallsyms, StackTable};
use crate::tracefs::{Abi, Endian, EventFormat, SubbufLayout};

use super::config::RecordConfig;
use super::exports::export;
use super::facts::Facts;
use super::outcome::{Outcome, conclude};
use super::record::{STREAM_BYTES, report_file};
use super::run::Ending;

/// See `assets/demo/README.md`.
const RINGS: [&[u8]; 2] =
    [include_bytes!("../../assets/demo/cpu0.raw"), include_bytes!("../../assets/demo/cpu1.raw")];
const HEADER_PAGE: &str = include_str!("../../assets/demo/header_page");
const FORMATS: &str = include_str!("../../assets/demo/formats");
const KALLSYMS: &[u8] = include_bytes!("../../assets/demo/kallsyms");
const KERNEL: &str = "6.18.44 (bundled recording)";

/// How long the recording lasts.
const DURATION: Duration = Duration::from_millis(250);

/// Shows the recording as a run of its own; returns the exit status.
pub(super) fn show(config: &RecordConfig) -> anyhow::Result<u8> {
    let symbols = Arc::new(Kallsyms::parse(KALLSYMS));
    let facts = Facts::new(config)?;
    let layout = SubbufLayout::parse(HEADER_PAGE)?;
    // Each file begins with the event's name.
    let formats = FORMATS.split("name: ").skip(1);
    let formats = formats.map(|text| EventFormat::parse(&format!("name: {text}")));
    let setup = Setup {
        layout,
        decoder: Decoder::new(
            Abi::new(Endian::Little, &layout),
            formats.collect::<Result<Vec<_>, _>>()?,
        )?,
        stacks: StackTable::new(
            StackTable::DEFAULT_CAPACITY,
            Arc::new(CallerFinder::new(Arc::clone(&symbols))),
        ),
        cache: CmdlineCache::new(1 << 12),
        keep: Keep {
            targets: Targets::All,
            cpus: None,
            min_wait_ns: config.min_wait_ns,
            filters: facts.filters(config, &symbols)?,
            own: Tid(u32::MAX),
            by: config.by.clone(),
            max_stack: config.max_stack,
        },
        rows: config.rows,
        chains: false,
        raw: config.raw,
        begins: Begins::All,
    };
    let mut engine = Engine::new(setup, [Cpu(0), Cpu(1)]);
    let run = RunInfo { clock: "mono", kernel: KERNEL, cpus: RINGS.len(), command: &[] };
    let stream = match config.stream {
        Some(format) => {
            let queue = Queue::new(io::stdout(), STREAM_BYTES)
                .context("cannot start the stream's thread")?;
            Some(Stream::new(format, &symbols, queue))
        }
        None => None,
    };
    let info = ReportInfo { run, host: None, date: None, start_ns: None, end_ns: None };
    let mut file = report_file(config)?;
    let mut outputs =
        Outputs { stream, export: export(config, &symbols, &facts, &info, &mut file)? };
    if let Some(stream) = &mut outputs.stream {
        stream.header(&run);
    }
    replay(&mut engine, &RINGS, layout.size_bytes(), &mut outputs);
    conclude(Outcome {
        config,
        info,
        traced: Ok(Ending::TargetsGone),
        ended: Ok(None),
        outputs,
        file,
        symbols: &symbols,
        texts: facts.texts(),
        duration: DURATION,
        own_cpu_ns: None,
        blocked: &[],
        results: engine.finish(),
    })
}
