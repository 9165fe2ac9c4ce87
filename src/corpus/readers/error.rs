//! Errors in files and in rows.
//!
//! Invalid framing of a file is an error ([`ReadError`]). An unreadable row is dropped and counted in [`Drops`] by [`DropKind`]; no row is
//! skipped without being counted.

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};

use serde::Serialize;
use thiserror::Error;

/// Maximum length of [`Unread::detail`], in characters.
const MAX_DETAIL: usize = 240;

/// Error in a file: the location, the text found, and the expected form.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{}{}: {what}; expected {expected}", file.display(), place(line))]
pub struct ReadError {
    pub file: PathBuf,
    /// Line number, from 1, if the error concerns a line.
    pub line: Option<u64>,
    /// Text or value found.
    pub what: String,
    pub expected: String,
}

fn place(line: &Option<u64>) -> String {
    line.map_or_else(String::new, |n| format!(", line {n}"))
}

impl ReadError {
    /// Creates an error that concerns the whole file.
    pub fn file(file: &Path, what: impl Into<String>, expected: impl Into<String>) -> Self {
        Self { file: file.to_owned(), line: None, what: what.into(), expected: expected.into() }
    }

    /// Creates an error at a line (from 1).
    pub fn line(file: &Path, line: u64, what: impl Into<String>, expected: impl Into<String>) -> Self {
        Self { line: Some(line), ..Self::file(file, what, expected) }
    }
}

/// Reasons for dropping a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum DropKind {
    Encoding,
    /// A NUL byte in the text.
    Nul,
    /// A syntax error, or a line in a different format.
    Syntax,
    /// A number of fields that differs from the header or format, usually because the text contains a tab.
    Fields,
    Missing,
    /// A field with the wrong type or an invalid value.
    Value,
    /// A label or split that the format does not define.
    Label,
    /// A token index outside the sentence.
    Index,
    /// A reference to an item that is missing.
    Reference,
}

impl DropKind {
    /// Short description for tables.
    pub fn title(self) -> &'static str {
        match self {
            DropKind::Encoding => "not UTF-8",
            DropKind::Nul => "NUL byte",
            DropKind::Syntax => "not a row of this format",
            DropKind::Fields => "wrong number of fields",
            DropKind::Missing => "field missing",
            DropKind::Value => "invalid value",
            DropKind::Label => "unknown label",
            DropKind::Index => "index outside the sentence",
            DropKind::Reference => "reference to a missing item",
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unread {
    pub kind: DropKind,
    /// Text found and expected form.
    pub detail: String,
}

impl Unread {
    /// Creates an error, truncating a long detail.
    pub fn new(kind: DropKind, detail: impl Into<String>) -> Self {
        let mut detail: String = detail.into();
        if let Some((cut, _)) = detail.char_indices().nth(MAX_DETAIL) {
            detail.truncate(cut);
            detail.push('…');
        }
        Self { kind, detail }
    }

    pub fn missing(field: &str) -> Self {
        Self::new(DropKind::Missing, format!("no `{field}`"))
    }
}

impl fmt::Display for Unread {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.kind.title(), self.detail)
    }
}

/// Drops the position from the message, because rows are parsed separately and serde's line is always 1.
impl From<serde_json::Error> for Unread {
    fn from(error: serde_json::Error) -> Self {
        let text = error.to_string();
        let text = text.rsplit_once(" at line ").map_or(text.as_str(), |(what, _)| what);
        let kind = match error.classify() {
            serde_json::error::Category::Data if text.starts_with("missing field") => DropKind::Missing,
            serde_json::error::Category::Data => DropKind::Value,
            _ => DropKind::Syntax,
        };
        let text = if kind == DropKind::Syntax { format!("not valid JSON ({text})") } else { text.to_owned() };
        Self::new(kind, text)
    }
}

/// Number of rows dropped for one kind of error.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct DropCount {
    pub count: u64,
    /// Line of the first such row, from 1.
    pub first_line: u64,
    pub example: String,
}

/// Dropped rows by kind of error.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct Drops {
    kinds: BTreeMap<DropKind, DropCount>,
}

impl Drops {
    /// Counts a row at this line.
    pub fn add(&mut self, line: u64, reason: Unread) {
        self.kinds.entry(reason.kind).and_modify(|d| d.count += 1).or_insert(DropCount {
            count: 1,
            first_line: line,
            example: reason.detail,
        });
    }

    /// Adds the counts from a second file, keeping the earlier examples.
    pub fn merge(&mut self, other: &Drops) {
        for (kind, more) in &other.kinds {
            self.kinds.entry(*kind).and_modify(|d| d.count += more.count).or_insert_with(|| more.clone());
        }
    }

    pub fn total(&self) -> u64 {
        self.kinds.values().map(|d| d.count).sum()
    }

    pub fn iter(&self) -> impl Iterator<Item = (DropKind, &DropCount)> {
        self.kinds.iter().map(|(k, d)| (*k, d))
    }

    pub fn of(&self, kind: DropKind) -> u64 {
        self.kinds.get(&kind).map_or(0, |d| d.count)
    }
}
