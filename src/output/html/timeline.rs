//! How many tasks waited when, as an area for each kind of waits, one on top of the other.

use super::markup::Text;
use super::palette::Palette;
use crate::report::{Profile, scaled};
use std::fmt::Write as _;
use std::io::{self, Write};

/// Steps from the left to the right at most.
const MAX_STEPS: usize = 240;

/// The height of the drawing, in its own units; it is stretched to the page's.
const HEIGHT: f64 = 100.0;

/// Nothing where nobody waited.
pub(super) fn write(
    profile: &Profile,
    palette: &Palette,
    origin_ns: Option<u64>,
    out: &mut dyn Write,
) -> io::Result<()> {
    let timeline = &profile.timeline;
    let (start_ns, bins) = timeline.bins();
    let per_step = bins.div_ceil(MAX_STEPS).max(1);
    let step_ns = timeline.bin_ns().saturating_mul(per_step as u64);
    let mean = |bins: &[u64]| {
        bins.iter().fold(0, |sum, bin| bin.saturating_add(sum)) as f64 / step_ns as f64
    };
    let of_kind = |kind| timeline.series().find(|(series, _)| *series == kind);
    let kinds = palette.kinds().iter().filter_map(|&kind| of_kind(kind));
    let kinds: Vec<_> = kinds
        .map(|(kind, bins)| (kind, bins.chunks(per_step).map(mean).collect::<Vec<f64>>()))
        .collect();
    let steps = bins.div_ceil(per_step);
    let sums: Vec<f64> = (0..steps)
        .map(|step| kinds.iter().filter_map(|(_, means)| means.get(step)).sum())
        .collect();
    let most = sums.iter().copied().fold(0.0, f64::max);
    if most <= 0.0 {
        return Ok(());
    }
    let since_ns = start_ns.saturating_sub(origin_ns.unwrap_or(start_ns));
    write!(
        out,
        "<section id=\"timeline\"><h2>Tasks waiting over time</h2>\
         <figure><div class=\"chart\"><span class=\"most\">{most:.1}</span>\
         <svg viewBox=\"0 0 {steps} {HEIGHT}\" preserveAspectRatio=\"none\" role=\"img\" \
         aria-label=\"tasks waiting over time\">"
    )?;
    let mut below = vec![0.0; steps];
    for (kind, means) in &kinds {
        let (colour, area) = (palette.colour(*kind), area(means, &mut below, most));
        write!(out, "<path class=\"k{colour}\" d=\"{area}\"/>")?;
    }
    for (step, sum) in sums.iter().enumerate() {
        let at = scaled(since_ns.saturating_add(step_ns.saturating_mul(step as u64)));
        write!(out, "<rect class=\"hover\" x=\"{step}\" y=\"0\" width=\"1\" height=\"{HEIGHT}\">")?;
        write!(out, "<title>at {at}: {sum:.2} waiting")?;
        for (kind, means) in &kinds {
            if let Some(mean) = means.get(step).filter(|mean| **mean > 0.0) {
                write!(out, "&#10;{} {mean:.2}", Text(kind.name()))?;
            }
        }
        write!(out, "</title></rect>")?;
    }
    let end = scaled(since_ns.saturating_add(step_ns.saturating_mul(steps as u64)));
    write!(
        out,
        "</svg></div><div class=\"axis\"><span>{}</span><span>{end}</span></div><figcaption>",
        scaled(since_ns)
    )?;
    for (kind, _) in &kinds {
        let colour = palette.colour(*kind);
        write!(out, "<span class=\"key\"><i class=\"k{colour}\"></i>{}</span>", Text(kind.name()))?;
    }
    let step = scaled(step_ns);
    writeln!(out, "<span class=\"note\">mean of each {step}</span></figcaption></figure></section>")
}

/// An area on top of `below`, which is raised by it: along its steps to the right, and back along those below.
fn area(means: &[f64], below: &mut [f64], most: f64) -> String {
    let height = |waiting: f64| HEIGHT - waiting / most * HEIGHT;
    let mut path = format!("M0 {HEIGHT}");
    // Writing to a string cannot fail.
    for (step, (mean, under)) in means.iter().zip(below.iter()).enumerate() {
        let _ = write!(path, "V{:.2}H{}", height(under + mean), step + 1);
    }
    for (step, (mean, under)) in means.iter().zip(below.iter_mut()).enumerate().rev() {
        let _ = write!(path, "V{:.2}H{step}", height(*under));
        *under += mean;
    }
    path + "z"
}

#[cfg(test)]
mod tests {
    use super::area;

    #[test]
    fn areas_lie_on_top_of_each_other() {
        let mut below = vec![0.0, 0.0];
        let first = area(&[1.0, 3.0], &mut below, 4.0);
        assert_eq!(first, "M0 100V75.00H1V25.00H2V100.00H1V100.00H0z");
        let second = area(&[1.0, 1.0], &mut below, 4.0);
        assert_eq!(second, "M0 100V50.00H1V0.00H2V25.00H1V75.00H0z");
    }
}
