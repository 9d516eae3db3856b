//! One CPU's counters: `per_cpu/cpuN/stats`.

/// What the ring of one CPU has seen (kernel/trace/trace.c, `tracing_stats_read`, 6.18).
///
/// At a standstill `entries + overrun + read_events` events were written, and
/// `dropped_events` more found no room.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct CpuStats {
    /// Events in the ring, not yet read.
    pub entries: u64,
    /// Events overwritten before they were read (overwrite mode).
    pub overrun: u64,
    /// Events lost since interrupts wrapped the ring onto an unfinished event.
    pub commit_overrun: u64,
    /// Bytes in the ring, not yet read.
    pub bytes: u64,
    /// Events that found the ring full (without overwrite mode).
    pub dropped_events: u64,
    /// Events read, by whichever reader.
    pub read_events: u64,
    /// The time of the oldest event in ns, to the microsecond; `None` where the clock counts something else.
    pub oldest_event_ns: Option<u64>,
    /// The CPU's clock when the file was read, in ns, to the microsecond; `None` likewise.
    pub now_ns: Option<u64>,
}

/// A `stats` file that is not understood.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum StatsError {
    /// A line whose value is no number.
    #[error("not a counter: {0:?}")]
    Line(String),
    /// A counter that has to be there is not.
    #[error("no line {0:?}")]
    Missing(&'static str),
}

impl CpuStats {
    /// Reads the file's text. Lines with unknown names are skipped.
    pub fn parse(text: &str) -> Result<CpuStats, StatsError> {
        let mut found = Vec::with_capacity(8);
        for line in text.lines() {
            let Some((name, value)) = line.split_once(':') else { continue };
            found.push((name.trim(), value.trim()));
        }
        let value = |name: &'static str| {
            let found = found.iter().find(|(key, _)| *key == name);
            found.map(|(_, value)| *value).ok_or(StatsError::Missing(name))
        };
        let count = |name| {
            let text = value(name)?;
            counter(text).ok_or_else(|| StatsError::Line(format!("{name}: {text}")))
        };
        Ok(CpuStats {
            entries: count("entries")?,
            overrun: count("overrun")?,
            commit_overrun: count("commit overrun")?,
            bytes: count("bytes")?,
            dropped_events: count("dropped events")?,
            read_events: count("read events")?,
            oldest_event_ns: value("oldest event ts").ok().and_then(seconds_as_ns),
            now_ns: value("now ts").ok().and_then(seconds_as_ns),
        })
    }
}

/// Printed signed: `entries` is a difference of counters that move, and may dip below 0.
fn counter(text: &str) -> Option<u64> {
    text.parse::<i64>().ok().map(|count| u64::try_from(count).unwrap_or(0))
}

/// `823.461522` in ns. Clocks that do not count ns are printed without a point.
fn seconds_as_ns(text: &str) -> Option<u64> {
    let (seconds, micros) = text.split_once('.')?;
    if micros.len() != 6 {
        return None;
    }
    let micros: u64 = micros.parse().ok()?;
    seconds.parse::<u64>().ok()?.checked_mul(1_000_000_000)?.checked_add(micros * 1000)
}

#[cfg(test)]
mod tests {
    use super::{CpuStats, StatsError};

    #[test]
    fn the_kernels_own_files_are_read() {
        // A Debian 6.1 on arm64 whose 64 KiB ring had overflowed.
        let overflowed = "entries: 1417\noverrun: 566\ncommit overrun: 0\nbytes: 68660\n\
            oldest event ts:   126.191995\nnow ts:   133.650214\ndropped events: 0\nread events: 0\n";
        assert_eq!(
            CpuStats::parse(overflowed),
            Ok(CpuStats {
                entries: 1417,
                overrun: 566,
                bytes: 68660,
                oldest_event_ns: Some(126_191_995_000),
                now_ns: Some(133_650_214_000),
                ..CpuStats::default()
            })
        );
        // A Debian 6.1 on x86 with the clock x86-tsc: cycles, no point.
        let cycles = "entries: 1207\noverrun: 0\ncommit overrun: 0\nbytes: 56960\n\
            oldest event ts: 386145543835\nnow ts: 394756790220\ndropped events: 3\nread events: 9\n";
        assert_eq!(
            CpuStats::parse(cycles),
            Ok(CpuStats {
                entries: 1207,
                bytes: 56960,
                dropped_events: 3,
                read_events: 9,
                ..CpuStats::default()
            })
        );
    }

    #[test]
    fn what_is_no_counter_is_named() {
        let line = |entries: &str| {
            format!(
                "entries: {entries}\noverrun: 0\ncommit overrun: 0\nbytes: 0\n\
                 dropped events: 0\nread events: 0\nnew counter: x\nno colon"
            )
        };
        assert_eq!(CpuStats::parse(&line("-1")), Ok(CpuStats::default()));
        assert_eq!(CpuStats::parse(&line("1x")), Err(StatsError::Line("entries: 1x".into())));
        assert_eq!(
            CpuStats::parse(&line("99999999999999999999")),
            Err(StatsError::Line("entries: 99999999999999999999".into()))
        );
        assert_eq!(CpuStats::parse("entries: 1\n"), Err(StatsError::Missing("overrun")));
        assert_eq!(CpuStats::parse(""), Err(StatsError::Missing("entries")));
    }
}
