//! Tables with a header line and tab-separated fields.

use super::error::{DropKind, ReadError, Unread};
use super::format::{Emit, Head, Parser, has_name};
use super::quoting::Quoting;
use super::text::Text;

const MAX_FIELDS: usize = 256;

#[derive(Debug, Clone)]
pub(crate) struct Header {
    names: Vec<String>,
    line: String,
    /// True if quotation marks enclose fields.
    quoted: bool,
}

impl Header {
    /// Parses the header at the beginning of a file.
    ///
    /// # Errors
    /// [`ReadError`] if two columns have the same name. Unnamed columns, as added by spreadsheets, are ignored.
    pub(crate) fn of(head: &Head<'_>) -> Result<Self, ReadError> {
        let name = |column: &&str| if is_index(column) { String::new() } else { column.trim().to_owned() };
        let mut names: Vec<String> = head.columns.iter().map(name).collect();
        // The first column without a name is an index.
        if names.len() > 1 && names[0].is_empty() && !has_name(&head.columns, "index") {
            "index".clone_into(&mut names[0]);
        }
        let bad = names.iter().enumerate().find(|(k, n)| !n.is_empty() && names[..*k].contains(*n));
        match bad {
            Some((k, name)) => {
                let what = format!("column {} is named `{name}`", k + 1);
                Err(ReadError::line(head.file, 1, what, "a header with a different name for every column"))
            }
            None => Ok(Self {
                names,
                line: head.lines.first().map_or_else(String::new, |l| (*l).to_owned()),
                quoted: head.quoting != Quoting::Text,
            }),
        }
    }

    /// True if the line repeats the header, as in concatenated files.
    pub(crate) fn is(&self, line: &str) -> bool {
        line == self.line
    }

    /// Splits a line into exactly one field per column. If this gives too many fields, tabs inside quoted fields count as text.
    ///
    /// # Errors
    /// [`Unread`] if the number of fields differs.
    pub(crate) fn split<'l>(&self, line: &'l str) -> Result<Fields<'_, 'l>, Unread> {
        let (mut values, wanted) = (line.split('\t').take(MAX_FIELDS).collect::<Vec<&str>>(), self.names.len());
        let found = values.len();
        if found > wanted && self.quoted {
            values = quoted_fields(line);
        }
        if values.len() == wanted {
            return Ok(Fields { header: self, values });
        }
        let hint = if found > wanted { " (a tab in the text?)" } else { "" };
        Err(Unread::new(DropKind::Fields, format!("{found} fields{hint}, but the header has {wanted}")))
    }
}

/// Creates a parser of tables with independent lines.
///
/// # Errors
/// [`ReadError`] if the header is unusable.
pub(crate) fn rows(
    head: &Head<'_>,
    read: impl Fn(&Fields<'_, '_>, &mut Emit<'_>) -> Result<(), Unread> + 'static,
) -> Result<Parser, ReadError> {
    let header = Header::of(head)?;
    Ok(Box::new(move |line: &str, emit: &mut Emit<'_>| match header.is(line) {
        true => Ok(()),
        false => read(&header.split(line)?, emit),
    }))
}

/// Splits a line at tabs outside quoted fields.
fn quoted_fields(line: &str) -> Vec<&str> {
    let (mut values, mut begin, mut open, mut last) = (Vec::new(), 0, false, '\t');
    for (at, c) in line.char_indices().chain([(line.len(), '\t')]) {
        match c {
            '\t' if !open => {
                values.push(&line[begin..at]);
                begin = at + 1;
            }
            // Doubled marks close and reopen the quotation.
            '"' if open || at == begin || last == '"' => open = !open,
            _ => {}
        }
        last = c;
    }
    values
}

/// Fields of a line by column name.
#[derive(Debug)]
pub(crate) struct Fields<'h, 'l> {
    header: &'h Header,
    values: Vec<&'l str>,
}

impl<'l> Fields<'_, 'l> {
    /// Returns the field verbatim; column names ignore case.
    ///
    /// # Errors
    /// [`Unread`] if there is no such column.
    pub(crate) fn raw(&self, column: &str) -> Result<&'l str, Unread> {
        let k = self.header.names.iter().position(|n| n.eq_ignore_ascii_case(column));
        k.map(|k| self.values[k]).ok_or_else(|| Unread::missing(column))
    }

    /// Returns the field if the column exists and the field is not empty.
    pub(crate) fn optional(&self, column: &str) -> Option<&'l str> {
        self.raw(column).ok().filter(|v| !v.is_empty())
    }

    /// Returns the field as text; see [`unquoted`].
    ///
    /// # Errors
    /// [`Unread`] if there is no such column or the field is empty.
    pub(crate) fn text(&self, column: &str) -> Result<Text<'l>, Unread> {
        let raw = self.raw(column)?;
        if raw.trim().is_empty() { Err(Unread::missing(column)) } else { Ok(self.plain(raw)) }
    }

    /// Removes quotation marks if they enclose fields in this table.
    pub(crate) fn plain(&self, raw: &'l str) -> Text<'l> {
        if self.header.quoted { unquoted(raw) } else { raw.into() }
    }

    /// Parses the field as a whole number.
    pub(crate) fn index(&self, column: &str) -> Result<usize, Unread> {
        let raw = self.raw(column)?;
        raw.parse().map_err(|_| Unread::new(DropKind::Value, format!("`{column}` is `{raw}`, not a whole number")))
    }

    /// Returns names and values in column order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&str, &'l str)> {
        self.header.names.iter().map(String::as_str).zip(self.values.iter().copied())
    }
}

/// Removes CSV quotation marks from a field, but only if it is fully quoted and every inner mark is doubled: a sentence that merely begins
/// with a quotation mark is unchanged.
pub(crate) fn unquoted(raw: &str) -> Text<'_> {
    let Some(inner) = raw.strip_prefix('"').and_then(|r| r.strip_suffix('"')) else { return raw.into() };
    if !inner.contains('"') {
        return inner.into();
    }
    let plain = inner.replace("\"\"", "");
    if plain.contains('"') { raw.into() } else { inner.replace("\"\"", "\"").into() }
}

/// True for names of index columns that pandas writes: none, `Unnamed: 0` or `__index_level_0__`.
pub(crate) fn is_index(name: &str) -> bool {
    let name = name.trim();
    name.is_empty() || name.starts_with("Unnamed: ") || name.starts_with("__index_level_")
}

/// True for an empty cell and for the words for a missing value that pandas, R and spreadsheets write, in any case.
pub fn is_missing(cell: &str) -> bool {
    const WORDS: [&str; 14] =
        ["nan", "-nan", "na", "n/a", "#n/a", "<na>", "null", "none", "-", "--", "–", "—", "?", "."];
    let cell = cell.trim();
    cell.is_empty() || WORDS.iter().any(|word| word.eq_ignore_ascii_case(cell))
}

/// Field separators other than tabs.
pub const MARKS: [char; 3] = [',', ';', '|'];

/// Returns the length of the record at the beginning of `bytes`, up to the first line feed outside quoted cells or to the end; `None` if a
/// quoted cell is not closed. A single quotation mark inside a quoted cell is text and limits the record to one line.
pub(crate) fn record_length(bytes: &[u8], mark: u8) -> Option<usize> {
    let (mut quoted, mut begins, mut k) = (false, true, 0);
    while k < bytes.len() {
        let next = bytes.get(k + 1).copied();
        match bytes[k] {
            b'"' if begins && !quoted => quoted = true,
            b'"' if quoted && next == Some(b'"') => k += 1,
            b'"' if quoted && next.is_some_and(|c| c != mark && !matches!(c, b'\r' | b'\n')) => {
                return Some(memchr::memchr(b'\n', bytes).unwrap_or(bytes.len()));
            }
            b'"' if quoted => quoted = false,
            b'\n' if !quoted => return Some(k),
            c if c == mark && !quoted => {
                begins = true;
                k += 1;
                continue;
            }
            _ => {}
        }
        begins = false;
        k += 1;
    }
    (!quoted).then_some(bytes.len())
}

/// Converts a record to tab-separated fields without quotation marks. Tabs and line ends within a field become spaces.
pub fn with_tabs(line: &str, mark: char) -> String {
    let mut out = String::with_capacity(line.len());
    let mut chars = line.chars().peekable();
    let (mut quoted, mut begins) = (false, true);
    while let Some(c) = chars.next() {
        let ends = matches!(chars.peek(), None | Some('\r')) || chars.peek() == Some(&mark);
        match c {
            '"' if begins && !quoted => quoted = true,
            '"' if quoted && chars.peek() == Some(&'"') => {
                chars.next();
                out.push('"');
            }
            '"' if quoted && ends => quoted = false,
            c if c == mark && !quoted => {
                out.push('\t');
                begins = true;
                continue;
            }
            '\t' | '\n' => out.push(' '),
            '\r' if quoted && chars.peek() == Some(&'\n') => {}
            c => out.push(c),
        }
        begins = false;
    }
    out
}

/// Returns the byte offset and text of the token at `index`; tokens are separated by single spaces.
pub(crate) fn token(text: &str, index: usize) -> Option<(usize, &str)> {
    let mut at = 0;
    for (k, word) in text.split(' ').enumerate() {
        if k == index {
            return Some((at, word));
        }
        at += word.len() + 1;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    #[test]
    fn csv_quotes_are_removed_but_sentence_quotes_kept() {
        for (raw, text) in [
            ("plain", "plain"),
            ("\"a \"\"b\"\" c\"", "a \"b\" c"),
            ("\"whole\"", "whole"),
            ("\" he said \" and \" she \"", "\" he said \" and \" she \""),
            ("\"", "\""),
            ("\"\"", ""),
        ] {
            assert_eq!(unquoted(raw).as_str(), text, "{raw}");
        }
    }

    /// Regression: rows with a tab inside quotes used to be dropped.
    #[test]
    fn tabs_within_quotes_are_text() {
        let head = "text\tlabel";
        let header = Header { names: head.split('\t').map(str::to_owned).collect(), line: head.into(), quoted: true };
        for (line, text) in [
            ("\"a\tb\"\tx", Some("a\tb")),
            ("\"a \"\"b\"\"\tc\"\tx", Some("a \"b\"\tc")),
            ("\"a\" b\tx", Some("\"a\" b")),
            ("\"open\tx", Some("\"open")),
            ("a\tb\tx", None),
            ("\"open\ta\tx", None),
        ] {
            let found = header.split(line).ok().map(|fields| fields.text("text").unwrap().to_string());
            assert_eq!(found.as_deref(), text, "{line:?}");
        }
    }

    #[test]
    fn line_with_wrong_field_count_is_rejected() {
        let head = Head::new("a\tb\n1\tx\n", true, Path::new("t.tsv"));
        let header = Header::of(&head).unwrap();
        let fields = header.split("1\tx").unwrap();
        assert_eq!((fields.index("a").unwrap(), fields.text("b").unwrap().as_str()), (1, "x"));
        assert_eq!(fields.text("c").unwrap_err().kind, DropKind::Missing);
        assert_eq!(fields.index("b").unwrap_err().kind, DropKind::Value);
        let unread = header.split("1\tx\ty").unwrap_err();
        assert!(unread.kind == DropKind::Fields && unread.detail.contains("tab"), "{unread}");
        assert!(header.is("a\tb"));
        let blank = Head::new("a\tb\t\t\n", true, Path::new("t.tsv"));
        assert_eq!(Header::of(&blank).unwrap().split("1\t2\t\t").unwrap().raw("b").unwrap(), "2");
        let twice = Head::new("a\ta\n", true, Path::new("t.tsv"));
        assert!(Header::of(&twice).unwrap_err().to_string().contains("t.tsv, line 1"));
    }
}
