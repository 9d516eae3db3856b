//! trace-cmd's files cut, with other bytes in them, and with huge lengths: read to an end.

use std::fs::{self, File, OpenOptions};
use std::os::unix::fs::FileExt as _;

use ftlock::trace_file::TraceFile;
use ftlock::tracefs::{Step, walk};

use crate::fixtures;

/// A file to be damaged, in place: only the damage is written.
struct Sample {
    bytes: Vec<u8>,
    path: tempfile::TempPath,
    file: File,
    /// Of the whole file: CPU, time.
    events: Vec<(u16, u64)>,
}

/// What was read of a damaged file.
#[derive(Debug, Default)]
struct Reading {
    events: Vec<(u16, u64)>,
    /// Whether something was found to be missing.
    complains: bool,
}

impl Sample {
    fn new(name: &str) -> Sample {
        let bytes = fixtures::read(&fixtures::own().join("trace_dat").join(name));
        let path = tempfile::NamedTempFile::new().unwrap().into_temp_path();
        fs::write(&path, &bytes).unwrap();
        let file = OpenOptions::new().write(true).open(&path).unwrap();
        let mut sample = Sample { bytes, path, file, events: Vec::new() };
        let whole = sample.read();
        assert!(!whole.complains);
        sample.events = whole.events;
        sample
    }

    /// Reads all there is. Pieces and records stay within bounds whatever the file says.
    fn read(&self) -> Reading {
        let Ok(file) = TraceFile::open(&self.path) else {
            return Reading { complains: true, ..Reading::default() };
        };
        let mut reading = Reading { complains: !file.notes.is_empty(), ..Reading::default() };
        for buffer in &file.buffers {
            let (layout, abi) = (file.layout(buffer), file.abi());
            for extent in &buffer.cpus {
                let mut ring = file.cpu_data(buffer, extent);
                let limit = 65_536.max(layout.size_bytes());
                loop {
                    let piece = match ring.next(65_536) {
                        Ok(None) => break,
                        Ok(Some(piece)) => piece,
                        Err(_) => {
                            reading.complains = true;
                            assert!(ring.next(65_536).unwrap().is_none());
                            break;
                        }
                    };
                    assert!(piece.len() <= limit);
                    for page in piece.chunks(layout.size_bytes()) {
                        for step in walk(page, &layout, abi, None) {
                            match step {
                                Step::Record(record) => {
                                    reading.events.push((extent.cpu, record.ts));
                                }
                                Step::Lost { .. } => {}
                                Step::Fault(_) => reading.complains = true,
                            }
                        }
                    }
                }
            }
        }
        reading
    }

    /// Reads with some bytes replaced.
    fn read_with(&self, at: usize, bytes: &[u8]) -> Reading {
        let len = bytes.len().min(self.bytes.len() - at);
        self.file.write_all_at(&bytes[..len], at as u64).unwrap();
        let reading = self.read();
        self.file.write_all_at(&self.bytes[at..at + len], at as u64).unwrap();
        reading
    }
}

fn samples() -> [Sample; 2] {
    ["rec.v6.dat", "rec.v7z.dat"].map(Sample::new)
}

/// Whether `part` are the first events of each CPU.
fn is_beginning_of(part: &[(u16, u64)], whole: &[(u16, u64)]) -> bool {
    (0..2).all(|cpu| {
        let mut whole = whole.iter().filter(|event| event.0 == cpu);
        part.iter().filter(|event| event.0 == cpu).all(|event| whole.next() == Some(event))
    })
}

#[test]
fn a_file_that_is_cut_gives_the_first_events_and_says_that_more_are_missing() {
    for sample in samples() {
        let len = sample.bytes.len();
        let mut counts = Vec::new();
        for cut in (0..len).rev().step_by(len / 197) {
            sample.file.set_len(cut as u64).unwrap();
            let reading = sample.read();
            assert!(is_beginning_of(&reading.events, &sample.events));
            let all_there = reading.events.len() == sample.events.len();
            assert!(all_there || reading.complains, "cut at {cut}");
            counts.push(reading.events.len());
        }
        assert!(counts.is_sorted_by(|more, less| more >= less), "{counts:?}");
        assert_eq!(counts.last(), Some(&0));
    }
}

#[test]
fn huge_lengths_are_not_believed() {
    for sample in samples() {
        let mut complaints = 0;
        for at in (0..sample.bytes.len() - 8).step_by(sample.bytes.len() / 397) {
            for bytes in [&[0xff; 8][..], &[0xff; 4], &[0, 0, 0, 0x7f], &[0xf0, 0xff, 0xff, 0x0f]] {
                complaints += usize::from(sample.read_with(at, bytes).complains);
            }
        }
        assert!(complaints > 50, "{complaints}");
    }
}

#[test]
fn changed_bytes_are_read_to_an_end() {
    let mut seed = 0x2545_f491_4f6c_dd1d_u64;
    let mut random = |below: usize| {
        seed ^= seed << 13;
        seed ^= seed >> 7;
        seed ^= seed << 17;
        usize::try_from(seed % below as u64).unwrap()
    };
    for sample in samples() {
        let mut complaints = 0;
        for _ in 0..1500 {
            // The beginning and the end hold most lengths and offsets.
            let at = match random(3) {
                0 => random(2000),
                1 => sample.bytes.len() - 1 - random(1500),
                _ => random(sample.bytes.len()),
            };
            let byte = sample.bytes[at] ^ (1 << random(8));
            complaints += usize::from(sample.read_with(at, &[byte]).complains);
        }
        assert!((50..1500).contains(&complaints), "{complaints}");
    }
}
