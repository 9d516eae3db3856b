//! Kinds of files that trace-cmd does not write here: of other machines, packed otherwise, and lies.

use std::path::Path;

use ftlock::trace_file::{Compression, Error, Fault, Note, TraceFile};
use ftlock::tracefs::{Endian, SubbufLayout};

use crate::fixtures;
use crate::kernel::{Kernel, Ring};
use crate::trace_dat::contents;
use crate::trace_dat_build::{File, OPTIONS_OFFSET_AT};

/// A recording to be put into files.
struct Recording {
    endian: Endian,
    header_page: String,
    formats: Vec<String>,
    layout: SubbufLayout,
    raw: Vec<Vec<u8>>,
    /// By CPU: how many events there are.
    events: Vec<usize>,
}

impl Recording {
    fn new(kernel: &str, scenario: &str) -> Recording {
        let folder = fixtures::own().join("kernels").join(kernel);
        let abi = Kernel::recorded(&folder.join("_kernel")).abi;
        let header_page = fixtures::text(&folder.join(scenario).join("header_page.txt"));
        let layout = SubbufLayout::parse(&header_page).unwrap();
        let path = |cpu: u16| folder.join(scenario).join(format!("cpu{cpu}.raw"));
        let raw: Vec<_> = (0..).map_while(|cpu| fixtures::read_any(&path(cpu))).collect();
        let count = |raw: &Vec<u8>| Ring::read(raw, &layout, abi).records.len();
        let events = raw.iter().map(count).collect();
        let formats = fixtures::files(&folder.join("_kernel/format")).into_iter();
        let formats = formats.map(|path| fixtures::text(&path)).collect();
        Recording { endian: abi.endian, header_page, formats, layout, raw, events }
    }

    fn page_size(&self) -> u32 {
        u32::try_from(self.layout.size_bytes()).unwrap()
    }

    /// Texts of version 7, all packed; returns their places by number.
    fn packed_texts(&self, file: &mut File) -> Vec<(u16, u64)> {
        let text = |file: &mut File, id| {
            file.section(id, true, |file| file.texts(id, &self.header_page, &self.formats))
        };
        (16..=21).map(|id| (id, text(file, id))).collect()
    }

    fn v6(&self) -> Vec<u8> {
        let mut file = File::new(self.endian, "6", self.page_size());
        (16..=21).for_each(|id| file.texts(id, &self.header_page, &self.formats));
        file.count(self.raw.len());
        file.bytes.extend(b"options  \0");
        file.option(5, |file| file.bytes.extend(b"Linux far 6.1 other\0"));
        file.u16(0);
        file.bytes.extend(b"flyrecord\0");
        let mut offset = file.offset() + 16 * self.raw.len() as u64;
        for raw in &self.raw {
            file.u64(offset);
            file.u64(raw.len() as u64);
            offset += raw.len() as u64;
        }
        self.raw.iter().for_each(|raw| file.bytes.extend(raw));
        file.bytes
    }

    /// With chunks that end within sub-buffers.
    fn v7(&self) -> File {
        let mut file = File::new(self.endian, "7", self.page_size());
        let texts = self.packed_texts(&mut file);
        let section = file.offset();
        file.section_header(3, true, 0);
        let rings: Vec<_> = self.raw.iter().map(|raw| file.packed_ring(raw, 10_000)).collect();
        let options = file.section(0, false, |file| {
            texts.iter().for_each(|&(id, offset)| file.option(id, |file| file.u64(offset)));
            file.option(3, |file| self.buffer(file, section, &rings));
            file.option(77, |file| file.u32(77));
            file.option(0, |file| file.u64(0));
        });
        file.set_u64(OPTIONS_OFFSET_AT, options);
        file
    }

    fn buffer(&self, file: &mut File, section: u64, rings: &[(u64, u64)]) {
        file.u64(section);
        file.bytes.extend(b"far\0mono\0");
        file.u32(self.page_size());
        file.count(rings.len());
        for (cpu, &(offset, size_bytes)) in (0..).zip(rings) {
            file.u32(cpu);
            file.u64(offset);
            file.u64(size_bytes);
        }
    }

    fn must_be(&self, file: &TraceFile) {
        assert!(file.notes.is_empty(), "{:?}", file.notes);
        assert_eq!(file.abi().endian, self.endian);
        assert_eq!(file.texts.saved_names().collect::<Vec<_>>(), [(1, &b"init"[..])]);
        assert_eq!(file.texts.formats().collect::<Vec<_>>(), self.formats);
        for ((extent, raw), cpu) in file.buffers[0].cpus.iter().zip(&self.raw).zip(0..) {
            assert_eq!(extent.cpu, cpu);
            let mut ring = file.cpu_data(&file.buffers[0], extent);
            let mut read = Vec::new();
            while let Some(piece) = ring.next(0).unwrap() {
                assert_eq!(piece.len(), self.layout.size_bytes());
                read.extend_from_slice(piece);
            }
            assert!(read == *raw);
        }
        let events = contents(file).events.into_values().map(|events| events.len());
        assert_eq!(events.collect::<Vec<_>>(), self.events);
    }
}

fn open(bytes: &[u8]) -> Result<TraceFile, Fault> {
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), bytes).unwrap();
    TraceFile::open(file.path()).map_err(|error| match error {
        Error::File { fault, .. } => fault,
        other => panic!("{other}"),
    })
}

#[test]
fn files_of_other_machines_are_read() {
    for (kernel, scenario) in
        [("s390x-6.1", "stack"), ("armhf-6.1", "gaps"), ("amd64-6.12", "subbuf-64k")]
    {
        let recording = Recording::new(kernel, scenario);
        let v6 = open(&recording.v6()).unwrap();
        recording.must_be(&v6);
        assert_eq!(v6.options.uname.as_deref(), Some("Linux far 6.1 other"));
        let v7 = open(&recording.v7().bytes).unwrap();
        recording.must_be(&v7);
        assert_eq!(v7.head.compression, Compression::Zlib);
        assert_eq!((v7.buffers[0].name.as_str(), v7.options.unknown), ("far", 1));
        assert_eq!(v7.buffers[0].clock.as_deref(), Some("mono"));
    }
}

#[test]
fn options_that_lead_round_or_away_end_there_and_the_rest_is_read() {
    let recording = Recording::new("armhf-6.1", "gaps");
    let whole = recording.v7();
    let next_at = whole.bytes.len() - 8;
    let first = u64::from_le_bytes(whole.bytes[OPTIONS_OFFSET_AT..][..8].try_into().unwrap());
    for next in [first, 1, first - 1, whole.offset(), u64::MAX] {
        let mut file = recording.v7();
        file.set_u64(next_at, next);
        let file = open(&file.bytes).unwrap();
        assert!(matches!(file.notes.first[..], [Note::OptionsEnd(_)]), "{:?}", file.notes);
        let events = contents(&file).events.into_values().map(|events| events.len());
        assert_eq!(events.collect::<Vec<_>>(), recording.events);
    }
}

#[test]
fn what_cannot_be_read_is_named() {
    let recording = Recording::new("armhf-6.1", "gaps");
    let error = |bytes: &[u8]| open(bytes).unwrap_err().to_string();
    let v6 = recording.v6();
    assert_eq!(error(b""), "not a trace.dat: it does not begin as one");
    assert_eq!(error(&v6[1..]), "not a trace.dat: it does not begin as one");
    let mut version = v6.clone();
    version[10] = b'8';
    assert_eq!(error(&version), "trace.dat of version \"8\", only 6 and 7 are known");
    let mut other = recording.v7().bytes;
    other[18..22].copy_from_slice(b"lzma");
    assert_eq!(error(&other), "compressed with \"lzma\", only zlib and zstd are known");
    let mut unfinished = recording.v7();
    unfinished.set_u64(OPTIONS_OFFSET_AT, 0);
    assert_eq!(error(&unfinished.bytes), "it has no options");
    let table = v6.windows(9).position(|bytes| bytes == b"flyrecord").unwrap();
    let mut latency = v6.clone();
    latency[table..][..9].copy_from_slice(b"latency  ");
    assert_eq!(error(&latency), "it holds the text of a latency tracer, not recorded rings");
    let mut nothing = v6.clone();
    nothing[table] = b'F';
    assert_eq!(error(&nothing), format!("something else than the table of rings at byte {table}"));
    assert_eq!(
        error(&v6[..table + 20]),
        format!("cut short at byte {}, within the table of rings", table + 18)
    );
}

#[test]
fn a_file_of_text_is_told_from_one_of_rings() {
    let recording = Recording::new("armhf-6.1", "gaps");
    let mut file = File::new(Endian::Little, "7", 4096);
    let texts = recording.packed_texts(&mut file);
    let options = file.section(0, false, |file| {
        texts.iter().for_each(|&(id, offset)| file.option(id, |file| file.u64(offset)));
        file.option(22, |file| file.bytes.extend(b"\0\0\0\0\0\0\0\0\0local\0"));
        file.option(0, |file| file.u64(0));
    });
    file.set_u64(OPTIONS_OFFSET_AT, options);
    assert!(matches!(open(&file.bytes), Err(Fault::Text)));
    let missing = TraceFile::open(Path::new("/nowhere/trace.dat")).unwrap_err();
    assert!(missing.to_string().starts_with("cannot open /nowhere/trace.dat: No such file"));
}

/// A megabyte that would be 4096 times 65,536 rings, and a packed ring that a thousand CPUs would unpack.
#[test]
fn what_stands_once_in_a_file_is_not_read_over_and_over_again() {
    let recording = Recording::new("armhf-6.1", "gaps");
    let many = |table: u64| {
        let mut file = File::new(Endian::Little, "6", 4096);
        (16..=21).for_each(|id| file.texts(id, &recording.header_page, &recording.formats));
        file.count(1 << 16);
        file.bytes.extend(b"options  \0");
        for _ in 0..4096 {
            file.option(3, |file| {
                file.u64(table);
                file.bytes.extend(b"x\0");
            });
        }
        file.u16(0);
        let at = file.offset();
        file.bytes.extend(b"flyrecord\0");
        file.bytes.extend(vec![0; 16 << 16]);
        (file.bytes, at)
    };
    let (_, table) = many(0);
    let file = open(&many(table).0).unwrap();
    let rings: usize = file.buffers.iter().map(|buffer| buffer.cpus.len()).sum();
    assert_eq!(rings, 1 << 18);
    assert!(
        matches!(file.notes.first[0], Note::LeftOut(Fault::TooLarge { .. })),
        "{:?}",
        file.notes
    );
    assert_eq!(file.notes.first.len() as u64 + file.notes.more, 4096 - 3);

    let mut file = File::new(Endian::Little, "7", 4096);
    let texts = recording.packed_texts(&mut file);
    let section = file.offset();
    file.section_header(3, true, 0);
    let ring = file.packed_ring(&vec![0; 32 << 20], 32 << 20);
    let options = file.section(0, false, |file| {
        texts.iter().for_each(|&(id, offset)| file.option(id, |file| file.u64(offset)));
        file.option(3, |file| recording.buffer(file, section, &[ring; 1000]));
        file.option(0, |file| file.u64(0));
    });
    file.set_u64(OPTIONS_OFFSET_AT, options);
    let file = open(&file.bytes).unwrap();
    let sizes = file.buffers[0].cpus.iter().map(|ring| ring.size_bytes);
    assert_eq!(sizes.filter(|&size_bytes| size_bytes > 0).count(), 1);
    assert_eq!(file.notes.first.len() as u64 + file.notes.more, 999);
}
