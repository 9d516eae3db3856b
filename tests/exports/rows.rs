//! Reads Parquet files back, by the library's own reader, and says what a `wait` of the JSON lines is as a row.

use std::collections::BTreeMap;
use std::fs::File;
use std::path::Path;

use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::record::Field;
use serde_json::Value;

/// A row's columns that have a value.
pub(crate) type Told = BTreeMap<String, Value>;

/// The rows of a file, and of how many each group is.
pub(crate) fn rows(path: &Path) -> (Vec<Told>, Vec<i64>) {
    let reader = SerializedFileReader::new(File::open(path).unwrap()).unwrap();
    let groups = reader.metadata().row_groups().iter().map(|group| group.num_rows()).collect();
    let rows = reader.get_row_iter(None).unwrap().map(|row| {
        let row = row.unwrap();
        let cells = row.get_column_iter();
        cells.filter_map(|(name, field)| Some((name.clone(), value(field)?))).collect()
    });
    (rows.collect(), groups)
}

/// What the file says of itself.
pub(crate) fn about(path: &Path) -> BTreeMap<String, String> {
    let reader = SerializedFileReader::new(File::open(path).unwrap()).unwrap();
    let pairs = reader.metadata().file_metadata().key_value_metadata().unwrap();
    pairs.iter().map(|pair| (pair.key.clone(), pair.value.clone().unwrap())).collect()
}

fn value(field: &Field) -> Option<Value> {
    Some(match field {
        Field::Null => return None,
        Field::Bool(value) => (*value).into(),
        Field::Int(value) => (*value).into(),
        Field::Long(value) | Field::TimestampMicros(value) => (*value).into(),
        Field::UShort(value) => (*value).into(),
        Field::UInt(value) => (*value).into(),
        Field::ULong(value) => (*value).into(),
        Field::Str(value) => value.clone().into(),
        other => panic!("{other:?}"),
    })
}

/// Without what only rows have.
pub(crate) fn without_run(row: &Told) -> Told {
    let only_rows = ["host", "kernel", "run_start", "time", "table"];
    let mut row = row.clone();
    row.retain(|name, _| !only_rows.contains(&name.as_str()));
    row
}

/// A line as a row has it: the address a number, the holder in columns of its own, and no nulls.
pub(crate) fn as_row(line: &Value) -> Told {
    let mut told = Told::new();
    for (name, value) in line.as_object().unwrap() {
        match name.as_str() {
            "record" => {}
            "lock" => {
                let digits = value.as_str().unwrap().strip_prefix("0x").unwrap();
                told.insert(name.clone(), u64::from_str_radix(digits, 16).unwrap().into());
            }
            "holder" => {
                for (name, value) in value.as_object().into_iter().flatten() {
                    let column = if name == "held_ns" { "" } else { "holder_" };
                    told.insert(format!("{column}{name}"), value.clone());
                }
            }
            _ => {
                told.insert(name.clone(), value.clone());
            }
        }
    }
    told.retain(|_, value| !value.is_null());
    told
}
