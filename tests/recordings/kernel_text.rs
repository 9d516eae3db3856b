//! The kernel's text of a buffer (`trace`), taken apart.

use std::collections::BTreeMap;

/// One event's line, and what belongs to it below.
#[derive(Debug, Clone)]
pub(crate) struct Line<'a> {
    pub(crate) pid: u32,
    /// `d..2.`; on PREEMPT_RT kernels two columns more.
    pub(crate) flags: &'a [u8],
    /// `51.884470`, or a bare integer for clocks that do not count ns.
    pub(crate) time: &'a str,
    /// The event's name and what its print format made of it. A name with a line end in it breaks
    /// the line; then the parts are together here.
    pub(crate) body: Vec<u8>,
    /// Where in `body` those line ends are.
    pub(crate) breaks: Vec<usize>,
    /// The lines ` => symbol` behind a stack trace, without the arrow.
    pub(crate) stack: Vec<&'a [u8]>,
}

impl Line<'_> {
    /// What may be the event's text: all of it, or up to one of its line ends. What follows then
    /// was the beginning of the next line's task name.
    pub(crate) fn candidates(&self) -> impl Iterator<Item = &[u8]> {
        let ends = std::iter::once(self.body.len()).chain(self.breaks.iter().rev().copied());
        ends.map(|end| &self.body[..end])
    }
}

/// The lines of each CPU, in their order.
pub(crate) fn parse(text: &[u8]) -> BTreeMap<u16, Vec<Line<'_>>> {
    let mut cpus: BTreeMap<u16, Vec<Line<'_>>> = BTreeMap::new();
    let mut last_cpu = None;
    for line in lines(text) {
        if let Some((cpu, parsed)) = parse_line(line) {
            cpus.entry(cpu).or_default().push(parsed);
            last_cpu = Some(cpu);
            continue;
        }
        // Before the first event there are only comments.
        let Some(last) = last_cpu.and_then(|cpu| cpus.get_mut(&cpu)?.last_mut()) else { continue };
        match line.strip_prefix(b" => ") {
            Some(frame) if last.body == b"<stack trace>" => last.stack.push(frame),
            // Where a buffer has lost its oldest events, CPUs begin at different times.
            _ if line.starts_with(b"##### CPU ") => {}
            _ => {
                last.breaks.push(last.body.len());
                last.body.push(b'\n');
                last.body.extend(line);
            }
        }
    }
    cpus
}

/// A marker that holds a NUL is printed without its line end: the next event follows it directly.
/// The recorded ones are the byte 0xff and a NUL.
fn lines(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    let marker = b"tracing_mark_write: \xff";
    let text = text.strip_suffix(b"\n").unwrap_or(text);
    text.split(|&byte| byte == b'\n').flat_map(move |line| {
        let at = line.windows(marker.len()).position(|window| window == marker);
        let (first, second) = line.split_at(at.map_or(line.len(), |at| at + marker.len()));
        std::iter::once(first).chain((!second.is_empty()).then_some(second))
    })
}

/// `   TASK-PID  (TGID) [CPU] FLAGS TIME: BODY`. A task's name may hold anything, so the first
/// place counts from which all of the rest fits.
fn parse_line(line: &[u8]) -> Option<(u16, Line<'_>)> {
    let places = line.iter().enumerate().filter(|(_, byte)| **byte == b'[').map(|(at, _)| at);
    places.into_iter().find_map(|at| {
        let pid = pid(&line[..at])?;
        let (cpu, rest) = line[at + 1..].split_at_checked(3)?;
        let cpu = number(cpu)?;
        let rest = rest.strip_prefix(b"] ")?;
        let (flags, rest) = rest.split_at(rest.iter().position(|&byte| byte == b' ')?);
        let rest = rest.trim_ascii_start();
        let end = rest.iter().position(|&byte| byte == b':')?;
        let time = std::str::from_utf8(&rest[..end]).ok()?;
        let is_time = time.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
        let body = rest[end..].strip_prefix(b": ")?.to_vec();
        (matches!(flags.len(), 5 | 7) && is_time && !time.is_empty()).then_some((
            u16::try_from(cpu).ok()?,
            Line { pid, flags, time, body, breaks: Vec::new(), stack: Vec::new() },
        ))
    })
}

/// From `   TASK-PID  ` or `   TASK-PID  (TGID) `.
fn pid(head: &[u8]) -> Option<u32> {
    let head = head.trim_ascii_end();
    let head = match head.strip_suffix(b")") {
        Some(inner) => inner[..inner.iter().rposition(|&byte| byte == b'(')?].trim_ascii_end(),
        None => head,
    };
    number(&head[head.iter().rposition(|&byte| byte == b'-')? + 1..])
}

fn number(digits: &[u8]) -> Option<u32> {
    std::str::from_utf8(digits).ok()?.parse().ok()
}
