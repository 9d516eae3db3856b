//! Records into sub-buffers, as the kernel lays them out (kernel/trace/ring_buffer.c, 6.18).

use super::SUB_BUFFER_BYTES;

const HEADER_BYTES: usize = 16;
const TIME_EXTEND: u32 = 30;
const MAX_DELTA: u64 = (1 << 27) - 1;
/// Commit word: events are missing before this sub-buffer, and their number stands behind the data.
const LOST: u64 = 1 << 31;
const LOST_COUNT_STORED: u64 = 1 << 30;

/// One CPU's ring, being written.
#[derive(Debug, Default)]
pub(crate) struct Pages {
    done: Vec<u8>,
    open: Vec<u8>,
    events: usize,
    last_ns: u64,
    /// Events that were lost before the open sub-buffer.
    missed: usize,
    /// Events that were lost in all.
    pub(crate) lost: usize,
}

impl Pages {
    /// Appends a record. `loses`: asked for each sub-buffer that is full, whether it is lost.
    pub(crate) fn push(&mut self, ts_ns: u64, payload: &[u8], loses: impl FnOnce() -> bool) {
        let words = payload.len().div_ceil(4);
        // Room for a time extend, and for the number of lost events behind the data.
        if self.open.len() + 12 + 4 * words + 8 > SUB_BUFFER_BYTES {
            self.close(loses());
        }
        if self.open.is_empty() {
            self.open.extend(ts_ns.to_le_bytes());
            self.open.extend([0; 8]);
            self.last_ns = ts_ns;
        }
        let mut delta = ts_ns - self.last_ns;
        if delta > MAX_DELTA {
            self.word(TIME_EXTEND, delta & MAX_DELTA);
            self.open.extend(u32::try_from(delta >> 27).unwrap().to_le_bytes());
            delta = 0;
        }
        self.word(u32::try_from(words).unwrap(), delta);
        self.open.extend(payload);
        self.open.resize(self.open.len().next_multiple_of(4), 0);
        self.last_ns = ts_ns;
        self.events += 1;
    }

    /// The ring, with what is still open.
    pub(crate) fn finish(mut self) -> (Vec<u8>, usize) {
        self.close(false);
        (self.done, self.lost)
    }

    fn word(&mut self, kind: u32, delta: u64) {
        let delta = u32::try_from(delta).unwrap();
        self.open.extend((kind | delta << 5).to_le_bytes());
    }

    fn close(&mut self, lost: bool) {
        if self.open.is_empty() {
            return;
        }
        let events = std::mem::take(&mut self.events);
        if lost {
            self.missed += events;
            self.lost += events;
            self.open.clear();
            return;
        }
        let mut commit = (self.open.len() - HEADER_BYTES) as u64;
        if self.missed > 0 {
            commit |= LOST | LOST_COUNT_STORED;
            self.open.extend((std::mem::take(&mut self.missed) as u64).to_le_bytes());
        }
        self.open[8..16].copy_from_slice(&commit.to_le_bytes());
        self.open.resize(SUB_BUFFER_BYTES, 0);
        self.done.append(&mut self.open);
    }
}
