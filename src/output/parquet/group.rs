//! A row group on its way: cells by column, and each text once.

use ::parquet::data_type::{BoolType, ByteArray, ByteArrayType, DataType, Int32Type, Int64Type};
use ::parquet::errors::ParquetError;
use ::parquet::file::writer::{SerializedColumnWriter, SerializedFileWriter};
use foldhash::fast::RandomState;
use std::collections::HashMap;

use super::columns::{COLUMNS, Column, Row, Values};

/// Rows of a group.
const MAX_ROWS: usize = 1 << 16;

/// What the distinct texts of a group may take.
const MAX_TEXT_BYTES: usize = 2 << 20;

/// What a text takes beside its bytes.
const BYTES_PER_TEXT: usize = 64;

/// Rows that have not been written yet.
#[derive(Debug)]
pub(super) struct Group {
    rows: usize,
    columns: Vec<Cells>,
    texts: Texts,
}

/// A column's cells: which there are, and in one of the lists what they are.
#[derive(Debug, Default)]
struct Cells {
    /// 1 where there is one: the definition level.
    is_there: Vec<i16>,
    flags: Vec<bool>,
    /// Of texts, their places.
    short: Vec<i32>,
    long: Vec<i64>,
}

#[derive(Debug, Default)]
struct Texts {
    places: HashMap<Box<str>, i32, RandomState>,
    list: Vec<ByteArray>,
    bytes: usize,
}

impl Default for Group {
    fn default() -> Group {
        let columns = COLUMNS.iter().map(|_| Cells::default()).collect();
        Group { rows: 0, columns, texts: Texts::default() }
    }
}

impl Group {
    pub(super) fn push(&mut self, row: &Row<'_>) {
        for (column, cells) in COLUMNS.iter().zip(&mut self.columns) {
            cells.push(column.values, row, &mut self.texts);
        }
        self.rows += 1;
    }

    pub(super) fn is_full(&self) -> bool {
        self.rows >= MAX_ROWS || self.texts.bytes >= MAX_TEXT_BYTES
    }

    pub(super) fn is_empty(&self) -> bool {
        self.rows == 0
    }

    /// Gives the number of rows there were.
    pub(super) fn clear(&mut self) -> u64 {
        self.columns.iter_mut().for_each(Cells::clear);
        self.texts.clear();
        u64::try_from(std::mem::take(&mut self.rows)).unwrap_or(u64::MAX)
    }

    pub(super) fn write(
        &self,
        file: &mut SerializedFileWriter<Vec<u8>>,
    ) -> Result<(), ParquetError> {
        let mut group = file.next_row_group()?;
        for (column, cells) in COLUMNS.iter().zip(&self.columns) {
            let Some(mut out) = group.next_column()? else { break };
            cells.write(column, &self.texts, &mut out)?;
            out.close()?;
        }
        group.close().map(drop)
    }
}

impl Cells {
    fn push(&mut self, values: Values, row: &Row<'_>, texts: &mut Texts) {
        let Cells { is_there, flags, short, long } = self;
        let is_some = match values {
            Values::Flag(value) => add(flags, value(row)),
            Values::Cpu(value) => add(short, value(row).map(i32::from)),
            Values::Id(value) => add(short, value(row).map(u32::cast_signed)),
            Values::Errno(value) => add(short, value(row)),
            Values::Ns(value) => {
                add(long, value(row).map(|ns| i64::try_from(ns).unwrap_or(i64::MAX)))
            }
            Values::Address(value) => add(long, value(row).map(u64::cast_signed)),
            Values::Date(value) => add(long, value(row)),
            Values::Text(value) => add(short, value(row).map(|text| texts.place(&text))),
        };
        is_there.push(i16::from(is_some));
    }

    fn write(
        &self,
        column: &Column,
        texts: &Texts,
        out: &mut SerializedColumnWriter<'_>,
    ) -> Result<(), ParquetError> {
        let is_there = column.is_optional.then_some(&*self.is_there);
        match column.values {
            Values::Flag(_) => write::<BoolType>(out, &self.flags, is_there),
            Values::Cpu(_) | Values::Id(_) | Values::Errno(_) => {
                write::<Int32Type>(out, &self.short, is_there)
            }
            Values::Ns(_) | Values::Address(_) | Values::Date(_) => {
                write::<Int64Type>(out, &self.long, is_there)
            }
            Values::Text(_) => write::<ByteArrayType>(out, &texts.at(&self.short), is_there),
        }
    }

    fn clear(&mut self) {
        self.is_there.clear();
        self.flags.clear();
        self.short.clear();
        self.long.clear();
    }
}

fn add<T>(list: &mut Vec<T>, value: Option<T>) -> bool {
    let is_some = value.is_some();
    list.extend(value);
    is_some
}

fn write<T: DataType>(
    out: &mut SerializedColumnWriter<'_>,
    values: &[T::T],
    is_there: Option<&[i16]>,
) -> Result<(), ParquetError> {
    out.typed::<T>().write_batch(values, is_there, None).map(drop)
}

impl Texts {
    fn place(&mut self, text: &str) -> i32 {
        if let Some(&place) = self.places.get(text) {
            return place;
        }
        // A group holds too few by far to get there.
        let place = i32::try_from(self.list.len()).unwrap_or(i32::MAX);
        self.places.insert(text.into(), place);
        self.list.push(ByteArray::from(text));
        self.bytes += text.len() + BYTES_PER_TEXT;
        place
    }

    fn at(&self, places: &[i32]) -> Vec<ByteArray> {
        let place = |place: &i32| usize::try_from(*place).ok();
        places.iter().filter_map(place).filter_map(|at| self.list.get(at)).cloned().collect()
    }

    fn clear(&mut self) {
        self.places.clear();
        self.list.clear();
        self.bytes = 0;
    }
}
