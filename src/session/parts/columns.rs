//! Parts in Parquet: the lines of a part as rows, what findings share as columns with types, and each line in full as text, so that nothing is
//! lost.
//!
//! | column | type | what |
//! | --- | --- | --- |
//! | `t` | double | seconds since the cell began; none for the first and the last line |
//! | `what` | text | `head`, the name of a command or an event, `end` |
//! | `lab`, `kind`, `model` | text | of findings |
//! | `seed`, `n` | integer | of findings |
//! | `level` | double | of findings that have intervals |
//! | `line` | text | the line as it stands in a part of JSON lines |
//!
//! The first and the last line stand in the footer too (`probity.head`, `probity.end`), so that a glance reads no row.

use std::fs::File;
use std::io::{Error, Result};
use std::path::Path;
use std::sync::Arc;

use parquet::basic::Compression;
use parquet::column::reader::ColumnReader;
use parquet::column::writer::ColumnWriter;
use parquet::data_type::{ByteArray, ByteArrayType, DataType, DoubleType, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::WriterProperties;
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::parser::parse_message_type;
use serde_json::Value;

/// The columns.
const SCHEMA: &str = "message part {
  OPTIONAL DOUBLE t;
  REQUIRED BYTE_ARRAY what (UTF8);
  OPTIONAL BYTE_ARRAY lab (UTF8);
  OPTIONAL BYTE_ARRAY kind (UTF8);
  OPTIONAL BYTE_ARRAY model (UTF8);
  OPTIONAL INT64 seed;
  OPTIONAL INT64 n;
  OPTIONAL DOUBLE level;
  REQUIRED BYTE_ARRAY line (UTF8);
}";
/// The column of whole lines.
const LINE: usize = 8;
/// Keys of the footer.
const ENDS: [&str; 2] = ["probity.head", "probity.end"];
/// Most bytes of lines that are read from one part.
const MOST: i64 = 256 << 20;

fn failed(error: ParquetError) -> Error {
    Error::other(error.to_string())
}

/// A row of the table.
struct Row<'a> {
    line: &'a str,
    value: Value,
}

impl Row<'_> {
    /// What a column of this name holds.
    fn get(&self, name: &str) -> Option<&Value> {
        let finding = self.value.get("finding");
        match name {
            "t" => self.value.get("t"),
            _ => finding?.get(name),
        }
    }

    fn text(&self, name: &str) -> Option<ByteArray> {
        let text = match name {
            "line" => self.line,
            "what" => ["command", "event"]
                .iter()
                .find_map(|key| self.value.get(key)?.as_str())
                .unwrap_or(if self.value.get("end").is_some() { "end" } else { "head" }),
            _ => self.get(name)?.as_str()?,
        };
        Some(ByteArray::from(text.as_bytes().to_vec()))
    }
}

/// The file that holds the lines of a part.
///
/// # Errors
/// For what are no lines of JSON, and where Parquet refuses.
pub(super) fn pack(lines: &[u8]) -> Result<Vec<u8>> {
    let text = std::str::from_utf8(lines).map_err(Error::other)?;
    let parsed: serde_json::Result<Vec<Row>> =
        text.lines().map(|line| Ok(Row { line, value: serde_json::from_str(line)? })).collect();
    let rows = parsed?;
    let line = |row: Option<&Row>| row.map_or(String::new(), |row| row.line.to_owned());
    let ends = [line(rows.first()), line(rows.last())];
    let footer = ENDS.iter().zip(ends).map(|(key, value)| KeyValue::new((*key).to_owned(), value)).collect();
    let properties = WriterProperties::builder()
        .set_compression(Compression::GZIP(Default::default()))
        .set_key_value_metadata(Some(footer))
        .build();
    let schema = Arc::new(parse_message_type(SCHEMA).map_err(failed)?);
    let names: Vec<String> = schema.get_fields().iter().map(|f| f.name().to_owned()).collect();
    let mut out = Vec::new();
    let mut file = SerializedFileWriter::new(&mut out, schema, Arc::new(properties)).map_err(failed)?;
    let mut group = file.next_row_group().map_err(failed)?;
    for name in &names {
        let Some(mut column) = group.next_column().map_err(failed)? else { break };
        match column.untyped() {
            ColumnWriter::DoubleColumnWriter(_) => {
                put::<DoubleType>(&mut column, rows.iter().map(|r| r.get(name)?.as_f64()))
            }
            ColumnWriter::Int64ColumnWriter(_) => {
                // A seed above the largest signed number keeps its bits; the line has it as it is.
                let number = |r: &Row| r.get(name)?.as_u64().map(|n| n.cast_signed());
                put::<Int64Type>(&mut column, rows.iter().map(number))
            }
            _ => put::<ByteArrayType>(&mut column, rows.iter().map(|r| r.text(name))),
        }
        .map_err(failed)?;
        column.close().map_err(failed)?;
    }
    group.close().map_err(failed)?;
    file.close().map_err(failed)?;
    Ok(out)
}

/// Writes a column; where it is optional, a row without a value has none.
fn put<T: DataType>(
    column: &mut parquet::file::writer::SerializedColumnWriter<'_>,
    values: impl Iterator<Item = Option<T::T>>,
) -> std::result::Result<(), ParquetError> {
    let all: Vec<Option<T::T>> = values.collect();
    let levels: Vec<i16> = all.iter().map(|value| i16::from(value.is_some())).collect();
    let there: Vec<T::T> = all.into_iter().flatten().collect();
    // Levels of a required column, which has all its values, are not looked at.
    column.typed::<T>().write_batch(&there, Some(&levels), None).map(drop)
}

/// The first and the last line of a part.
///
/// # Errors
/// The system's reason, or that the file is no part in Parquet.
pub(super) fn ends(path: &Path) -> Result<[String; 2]> {
    let reader = SerializedFileReader::new(File::open(path)?).map_err(failed)?;
    let footer = reader.metadata().file_metadata().key_value_metadata();
    let find = |key: &str| footer?.iter().find(|pair| pair.key == key)?.value.clone();
    match ENDS.map(find) {
        [Some(head), Some(end)] => Ok([head, end]),
        _ => Err(Error::other("its footer does not say which cell it is of")),
    }
}

/// The lines of a part, each with its line end.
///
/// # Errors
/// The system's reason, or that the file is no part in Parquet.
pub(super) fn unpack(path: &Path) -> Result<Vec<u8>> {
    let reader = SerializedFileReader::new(File::open(path)?).map_err(failed)?;
    let mut out = Vec::new();
    for group in 0..reader.num_row_groups() {
        let group = reader.get_row_group(group).map_err(failed)?;
        let about = group.metadata();
        if about.num_columns() <= LINE || about.column(LINE).column_path().string() != "line" {
            return Err(Error::other("it has not the columns of a part"));
        }
        if about.column(LINE).uncompressed_size() > MOST {
            return Err(Error::other(format!("its lines are more than {} MiB", MOST >> 20)));
        }
        let ColumnReader::ByteArrayColumnReader(mut column) =
            group.get_column_reader(LINE).map_err(failed)?
        else {
            return Err(Error::other("its lines are no texts"));
        };
        let mut lines = Vec::new();
        let rows = usize::try_from(about.num_rows()).unwrap_or(0);
        while lines.len() < rows {
            let (read, ..) =
                column.read_records(rows - lines.len(), None, None, &mut lines).map_err(failed)?;
            if read == 0 {
                return Err(Error::other("it has fewer lines than it says"));
            }
        }
        for line in lines {
            out.extend_from_slice(line.data());
            out.push(b'\n');
        }
    }
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    const PART: &str = r#"{"probity_part":1,"version":"0.1.0","grid":"g","cell":1,"spec":"s","at":""}
{"t":0.0,"command":"run","job":1}
{"t":0.5,"event":"finding","generation":1,"finding":{"lab":"power","spec":"s","model":"bert-tiny","seed":18446744073709551615,"n":800,"final":true,"t":0.4,"level":0.95,"kind":"data","x":0.1}}
{"t":0.75,"event":"notice"}
{"end":"done","lines":3,"digest":"d","seconds":0.75}
"#;

    #[test]
    fn lines_come_back_as_they_were_and_columns_have_what_findings_share() {
        let tmp = tempfile::tempdir().unwrap();
        let path = tmp.path().join("a.parquet");
        std::fs::write(&path, pack(PART.as_bytes()).unwrap()).unwrap();
        assert_eq!(String::from_utf8(unpack(&path).unwrap()).unwrap(), PART);
        let lines: Vec<&str> = PART.lines().collect();
        assert_eq!(ends(&path).unwrap(), [lines[0], lines[4]]);
        let reader = SerializedFileReader::new(File::open(&path).unwrap()).unwrap();
        let rows: Vec<String> = reader.get_row_iter(None).unwrap().map(|r| r.unwrap().to_string()).collect();
        assert_eq!(rows.len(), 5);
        for words in
            ["t: 0.5", "what: \"finding\"", "lab: \"power\"", "kind: \"data\"", "n: 800", "level: 0.95"]
        {
            assert!(rows[2].contains(words), "{words}: {}", rows[2]);
        }
        assert!(rows[0].contains("what: \"head\"") && rows[4].contains("what: \"end\""), "{rows:?}");
        assert!(rows[1].contains("what: \"run\"") && rows[1].contains("n: null"), "{}", rows[1]);
    }

    #[test]
    fn what_is_cut_or_changed_is_an_error_and_never_a_panic() {
        let tmp = tempfile::tempdir().unwrap();
        let path = tmp.path().join("a.parquet");
        let whole = pack(PART.as_bytes()).unwrap();
        for at in 0..whole.len() {
            std::fs::write(&path, &whole[..at]).unwrap();
            assert!(unpack(&path).is_err() && ends(&path).is_err(), "after {at} bytes");
        }
        for at in (0..whole.len()).step_by(7) {
            let mut changed = whole.clone();
            changed[at] ^= 0x55;
            std::fs::write(&path, changed).unwrap();
            // Whatever comes of it; the sums in the last line tell what is not as it was.
            let _ = (unpack(&path), ends(&path));
        }
        assert!(pack(b"{\"a\":\n").is_err());
    }
}
