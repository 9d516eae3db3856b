//! The flame graph of a page, the outermost function on top. A frame is a drawing of its own, which cuts its
//! name off where it ends, however wide the page is.

use super::markup::Text;
use super::palette::Palette;
use crate::output::Summary;
use crate::output::folded::functions;
use crate::report::{Profile, scaled};
use std::collections::BTreeMap;
use std::io::{self, Write};

/// Frames narrower than this part of all are left out.
const LEAST: f64 = 0.001;

/// The height of a frame, in pixels.
const ROW: usize = 18;

/// A function, called from whatever is around it.
#[derive(Debug, Default)]
struct Frame {
    wait_ns: u64,
    calls: BTreeMap<String, Frame>,
}

impl Frame {
    fn add(&mut self, functions: impl IntoIterator<Item = String>, wait_ns: u64) {
        let mut frame = self;
        frame.wait_ns = frame.wait_ns.saturating_add(wait_ns);
        for function in functions {
            frame = frame.calls.entry(function).or_default();
            frame.wait_ns = frame.wait_ns.saturating_add(wait_ns);
        }
    }

    /// Levels below it that are wide enough.
    fn depth(&self, least_ns: f64) -> usize {
        let calls = self.calls.values().filter(|frame| frame.wait_ns as f64 >= least_ns);
        calls.map(|frame| 1 + frame.depth(least_ns)).max().unwrap_or(0)
    }
}

/// Nothing where nobody waited.
pub(super) fn write(
    profile: &Profile,
    palette: &Palette,
    summary: &Summary<'_>,
    out: &mut dyn Write,
) -> io::Result<()> {
    let mut kinds: Vec<Frame> = palette.kinds().iter().map(|_| Frame::default()).collect();
    for (series, stack, wait_ns) in profile.stacks() {
        let place = palette.kinds().iter().position(|kind| *kind == series);
        if let Some(kind) = place.and_then(|place| kinds.get_mut(place)) {
            kind.add(functions(stack, summary), wait_ns);
        }
    }
    let total_ns = kinds.iter().fold(0, |sum: u64, kind| sum.saturating_add(kind.wait_ns));
    if total_ns == 0 {
        return Ok(());
    }
    let drawing = Drawing { total_ns: total_ns as f64 };
    let depth = kinds.iter().map(|kind| kind.depth(drawing.least_ns())).max().unwrap_or(0);
    let height = (depth + 2) * ROW;
    write!(
        out,
        "<section id=\"flame\"><h2>Where was waited</h2>\
         <p class=\"note\">As wide as was waited, by kind and kernel stack; each function is called from the one above it.</p>\
         <svg class=\"flame\" width=\"100%\" height=\"{height}\" role=\"img\" aria-label=\"flame graph\">"
    )?;
    drawing.frame(
        &Placed { name: "all waits", level: 0, from_ns: 0, colour: "all" },
        total_ns,
        out,
    )?;
    let mut from_ns = 0;
    for (kind, frame) in palette.kinds().iter().zip(&kinds) {
        let (name, colour) = (kind.name(), format!("k{}", palette.colour(*kind)));
        let placed = Placed { name: &name, level: 1, from_ns, colour: &colour };
        drawing.with_calls(&placed, frame, out)?;
        from_ns += frame.wait_ns;
    }
    writeln!(out, "</svg></section>")
}

struct Drawing {
    total_ns: f64,
}

/// A frame's name and its place.
struct Placed<'a> {
    name: &'a str,
    level: usize,
    from_ns: u64,
    colour: &'a str,
}

impl Drawing {
    fn least_ns(&self) -> f64 {
        self.total_ns * LEAST
    }

    fn with_calls(
        &self,
        placed: &Placed<'_>,
        frame: &Frame,
        out: &mut dyn Write,
    ) -> io::Result<()> {
        if (frame.wait_ns as f64) < self.least_ns() {
            return Ok(());
        }
        self.frame(placed, frame.wait_ns, out)?;
        let mut from_ns = placed.from_ns;
        for (name, call) in &frame.calls {
            let below = Placed { name, level: placed.level + 1, from_ns, colour: placed.colour };
            self.with_calls(&below, call, out)?;
            from_ns += call.wait_ns;
        }
        Ok(())
    }

    fn frame(&self, placed: &Placed<'_>, wait_ns: u64, out: &mut dyn Write) -> io::Result<()> {
        let Placed { name, level, from_ns, colour } = placed;
        let percent = |ns: u64| 100.0 * ns as f64 / self.total_ns;
        let (x, width, y) = (percent(*from_ns), percent(wait_ns), level * ROW);
        // Neighbours differ a little.
        let shade = name.bytes().fold(0_usize, |sum, byte| sum + usize::from(byte)) % 3;
        writeln!(
            out,
            "<svg x=\"{x:.3}%\" y=\"{y}\" width=\"{width:.3}%\" height=\"{}\">\
             <title>{}&#10;{}, {width:.2} %</title>\
             <rect class=\"{colour} s{shade}\" width=\"100%\" height=\"100%\"/>\
             <text x=\"4\" y=\"12\">{}</text></svg>",
            ROW - 1,
            Text(name),
            scaled(wait_ns),
            Text(name),
        )
    }
}
