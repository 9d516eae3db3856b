//! The kernel's own text of a ring (`trace`, default format), as far as names need it.
//!
//! Names may hold anything, line ends included, so fields are found from the ends of a record.

use ftlock::event::{Comm, Tid};

/// A record: the current task and what the event's name is followed by.
pub(crate) struct Record {
    pub(crate) current: Tid,
    pub(crate) cpu: u16,
    pub(crate) event: String,
    pub(crate) fields: Vec<u8>,
}

/// The records in the order of the text. A line without a head goes on with the record before it.
pub(crate) fn records(text: &[u8]) -> Vec<Record> {
    let mut records: Vec<Record> = Vec::new();
    for line in text.split(|&b| b == b'\n') {
        match (record(line), records.last_mut()) {
            (Some(record), _) => records.push(record),
            (None, Some(last)) => {
                last.fields.push(b'\n');
                last.fields.extend_from_slice(line);
            }
            (None, None) => {}
        }
    }
    records
}

/// `TASK-PID [(TGID)] [CPU] FLAGS TIME: EVENT: FIELDS`; the task's name may look like any of it,
/// but is too short to look like all of it.
fn record(line: &[u8]) -> Option<Record> {
    let cpu_columns = (0..line.len()).filter(|&place| line[place..].starts_with(b" ["));
    cpu_columns.into_iter().find_map(|place| {
        let (task, rest) = line.split_at(place);
        let (cpu, rest) = rest[2..].split_at_checked(3)?;
        let rest = rest.strip_prefix(b"] ")?;
        let (flags, rest) = cut(rest, b" ")?;
        let (time, rest) = cut(rest, b": ")?;
        let (event, fields) = cut(rest, b": ")?;
        let time: f64 = str::from_utf8(time).ok()?.trim().parse().ok()?;
        let is_name = |b: &u8| b.is_ascii_lowercase() || b.is_ascii_digit() || *b == b'_';
        if flags.len() < 5 || time < 0.0 || !event.iter().all(is_name) {
            return None;
        }
        Some(Record {
            current: current(task)?,
            cpu: number(cpu)?,
            event: String::from_utf8(event.to_vec()).ok()?,
            fields: fields.to_vec(),
        })
    })
}

/// The id at the end of `TASK-PID` or `TASK-PID (TGID)`.
fn current(task: &[u8]) -> Option<Tid> {
    let task = task.trim_ascii_end();
    let task = match task.strip_suffix(b")") {
        Some(inner) => rcut(inner, b"(")?.0.trim_ascii_end(),
        None => task,
    };
    number(rcut(task, b"-")?.1).map(Tid)
}

/// The text between the first `after` and the last `before`.
pub(crate) fn between<'a>(fields: &'a [u8], after: &str, before: &str) -> Option<&'a [u8]> {
    rcut(cut(fields, after.as_bytes())?.1, before.as_bytes()).map(|(text, _)| text)
}

pub(crate) fn comm(fields: &[u8], after: &str, before: &str) -> Option<Comm> {
    between(fields, after, before).map(Comm::new)
}

/// The digits behind the last `after`.
pub(crate) fn id(fields: &[u8], after: &str) -> Option<Tid> {
    number(rcut(fields, after.as_bytes())?.1).map(Tid)
}

fn number<N: std::str::FromStr>(text: &[u8]) -> Option<N> {
    let digits = text.iter().take_while(|b| b.is_ascii_digit()).count();
    str::from_utf8(&text[..digits]).ok()?.parse().ok()
}

pub(crate) fn cut<'a>(text: &'a [u8], by: &[u8]) -> Option<(&'a [u8], &'a [u8])> {
    let place = text.windows(by.len()).position(|window| window == by)?;
    Some((&text[..place], &text[place + by.len()..]))
}

pub(crate) fn rcut<'a>(text: &'a [u8], by: &[u8]) -> Option<(&'a [u8], &'a [u8])> {
    let place = text.windows(by.len()).rposition(|window| window == by)?;
    Some((&text[..place], &text[place + by.len()..]))
}
