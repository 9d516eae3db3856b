//! Waits as rows of a Parquet file, written while they come in.

use std::io;

use crate::event::{Cpu, Gap};
use crate::output::parquet::WaitFile;
use crate::symbols::{Kallsyms, StackTable};

use super::export::Exporter;
use super::named::{NamedWait, OpenNamed};
use super::queue::Queue;
use super::raw::RawEvent;
use super::results::Sink;
use super::stream::{Shows, StreamTexts, told};

/// A Parquet file, a row group at a time.
#[derive(Debug)]
pub struct ParquetExport<'a> {
    file: WaitFile,
    symbols: &'a Kallsyms,
    texts: StreamTexts,
    shows: Shows,
    queue: Queue,
    /// Waits of groups that were left out.
    left_out: u64,
    /// Why nothing more can be written.
    error: Option<io::Error>,
}

impl<'a> ParquetExport<'a> {
    /// Goes to `queue`, with addresses under the names of `symbols`; tells what is in `texts` and `shows`.
    pub fn new(
        file: WaitFile,
        symbols: &'a Kallsyms,
        (texts, shows): (&StreamTexts, Shows),
        queue: Queue,
    ) -> ParquetExport<'a> {
        let texts = texts.clone();
        ParquetExport { file, symbols, texts, shows, queue, left_out: 0, error: None }
    }

    /// What comes behind a piece that is lost would not be where the footer says: so a group that the queue
    /// would not take is not even made.
    fn hand_over(&mut self) {
        let has_room = self.queue.has_room(WaitFile::MAX_GROUP_BYTES) && self.file.has_place();
        if self.error.is_some() || !has_room {
            self.left_out += self.file.forget_group();
            return;
        }
        match self.file.take_group() {
            Ok((bytes, waits)) => self.queue.push(bytes, waits),
            Err(error) => {
                self.left_out += self.file.forget_group();
                self.error = Some(error);
            }
        }
    }
}

impl Exporter for ParquetExport<'_> {
    /// A group is handed over when it is full.
    fn flush(&mut self) {}

    fn queue(&self) -> &Queue {
        &self.queue
    }

    /// Waits that are still open have no row.
    fn finish(mut self: Box<Self>, _: &[OpenNamed], _: &StackTable) -> (u64, io::Result<()>) {
        self.queue.wait(0);
        self.hand_over();
        let footer = match self.error.take() {
            None => self.file.finish(),
            Some(error) => Err(error),
        };
        let footer = footer.map(|bytes| self.queue.push(bytes, 0));
        let missing = self.left_out + self.queue.dropped_lines();
        (missing, self.queue.finish().and(footer))
    }
}

impl Sink for ParquetExport<'_> {
    fn wants_waits(&self) -> bool {
        true
    }

    fn wait(&mut self, named: &NamedWait, _: &StackTable) {
        let ParquetExport { file, symbols, texts, shows, .. } = self;
        told(named, texts, *shows, |wait| file.wait(wait, symbols));
        if self.file.is_full() {
            self.hand_over();
        }
    }

    fn event(&mut self, _: &RawEvent<'_>) {}

    fn gap(&mut self, _: Cpu, _: &Gap, _: u64) {}
}
