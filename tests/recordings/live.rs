//! Whole small captures of a live 6.18 kernel, with the figures of their PROVENANCE.

use ftlock::event::Body;
use ftlock::event::LockFlags;
use ftlock::event::decode::Decoded;
use ftlock::tracefs::SubbufLayout;
use ftlock::tracefs::{Abi, Endian};

use crate::fixtures;
use crate::kernel::{Kernel, Ring};
use crate::kernel_text;
use crate::oracle::Record;

/// Begins, ends, ends that did not get the lock, the losses of each CPU.
type Figures = (usize, usize, usize, [&'static [Option<u64>]; 2]);

#[test]
fn captures_hold_what_their_provenance_says() {
    let folder = fixtures::own().join("live");
    let formats = folder.join("formats");
    let layout = fixtures::text(&formats.join("events/header_page"));
    let layout = SubbufLayout::parse(&layout).unwrap();
    let kernel = Kernel::new(&formats, Abi::new(Endian::Little, &layout), false);
    let table: [(&str, Option<Figures>); 5] = [
        ("msg", Some((140, 140, 0, [&[], &[]]))),
        ("slp", Some((830, 772, 9, [&[], &[]]))),
        ("lost", Some((100, 100, 0, [&[Some(3146)], &[Some(1588)]]))),
        ("dual", Some((65, 50, 8, [&[], &[]]))),
        ("sub16", None), // 16 KiB sub-buffers; nobody counted its events
    ];
    for (name, figures) in table {
        let layout = match name {
            "sub16" => fixtures::text(&folder.join("sub16.header_page")),
            _ => fixtures::text(&formats.join("events/header_page")),
        };
        let layout = SubbufLayout::parse(&layout).unwrap();
        let text = fixtures::read(&folder.join(format!("{name}.kernel.txt")));
        let lines = kernel_text::parse(&text);
        let (mut begins, mut ends, mut failed) = (0, 0, 0);
        for cpu in 0..2_u16 {
            let raw = fixtures::read(&folder.join(format!("{name}.cpu{cpu}.raw")));
            let stats = fixtures::text(&folder.join(format!("{name}.cpu{cpu}.stats")));
            let ring = Ring::read(&raw, &layout, kernel.abi);
            assert_eq!(ring.faults, []);
            assert_eq!(ring.records.len(), lines[&cpu].len());
            assert_eq!(ring.records.len() as u64, fixtures::stat(&stats, "entries"));
            if let Some((.., losses)) = figures {
                assert_eq!(ring.losses, losses[usize::from(cpu)], "{name}");
            }
            for (&(ts, payload), line) in ring.records.iter().zip(&lines[&cpu]) {
                Record { kernel: &kernel, ts, payload }.must_be(line);
                let id = kernel.decoder.head(payload).unwrap().id;
                match kernel.decoder.decode(id, payload).unwrap() {
                    Decoded::Plain(Body::LockBegin { .. }) => begins += 1,
                    Decoded::Plain(Body::LockEnd { ret, .. }) => {
                        ends += 1;
                        failed += usize::from(ret != 0);
                        assert!(matches!(ret, 0 | -4), "{ret}");
                    }
                    _ => {}
                }
            }
        }
        if let Some((expected_begins, expected_ends, expected_failed, _)) = figures {
            let expected = (expected_begins, expected_ends, expected_failed);
            assert_eq!((begins, ends, failed), expected, "{name}");
        }
    }
}

/// `msg` is spinlocks only.
#[test]
fn a_messaging_benchmark_waits_for_spinlocks_only() {
    let folder = fixtures::own().join("live");
    let layout = fixtures::text(&folder.join("formats/events/header_page"));
    let layout = SubbufLayout::parse(&layout).unwrap();
    let kernel = Kernel::new(&folder.join("formats"), Abi::new(Endian::Little, &layout), false);
    let mut flags = Vec::new();
    for cpu in 0..2 {
        let raw = fixtures::read(&folder.join(format!("msg.cpu{cpu}.raw")));
        for (_, payload) in Ring::read(&raw, &layout, kernel.abi).records {
            let id = kernel.decoder.head(payload).unwrap().id;
            if let Decoded::Plain(Body::LockBegin { flags: found, .. }) =
                kernel.decoder.decode(id, payload).unwrap()
            {
                flags.push(found);
            }
        }
    }
    assert_eq!(flags, [LockFlags(1); 140]);
}
