//! Results as a table with a header (RFC 4180: quoted fields may contain separators, quotes and line ends). Separators are commas,
//! semicolons, tabs or vertical bars; the case of header names is ignored.

use std::borrow::Cow;

use super::gather::{Gather, is_metric};
use super::keys::{STAND_INS, is_id, is_text, known};
use super::line::{Line, LineSeed};
use super::value::Scalar;
use crate::readers::source::Frames;
use crate::readers::{MAX_LINE, ReadError, UTF_8, decode};

/// Text columns that can identify an item if there is no identifier column.
const TEXTS: [&str; 4] = ["question", "input", "prompt", "sentence"];

pub(crate) fn rows(frames: &mut Frames, gather: &mut Gather<'_>) -> Result<(), ReadError> {
    let mut text = String::new();
    let mut separator = ',';
    let mut header = Vec::new();
    let mut at = 1;
    while header.is_empty() {
        let Some(number) = record(frames, &mut text, None)? else { return Ok(()) };
        at = number;
        separator = most_frequent(&text);
        if !text.trim().is_empty() {
            header = fields(&text, separator).iter().map(|cell| column(cell)).collect();
            // The index column that pandas writes has no name.
            if let Some(first) = header.first_mut().filter(|first| first.is_empty()) {
                STAND_INS[0].clone_into(first);
            }
        }
    }
    if !header.iter().any(|h| is_id(h)) {
        let position = |names: &[&str]| header.iter().position(|h| names.contains(&h.as_str()));
        match (position(&TEXTS), position(&STAND_INS)) {
            (Some(k), _) => header[k] = "id".into(),
            (None, Some(_)) => {}
            (None, None) => {
                let shown = base::text::shortened(&header.join(", "), 120);
                let expected = "JSON lines, or a table with a column `id`";
                return gather.refuse(at, format!("a header without `id`: {shown}"), expected);
            }
        }
    }
    let is_used =
        |name: &String| known(name).is_some() || is_metric(name) || gather.wanted.metric.as_ref() == Some(name);
    if let Some(k) = (1..header.len()).find(|k| is_used(&header[*k]) && header[..*k].contains(&header[*k])) {
        let what = format!("column {} is also named `{}`", k + 1, base::text::shortened(&header[k], 60));
        return gather.refuse(at, what, "each column once");
    }
    if text.trim_end().contains('\r') {
        let expected = "line feeds; convert it, for example with tr '\\r' '\\n'";
        return gather.refuse(at, "lines end only in carriage returns".to_owned(), expected);
    }
    let seed = LineSeed::from(gather.wanted);
    while let Some(number) = record(frames, &mut text, Some(separator))? {
        let cells = fields(&text, separator);
        // Spreadsheets may end with rows that consist only of separators.
        if cells.iter().all(|cell| cell.trim().is_empty()) {
            continue;
        }
        if cells.len() != header.len() {
            let what = format!("{} fields", cells.len());
            return gather.refuse(number, what, format!("{}, as in the header", header.len()));
        }
        let mut line = Line::default();
        for (key, cell) in header.iter().zip(cells) {
            if !is_text(key) && is_grouped(&cell) && gather.grouped.is_none() {
                gather.grouped = Some((number, key.clone(), cell.trim().to_owned()));
            }
            line.put(Cow::Borrowed(key), scalar(key, cell, separator), seed);
        }
        if seed.detail {
            line.finish_detail();
        }
        gather.take(line, number)?;
    }
    Ok(())
}

/// True for numbers with thousands separators, which cannot be distinguished from decimal marks: `1,234.5`, `1.234,5` or `1,234`.
fn is_grouped(cell: &str) -> bool {
    let digits = cell.trim().trim_start_matches('-');
    let (whole, last) = digits.rsplit_once([',', '.', ' ', '\'']).unwrap_or(("", digits));
    let groups: Vec<&str> = whole.split([',', '.', ' ', '\'']).collect();
    let is_digits = |t: &&str| !t.is_empty() && t.bytes().all(|b| b.is_ascii_digit());
    let threes = |list: &[&str]| list.iter().all(|g| g.len() == 3);
    groups.iter().chain([&last]).all(is_digits)
        && groups[0].len() <= 3
        && threes(&groups[1..])
        && (groups.len() > 1 || last.len() == 3 && digits.contains([',', ' ', '\'']))
}

/// Returns the known key for a header cell, ignoring case and word separators.
fn column(cell: &str) -> String {
    let name = cell.trim().trim_end_matches('?').to_lowercase().replace([' ', '-', '.'], "_");
    known(&name).map_or(name, str::to_owned)
}

/// Returns the most frequent separator in the header outside quotes; on ties, the comma wins.
fn most_frequent(header: &str) -> char {
    let count = |c: char| {
        let mut count = 0;
        walk(header, c, false, |_| count += 1);
        count
    };
    ['|', ';', '\t', ','].into_iter().max_by_key(|c| count(*c)).unwrap_or(',')
}

/// Parses a cell as a number or boolean if possible, except in columns of text.
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
    // If fields are not separated by commas, a comma in a number is a decimal point.
    let number = word.parse::<f64>().ok();
    let number = number.or_else(|| word.replacen(',', ".", 1).parse().ok().filter(|_| separator != ','));
    let hundredths = || word.strip_suffix('%').and_then(|n| n.trim().parse::<f64>().ok()).map(|n| n / 100.0);
    number.or_else(hundredths).map_or(Scalar::Text(cell), Scalar::Real)
}

/// Reads the next record and returns the number of its first line. A quoted field may continue on the next line, unless `separator` is
/// `None`.
fn record(frames: &mut Frames, text: &mut String, separator: Option<char>) -> Result<Option<u64>, ReadError> {
    text.clear();
    let (mut begun, mut open) = (None, false);
    loop {
        let Some((number, range)) = frames.next_line()? else {
            return match begun {
                Some(number) => {
                    let what = "a quoted field is not closed";
                    Err(ReadError::line(frames.file(), number, what, "a closing quotation mark"))
                }
                None => Ok(None),
            };
        };
        let line = decode(frames.bytes(range));
        let line = line.map_err(|what| ReadError::line(frames.file(), number, what, UTF_8))?;
        if begun.is_some() {
            text.push('\n');
        }
        text.push_str(line);
        let from = *begun.get_or_insert(number);
        if text.len() > MAX_LINE {
            let what = "a quoted field longer than 16 MiB";
            return Err(ReadError::line(frames.file(), from, what, "a closing quotation mark"));
        }
        open = separator.is_some_and(|separator| walk(line, separator, open, |_| {}));
        if !open {
            return Ok(Some(from));
        }
    }
}

/// Calls `cut` at every separator outside quotation marks; returns true if a quotation is open at the end. A quotation mark opens a
/// quotation only at the start of a field, so an inch mark does not.
fn walk(text: &str, separator: char, mut quoted: bool, mut cut: impl FnMut(usize)) -> bool {
    let mut begins = !quoted;
    let mut chars = text.char_indices().peekable();
    while let Some((i, c)) = chars.next() {
        match c {
            '"' if quoted => match chars.peek() {
                Some((_, '"')) => {
                    chars.next();
                }
                None | Some((_, ' ' | '\r')) => quoted = false,
                Some((_, next)) => quoted = *next != separator,
            },
            '"' if begins => (quoted, begins) = (true, false),
            c if c == separator && !quoted => {
                cut(i);
                begins = true;
            }
            c => begins &= c == ' ',
        }
    }
    quoted
}

/// Splits a record into fields, removing enclosing quotation marks and undoubling inner ones.
fn fields(text: &str, separator: char) -> Vec<Cow<'_, str>> {
    let (mut all, mut begin) = (Vec::new(), 0);
    walk(text, separator, false, |i| {
        all.push(unquoted(&text[begin..i]));
        begin = i + separator.len_utf8();
    });
    all.push(unquoted(&text[begin..]));
    all
}

fn unquoted(field: &str) -> Cow<'_, str> {
    match field.trim().strip_prefix('"').and_then(|f| f.strip_suffix('"')) {
        Some(inner) if inner.contains('"') => Cow::Owned(inner.replace("\"\"", "\"")),
        Some(inner) => Cow::Borrowed(inner),
        None => Cow::Borrowed(field),
    }
}
