//! Records to what they mean, by the formats of the kernel that wrote them.

#![deny(clippy::indexing_slicing, clippy::arithmetic_side_effects)]

mod meaning;
#[cfg(test)]
mod tests;

use thiserror::Error;

use self::meaning::Meaning;
use super::{Body, Tid};
use crate::tracefs::Abi;
use crate::tracefs::Endian;
use crate::tracefs::EventFormat;
use crate::tracefs::Field;
use crate::tracefs::Number;

/// Knows the events of one kernel, or one saved trace, by their ids.
///
/// Begins and ends of waits, the births, renames and ends of tasks, switches and wakings, futex calls,
/// kernel stacks and the taking of an `mmap_lock` are understood; of any other event the format is at
/// hand.
#[derive(Debug)]
pub struct Decoder {
    abi: Abi,
    head: HeadFields,
    /// By event id.
    events: Vec<Option<Box<KnownEvent>>>,
}

#[derive(Debug)]
struct KnownEvent {
    format: EventFormat,
    meaning: Meaning,
}

#[derive(Debug)]
struct HeadFields {
    id: Number,
    flags: Number,
    preempt_count: Number,
    tid: Number,
    /// As every kernel has had them: 16, 8, 8 and 32 bits, least significant byte first.
    plain: bool,
}

/// What every record begins with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RawHead {
    /// The event's id.
    pub id: u16,
    /// `common_flags`: see [`Context::from_common_flags`](super::Context::from_common_flags).
    pub flags: u8,
    /// How deep preemption was off (low four bits) and migration was (high four).
    pub preempt_count: u8,
    /// The current task.
    pub tid: Tid,
}

/// What one record says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Decoded<'a> {
    /// All that the event means.
    Plain(Body),
    /// `sched:sched_process_exec`, with its program's file where the event has it.
    Exec {
        /// The process's leader id.
        tid: Tid,
        /// The id the thread had before.
        old_tid: Tid,
        /// The file.
        filename: Option<&'a [u8]>,
    },
    /// A task is in another cgroup.
    Moved {
        /// Of which hierarchy, by the number in /proc/cgroups; 0 is that of version 2.
        hierarchy: u32,
        /// The task, or the leader of the process that moved.
        tid: Tid,
        /// The cgroup's path from the hierarchy's root.
        path: &'a [u8],
    },
    /// `ftrace:kernel_stack`.
    Stack(Frames<'a>),
    /// No format has this id: its event came or was enabled after the formats were read.
    Unknown,
}

/// The return addresses of a kernel stack, innermost first, the tracer's own on top.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Frames<'a> {
    words: &'a [u8],
    abi: Abi,
}

/// Why formats make no decoder.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum DecoderError {
    /// There is no format at all.
    #[error("no event formats")]
    NoFormats,
    /// A field that is needed has another name in this kernel, or is gone.
    #[error("event {event} has no field \"{field}\"")]
    MissingField {
        /// The event's name.
        event: String,
        /// The field's name.
        field: &'static str,
    },
}

/// Why a record does not say what its event should.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Error)]
pub enum DecodeFault {
    /// The record ends before a field that is needed, or a number does not fit what it stands for.
    #[error("record does not hold a field of its event")]
    Field,
    /// A name lies outside the record.
    #[error("record does not hold a name of its event")]
    Name,
}

impl Decoder {
    /// From the formats of all events that may occur. Events may be missing; of two formats
    /// with one id the last counts.
    ///
    /// # Errors
    /// If there is no format at all, or an event that should be understood lacks a field.
    pub fn new(
        abi: Abi,
        formats: impl IntoIterator<Item = EventFormat>,
    ) -> Result<Decoder, DecoderError> {
        let mut head = None;
        let mut events = Vec::new();
        for format in formats {
            if head.is_none() {
                head = Some(HeadFields::of(&format, abi)?);
            }
            let meaning = Meaning::of(&format, abi)?;
            let place = usize::from(format.id);
            if events.len() <= place {
                events.resize_with(place.saturating_add(1), || None);
            }
            if let Some(slot) = events.get_mut(place) {
                *slot = Some(Box::new(KnownEvent { format, meaning }));
            }
        }
        Ok(Decoder { abi, head: head.ok_or(DecoderError::NoFormats)?, events })
    }

    /// The ABI of the kernel that wrote the records.
    pub fn abi(&self) -> Abi {
        self.abi
    }

    /// The format of the event with that id.
    pub fn format(&self, id: u16) -> Option<&EventFormat> {
        self.event(id).map(|event| &event.format)
    }

    /// What every record begins with. None if the record is shorter than that.
    #[inline]
    pub fn head(&self, payload: &[u8]) -> Option<RawHead> {
        if self.head.plain {
            let [id, id_high, flags, preempt_count, tid @ ..] = *payload.first_chunk::<8>()?;
            return Some(RawHead {
                id: u16::from_le_bytes([id, id_high]),
                flags,
                preempt_count,
                tid: Tid(u32::from_le_bytes(tid)),
            });
        }
        let number = |field: &Number| field.uint(payload);
        Some(RawHead {
            id: u16::try_from(number(&self.head.id)?).ok()?,
            flags: u8::try_from(number(&self.head.flags)?).ok()?,
            preempt_count: u8::try_from(number(&self.head.preempt_count)?).ok()?,
            tid: Tid(u32::try_from(number(&self.head.tid)?).ok()?),
        })
    }

    /// What [`Decoder::decode`] says of a begin or an end of a wait for a lock, if it is one and whole: most
    /// events are.
    #[inline]
    pub fn lock_event(&self, id: u16, payload: &[u8]) -> Option<Body> {
        self.event(id)?.meaning.lock_event(payload)
    }

    /// What the record says whose head has this id. It may be longer than its format.
    ///
    /// # Errors
    /// If it does not hold a field that is needed.
    pub fn decode<'a>(&self, id: u16, payload: &'a [u8]) -> Result<Decoded<'a>, DecodeFault> {
        let Some(event) = self.event(id) else { return Ok(Decoded::Unknown) };
        event.meaning.read(payload, self.abi)
    }

    #[inline]
    fn event(&self, id: u16) -> Option<&KnownEvent> {
        self.events.get(usize::from(id))?.as_deref()
    }
}

impl HeadFields {
    fn of(format: &EventFormat, abi: Abi) -> Result<HeadFields, DecoderError> {
        let places = [("common_type", 0, 2), ("common_flags", 2, 1)];
        let places =
            places.into_iter().chain([("common_preempt_count", 3, 1), ("common_pid", 4, 4)]);
        let mut plain = abi.endian == Endian::Little;
        for (name, offset, size_bytes) in places {
            let field = need(format, name)?;
            plain &= (field.offset, field.size_bytes) == (offset, size_bytes);
        }
        let number = |name| number(format, name, abi);
        Ok(HeadFields {
            id: number("common_type")?,
            flags: number("common_flags")?,
            preempt_count: number("common_preempt_count")?,
            tid: number("common_pid")?,
            plain,
        })
    }
}

fn number(format: &EventFormat, field: &'static str, abi: Abi) -> Result<Number, DecoderError> {
    need(format, field).map(|field| Number::new(&field, abi))
}

fn need(format: &EventFormat, field: &'static str) -> Result<Field, DecoderError> {
    format
        .field(field)
        .cloned()
        .ok_or_else(|| DecoderError::MissingField { event: format.name.clone(), field })
}

impl Iterator for Frames<'_> {
    type Item = u64;

    #[inline]
    fn next(&mut self) -> Option<u64> {
        let (word, rest) = self.words.split_at_checked(self.abi.long_size_bytes)?;
        let address = self.abi.uint(word, word.len())?;
        // The kernel's own text stops at ~0 too: all there was before stacks had a size.
        let is_end = word.iter().all(|&byte| byte == 0xff);
        self.words = if is_end { &[] } else { rest };
        (!is_end).then_some(address)
    }
}
