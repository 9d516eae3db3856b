//! In which state a task leaves its CPU.

/// What a task does while it is off its CPU.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum LeftAs {
    /// It would go on at once: preempted, or it gave its CPU up for a moment.
    Runnable,
    /// It sleeps until something happens, or a signal comes (`S`).
    Interruptible,
    /// It sleeps until something happens (`D`).
    Uninterruptible,
    /// A kernel thread without work (`I`).
    Idle,
    /// Stopped by a signal or a debugger, or parked (`T`, `t`, `P`).
    Stopped,
    /// It never comes back (`X`, `Z`).
    Dead,
}

impl LeftAs {
    /// Whether somebody has to wake it before it runs again.
    pub fn is_blocked(self) -> bool {
        self != LeftAs::Runnable
    }
}

/// What the bits of `prev_state` mean in one kernel.
///
/// They moved more than once (`TASK_DEAD`, `TASK_PARKED`, `TASK_IDLE`: include/linux/sched.h, 4.x to
/// 7.3), and the event's own `print fmt` names them. A bit without a name, such as that of a
/// preempted task's `+`, is no state.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SwitchStates(Vec<(u64, LeftAs)>);

impl SwitchStates {
    /// From the `print fmt` of `sched_switch`. Where it names no state, the two that never moved.
    pub fn parse(print_format: &str) -> SwitchStates {
        let named = print_format.split('{').skip(1).filter_map(|flag| {
            let (bit, name) = flag.split_once('}')?.0.split_once(',')?;
            let bit = bit.trim();
            let bit = match bit.strip_prefix("0x") {
                Some(digits) => u64::from_str_radix(digits, 16),
                None => bit.parse(),
            };
            Some((bit.ok().filter(|&bit| bit != 0)?, state(name.trim().trim_matches('"'))?))
        });
        let mut states: Vec<_> = named.collect();
        if states.is_empty() {
            states = vec![(1, LeftAs::Interruptible), (2, LeftAs::Uninterruptible)];
        }
        SwitchStates(states)
    }

    /// The state that a `prev_state` stands for: the lowest bit with a name.
    pub fn of(&self, prev_state: u64) -> LeftAs {
        let state = self.0.iter().find(|(bit, _)| prev_state & bit != 0);
        state.map_or(LeftAs::Runnable, |&(_, state)| state)
    }

    /// A condition on an event's fields, in the kernel's language, that only tasks meet which go to
    /// sleep for something: neither preempted, nor dead, nor kernel threads without work.
    pub fn sleeps_condition(&self) -> String {
        let sleeps = |state: LeftAs| {
            matches!(state, LeftAs::Interruptible | LeftAs::Uninterruptible | LeftAs::Stopped)
        };
        let bits = self.0.iter().filter(|(_, state)| sleeps(*state));
        format!("prev_state & {}", bits.fold(0, |all, (bit, _)| all | bit))
    }
}

/// The letters of ps (fs/proc/array.c, `task_state_array`). What only modifies a state is none.
fn state(letter: &str) -> Option<LeftAs> {
    Some(match letter {
        "S" => LeftAs::Interruptible,
        "D" => LeftAs::Uninterruptible,
        "I" => LeftAs::Idle,
        "T" | "t" | "P" => LeftAs::Stopped,
        "X" | "Z" | "x" => LeftAs::Dead,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::{LeftAs, SwitchStates};

    /// As 6.18 prints it, and 4.9, where 0x20 and 0x40 were other states.
    const NEW: &str = r#"__print_flags(REC->prev_state & 0xff, "|", { 0x00000001, "S" }, { 0x00000002, "D" }, { 0x00000004, "T" }, { 0x00000008, "t" }, { 0x00000010, "X" }, { 0x00000020, "Z" }, { 0x00000040, "P" }, { 0x00000080, "I" }) : "R", REC->prev_state & 0x100 ? "+" : """#;
    const OLD: &str = r#"REC->prev_state & (2048-1) ? __print_flags(REC->prev_state & (2048-1), "|", { 1, "S"} , { 2, "D" }, { 4, "T" }, { 8, "t" }, { 16, "Z" }, { 32, "X" }, { 64, "x" }, { 128, "K" }, { 256, "W" }, { 512, "P" }, { 1024, "N" }) : "R", REC->prev_state & 2048 ? "+" : """#;

    #[test]
    fn who_sleeps_for_something_meets_a_condition() {
        let table = [(NEW, "prev_state & 79"), (OLD, "prev_state & 527"), ("", "prev_state & 3")];
        for (format, expected) in table {
            assert_eq!(SwitchStates::parse(format).sleeps_condition(), expected);
        }
    }

    #[test]
    fn the_format_tells_what_the_bits_mean() {
        let table = [
            (NEW, 0, LeftAs::Runnable),
            (NEW, 0x100, LeftAs::Runnable),
            (NEW, 1, LeftAs::Interruptible),
            (NEW, 2, LeftAs::Uninterruptible),
            (NEW, 0x20, LeftAs::Dead),
            (NEW, 0x40, LeftAs::Stopped),
            (NEW, 0x80, LeftAs::Idle),
            (OLD, 2048, LeftAs::Runnable),
            (OLD, 512, LeftAs::Stopped),
            (OLD, 130, LeftAs::Uninterruptible),
            (OLD, 64, LeftAs::Dead),
            (OLD, 1024, LeftAs::Runnable),
            ("nothing", 1, LeftAs::Interruptible),
            ("nothing", 4, LeftAs::Runnable),
        ];
        for (format, prev_state, expected) in table {
            assert_eq!(SwitchStates::parse(format).of(prev_state), expected, "{prev_state:#x}");
        }
    }
}
