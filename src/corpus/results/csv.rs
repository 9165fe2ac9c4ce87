//! Results as comma- or tab-separated values with a header (RFC 4180: quoted fields may hold commas, quotes and line ends).

use std::borrow::Cow;

use super::Gather;
use super::line::{Line, Scalar};
use crate::readers::source::Frames;
use crate::readers::{MAX_LINE, ReadError};

pub(crate) fn rows(frames: &mut Frames, gather: &mut Gather<'_>) -> Result<(), ReadError> {
    let mut text = String::new();
    let Some(_) = record(frames, &mut text)? else { return Ok(()) };
    let separator = if text.contains('\t') && !text.contains(',') { '\t' } else { ',' };
    let header: Vec<String> = fields(&text, separator).into_iter().map(|f| f.trim().to_owned()).collect();
    if !header.iter().any(|h| ["doc_id", "id", "instance"].contains(&h.as_str())) {
        let shown = base::text::shortened(&header.join(", "), 120);
        return gather.refuse(
            1,
            format!("a header without `id`: {shown}"),
            "JSON lines, or a table with a column `id`",
        );
    }
    while let Some(number) = record(frames, &mut text)? {
        if text.trim().is_empty() {
            continue;
        }
        let cells = fields(&text, separator);
        if cells.len() != header.len() {
            let what = format!("{} fields", cells.len());
            return gather.refuse(number, what, format!("{}, as the header has", header.len()));
        }
        let mut line = Line::default();
        for (key, cell) in header.iter().zip(cells) {
            line.put(Cow::Borrowed(key), scalar(key, cell));
        }
        gather.take(&line, number)?;
    }
    Ok(())
}

/// What a cell says: a number or a truth value where it is one, except where only a text is meant.
fn scalar<'t>(key: &str, cell: Cow<'t, str>) -> Scalar<'t> {
    if ["doc_id", "id", "instance", "filter", "cluster", "prediction", "target"].contains(&key) {
        return if cell.is_empty() { Scalar::Other } else { Scalar::Text(cell) };
    }
    let word = cell.trim();
    match word.to_ascii_lowercase().as_str() {
        "true" => Scalar::Truth(true),
        "false" => Scalar::Truth(false),
        _ => word.parse::<f64>().map_or(Scalar::Text(cell), Scalar::Real),
    }
}

/// The next record and the line that it begins on: lines are joined while a quotation is open.
fn record(frames: &mut Frames, text: &mut String) -> Result<Option<u64>, ReadError> {
    text.clear();
    let mut begun = None;
    loop {
        let Some((number, range)) = frames.next_line()? else {
            return match begun {
                Some(number) => {
                    let what = "the file ends inside a quoted field";
                    Err(ReadError::line(frames.file(), number, what, "a closing quotation mark"))
                }
                None => Ok(None),
            };
        };
        let line = match std::str::from_utf8(frames.bytes(range)) {
            Ok(line) => line,
            Err(_) => {
                return Err(ReadError::line(frames.file(), number, "bytes that are not UTF-8", "UTF-8 text"));
            }
        };
        if begun.is_some() {
            text.push('\n');
        }
        text.push_str(line);
        let from = *begun.get_or_insert(number);
        if text.len() > MAX_LINE {
            let what = "a quoted field of more than 16 MiB";
            return Err(ReadError::line(frames.file(), from, what, "a closing quotation mark"));
        }
        if text.bytes().filter(|b| *b == b'"').count().is_multiple_of(2) {
            return Ok(Some(from));
        }
    }
}

/// The fields of a record; quotation marks around them are removed and doubled ones inside halved.
fn fields(text: &str, separator: char) -> Vec<Cow<'_, str>> {
    let (mut all, mut begin, mut quoted) = (Vec::new(), 0, false);
    for (i, c) in text.char_indices() {
        match c {
            '"' => quoted = !quoted,
            c if c == separator && !quoted => {
                all.push(unquoted(&text[begin..i]));
                begin = i + c.len_utf8();
            }
            _ => {}
        }
    }
    all.push(unquoted(&text[begin..]));
    all
}

fn unquoted(field: &str) -> Cow<'_, str> {
    match field.strip_prefix('"').and_then(|f| f.strip_suffix('"')) {
        Some(inner) if inner.contains('"') => Cow::Owned(inner.replace("\"\"", "\"")),
        Some(inner) => Cow::Borrowed(inner),
        None => Cow::Borrowed(field),
    }
}
