//! perf's recordings cut, and with other bytes in them: read to an end, and what is wrong is told.

use std::collections::HashSet;
use std::fs::{File, OpenOptions};
use std::os::unix::fs::FileExt as _;
use std::path::PathBuf;
use std::process::Command;

use ftlock::perf_data::{MomentWhat, PerfData};

use crate::perf_data::{OWN, unpacked};

/// A recording to be damaged in place: only the damage is written.
struct Sample {
    path: PathBuf,
    file: File,
    bytes: Vec<u8>,
    whole: HashSet<(u64, u16, Vec<u8>)>,
}

/// What was read of a damaged file.
#[derive(Debug, Default)]
struct Reading {
    events: Vec<(u64, u16, Vec<u8>)>,
    complains: bool,
}

impl Sample {
    fn new(name: &str, folder: &tempfile::TempDir) -> Sample {
        let path = unpacked(name, folder);
        let file = OpenOptions::new().write(true).open(&path).unwrap();
        let bytes = std::fs::read(&path).unwrap();
        let mut sample = Sample { path, file, bytes, whole: HashSet::new() };
        let whole = sample.read();
        assert!(!whole.complains && whole.events.len() > 70);
        sample.whole = whole.events.into_iter().collect();
        sample
    }

    fn read(&self) -> Reading {
        let complains = Reading { complains: true, ..Reading::default() };
        let file = File::open(&self.path).unwrap();
        let Ok(file) = PerfData::open(file, &self.path) else { return complains };
        let Ok(mut reader) = file.reader() else { return complains };
        let mut reading = Reading::default();
        let mut turns = 0;
        while reader.complete_up_to_ns() != u64::MAX {
            reader.read();
            for moment in reader.moments() {
                if let MomentWhat::Event { payload, .. } = moment.what {
                    reading.events.push((moment.at_ns, moment.cpu.0, payload.to_vec()));
                }
            }
            turns += 1;
            assert!(turns < self.bytes.len() && reader.percent() <= 100);
        }
        reading.complains = reader.fault().is_some() || reader.unread() > 0;
        reading
    }

    fn with(&self, at: usize, damage: &[u8]) -> Reading {
        self.file.write_all_at(damage, at as u64).unwrap();
        let reading = self.read();
        self.restore(at, damage.len());
        reading
    }

    fn restore(&self, at: usize, len: usize) {
        let end = (at + len).min(self.bytes.len());
        self.file.set_len(self.bytes.len() as u64).unwrap();
        self.file.write_all_at(&self.bytes[at.min(end)..end], at as u64).unwrap();
    }
}

/// In a pipe all that was written before the cut is there; a file tells what its events mean at its end.
#[test]
fn a_file_that_is_cut_gives_what_comes_before_or_says_what_is_missing() {
    let folder = tempfile::tempdir().unwrap();
    for name in OWN {
        let sample = Sample::new(name, &folder);
        let (mut most, mut silent) = (0, 0);
        for cut in (0..sample.bytes.len()).step_by(sample.bytes.len() / 400) {
            sample.file.set_len(cut as u64).unwrap();
            let reading = sample.read();
            let events = reading.events.len();
            assert!(reading.events.into_iter().all(|event| sample.whole.contains(&event)), "{cut}");
            assert!(events >= most || name != "pipe", "{cut}: {events} events after {most}");
            most = most.max(events);
            silent += u64::from(!reading.complains && events < sample.whole.len());
            sample.restore(cut, sample.bytes.len() - cut);
        }
        match name {
            // Where a record ends nobody can tell that it was not the last one.
            "pipe" => assert!(most > sample.whole.len() * 9 / 10 && silent < 20, "{most} {silent}"),
            _ => assert!(silent == 0 && (most == 0 || most == sample.whole.len()), "{name} {most}"),
        }
    }
}

#[test]
fn other_bytes_anywhere_cost_no_more_than_what_they_stand_in() {
    let folder = tempfile::tempdir().unwrap();
    for name in OWN {
        let sample = Sample::new(name, &folder);
        let mut dice = 1u64;
        let mut told = 0;
        for round in 0..600 {
            dice = dice
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            let at = (dice >> 33) as usize % (sample.bytes.len() - 8);
            let damage: &[u8] = match round % 3 {
                0 => &[!sample.bytes[at]],
                1 => &[0xff; 8],
                _ => &[0; 4],
            };
            let reading = sample.with(at, damage);
            assert!(reading.events.len() <= 2 * sample.whole.len(), "{name} {at}");
            told += u64::from(reading.complains);
        }
        assert!(told > 10, "{name}: {told}");
        // And nothing is left of it.
        assert_eq!(sample.read().events.len(), sample.whole.len());
    }
}

/// Every word of the head, and the first words of the records, as large as can be, and as small.
#[test]
fn huge_numbers_in_the_head_are_no_trouble() {
    let folder = tempfile::tempdir().unwrap();
    for name in OWN {
        let sample = Sample::new(name, &folder);
        for at in (8..1200).step_by(4) {
            for damage in [[0xff; 8], [0; 8], u64::MAX.rotate_right(1).to_le_bytes()] {
                sample.with(at, &damage);
            }
        }
    }
}

/// The whole program, from the file to the table.
#[test]
fn the_program_ends_properly_on_damaged_files() {
    let folder = tempfile::tempdir().unwrap();
    let sample = Sample::new("pipe", &folder);
    for place in 1..24 {
        let at = sample.bytes.len() * place / 24;
        sample.file.write_all_at(&[0xa5; 3], at as u64).unwrap();
        let mut command = Command::new(env!("CARGO_BIN_EXE_ftlock"));
        let output = command.args(["report", "--by", "stack"]).arg(&sample.path).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(matches!(output.status.code(), Some(0 | 1)), "{at}: {output:?}");
        assert!(!said.contains("panicked"), "{at}: {said}");
        sample.restore(at, 3);
    }
}
