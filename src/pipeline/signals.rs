//! Signals that end a run, and that of a child's end, as something the event loop can wait for.

use std::io::{self, Read};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use signal_hook::consts::{SIGCHLD, SIGHUP, SIGINT, SIGQUIT, SIGTERM};
use signal_hook::flag;
use signal_hook::low_level::pipe;

/// What ends a run: each with the report printed and the instance removed.
const ENDING: [i32; 4] = [SIGINT, SIGTERM, SIGHUP, SIGQUIT];

/// The signals received since it was made. A default handler is never restored.
#[derive(Debug)]
pub struct Signals {
    /// Readable when a signal came.
    wake: UnixStream,
    ending: Arc<AtomicUsize>,
    impatient: Arc<AtomicBool>,
}

impl Signals {
    /// Takes the signals over from their default handlers.
    pub fn take_over() -> io::Result<Signals> {
        let (wake, sender) = UnixStream::pair()?;
        wake.set_nonblocking(true)?;
        let (ending, impatient) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicBool::new(false)));
        for signal in ENDING {
            // Ahead of the flag: the same signal that sets it must not be taken for a second one.
            flag::register_conditional_shutdown(signal, 128 + signal, Arc::clone(&impatient))?;
            flag::register_usize(
                signal,
                Arc::clone(&ending),
                usize::try_from(signal).unwrap_or(1),
            )?;
            pipe::register(signal, sender.try_clone()?)?;
        }
        pipe::register(SIGCHLD, sender)?;
        Ok(Signals { wake, ending, impatient })
    }

    /// The signal that ends the run, if one came.
    pub fn ending(&self) -> Option<i32> {
        i32::try_from(self.ending.load(Ordering::Relaxed)).ok().filter(|&signal| signal != 0)
    }

    /// From now on a further signal ends the process at once: all that is left is to print.
    pub fn let_the_next_one_kill(&self) {
        self.impatient.store(true, Ordering::Relaxed);
    }

    /// Empties what woke the event loop.
    pub fn drain(&mut self) {
        let mut bytes = [0; 64];
        while self.wake.read(&mut bytes).is_ok_and(|count| count > 0) {}
    }

    /// What becomes readable when a signal comes.
    pub fn wake(&self) -> &UnixStream {
        &self.wake
    }
}
