//! Results as a table with a header (RFC 4180: quoted fields may hold separators, quotes and line ends). Commas, semicolons or
//! tabs separate; header names are read in any case.

use std::borrow::Cow;

use super::gather::Gather;
use super::line::{Line, is_id, is_text};
use super::value::Scalar;
use crate::readers::source::Frames;
use crate::readers::{MAX_LINE, ReadError};

pub(crate) fn rows(frames: &mut Frames, gather: &mut Gather<'_>) -> Result<(), ReadError> {
    let mut text = String::new();
    let Some(_) = record(frames, &mut text)? else { return Ok(()) };
    let separator = separator(&text);
    let header: Vec<String> = fields(&text, separator)
        .into_iter()
        .map(|f| f.trim().to_lowercase().replace([' ', '-'], "_"))
        .collect();
    if !header.iter().any(|h| is_id(h)) {
        let shown = base::text::shortened(&header.join(", "), 120);
        return gather.refuse(
            1,
            format!("a header without `id`: {shown}"),
            "JSON lines, or a table with a column `id`",
        );
    }
    while let Some(number) = record(frames, &mut text)? {
        let cells = fields(&text, separator);
        // Spreadsheets end with rows of nothing but separators.
        if cells.iter().all(|cell| cell.trim().is_empty()) {
            continue;
        }
        if cells.len() != header.len() {
            let what = format!("{} fields", cells.len());
            return gather.refuse(number, what, format!("{}, as the header has", header.len()));
        }
        let mut line = Line::default();
        for (key, cell) in header.iter().zip(cells) {
            line.put(Cow::Borrowed(key), scalar(key, cell, separator), gather.wanted.detail);
        }
        if gather.wanted.detail {
            line.finish_detail();
        }
        gather.take(line, number)?;
    }
    Ok(())
}

/// The separator that the header has most of, outside quotes.
fn separator(header: &str) -> char {
    let count = |wanted: char| {
        let mut quoted = false;
        let mut count = 0;
        for c in header.chars() {
            quoted ^= c == '"';
            count += usize::from(c == wanted && !quoted);
        }
        count
    };
    // Of equals the comma.
    [';', '\t', ','].into_iter().max_by_key(|c| count(*c)).unwrap_or(',')
}

/// The value of a cell: a number or a truth value where it is one, except in columns of texts.
fn scalar<'t>(key: &str, cell: Cow<'t, str>, separator: char) -> Scalar<'t> {
    let word = cell.trim();
    if word.is_empty() {
        return Scalar::Null;
    }
    if is_id(key) {
        return Scalar::Text(Cow::Owned(word.to_owned()));
    }
    if is_text(key) {
        return Scalar::Text(cell);
    }
    match word.to_ascii_lowercase().as_str() {
        "true" => return Scalar::Truth(true),
        "false" => return Scalar::Truth(false),
        _ => {}
    }
    // In files separated by semicolons, commas are decimal points.
    let number = word.parse::<f64>().ok();
    let number = number.or_else(|| word.replacen(',', ".", 1).parse().ok().filter(|_| separator == ';'));
    let hundredths = || word.strip_suffix('%').and_then(|n| n.trim().parse::<f64>().ok()).map(|n| n / 100.0);
    number.or_else(hundredths).map_or(Scalar::Text(cell), Scalar::Real)
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
