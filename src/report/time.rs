//! Times as perf writes them.

use std::fmt;

/// perf's units (tools/perf/builtin-lock.c, 6.1 to 7.3), largest first.
const UNITS: [(u64, &str); 5] = [
    (3_600_000_000_000, "h"),
    (60_000_000_000, "m"),
    (1_000_000_000, "s"),
    (1_000_000, "ms"),
    (1_000, "us"),
];

/// A time in the unit that suits it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Scaled {
    /// The number: two decimals, none for `ns`.
    pub value: String,
    /// `ns`, `us`, `ms`, `s`, `m` or `h`.
    pub unit: &'static str,
}

/// `1.79 ms`
impl fmt::Display for Scaled {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.value, self.unit)
    }
}

/// Scales a time in nanoseconds.
pub fn scaled(ns: u64) -> Scaled {
    match UNITS.iter().find(|(base, _)| ns >= *base) {
        // Single precision, as perf divides: the second decimal is then the same as perf's.
        Some(&(base, unit)) => Scaled { value: format!("{:.2}", ns as f32 / base as f32), unit },
        None => Scaled { value: ns.to_string(), unit: "ns" },
    }
}

#[cfg(test)]
mod tests {
    use super::scaled;

    /// Nanoseconds of `perf script --ns`, and what `perf lock contention` 6.1 printed for them;
    /// from the seconds on by hand.
    #[test]
    fn times_read_as_in_perf() {
        let table = [
            (2_076_322, "2.08 ms"),
            (4_797, "4.80 us"),
            (17_035, "17.03 us"),
            (16_627, "16.63 us"),
            (3_435, "3.43 us"),
            (764_165, "764.16 us"),
            (999, "999 ns"),
            (0, "0 ns"),
            (1_000, "1.00 us"),
            (999_999, "1000.00 us"),
            (4_210_000_000, "4.21 s"),
            (60_000_000_000, "1.00 m"),
            (5_400_000_000_000, "1.50 h"),
        ];
        for (ns, text) in table {
            assert_eq!(scaled(ns).to_string(), text, "{ns}");
        }
    }
}
