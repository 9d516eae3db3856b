//! The stages for generated rings.

use std::sync::Arc;

use ftlock::cmdline_cache::CmdlineCache;
use ftlock::contention::Begins;
use ftlock::event::decode::Decoder;
use ftlock::event::{Cpu, Tid};
use ftlock::pipeline::{Engine, Filters, Keep, Processes, Setup, Targets};
use ftlock::report::{By, Keys};
use ftlock::symbols::{CallerFinder, Kallsyms, StackTable};
use ftlock::tracefs::{Abi, Endian, SubbufLayout};

use super::{HEADER_PAGE, Rings, formats};

/// All stages, for everybody's waits in rows of this key, at most so many.
pub(crate) fn engine(rings: &Rings, by: By, rows: usize) -> Engine {
    let symbols = Arc::new(Kallsyms::parse(b""));
    let layout = SubbufLayout::parse(HEADER_PAGE).unwrap();
    let abi = Abi::new(Endian::Little, &layout);
    let setup = Setup {
        layout,
        decoder: Decoder::new(abi, formats()).unwrap(),
        stacks: StackTable::new(16, Arc::new(CallerFinder::new(Arc::clone(&symbols)))),
        cache: CmdlineCache::new(1 << 18),
        keep: Keep {
            targets: Targets::All,
            cpus: None,
            min_wait_ns: 0,
            filters: Filters::new(symbols),
            own: Tid(u32::MAX),
            by: Keys::new(&[by]),
            max_stack: None,
        },
        rows,
        chains: false,
        processes: Processes::Unknown,
        raw: false,
        begins: Begins::All,
        sleeps: false,
    };
    Engine::new(setup, (0u16..).zip(&rings.rings).map(|(cpu, _)| Cpu(cpu)))
}
