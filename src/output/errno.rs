//! Names for the errors a lock can end in.

use std::fmt;

/// A negative return value of `contention_end`.
pub(super) struct Errno(pub(super) i32);

/// `EINTR`; the number where it has no name here (asm-generic/errno.h; MIPS, PA-RISC and SPARC
/// number the upper ones differently).
impl fmt::Display for Errno {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = match self.0 {
            -4 => "EINTR",
            -35 => "EDEADLK",
            -62 => "ETIME",
            -110 => "ETIMEDOUT",
            -114 => "EALREADY",
            -512 => "ERESTARTSYS",
            -513 => "ERESTARTNOINTR",
            -516 => "ERESTART_RESTARTBLOCK",
            other => return write!(f, "{other}"),
        };
        f.write_str(name)
    }
}
