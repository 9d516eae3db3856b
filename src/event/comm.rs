//! A task's name as the kernel keeps it.

use std::fmt;

/// The bytes of a task's `comm`: up to 15, not necessarily UTF-8, never with a NUL.
///
/// `TASK_COMM_LEN` is 16 with the NUL (include/linux/sched.h, 6.18). Sixteen bytes are kept
/// where a record has no NUL at all.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Comm {
    bytes: [u8; 16],
    len: u8,
}

impl Comm {
    /// Up to the first NUL, cut at 16 bytes.
    pub fn new(bytes: &[u8]) -> Comm {
        let mut kept = [0; 16];
        let mut len = 0;
        for (slot, &byte) in kept.iter_mut().zip(bytes.iter().take_while(|&&b| b != 0)) {
            *slot = byte;
            len += 1;
        }
        Comm { bytes: kept, len }
    }

    /// The idle task's name on a CPU. Longer than the kernel's own from CPU 10,000,000 on.
    pub fn idle(cpu: super::Cpu) -> Comm {
        Comm::new(format!("swapper/{}", cpu.0).as_bytes())
    }

    /// The name's bytes.
    pub fn as_bytes(&self) -> &[u8] {
        self.bytes.get(..usize::from(self.len)).unwrap_or(&[])
    }
}

impl fmt::Debug for Comm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Comm({})", self.as_bytes().escape_ascii())
    }
}

#[cfg(test)]
mod tests {
    use super::Comm;
    use crate::event::Cpu;

    #[test]
    fn a_name_ends_at_its_first_nul_and_at_sixteen_bytes() {
        assert_eq!(Comm::new(b"ab\0\xff\xfe").as_bytes(), b"ab");
        assert_eq!(Comm::new(b"0123456789abcdefgh").as_bytes(), b"0123456789abcdef");
        assert_eq!(Comm::new(b"").as_bytes(), b"");
        assert_eq!(Comm::new(b"\xff").as_bytes(), b"\xff");
    }

    #[test]
    fn every_cpu_has_its_own_idle_task() {
        assert_eq!(Comm::idle(Cpu(3)).as_bytes(), b"swapper/3");
    }
}
