//! Recorded rings, and the file they are written to.

use std::path::Path;

use ftlock::trace_file::{EventText, Setup, Texts, TraceFile, Version, Writer};
use ftlock::tracefs::SubbufLayout;

use crate::fixtures;
use crate::trace_dat::check_with_trace_cmd;

/// Rings to be written.
pub(crate) struct Recording {
    pub(crate) setup: Setup,
    /// By CPU.
    pub(crate) raw: Vec<Vec<u8>>,
}

impl Recording {
    /// From a folder with `cpuN.raw`, of a kernel whose formats are in another.
    fn new(folder: &Path, raw_name: &str, formats: &Path, header_page: &Path) -> Recording {
        let header_page = fixtures::text(header_page);
        let layout = SubbufLayout::parse(&header_page).unwrap();
        let path = |cpu: u16| folder.join(format!("{raw_name}cpu{cpu}.raw"));
        let raw: Vec<_> = (0..).map_while(|cpu| fixtures::read_any(&path(cpu))).collect();
        let mut texts = Texts {
            header_page,
            header_event: "# compressed entry header\n".to_owned(),
            saved_cmdlines: b"1 init\n".to_vec(),
            kallsyms: b"ffffffff81000000 T _text\n".to_vec(),
            ..Texts::default()
        };
        for path in fixtures::files(formats) {
            let system = fixtures::name(path.ancestors().nth(2).unwrap()).to_owned();
            match (fixtures::name(&path), system.as_str()) {
                ("format", "ftrace") => texts.ftrace_formats.push(fixtures::text(&path)),
                ("format", _) => {
                    texts.event_formats.push(EventText { system, text: fixtures::text(&path) });
                }
                _ => {}
            }
        }
        let setup = Setup {
            version: Version::V7,
            subbuf_size: u32::try_from(layout.size_bytes()).unwrap(),
            cpus: (0..u16::try_from(raw.len()).unwrap()).collect(),
            clock: "mono".to_owned(),
            uname: "Linux vm 6.1 x86_64".to_owned(),
            writer: "ftlock 1".to_owned(),
            ftlock: b"{\"by\":\"caller\"}".to_vec(),
            texts,
        };
        Recording { setup, raw }
    }

    pub(crate) fn of_scenario(kernel: &str, scenario: &str) -> Recording {
        let kernel = fixtures::own().join("kernels").join(kernel);
        let folder = kernel.join(scenario);
        let formats = kernel.join("_kernel/format");
        Recording::new(&folder, "", &formats, &folder.join("header_page.txt"))
    }

    pub(crate) fn of_live(name: &str) -> Recording {
        let folder = fixtures::own().join("live");
        let header_page = match name {
            "sub16" => folder.join("sub16.header_page"),
            _ => folder.join("formats/events/header_page"),
        };
        Recording::new(&folder, &format!("{name}."), &folder.join("formats"), &header_page)
    }

    pub(crate) fn writer(&self, version: Version, path: &Path) -> Writer {
        Writer::create(path, &Setup { version, ..self.setup.clone() }).unwrap()
    }

    /// Appends all rings in turns, a few sub-buffers each.
    pub(crate) fn append_to(&self, writer: &mut Writer) {
        let size = self.setup.subbuf_size as usize;
        let mut rings: Vec<_> = self.raw.iter().map(|raw| raw.chunks(3 * size)).collect();
        loop {
            let mut appended = 0;
            for (cpu, ring) in (0..).zip(&mut rings) {
                if let Some(subbufs) = ring.next() {
                    writer.append(cpu, subbufs).unwrap();
                    appended += 1;
                }
            }
            if appended == 0 {
                break;
            }
        }
    }

    /// The file holds these rings, byte by byte, and everything that goes with them.
    pub(crate) fn must_be_in(&self, path: &Path, version: Version) {
        let file = TraceFile::open(path).unwrap();
        assert!(file.notes.is_empty(), "{:?}", file.notes);
        assert_eq!(file.head.version, version);
        let stored = Texts { saved_cmdlines: Vec::new(), ..file.texts.clone() };
        assert_eq!(stored, Texts { saved_cmdlines: Vec::new(), ..self.setup.texts.clone() });
        let options = &file.options;
        assert_eq!(options.uname.as_ref(), Some(&self.setup.uname));
        assert_eq!(options.writer.as_ref(), Some(&self.setup.writer));
        assert_eq!(options.clock.as_ref(), Some(&self.setup.clock));
        assert_eq!(options.ftlock.as_ref(), Some(&self.setup.ftlock));
        assert_eq!((options.unknown, options.malformed), (0, 0));
        let [buffer] = &file.buffers[..] else { panic!("{:?}", file.buffers) };
        assert_eq!(buffer.clock.as_ref(), Some(&self.setup.clock));
        assert_eq!(buffer.page_size_bytes, self.setup.subbuf_size);
        assert_eq!(buffer.cpus.len(), self.raw.len());
        for (extent, raw) in buffer.cpus.iter().zip(&self.raw) {
            let mut ring = file.cpu_data(buffer, extent);
            let mut read = Vec::new();
            while let Some(piece) = ring.next(1 << 20).unwrap() {
                read.extend_from_slice(piece);
            }
            assert!(read == *raw, "CPU {}", extent.cpu);
        }
        check_with_trace_cmd(path);
    }
}
