//! How waits are spread, drawn in block characters.

use super::footer::grouped;
use crate::report::{Histogram, scaled};
use std::io::{self, Write};

/// The parts of a block, an eighth each.
const EIGHTHS: [&str; 8] = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"];

/// A bar can tell little in less, so a narrower terminal has to wrap it.
const MIN_BAR: usize = 8;

/// A line for each range from one power of two to the next that has any wait: the range, a bar
/// in the measure of the fullest, the count. Lines take `width` characters where that is enough.
///
/// # Errors
///
/// Those of `out`.
pub(super) fn write(waits: &Histogram, width: usize, out: &mut dyn Write) -> io::Result<()> {
    let most = waits.octaves().map(|(_, count)| count).max().unwrap_or(0);
    let count_width = grouped(most).len();
    for (from_ns, count) in waits.octaves() {
        let to_ns = from_ns.saturating_mul(2).max(1);
        let (from, to) = (scaled(from_ns).to_string(), scaled(to_ns).to_string());
        let range = format!("    {from:>10} - {to:>10} ");
        let bar_width = width.saturating_sub(range.len() + count_width + 3).max(MIN_BAR);
        let bar = bar(count, most, bar_width);
        writeln!(out, "{range}|{bar:bar_width$}| {:>count_width$}", grouped(count))?;
    }
    Ok(())
}

/// A bar of up to `width` characters; the smallest part is still seen.
fn bar(count: u64, most: u64, width: usize) -> String {
    let eighths = u128::from(count) * 8 * width as u128;
    let eighths = eighths.div_ceil(u128::from(most.max(1)));
    let eighths = usize::try_from(eighths).unwrap_or(usize::MAX).min(8 * width);
    let rest = EIGHTHS.get(eighths % 8).copied().unwrap_or("");
    format!("{}{rest}", "█".repeat(eighths / 8))
}

#[cfg(test)]
mod tests {
    use super::super::samples::written;
    use super::{Histogram, bar, write};

    #[test]
    fn each_range_that_is_not_empty_has_a_bar_in_the_measure_of_the_fullest() {
        let mut waits = Histogram::default();
        waits.add(0);
        (0..1500).for_each(|n| waits.add(1024 + n % 1024));
        (0..750).for_each(|_| waits.add(600_000_000));
        let expected = "          0 ns -       1 ns |▏         |     1
       1.02 us -    2.05 us |██████████| 1,500
     536.87 ms -     1.07 s |█████     |   750
";
        assert_eq!(written(|out| write(&waits, 46, out)), expected);
        for (width, expected) in [(80, 80), (200, 200), (10, 44)] {
            let text = written(|out| write(&waits, width, out));
            assert!(text.lines().all(|line| line.chars().count() == expected), "{width}:\n{text}");
        }
        assert_eq!(written(|out| write(&Histogram::default(), 80, out)), "");
    }

    #[test]
    fn bars_grow_by_eighths() {
        let table = [(1, "▏"), (8, "█"), (9, "█▏"), (15, "█▉"), (16, "██")];
        for (count, expected) in table {
            assert_eq!(bar(count, 16, 2), expected, "{count}");
        }
        assert_eq!(bar(u64::MAX, u64::MAX, 3), "███");
    }
}
