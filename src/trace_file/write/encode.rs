//! The head of a file: everything but the rings.

use super::super::option_id;
use super::super::texts::{Texts, Version};
use super::Setup;
use super::layout::{self, Layout};
use crate::tracefs::Endian;

/// Room for names beyond those known at the start.
const MORE_NAMES_BYTES: usize = 256 << 10;

/// Room for what ftlock adds about its run.
const MORE_FTLOCK_BYTES: usize = 512 << 10;

/// The sections' descriptions, for those who list them.
const SECTION_NAMES: [(u16, &str); 8] = [
    (option_id::HEADER_INFO, "headers"),
    (option_id::FTRACE_EVENTS, "ftrace events"),
    (option_id::EVENT_FORMATS, "events format"),
    (option_id::KALLSYMS, "kallsyms"),
    (option_id::PRINTK, "printk"),
    (option_id::CMDLINES, "command lines"),
    (option_id::DONE, "options"),
    (option_id::BUFFER, "buffer flyrecord"),
];

/// The section of these descriptions.
const STRINGS: u16 = 15;

/// A buffer's section reaches to the end of the file, wherever that comes to be: readers that go
/// from section to section must not take holes and rings for further ones.
const TO_THE_END: u64 = 1 << 62;

/// All bytes before the rings, and what in them is written again.
pub(super) fn head(setup: &Setup) -> (Vec<u8>, Layout) {
    let mut head = Head { setup, bytes: Vec::new(), layout: Layout::default() };
    head.bytes.extend(b"\x17\x08\x44tracing");
    head.bytes.push(if setup.version == Version::V6 { b'6' } else { b'7' });
    let word_size = size_of::<usize>().to_le_bytes()[0];
    head.bytes.extend([0, u8::from(Endian::NATIVE == Endian::Big), word_size]);
    head.u32(setup.subbuf_size);
    match setup.version {
        Version::V6 => head.v6(),
        Version::V7 => head.v7(),
    }
    head.layout.head_bytes = head.bytes.len() as u64;
    (head.bytes, head.layout)
}

/// A head in the making.
struct Head<'a> {
    setup: &'a Setup,
    bytes: Vec<u8>,
    layout: Layout,
}

impl Head<'_> {
    fn at(&self) -> u64 {
        self.bytes.len() as u64
    }

    fn u16(&mut self, number: u16) {
        self.bytes.extend(number.to_ne_bytes());
    }

    fn u32(&mut self, number: u32) {
        self.bytes.extend(number.to_ne_bytes());
    }

    fn u64(&mut self, number: u64) {
        self.bytes.extend(number.to_ne_bytes());
    }

    /// A number of things, or of bytes, of which there are never 2^32.
    fn count(&mut self, count: usize) {
        self.u32(u32::try_from(count).unwrap_or(u32::MAX));
    }

    fn name(&mut self, name: &str) {
        self.bytes.extend(name.bytes().filter(|&byte| byte != 0));
        self.bytes.push(0);
    }

    fn text(&mut self, text: &[u8]) {
        self.u64(text.len() as u64);
        self.bytes.extend(text);
    }

    fn v6(&mut self) {
        for id in option_id::HEADER_INFO..=option_id::CMDLINES {
            self.text_part(id);
        }
        let cpus = self.setup.cpus.iter().max().map_or(0, |&cpu| usize::from(cpu) + 1);
        self.count(cpus);
        self.bytes.extend(b"options  \0");
        self.options();
        self.u16(option_id::DONE);
        self.bytes.extend(b"flyrecord\0");
        // The table has an entry for every number below the last CPU's.
        let table = self.at();
        let at = |&cpu: &u16| table.saturating_add(16 * u64::from(cpu));
        self.layout.entries_at = self.setup.cpus.iter().map(at).collect();
        self.bytes.resize(self.bytes.len() + 16 * cpus, 0);
        self.text(format!("[{}]", self.setup.clock).as_bytes());
    }

    fn v7(&mut self) {
        self.bytes.extend(b"none\0\0");
        let options_offset_at = self.bytes.len();
        self.u64(0);
        let texts = (option_id::HEADER_INFO..=option_id::CMDLINES).map(|id| {
            let offset = self.section(id, |head| head.text_part(id));
            (id, offset)
        });
        let texts: Vec<_> = texts.collect();
        self.section(STRINGS, |head| SECTION_NAMES.iter().for_each(|(_, name)| head.name(name)));
        let buffer_offset_at = self.options_section(options_offset_at, &texts);
        let offset = self.at();
        self.set_u64(buffer_offset_at, offset);
        self.section_header(option_id::BUFFER, TO_THE_END);
    }

    /// Returns where the offset of the buffer's section is missing.
    fn options_section(&mut self, options_offset_at: usize, texts: &[(u16, u64)]) -> usize {
        let mut buffer_offset_at = 0;
        let offset = self.section(option_id::DONE, |head| {
            for &(id, offset) in texts {
                head.option(id, |head| head.u64(offset));
            }
            head.options();
            head.option(option_id::CPU_COUNT, |head| head.count(head.setup.cpus.len()));
            head.option(option_id::BUFFER, |head| buffer_offset_at = head.buffer());
            head.option(option_id::DONE, |head| head.u64(0));
        });
        self.set_u64(options_offset_at, offset);
        buffer_offset_at
    }

    fn buffer(&mut self) -> usize {
        let section_offset_at = self.bytes.len();
        self.u64(0);
        self.name(""); // Of the top level, or every line of a report would bear the name.
        self.name(&self.setup.clock);
        self.u32(self.setup.subbuf_size);
        self.count(self.setup.cpus.len());
        for &cpu in &self.setup.cpus {
            self.u32(cpu.into());
            self.layout.entries_at.push(self.at());
            self.bytes.extend([0; 16]);
        }
        section_offset_at
    }

    /// The options that both versions have.
    fn options(&mut self) {
        let setup = self.setup;
        self.option(option_id::TRACE_CLOCK, |head| head.name(&format!("[{}]", setup.clock)));
        self.option(option_id::UNAME, |head| head.name(&setup.uname));
        self.option(option_id::VERSION, |head| head.name(&setup.writer));
        for &cpu in &setup.cpus {
            self.option(option_id::CPU_STAT, |head| {
                head.layout.stats_at.push(head.at());
                head.bytes.extend(layout::stats(cpu, ""));
            });
        }
        self.option(option_id::FTLOCK, |head| {
            head.bytes.extend(&setup.ftlock);
            head.layout.ftlock_end = head.at();
            head.layout.ftlock_room_bytes = MORE_FTLOCK_BYTES - 1;
            head.bytes.resize(head.bytes.len() + MORE_FTLOCK_BYTES, 0);
        });
    }

    fn option(&mut self, id: u16, data: impl FnOnce(&mut Self)) {
        self.u16(id);
        let size_at = self.bytes.len();
        self.u32(0);
        data(self);
        let size = self.bytes.len() - size_at - 4;
        self.set(size_at, &u32::try_from(size).unwrap_or(u32::MAX).to_ne_bytes());
    }

    /// Returns where it is.
    fn section(&mut self, id: u16, data: impl FnOnce(&mut Self)) -> u64 {
        let offset = self.at();
        self.section_header(id, 0);
        let start = self.bytes.len();
        data(self);
        self.set_u64(start - 8, (self.bytes.len() - start) as u64);
        offset
    }

    fn section_header(&mut self, id: u16, size_bytes: u64) {
        self.u16(id);
        self.u16(0); // Not packed.
        let before = SECTION_NAMES.iter().take_while(|(other, _)| *other != id);
        let string = if id == STRINGS { 0 } else { before.map(|(_, name)| name.len() + 1).sum() };
        self.count(string);
        self.u64(size_bytes);
    }

    fn set_u64(&mut self, at: usize, number: u64) {
        self.set(at, &number.to_ne_bytes());
    }

    fn set(&mut self, at: usize, bytes: &[u8]) {
        for (place, &byte) in self.bytes.iter_mut().skip(at).zip(bytes) {
            *place = byte;
        }
    }

    fn text_part(&mut self, id: u16) {
        let texts = &self.setup.texts;
        match id {
            option_id::HEADER_INFO => {
                self.bytes.extend(b"header_page\0");
                self.text(texts.header_page.as_bytes());
                self.bytes.extend(b"header_event\0");
                self.text(texts.header_event.as_bytes());
            }
            option_id::FTRACE_EVENTS => {
                self.count(texts.ftrace_formats.len());
                texts.ftrace_formats.iter().for_each(|text| self.text(text.as_bytes()));
            }
            option_id::EVENT_FORMATS => self.event_formats(texts),
            option_id::KALLSYMS => {
                self.count(texts.kallsyms.len());
                self.bytes.extend(&texts.kallsyms);
            }
            option_id::PRINTK => {
                self.count(texts.printk_formats.len());
                self.bytes.extend(&texts.printk_formats);
            }
            _ => {
                let room = texts.saved_cmdlines.len() + MORE_NAMES_BYTES;
                self.u64(room as u64);
                self.layout.names_at = self.at();
                self.layout.names_bytes = room;
                self.bytes.extend(layout::names(&texts.saved_cmdlines, room).bytes);
            }
        }
    }

    fn event_formats(&mut self, texts: &Texts) {
        let systems = texts.event_formats.chunk_by(|one, next| one.system == next.system);
        self.count(systems.clone().count());
        for events in systems {
            self.name(events.first().map_or("", |event| &event.system));
            self.count(events.len());
            events.iter().for_each(|event| self.text(event.text.as_bytes()));
        }
    }
}
