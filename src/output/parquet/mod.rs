//! Waits as a Parquet file, a row each. `docs/report.md` describes it.
//!
//! Rows are gathered into groups of bounded size, column by column, and written a group at a time. What is
//! written names places in the file, so nothing of it may get lost on its way; the footer, without which nothing
//! can be read, comes last.

mod columns;
mod group;

use ::parquet::basic::{Compression, Encoding};
use ::parquet::errors::ParquetError;
use ::parquet::file::metadata::KeyValue;
use ::parquet::file::properties::{EnabledStatistics, WriterProperties};
use ::parquet::file::writer::SerializedFileWriter;
use ::parquet::schema::types::Type;
use std::borrow::Cow;
use std::io;
use std::sync::Arc;

use self::columns::{COLUMNS, Row, Run};
use self::group::Group;
use super::escape::json_name;
use super::{ReportInfo, StreamWait};
use crate::symbols::Kallsyms;

/// Raised where a column changes its meaning or goes; new columns do not raise it.
const SCHEMA: u32 = 1;

/// Above the texts of a group, so that a column never holds them row by row.
const MAX_DICTIONARY_BYTES: usize = 8 << 20;

/// Readers number groups by 16 bits.
const MAX_GROUPS: usize = 32_767;

/// A Parquet file on its way.
#[derive(Debug)]
pub struct WaitFile {
    file: SerializedFileWriter<Vec<u8>>,
    run: Run,
    group: Group,
}

impl WaitFile {
    /// No group is longer: 2^16 rows, with numbers of 8 bytes at most, and each column with all the group's texts.
    pub const MAX_GROUP_BYTES: usize = 64 << 20;

    /// Without any wait yet.
    ///
    /// # Errors
    ///
    /// Those of the library, as in every function here; memory takes every write.
    pub fn new(info: &ReportInfo<'_>) -> io::Result<WaitFile> {
        let columns = COLUMNS.iter().map(|column| column.declared().map(Arc::new));
        let columns = columns.collect::<Result<_, _>>().map_err(io::Error::other)?;
        let schema = Type::group_type_builder("wait").with_fields(columns).build();
        let schema = Arc::new(schema.map_err(io::Error::other)?);
        let properties = Arc::new(properties(info));
        let file = SerializedFileWriter::new(Vec::new(), schema, properties);
        let file = file.map_err(io::Error::other)?;
        Ok(WaitFile { file, run: Run::new(info), group: Group::default() })
    }

    /// Adds a wait to the group.
    pub fn wait(&mut self, wait: &StreamWait<'_>, symbols: &Kallsyms) {
        self.group.push(&Row::new(wait, &self.run, symbols));
    }

    /// Whether the group has to be taken.
    pub fn is_full(&self) -> bool {
        self.group.is_full()
    }

    /// Whether the file can hold a further group.
    pub fn has_place(&self) -> bool {
        self.file.flushed_row_groups().len() < MAX_GROUPS
    }

    /// Empties the group without writing it; gives the waits that were in it.
    pub fn forget_group(&mut self) -> u64 {
        self.group.clear()
    }

    /// What the group is in the file, and how many waits that are; empties it.
    ///
    /// # Errors
    ///
    /// Those of the library. Nothing can be written behind one.
    pub fn take_group(&mut self) -> io::Result<(Vec<u8>, u64)> {
        if !self.group.is_empty() {
            self.group.write(&mut self.file).map_err(io::Error::other)?;
        }
        self.file.flush()?;
        Ok((std::mem::take(self.file.inner_mut()), self.group.clear()))
    }

    /// The footer.
    ///
    /// # Errors
    ///
    /// Those of the library.
    pub fn finish(self) -> io::Result<Vec<u8>> {
        let ended: Result<Vec<u8>, ParquetError> = self.file.into_inner();
        ended.map_err(io::Error::other)
    }
}

fn properties(info: &ReportInfo<'_>) -> WriterProperties {
    let all = WriterProperties::builder()
        .set_compression(Compression::SNAPPY)
        .set_dictionary_page_size_limit(MAX_DICTIONARY_BYTES)
        // What tells which groups a query needs; where pages lie would have to be kept for all of them.
        .set_statistics_enabled(EnabledStatistics::Chunk)
        .set_offset_index_disabled(true)
        .set_key_value_metadata(Some(about(info)));
    let of_time = COLUMNS.iter().filter(|column| column.is_of_time());
    let properties = of_time.fold(all, |all, column| {
        let all = all.set_column_dictionary_enabled(column.path(), false);
        all.set_column_encoding(column.path(), Encoding::DELTA_BINARY_PACKED)
    });
    properties.build()
}

/// What is said of the whole file.
fn about(info: &ReportInfo<'_>) -> Vec<KeyValue> {
    let words: Vec<Cow<'_, str>> = info.run.command.iter().map(|word| json_name(word)).collect();
    let pairs = [
        ("ftlock.schema", SCHEMA.to_string()),
        ("ftlock.version", env!("CARGO_PKG_VERSION").to_owned()),
        ("ftlock.clock", info.run.clock.to_owned()),
        ("ftlock.cpus", info.run.cpus.to_string()),
        ("ftlock.command", serde_json::Value::from(words).to_string()),
    ];
    pairs.into_iter().map(|(name, value)| KeyValue::new(name.to_owned(), value)).collect()
}
