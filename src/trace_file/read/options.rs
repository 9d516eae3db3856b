//! Options: small facts about the recording, in both versions the same.

use std::io::Read;

use super::super::error::Fault;
use super::super::limits::{MAX_CPUS, MAX_OPTIONS};
use super::super::option_id;
use super::head::{self, clock_of};
use super::input::{Input, lossy};
use crate::tracefs::Endian;

/// What a file says about its recording.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Options {
    /// To be added to a time stamp to get the time of day, in ns.
    pub date_offset_ns: Option<i64>,
    /// To be added to every time stamp, in ns.
    pub offset_ns: i64,
    /// The clock in use, by the text of `trace_clock`.
    pub clock: Option<String>,
    /// Kernel, host, release and machine.
    pub uname: Option<String>,
    /// The program that wrote it.
    pub writer: Option<String>,
    /// CPUs of the traced machine.
    pub cpu_count: Option<u32>,
    /// The texts of `per_cpu/cpuN/stats` at the end, and a line for each buffer between them.
    pub cpu_stats: Vec<String>,
    /// Pairs of events that someone wants connected.
    pub hooks: Vec<String>,
    /// The memory maps of traced processes.
    pub proc_maps: Option<String>,
    /// What recordings of a host and its guests have in common.
    pub trace_id: Option<u64>,
    /// Of a guest's recording: the host's, whose clock its times could be shifted to.
    pub peer_trace_id: Option<u64>,
    /// Of a host's recording: its guests.
    pub guests: Vec<Guest>,
    /// How cycles become ns.
    pub tsc_to_ns: Option<TscToNs>,
    /// What ftlock says about its run, where ftlock wrote it; up to its NUL.
    pub ftlock: Option<Vec<u8>>,
    /// Options nobody knows, which were skipped.
    pub unknown: u64,
    /// Options whose data is not what it should be, which were skipped.
    pub malformed: u64,
}

/// A guest traced at the same time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Guest {
    /// Its name.
    pub name: String,
    /// Its recording's id.
    pub trace_id: u64,
    /// Its virtual CPUs, and the host's threads that run them.
    pub cpus: Vec<(u32, u32)>,
}

/// ns = cycles * `multiplier` >> `shift`, plus `offset_ns`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TscToNs {
    /// Factor.
    pub multiplier: u32,
    /// Bits to shift right.
    pub shift: u32,
    /// To be added.
    pub offset_ns: u64,
}

/// An option as it stands in the file.
#[derive(Debug)]
pub(super) struct Raw {
    pub(super) id: u16,
    pub(super) data: Vec<u8>,
}

/// How the last option ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum EndsWith {
    /// With its number: version 6.
    Id,
    /// With where the next options are: version 7.
    Data,
}

impl Raw {
    /// The next option, of at most `limit` bytes.
    pub(super) fn read<R: Read>(
        input: &mut Input<R>,
        ends: EndsWith,
        limit: u64,
    ) -> Result<Raw, Fault> {
        let id = input.u16("the options")?;
        if id == option_id::DONE && ends == EndsWith::Id {
            return Ok(Raw { id, data: Vec::new() });
        }
        let size_bytes = input.u32("the options")?;
        let data = input.bounded_block(size_bytes.into(), limit, "the options")?;
        Ok(Raw { id, data })
    }
}

impl Options {
    /// Takes in an option that is not about where something stands in the file.
    pub(super) fn add(&mut self, option: Raw, endian: Endian) {
        if self.try_add(option, endian).is_none() {
            self.malformed += 1;
        }
    }

    fn try_add(&mut self, Raw { id, data }: Raw, endian: Endian) -> Option<()> {
        let mut input = Input::over(&data, endian);
        match id {
            // Microseconds, though everything else is in ns.
            option_id::DATE => self.date_offset_ns = Some(number(data)?.checked_mul(1000)?),
            option_id::OFFSET => self.offset_ns = self.offset_ns.checked_add(number(data)?)?,
            option_id::TRACE_CLOCK => self.clock = clock_of(data).or(self.clock.take()),
            option_id::UNAME => self.uname = Some(text(data)),
            option_id::VERSION => self.writer = Some(text(data)),
            option_id::CPU_COUNT => {
                let count = input.u32("CPUCOUNT").ok()?;
                self.cpu_count = Some(count).filter(|count| *count <= MAX_CPUS);
                self.cpu_count?;
            }
            option_id::CPU_STAT => push(&mut self.cpu_stats, text(data))?,
            option_id::HOOK => push(&mut self.hooks, text(data))?,
            option_id::PROC_MAPS => self.proc_maps = Some(text(data)),
            option_id::TRACE_ID => self.trace_id = Some(input.u64("TRACEID").ok()?),
            option_id::TIME_SHIFT => self.peer_trace_id = Some(input.u64("TIME_SHIFT").ok()?),
            option_id::GUEST => push(&mut self.guests, guest(&mut input).ok()?)?,
            option_id::TSC_TO_NS => self.tsc_to_ns = Some(tsc_to_ns(&mut input).ok()?),
            option_id::FTLOCK => self.ftlock = Some(up_to_nul(data)),
            _ => self.unknown += 1,
        }
        Some(())
    }
}

/// Keeps another one, as far as they are bounded.
fn push<T>(list: &mut Vec<T>, item: T) -> Option<()> {
    (list.len() < MAX_OPTIONS).then(|| list.push(item))
}

/// A text up to its NUL.
fn text(data: Vec<u8>) -> String {
    lossy(up_to_nul(data))
}

fn up_to_nul(mut data: Vec<u8>) -> Vec<u8> {
    let end = data.iter().position(|&byte| byte == 0).unwrap_or(data.len());
    data.truncate(end);
    data
}

/// A number as C's `strtoll` takes it with base 0, decimal or `0x`.
fn number(data: Vec<u8>) -> Option<i64> {
    let text = text(data);
    let text = text.trim();
    let (is_negative, digits) = match text.strip_prefix('-') {
        Some(digits) => (true, digits),
        None => (false, text),
    };
    let magnitude = match digits.strip_prefix("0x") {
        // A negative difference may also be printed as 64 bits of two's complement.
        Some(hex) => u64::from_str_radix(hex, 16).ok()?.cast_signed(),
        None => digits.parse().ok()?,
    };
    if is_negative { magnitude.checked_neg() } else { Some(magnitude) }
}

fn guest(input: &mut Input<&[u8]>) -> Result<Guest, Fault> {
    const PART: &str = "GUEST";
    let (name, trace_id) = (input.name(PART)?, input.u64(PART)?);
    let mut cpus = Vec::new();
    for _ in 0..head::count(input, MAX_CPUS, PART)? {
        cpus.push((input.u32(PART)?, input.u32(PART)?));
    }
    Ok(Guest { name, trace_id, cpus })
}

fn tsc_to_ns(input: &mut Input<&[u8]>) -> Result<TscToNs, Fault> {
    const PART: &str = "TSC2NSEC";
    Ok(TscToNs {
        multiplier: input.u32(PART)?,
        shift: input.u32(PART)?,
        offset_ns: input.u64(PART)?,
    })
}

#[cfg(test)]
mod tests {
    use super::{Guest, Options, Raw, TscToNs, option_id};
    use crate::tracefs::Endian;

    fn add(options: &mut Options, id: u16, data: &[u8]) {
        options.add(Raw { id, data: data.to_vec() }, Endian::Big);
    }

    #[test]
    fn every_option_is_taken_in() {
        let mut options = Options::default();
        add(&mut options, option_id::DATE, b"0x10\0");
        add(&mut options, option_id::OFFSET, b"-5\0");
        add(&mut options, option_id::OFFSET, b"0xffffffffffffffff");
        add(&mut options, option_id::TRACE_CLOCK, b"local [mono] boot\n\0");
        add(&mut options, option_id::TRACE_CLOCK, b"");
        add(&mut options, option_id::UNAME, b"Linux vm 6.1 x\0junk");
        add(&mut options, option_id::VERSION, b"3.1");
        add(&mut options, option_id::CPU_COUNT, &[0, 0, 1, 2]);
        add(&mut options, option_id::CPU_STAT, b"CPU: 0\nentries: 1\n\0");
        add(&mut options, option_id::HOOK, b"a,b\0");
        add(&mut options, option_id::PROC_MAPS, b"1 0 init\n\0");
        add(&mut options, option_id::TRACE_ID, &[0, 0, 0, 0, 0, 0, 0, 9]);
        add(&mut options, option_id::TIME_SHIFT, &[0, 0, 0, 0, 0, 0, 0, 8, 0, 0, 0, 0]);
        add(&mut options, option_id::GUEST, b"vm\0\0\0\0\0\0\0\0\x07\0\0\0\x01\0\0\0\0\0\0\0\x21");
        add(&mut options, option_id::TSC_TO_NS, b"\0\0\0\x02\0\0\0\x03\0\0\0\0\0\0\0\x04");
        add(&mut options, option_id::FTLOCK, b"{}");
        add(&mut options, 999, b"?");
        let expected = Options {
            date_offset_ns: Some(16_000),
            offset_ns: -6,
            clock: Some("mono".to_owned()),
            uname: Some("Linux vm 6.1 x".to_owned()),
            writer: Some("3.1".to_owned()),
            cpu_count: Some(258),
            cpu_stats: vec!["CPU: 0\nentries: 1\n".to_owned()],
            hooks: vec!["a,b".to_owned()],
            proc_maps: Some("1 0 init\n".to_owned()),
            trace_id: Some(9),
            peer_trace_id: Some(8),
            guests: vec![Guest { name: "vm".to_owned(), trace_id: 7, cpus: vec![(0, 33)] }],
            tsc_to_ns: Some(TscToNs { multiplier: 2, shift: 3, offset_ns: 4 }),
            ftlock: Some(b"{}".to_vec()),
            unknown: 1,
            malformed: 0,
        };
        assert_eq!(options, expected);
    }

    #[test]
    fn what_is_not_as_it_should_be_is_counted_and_left_out() {
        let mut options = Options::default();
        add(&mut options, option_id::DATE, b"yesterday\0");
        add(&mut options, option_id::DATE, b"0x7fffffffffffffff\0");
        add(&mut options, option_id::CPU_COUNT, &[0, 0, 1]);
        add(&mut options, option_id::CPU_COUNT, &[0xff; 4]);
        add(&mut options, option_id::TRACE_ID, &[1]);
        add(&mut options, option_id::GUEST, b"vm\0\0\0\0\0\0\0\0\x07\xff\xff\xff\xff");
        add(&mut options, option_id::TSC_TO_NS, &[0; 15]);
        assert_eq!(options, Options { malformed: 7, ..Options::default() });
    }
}
