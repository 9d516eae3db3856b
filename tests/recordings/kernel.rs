//! One kernel: its ABI, its formats, and what its rings hold.

use std::collections::HashMap;
use std::path::Path;

use ftlock::event::decode::Decoder;
use ftlock::tracefs::EventFormat;
use ftlock::tracefs::SubbufLayout;
use ftlock::tracefs::{Abi, Endian};
use ftlock::tracefs::{PageFault, Step, walk};

use crate::fixtures;
use crate::print_format::PrintFormat;

pub(crate) struct Kernel {
    pub(crate) abi: Abi,
    pub(crate) decoder: Decoder,
    pub(crate) print_formats: HashMap<u16, PrintFormat>,
    /// The text shows lock addresses as they are.
    pub(crate) shows_addresses: bool,
}

impl Kernel {
    /// From a folder of format files, of whatever depth.
    pub(crate) fn new(formats: &Path, abi: Abi, shows_addresses: bool) -> Kernel {
        let mut parsed = Vec::new();
        let mut print_formats = HashMap::new();
        for path in fixtures::files(formats) {
            if fixtures::name(&path) == "format" {
                let text = fixtures::text(&path);
                let format = EventFormat::parse(&text).unwrap();
                print_formats.insert(format.id, PrintFormat::parse(&text));
                parsed.push(format);
            }
        }
        Kernel { abi, decoder: Decoder::new(abi, parsed).unwrap(), print_formats, shows_addresses }
    }

    /// From a `_kernel` folder.
    pub(crate) fn recorded(folder: &Path) -> Kernel {
        let info = fixtures::text(&folder.join("info.txt"));
        let endian = match info.contains("endian=big") {
            true => Endian::Big,
            false => Endian::Little,
        };
        let layout = SubbufLayout::parse(&fixtures::text(&folder.join("header_page.txt"))).unwrap();
        let abi = Abi::new(endian, &layout);
        assert!(info.contains(&format!("long_size={}\n", abi.long_size_bytes)));
        let command_line = fixtures::text(&folder.join("version_cmdline.txt"));
        Kernel::new(&folder.join("format"), abi, command_line.contains("no_hash_pointers"))
    }
}

/// What one CPU's sub-buffers hold.
#[derive(Default)]
pub(crate) struct Ring<'a> {
    pub(crate) pages: usize,
    pub(crate) records: Vec<(u64, &'a [u8])>,
    /// The number of events of each loss, where the kernel knew it.
    pub(crate) losses: Vec<Option<u64>>,
    pub(crate) faults: Vec<PageFault>,
}

impl<'a> Ring<'a> {
    pub(crate) fn read(raw: &'a [u8], layout: &SubbufLayout, abi: Abi) -> Ring<'a> {
        let mut ring = Ring::default();
        assert_eq!(raw.len() % layout.size_bytes(), 0, "whole sub-buffers");
        for page in raw.chunks(layout.size_bytes()) {
            ring.pages += 1;
            for step in walk(page, layout, abi, None) {
                match step {
                    Step::Record(record) => ring.records.push((record.ts, record.payload)),
                    Step::Lost { missed } => ring.losses.push(missed),
                    Step::Fault(fault) => ring.faults.push(fault),
                }
            }
        }
        ring
    }
}
