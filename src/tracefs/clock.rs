//! The trace clocks.

use rustix::time::{ClockId, DynamicClockId, clock_gettime_dynamic};

/// A clock of `trace_clock` (kernel/trace/trace.c and arch/x86, 6.18).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "the kernel's own names; `name` spells them")]
pub enum Clock {
    Local,
    Global,
    Counter,
    Uptime,
    Perf,
    Mono,
    MonoRaw,
    Boot,
    Tai,
    X86Tsc,
}

impl Clock {
    /// Every clock, in the kernel's order.
    pub const ALL: [Clock; 10] = [
        Clock::Local,
        Clock::Global,
        Clock::Counter,
        Clock::Uptime,
        Clock::Perf,
        Clock::Mono,
        Clock::MonoRaw,
        Clock::Boot,
        Clock::Tai,
        Clock::X86Tsc,
    ];

    /// The kernel's spelling.
    pub fn name(self) -> &'static str {
        match self {
            Clock::Local => "local",
            Clock::Global => "global",
            Clock::Counter => "counter",
            Clock::Uptime => "uptime",
            Clock::Perf => "perf",
            Clock::Mono => "mono",
            Clock::MonoRaw => "mono_raw",
            Clock::Boot => "boot",
            Clock::Tai => "tai",
            Clock::X86Tsc => "x86-tsc",
        }
    }

    /// From the kernel's spelling.
    pub fn from_name(name: &str) -> Option<Clock> {
        Clock::ALL.into_iter().find(|clock| clock.name() == name)
    }

    /// Whether it counts nanoseconds; the others count events, jiffies or cycles.
    pub fn is_nanoseconds(self) -> bool {
        !matches!(self, Clock::Counter | Clock::Uptime | Clock::X86Tsc)
    }

    /// The clock's time now in ns, where user space can read it.
    pub fn now_ns(self) -> Option<u64> {
        let id = match self {
            Clock::Mono => DynamicClockId::Known(ClockId::Monotonic),
            Clock::MonoRaw => DynamicClockId::Known(ClockId::MonotonicRaw),
            Clock::Boot => DynamicClockId::Boottime,
            Clock::Tai => DynamicClockId::Tai,
            _ => return None,
        };
        let now = clock_gettime_dynamic(id).ok()?;
        let seconds = u64::try_from(now.tv_sec).ok()?;
        seconds.checked_mul(1_000_000_000)?.checked_add(u64::try_from(now.tv_nsec).ok()?)
    }
}

/// The clock in use by the text of `trace_clock`, which puts it into brackets.
pub(super) fn current(text: &str) -> Option<&str> {
    text.split_whitespace().find_map(|word| word.strip_prefix('[')?.strip_suffix(']'))
}

/// Every clock the text of `trace_clock` names.
pub(super) fn offered(text: &str) -> Vec<String> {
    text.split_whitespace().map(|word| word.trim_matches(['[', ']']).to_owned()).collect()
}

#[cfg(test)]
mod tests {
    use super::{Clock, current, offered};

    /// `trace_clock` of a live 6.18.
    const TEXT: &str = "local global counter uptime perf [mono] mono_raw boot tai x86-tsc\n";

    #[test]
    fn the_clock_in_use_stands_in_brackets() {
        assert_eq!(current(TEXT), Some("mono"));
        assert_eq!(current("[local] global"), Some("local"));
        assert_eq!(current("local global"), None);
        assert_eq!(current(""), None);
        let names: Vec<&str> = Clock::ALL.iter().map(|clock| clock.name()).collect();
        assert_eq!(offered(TEXT), names);
    }

    #[test]
    fn names_lead_back_to_their_clock_and_three_clocks_are_not_in_ns() {
        for clock in Clock::ALL {
            assert_eq!(Clock::from_name(clock.name()), Some(clock));
        }
        assert_eq!(Clock::from_name("ppc-tb"), None);
        let ticks = Clock::ALL.into_iter().filter(|clock| !clock.is_nanoseconds());
        assert_eq!(ticks.map(Clock::name).collect::<Vec<_>>(), ["counter", "uptime", "x86-tsc"]);
    }

    #[test]
    fn four_clocks_can_be_read_here_and_mono_is_the_one_instants_use() {
        let readable = Clock::ALL.into_iter().filter(|clock| clock.now_ns().is_some());
        assert_eq!(
            readable.map(Clock::name).collect::<Vec<_>>(),
            ["mono", "mono_raw", "boot", "tai"]
        );
        let uptime = std::fs::read_to_string("/proc/uptime").unwrap();
        let seconds: f64 = uptime.split(' ').next().unwrap().parse().unwrap();
        let boot = Clock::Boot.now_ns().unwrap() as f64 / 1e9;
        assert!((boot - seconds).abs() < 5.0, "{boot} {seconds}");
    }
}
