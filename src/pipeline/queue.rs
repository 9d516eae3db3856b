//! The stream's way out: a bounded queue to a thread that writes.
//!
//! A slow reader of our output must not keep us from reading the rings, or the kernel overwrites
//! them. So lines go to a thread of their own; if it falls too far behind, lines are dropped and
//! counted, never waited for.

use std::io::{self, Write};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// Where the stream's lines go.
#[derive(Debug)]
pub struct Queue {
    /// Bytes that may wait to be written.
    bound_bytes: usize,
    sender: Option<Sender<Vec<u8>>>,
    shared: Arc<Shared>,
    writer: Option<JoinHandle<()>>,
    dropped_lines: u64,
}

#[derive(Debug, Default)]
struct Shared {
    waiting_bytes: AtomicUsize,
    /// Less waits than before.
    written: Condvar,
    error: Mutex<Option<io::Error>>,
}

impl Queue {
    /// Starts the thread that writes to `out`, and lets at most `bound_bytes` wait for it.
    pub fn new(out: impl Write + Send + 'static, bound_bytes: usize) -> io::Result<Queue> {
        let (sender, receiver) = channel();
        let shared = Arc::new(Shared::default());
        let theirs = Arc::clone(&shared);
        let writer = thread::Builder::new()
            .name("ftlock-stream".to_owned())
            .spawn(move || theirs.write_all(&receiver, out))?;
        let (sender, writer) = (Some(sender), Some(writer));
        Ok(Queue { bound_bytes, sender, shared, writer, dropped_lines: 0 })
    }

    /// Queues whole lines; drops and counts them if too much waits already.
    pub fn push(&mut self, lines: Vec<u8>, count: u64) {
        if lines.is_empty() {
            return;
        }
        if !self.has_room(lines.len()) {
            self.dropped_lines += count;
            return;
        }
        self.shared.waiting_bytes.fetch_add(lines.len(), Ordering::Relaxed);
        let sent = self.sender.as_ref().is_some_and(|sender| sender.send(lines).is_ok());
        if !sent {
            self.dropped_lines += count;
        }
    }

    /// Whether so many bytes would be taken now.
    pub fn has_room(&self, bytes: usize) -> bool {
        let waiting = self.shared.waiting_bytes.load(Ordering::Relaxed);
        waiting.saturating_add(bytes) <= self.bound_bytes
    }

    /// Waits until at most so much waits to be written, or writing has failed: for a source that does not
    /// run away.
    pub fn wait(&self, bytes: usize) {
        let is_writing = || self.writer.as_ref().is_some_and(|writer| !writer.is_finished());
        let mut error = self.shared.error();
        while error.is_none()
            && is_writing()
            && self.shared.waiting_bytes.load(Ordering::Relaxed) > bytes
        {
            // The time is for a writer that ends between the question and the wait.
            let waited = self.shared.written.wait_timeout(error, Duration::from_millis(20));
            error = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// Lines that were not written because the reader was too slow, or gone.
    pub fn dropped_lines(&self) -> u64 {
        self.dropped_lines
    }

    /// Whether writing stopped for an error, and for which kind. [`Queue::finish`] tells the rest.
    pub fn failed(&self) -> Option<io::ErrorKind> {
        self.shared.error().as_ref().map(io::Error::kind)
    }

    /// Waits until everything is written.
    pub fn finish(mut self) -> io::Result<()> {
        drop(self.sender.take());
        if let Some(writer) = self.writer.take()
            && writer.join().is_err()
        {
            return Err(io::Error::other("the stream's writer panicked"));
        }
        self.shared.error().take().map_or(Ok(()), Err)
    }
}

impl Shared {
    fn write_all(&self, lines: &Receiver<Vec<u8>>, mut out: impl Write) {
        for chunk in lines {
            let written = out.write_all(&chunk).and_then(|()| out.flush());
            self.waiting_bytes.fetch_sub(chunk.len(), Ordering::Relaxed);
            self.written.notify_all();
            if let Err(error) = written {
                *self.error() = Some(error);
                return;
            }
        }
    }

    fn error(&self) -> MutexGuard<'_, Option<io::Error>> {
        self.error.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use std::io::{self, Write};
    use std::sync::mpsc::{Receiver, Sender, channel};

    use super::Queue;

    /// Writes each chunk only when the test says so.
    struct Gate(Receiver<()>, Sender<Vec<u8>>);

    impl Write for Gate {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.recv().map_err(io::Error::other)?;
            self.1.send(bytes.to_vec()).map_err(io::Error::other)?;
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn what_a_slow_reader_leaves_is_dropped_and_counted_and_the_rest_arrives_in_order() {
        let (open, gate) = channel();
        let (written, arrived) = channel();
        let mut queue = Queue::new(Gate(gate, written), 1000).unwrap();
        let half = 500;
        for letter in [b'a', b'b', b'c'] {
            queue.push(vec![letter; half], 10);
        }
        assert_eq!(queue.dropped_lines(), 10);
        open.send(()).unwrap();
        open.send(()).unwrap();
        queue.finish().unwrap();
        let order: Vec<u8> = arrived.iter().map(|chunk| chunk[0]).collect();
        assert_eq!(order, b"ab");
    }

    #[test]
    fn whoever_waits_for_the_reader_loses_nothing() {
        let (open, gate) = channel();
        let (written, arrived) = channel();
        let mut queue = Queue::new(Gate(gate, written), 1000).unwrap();
        let reader = std::thread::spawn(move || {
            (0..8).for_each(|_| open.send(()).unwrap());
            arrived.iter().map(|chunk| chunk[0]).collect::<Vec<u8>>()
        });
        for letter in b'a'..=b'h' {
            queue.wait(500);
            queue.push(vec![letter; 500], 1);
        }
        assert_eq!(queue.dropped_lines(), 0);
        queue.finish().unwrap();
        assert_eq!(reader.join().unwrap(), b"abcdefgh");
    }

    #[test]
    fn a_closed_pipe_is_reported() {
        let (reader, writer) = io::pipe().unwrap();
        drop(reader);
        let mut queue = Queue::new(writer, 1000).unwrap();
        queue.push(b"line\n".to_vec(), 1);
        assert_eq!(queue.finish().unwrap_err().kind(), io::ErrorKind::BrokenPipe);
    }
}
