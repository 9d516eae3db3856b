//! Real sub-buffers with some bytes changed: whatever comes, the walk ends and stays inside.

use ftlock::tracefs::SubbufLayout;
use ftlock::tracefs::{Abi, Endian};
use ftlock::tracefs::{Step, walk};
use proptest::prelude::*;
use proptest::sample::Index;

use crate::fixtures;
use crate::kernel::Kernel;

struct Sample {
    kernel: Kernel,
    layout: SubbufLayout,
    pages: Vec<Vec<u8>>,
}

/// Sub-buffers of a 64-bit little-endian, a 32-bit and a big-endian kernel.
fn samples() -> Vec<Sample> {
    let sample = |name: &str, scenario: &str| {
        let folder = fixtures::own().join("kernels").join(name);
        let kernel = Kernel::recorded(&folder.join("_kernel"));
        let header_page = fixtures::text(&folder.join(scenario).join("header_page.txt"));
        let layout = SubbufLayout::parse(&header_page).unwrap();
        let raw = fixtures::read(&folder.join(scenario).join("cpu0.raw"));
        Sample {
            kernel,
            layout,
            pages: raw.chunks(layout.size_bytes()).map(<[u8]>::to_vec).collect(),
        }
    };
    vec![
        sample("amd64-6.12", "overflow-overwrite-64k"),
        sample("amd64-6.1-rt", "stackonly"),
        sample("armhf-6.1", "gaps"),
        sample("s390x-6.1", "stack"),
    ]
}

fn check(sample: &Sample, page: &[u8], abi: Abi) {
    let bytes = page.as_ptr_range();
    let limit = page.len() / 4 + 3;
    let mut steps = 0;
    for step in walk(page, &sample.layout, abi, None) {
        steps += 1;
        assert!(steps < limit);
        let Step::Record(record) = step else { continue };
        let payload = record.payload.as_ptr_range();
        assert!(bytes.start <= payload.start && payload.end <= bytes.end);
        let decoder = &sample.kernel.decoder;
        if let Some(head) = decoder.head(record.payload) {
            // A fault or a value: only that it comes to an end counts here.
            let _decoded = decoder.decode(head.id, record.payload);
            for field in decoder.format(head.id).iter().flat_map(|format| &format.fields) {
                let _value = field.value(record.payload, sample.kernel.abi);
            }
        }
    }
}

#[test]
fn damaged_sub_buffers_are_read_to_an_end() {
    let samples = samples();
    let damage = prop::collection::vec((any::<Index>(), any::<u8>()), 1..24);
    let strategy = (any::<Index>(), any::<Index>(), damage, any::<Index>(), any::<bool>());
    proptest!(|((kernel, page, damage, end, is_cut) in strategy)| {
        let sample = kernel.get(&samples);
        let mut page = page.get(&sample.pages).clone();
        for (place, byte) in damage {
            *place.get_mut(&mut page) = byte;
        }
        if is_cut {
            page.truncate(end.index(page.len()));
        }
        check(sample, &page, sample.kernel.abi);
        // And as if another kernel had written it.
        let other = match sample.kernel.abi.endian {
            Endian::Little => Endian::Big,
            Endian::Big => Endian::Little,
        };
        check(sample, &page, Abi { endian: other, ..sample.kernel.abi });
    });
}
