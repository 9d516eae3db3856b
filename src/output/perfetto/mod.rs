//! Waits as a trace for Perfetto: packets, one after the other, as they become known.
//!
//! Each wait is a slice on its thread's track, with an arrow from the moment at which another task let its
//! lock go. A reader sorts packets by their time, and those of one time by their place: so a wait is written
//! when it is over, though others have been written by then that began later.
//!
//! Texts are told once and named by numbers from there on. What has been told is bounded; where that is
//! reached, or a piece of the trace gets lost on its way, everything is told anew.

mod args;
mod interned;
mod nesting;
mod proto;
mod tracks;

pub use self::args::Names;
pub use self::tracks::Who;

use self::args::Args;
use self::interned::Interned;
use self::proto::{
    Clock, ClockSnapshot, CounterDescriptor, EventType, NEEDS_STATE, STATE_CLEARED, SystemInfo,
    TracePacket, TracePacketDefaults, TrackDescriptor, TrackEvent, Utsname,
};
use self::tracks::{Place, Tracks};
use super::text::{caller_text, place_text};
use super::{ReportInfo, StreamHolder, StreamLoss, StreamOpen, StreamWait};
use crate::event::{Context, StackId};
use crate::report::Timeline;
use std::time::UNIX_EPOCH;

/// The sequence that all packets are of.
const SEQUENCE: u32 = 1;

/// `BUILTIN_CLOCK_REALTIME`.
const REALTIME: u32 = 1;

/// A trace on its way.
#[derive(Debug)]
pub struct Trace {
    clock_id: u32,
    out: Vec<u8>,
    /// Waits in `out`.
    waits: u64,
    /// Waits that found no track.
    left_out: u64,
    interned: Interned,
    tracks: Tracks,
    last_flow: u64,
}

impl Trace {
    /// With nothing but its head.
    pub fn new(info: &ReportInfo<'_>) -> Trace {
        let mut trace = Trace {
            clock_id: clock_id(info.run.clock),
            out: Vec::new(),
            waits: 0,
            left_out: 0,
            interned: Interned::default(),
            tracks: Tracks::default(),
            last_flow: 0,
        };
        let utsname = Utsname {
            sysname: Some("Linux".to_owned()),
            release: Some(info.run.kernel.to_owned()),
        };
        let clock_snapshot = Some(trace.clocks(info));
        trace.packet(TracePacket { clock_snapshot, ..TracePacket::default() });
        let system_info = Some(SystemInfo { utsname: Some(utsname) });
        trace.packet(TracePacket { system_info, ..TracePacket::default() });
        trace.clear_state();
        trace
    }

    /// A wait that is over: of whom, and of whom who had the lock, as far as `wait` tells of that one.
    pub fn wait(
        &mut self,
        wait: &StreamWait<'_>,
        who: &Who,
        holder: Option<&Who>,
        stack: Option<StackId>,
        names: Names<'_>,
    ) {
        self.keep_bounds();
        let place = Place::of(who, wait.cpu, wait.context);
        let span = (wait.begin_ns, wait.end_ns);
        let Some(track) = self.tracks.for_slice(place, who.comm, span) else {
            self.left_out += 1;
            return;
        };
        let kind = wait.cause.kind().name();
        let name = format!("{kind} {}", place_text(wait, names.symbols));
        let begin = TrackEvent {
            category_iids: vec![self.interned.category(kind)],
            name_iid: Some(self.interned.event_name(&name)),
            debug_annotations: Args::of_wait(wait, stack, &mut self.interned, names),
            ..event(EventType::SliceBegin, track)
        };
        self.event(wait.begin_ns, begin);
        let flow = match (wait.holder, holder) {
            (Some(Some(told)), Some(holder)) => Some(self.release(wait, &told, holder, names)),
            _ => None,
        };
        let end = TrackEvent {
            terminating_flow_ids: flow.into_iter().collect(),
            ..event(EventType::SliceEnd, track)
        };
        self.event(wait.end_ns, end);
        self.waits += 1;
    }

    /// A wait that was still open when tracing stopped: a slice without an end.
    pub fn open(&mut self, wait: &StreamOpen, who: &Who, names: Names<'_>) {
        self.keep_bounds();
        let place = Place::of(who, wait.cpu, wait.context);
        let span = (wait.begin_ns, u64::MAX);
        let Some(track) = self.tracks.for_slice(place, who.comm, span) else {
            self.left_out += 1;
            return;
        };
        let kind = wait.cause.kind().name();
        let name = format!("{kind} {}", caller_text(wait.caller, names.symbols));
        let begin = TrackEvent {
            category_iids: vec![self.interned.category(kind)],
            name_iid: Some(self.interned.event_name(&name)),
            debug_annotations: Args::of_open(wait, &mut self.interned, names),
            ..event(EventType::SliceBegin, track)
        };
        self.event(wait.begin_ns, begin);
        self.waits += 1;
    }

    /// Events of a CPU that are missing: a slice from the last one before to the first one behind.
    pub fn loss(&mut self, loss: &StreamLoss) {
        self.keep_bounds();
        // Before the first event there may have been any.
        let begin_ns = if loss.after_ns == 0 { loss.before_ns } else { loss.after_ns };
        let span = (begin_ns, loss.before_ns);
        let Some(track) = self.tracks.for_slice(Place::Lost(loss.cpu), None, span) else { return };
        let begin = TrackEvent {
            category_iids: vec![self.interned.category("loss")],
            name_iid: Some(self.interned.event_name("lost events")),
            debug_annotations: Args::of_loss(loss.missed, &mut self.interned),
            ..event(EventType::SliceBegin, track)
        };
        self.event(begin_ns, begin);
        self.event(loss.before_ns, event(EventType::SliceEnd, track));
    }

    /// How many tasks waited, for each kind of waits: of each bin of time the mean.
    pub fn counters(&mut self, timeline: &Timeline) {
        let ((start_ns, _), bin_ns) = (timeline.bins(), timeline.bin_ns());
        for (series, times) in timeline.series() {
            let track = self.tracks.another(TrackDescriptor {
                name: Some(format!("waiting: {}", series.name())),
                counter: Some(CounterDescriptor { unit_name: Some("tasks".to_owned()) }),
                ..TrackDescriptor::default()
            });
            let mut last = None;
            // The bin behind the last one brings it back to 0.
            for (bin, time_ns) in (0..).zip(times.into_iter().chain([0])) {
                if last.replace(time_ns) != Some(time_ns) {
                    let value = Some(time_ns as f64 / bin_ns as f64);
                    let counter = event(EventType::Counter, track);
                    let counter = TrackEvent { double_counter_value: value, ..counter };
                    self.event(start_ns.saturating_add(bin_ns.saturating_mul(bin)), counter);
                }
            }
        }
    }

    /// Takes what has been written since the last time, and how many waits that are.
    pub fn take(&mut self) -> (Vec<u8>, u64) {
        (std::mem::take(&mut self.out), std::mem::take(&mut self.waits))
    }

    /// Bytes to take.
    pub fn len(&self) -> usize {
        self.out.len()
    }

    /// Whether there is nothing to take.
    pub fn is_empty(&self) -> bool {
        self.out.is_empty()
    }

    /// Waits that found no track, since too many of their task overlapped.
    pub fn left_out(&self) -> u64 {
        self.left_out
    }

    /// Something that was taken has got lost: tells everything anew.
    pub fn tell_anew(&mut self) {
        self.tracks.forget();
        self.clear_state();
    }

    fn keep_bounds(&mut self) {
        if self.tracks.is_full() {
            self.tracks.forget();
        }
        if self.interned.is_full() {
            self.clear_state();
        }
    }

    fn clear_state(&mut self) {
        self.interned = Interned::default();
        let defaults = TracePacketDefaults { timestamp_clock_id: Some(self.clock_id) };
        self.packet(TracePacket {
            sequence_flags: Some(STATE_CLEARED),
            trace_packet_defaults: Some(defaults),
            ..TracePacket::default()
        });
    }

    /// The moment at which the lock is let go, on the track of whoever does; gives the arrow that begins there.
    fn release(
        &mut self,
        wait: &StreamWait<'_>,
        told: &StreamHolder,
        holder: &Who,
        names: Names<'_>,
    ) -> u64 {
        self.last_flow += 1;
        let place = Place::of(holder, wait.cpu, Context::Task);
        let track = self.tracks.for_instant(place, holder.comm);
        let instant = TrackEvent {
            category_iids: vec![self.interned.category(wait.cause.kind().name())],
            name_iid: Some(self.interned.event_name(told.evidence.name())),
            debug_annotations: Args::of_release(told, wait, &mut self.interned, names),
            flow_ids: vec![self.last_flow],
            ..event(EventType::Instant, track)
        };
        self.event(told.ts_ns, instant);
        self.last_flow
    }

    fn event(&mut self, at_ns: u64, event: TrackEvent) {
        for descriptor in self.tracks.take_fresh() {
            let track_descriptor = Some(descriptor);
            self.packet(TracePacket { track_descriptor, ..TracePacket::default() });
        }
        let interned_data = self.interned.take_fresh();
        self.packet(TracePacket {
            timestamp: Some(at_ns),
            interned_data,
            sequence_flags: Some(NEEDS_STATE),
            track_event: Some(event),
            ..TracePacket::default()
        });
    }

    fn packet(&mut self, packet: TracePacket) {
        let packet = TracePacket { trusted_packet_sequence_id: Some(SEQUENCE), ..packet };
        proto::append(&packet, &mut self.out);
    }

    /// The trace clock, as the one that times are shown in, and what the time of day was at one of its instants.
    fn clocks(&self, info: &ReportInfo<'_>) -> ClockSnapshot {
        let start_ns = info.start_ns.unwrap_or(0);
        let date =
            info.start_ns.and(info.date).and_then(|date| date.duration_since(UNIX_EPOCH).ok());
        let date_ns = date.and_then(|date| u64::try_from(date.as_nanos()).ok());
        let date = date_ns.map(|ns| Clock { clock_id: Some(REALTIME), timestamp: Some(ns) });
        let trace = Clock { clock_id: Some(self.clock_id), timestamp: Some(start_ns) };
        ClockSnapshot {
            clocks: [trace].into_iter().chain(date).collect(),
            primary_trace_clock: Some(self.clock_id),
        }
    }
}

fn event(kind: EventType, track: u64) -> TrackEvent {
    TrackEvent { r#type: Some(kind.into()), track_uuid: Some(track), ..TrackEvent::default() }
}

/// Perfetto's number for a trace clock. For those that it has no name for it is that of `boot`: their
/// instants are shown as they are.
fn clock_id(trace_clock: &str) -> u32 {
    match trace_clock {
        "mono" => 3,
        "mono_raw" => 5,
        "perf" => 10,
        _ => 6,
    }
}
