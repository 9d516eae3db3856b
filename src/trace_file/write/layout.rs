//! What in the head of a file is written again, and where it is.

/// Room for the text of a ring's counters: nine lines, each with a number of at most 20 digits.
const STATS_BYTES: usize = 320;

/// Places in the head, and room behind it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Layout {
    /// For each ring, where the table has its offset and size.
    pub(super) entries_at: Vec<u64>,
    /// For each ring, where its counters' text is.
    pub(super) stats_at: Vec<u64>,
    /// Where the names are.
    pub(super) names_at: u64,
    /// How much room they have.
    pub(super) names_bytes: usize,
    /// Where more of what ftlock says can be added.
    pub(super) ftlock_end: u64,
    /// How much.
    pub(super) ftlock_room_bytes: usize,
    /// Everything before the rings.
    pub(super) head_bytes: u64,
}

/// A ring's entry in the table.
pub(super) fn entry(offset: u64, size_bytes: u64) -> [u8; 16] {
    let mut entry = [0; 16];
    let (first, second) = entry.split_at_mut(8);
    first.copy_from_slice(&offset.to_ne_bytes());
    second.copy_from_slice(&size_bytes.to_ne_bytes());
    entry
}

/// The text of a ring's counters, filled up to its room.
pub(super) fn stats(cpu: u16, stats: &str) -> Vec<u8> {
    let mut text = format!("CPU: {cpu}\n{}\n", stats.trim_end()).into_bytes();
    // Readers print the text up to its NUL, and the next CPU's behind it: so it is not NULs that fill it up.
    text.resize(STATS_BYTES - 1, b' ');
    text.push(0);
    text
}

/// Names as they are stored.
pub(super) struct Names {
    pub(super) bytes: Vec<u8>,
    pub(super) left_out_bytes: usize,
}

/// Whole lines of `saved_cmdlines`, as many as have room, then NULs: readers stop at the first.
pub(super) fn names(saved_cmdlines: &[u8], room: usize) -> Names {
    let mut bytes = saved_cmdlines.to_vec();
    if bytes.len() >= room {
        bytes.truncate(room.saturating_sub(1));
        let end = bytes.iter().rposition(|&byte| byte == b'\n').map_or(0, |end| end + 1);
        bytes.truncate(end);
    }
    let left_out_bytes = saved_cmdlines.len() - bytes.len();
    bytes.resize(room, 0);
    Names { bytes, left_out_bytes }
}
