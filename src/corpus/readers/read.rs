//! Reads one file: its rows, and a report on dropped rows.

use std::borrow::Cow;
use std::io::Read;
use std::ops::ControlFlow;
use std::path::Path;

use memchr::memchr;
use serde::Serialize;

use super::encoding::{UTF_8, decode};
use super::error::{DropKind, Drops, ReadError, Unread};
use super::format::{Context, Emit, Format, Framing, Head, Keys, Lists, Parser};
use super::quoting::Quoting;
use super::registry::FORMATS;
use super::row::Row;
use super::source::{self, Frames, Watch};
use super::table::{MARKS, with_tabs};
use crate::results::document::WRAPPERS;
use crate::results::python::exact_integers;
use crate::results::registry::pandas;

/// Result of reading a file.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Report {
    /// Number of rows emitted; a line may contain several.
    pub rows: u64,
    /// Number of non-blank lines or JSON objects.
    pub pieces: u64,
    pub blank: u64,
    pub dropped: Drops,
    /// True if the sink stopped reading before the end.
    pub stopped: bool,
    /// Reason why this file has no rows. Reading returns an error instead if the file is not part of a folder.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failed: Option<String>,
    /// Interpretation of rationale lists that could be masks or positions; `None` if there were none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rationales: Option<&'static str>,
}

/// Receives a row and its line; returns `Break` to stop reading.
pub type Sink<'s> = dyn FnMut(Row<'_>, u64) -> ControlFlow<()> + 's;

/// An open file of known format.
pub struct Reading {
    frames: Frames,
    format: &'static Format,
    /// Field separator; `None` for tabs with an unquoted header.
    mark: Option<char>,
    /// True if rationale lists are left unchanged.
    raw: bool,
}

impl Reading {
    /// Opens a file and recognises its format by its content.
    ///
    /// # Errors
    /// [`ReadError`] if the file cannot be opened, is not text, is empty, or has no known format.
    pub fn open(path: &Path) -> Result<Self, ReadError> {
        Self::of(source::open(path)?)
    }

    /// Opens a file with an observer that can stop the reading.
    ///
    /// # Errors
    /// Same as [`Reading::open`]; also if `watch` stops reading.
    pub(crate) fn open_watched(path: &Path, watch: &Watch) -> Result<Self, ReadError> {
        Self::of(source::open_watched(path, watch)?)
    }

    /// Opens a stream, which is called `name` in errors.
    pub fn stream(source: Box<dyn Read>, name: &Path) -> Result<Self, ReadError> {
        Self::of(Frames::new(source, name)?)
    }

    fn of(frames: Frames) -> Result<Self, ReadError> {
        let text = String::from_utf8_lossy(frames.window());
        let mut head = Head::new(&text, frames.is_whole(), frames.file());
        let text = text.as_ref();
        if let Some(error) = pandas_columns(text, frames.file()) {
            return Err(error);
        }
        let unknown = match recognise(&mut head, text) {
            Ok(format) => {
                let mark =
                    Some('\t').filter(|_| format.framing == Framing::Lines && head.quoting == Quoting::Multiline);
                return Ok(Self { frames, format, mark, raw: false });
            }
            Err(unknown) => unknown,
        };
        // Tab-separated tables are tried again because a quoted header prevented their recognition above.
        for mark in MARKS.into_iter().chain(['\t']).filter(|_| !text.trim_start().starts_with(['{', '['])) {
            let tabbed = tabbed(text, mark);
            let mut head = Head::new(&tabbed, frames.is_whole(), frames.file());
            if let Some(format) = recognise(&mut head, &tabbed).ok().filter(|_| head.columns.len() > 1) {
                return Ok(Self { frames, format, mark: Some(mark), raw: false });
            }
        }
        Err(unknown)
    }

    /// Leaves rationale lists as they are.
    pub(crate) fn raw(self) -> Self {
        Self { raw: true, ..self }
    }

    fn context(&self, file: &Path) -> Context {
        let context = Context::of(file);
        if self.raw { Context { lists: Lists::Raw, ..context } } else { context }
    }

    pub fn format(&self) -> &'static Format {
        self.format
    }

    pub(crate) fn is_gzip(&self) -> bool {
        self.frames.is_gzip()
    }

    /// Reads all rows.
    ///
    /// # Errors
    /// [`ReadError`] if the framing is invalid or no row can be read.
    pub fn rows(mut self, sink: &mut Sink<'_>) -> Result<Report, ReadError> {
        let mut text = String::from_utf8_lossy(self.frames.window()).into_owned();
        if let Some(mark) = self.mark {
            text = tabbed(&text, mark);
        }
        let file = self.frames.file().to_owned();
        let mut head = Head::new(&text, self.frames.is_whole(), &file);
        head.keys = Keys::of(text.trim_start());
        if self.mark.is_some() {
            // Quotation marks have been removed.
            head.quoting = Quoting::Text;
        }
        let columns = head.columns.len();
        let context = self.context(&file);
        let mut parser = (self.format.parser)(&head, &context)?;
        let array = text.trim_start().starts_with('[') || spread(&text);
        let framing = match self.format.framing {
            Framing::Json if !array => Framing::Lines,
            framing => framing,
        };
        drop(text);
        let mut report = Report::default();
        let mut line = 1;
        loop {
            let piece = match framing {
                Framing::Lines => match self.mark {
                    Some(mark) => self.frames.next_record(mark as u8)?,
                    None => self.frames.next_line()?,
                },
                Framing::Json => self.frames.next_value()?,
                Framing::Document if report.pieces == 0 => Some((1, self.frames.document()?)),
                Framing::Document => None,
            };
            let ended = piece.is_none();
            line = piece.as_ref().map_or(line, |p| p.0);
            let bytes = piece.map_or(&[][..], |(_, range)| self.frames.bytes(range));
            if !ended && framing == Framing::Lines && bytes.iter().all(u8::is_ascii_whitespace) {
                report.blank += 1;
                parser.skipped();
                continue;
            }
            let mut flow = ControlFlow::Continue(());
            let mut rows = 0;
            let mut emit = |row: Row<'_>| {
                if flow.is_continue() {
                    rows += 1;
                    flow = sink(row, line);
                }
            };
            let result = if ended {
                parser.end(&mut emit)
            } else {
                match text_of(bytes) {
                    Ok(text) => piece_of(&mut parser, text, (self.mark, framing, columns), &mut emit),
                    Err(reason) => {
                        parser.skipped();
                        Err(reason)
                    }
                }
            };
            report.rows += rows;
            report.pieces += u64::from(!ended);
            if let Err(reason) = result {
                report.dropped.add(line, reason);
            }
            if let Some(failure) = parser.failure() {
                return Err(failure);
            }
            if flow.is_break() {
                report.stopped = true;
                return Ok(report);
            }
            if ended {
                break;
            }
        }
        report.rationales = context.lists.said();
        none_at_all(&file, self.format, &report)?;
        Ok(report)
    }
}

/// Parses a piece after converting its separators or its long integers. `columns` is the number of columns of a table.
fn piece_of(
    parser: &mut Parser,
    text: &str,
    (mark, framing, columns): (Option<char>, Framing, usize),
    emit: &mut Emit<'_>,
) -> Result<(), Unread> {
    let Some(mark) = mark else {
        if framing == Framing::Lines && !text.starts_with('{') {
            return parser.piece(text, emit);
        }
        return match exact_integers(text.as_bytes()) {
            Cow::Borrowed(_) => parser.piece(text, emit),
            Cow::Owned(exact) => parser.piece(&String::from_utf8_lossy(&exact), emit),
        };
    };
    let tabbed = with_tabs(text, mark);
    // A quotation mark at the beginning of a tab-separated field may be text.
    let is_text = mark == '\t' && !text.contains('\n') && tabbed.matches('\t').count() + 1 != columns;
    parser.piece(if is_text { text } else { &tabbed }, emit)
}

/// Converts the beginning of a table to tab-separated fields.
fn tabbed(text: &str, mark: char) -> String {
    text.split('\n').map(|line| with_tabs(line, mark)).collect::<Vec<_>>().join("\n")
}

/// Returns an error with the most frequent reason if no row of a file could be read.
fn none_at_all(file: &Path, format: &Format, report: &Report) -> Result<(), ReadError> {
    if report.rows > 0 {
        return Ok(());
    }
    let expected = format!("{}: {}", format.title, format.columns.join(", "));
    match report.dropped.iter().max_by_key(|(_, d)| d.count) {
        Some((kind, drops)) => {
            let what = format!(
                "none of its {} rows could be read; {} ({}×), first: {}",
                report.dropped.total(),
                kind.title(),
                drops.count,
                drops.example
            );
            Err(ReadError::line(file, drops.first_line, what, expected))
        }
        None => Err(ReadError::file(file, "it has no rows", expected)),
    }
}

/// True if the text begins with a JSON object that spans several lines.
fn spread(text: &str) -> bool {
    let text = text.trim_start();
    let first = text.lines().next().unwrap_or_default().trim_end();
    first.starts_with('{') && !first.ends_with('}') && (first == "{" || first.ends_with([',', '[', '{', ':']))
}

/// Decodes a piece.
fn text_of(bytes: &[u8]) -> Result<&str, Unread> {
    let text = decode(bytes);
    let text = text.map_err(|what| Unread::new(DropKind::Encoding, format!("{what}; expected {UTF_8}")))?;
    match memchr(0, bytes) {
        Some(at) => Err(Unread::new(DropKind::Nul, format!("a NUL byte at column {}", at + 1))),
        None => Ok(text),
    }
}

/// Returns the first registered format that recognises the beginning.
fn recognise(head: &mut Head<'_>, text: &str) -> Result<&'static Format, ReadError> {
    if text.trim().is_empty() {
        return Err(ReadError::file(
            head.file,
            "it is empty",
            "a file of a known format; `probity data list` lists them",
        ));
    }
    if head.lines.len() == 1 && text.bytes().filter(|b| *b == b'\r').count() > 2 {
        let what = "lines end only in carriage returns";
        return Err(ReadError::line(head.file, 1, what, "line feeds; convert it, for example with tr '\\r' '\\n'"));
    }
    // The file may be recognised even if its first line is invalid.
    let begin = text.trim_start().trim_start_matches('[');
    let lines: Vec<&str> = head.lines.clone();
    for candidate in std::iter::once(begin).chain(lines) {
        let candidate = candidate.trim_start();
        head.keys = if candidate.starts_with('{') { Keys::of(candidate) } else { Keys::default() };
        if let Some(format) = FORMATS.iter().find(|f| (f.recognise)(head)) {
            return Ok(format);
        }
    }
    let keys = Keys::of(begin).top;
    let is_list = |key: &str| {
        let value = begin.split_once(&format!("\"{key}\"")).and_then(|(_, rest)| rest.trim_start().strip_prefix(':'));
        value.is_some_and(|value| value.trim_start().starts_with('['))
    };
    let mut lists = WRAPPERS.iter().filter(|list| begin.starts_with('{') && keys.iter().any(|key| key == *list));
    if let Some(list) = lists.find(|list| is_list(list)) {
        let rows = if *list == "rows" && keys.iter().any(|key| key == "features") {
            "rows[].row"
        } else {
            &format!("{list}[]")
        };
        let what = format!("a JSON object with the rows under `{list}`");
        return Err(ReadError::line(
            head.file,
            1,
            what,
            format!("the rows: jq -c '.{rows}' {} > NEW.jsonl", head.file.display()),
        ));
    }
    let names = if keys.is_empty() { columns(head) } else { keys };
    Err(ReadError::line(head.file, 1, unknown(head, begin), nearest(&names)))
}

/// Returns the error for a table that pandas wrote by columns, whose first column has the keys 0, 1, 2.
fn pandas_columns(text: &str, file: &Path) -> Option<ReadError> {
    let text = text.trim_start();
    let keys = if text.starts_with('{') { Keys::of(text) } else { return None };
    let has = |name: &str| keys.top.iter().any(|key| key == name);
    if has("columns") && has("index") && has("data") {
        return Some(pandas(file, "split"));
    }
    let mut rows = keys.inner.iter().enumerate();
    let counted = !keys.inner.is_empty() && rows.all(|(k, key)| *key == k.to_string());
    (counted && text[1..].trim_start().strip_prefix('"').is_some_and(|rest| rest.contains("{\"0\"")))
        .then(|| pandas(file, "columns"))
}

/// Returns the column names of a table with any separator.
fn columns(head: &Head<'_>) -> Vec<String> {
    let first = head.lines.first().copied().unwrap_or_default();
    let mark = MARKS.into_iter().max_by_key(|m| first.matches(*m).count()).unwrap_or(',');
    let line = if head.columns.len() > 1 { first.to_owned() } else { with_tabs(first, mark) };
    line.split('\t').map(|c| c.trim().to_owned()).collect()
}

/// Names the two formats that are closest to these keys or columns, and what the file lacks for each of them.
fn nearest(names: &[String]) -> String {
    let has = |column: &str| column.split('|').any(|c| names.iter().any(|n| n.eq_ignore_ascii_case(c)));
    let mut ranked: Vec<(&Format, usize)> =
        FORMATS.iter().map(|f| (f, f.columns.iter().filter(|c| has(c)).count())).collect();
    ranked.sort_by(|(f, a), (g, b)| (b * g.columns.len().max(1)).cmp(&(a * f.columns.len().max(1))).then(b.cmp(a)));
    ranked.sort_by_key(|(_, n)| std::cmp::Reverse(*n));
    let said = |(format, found): &(&Format, usize)| {
        let lacks: Vec<&str> = format.columns.iter().filter(|c| !has(c)).take(4).copied().collect();
        let lacks = lacks.join(", ");
        match found {
            0 => format!("{} ({}): {}", format.id, format.title, lacks),
            _ => format!("{} ({}), but without {}", format.id, format.title, lacks),
        }
    };
    // If no name matches, suggests the two formats that are easiest to write.
    let plain = |id: &str| FORMATS.iter().find(|f| f.id == id).map(|f| (f, 0));
    let two: Vec<(&Format, usize)> = match ranked.first() {
        Some((_, 0)) | None => ["plain", "labelled"].into_iter().filter_map(plain).collect(),
        _ => ranked.into_iter().take(2).filter(|(_, n)| *n > 0).collect(),
    };
    format!("{}; `probity data list` lists all", two.iter().map(said).collect::<Vec<_>>().join(", or "))
}

/// Describes a file of unknown format.
fn unknown(head: &Head<'_>, begin: &str) -> String {
    if is_binary(begin) {
        return "binary data, not text".to_owned();
    }
    let keys = Keys::of(begin).top;
    if begin.starts_with('{') && !keys.is_empty() {
        return format!("JSON rows with the keys {}", listed(&keys));
    }
    if head.columns.len() > 1 {
        return format!("a table with the columns {}", listed(&head.columns));
    }
    let first: String = head.lines.first().map(|l| l.chars().take(60).collect()).unwrap_or_default();
    format!("text that begins with `{first}`")
}

/// True if at least a tenth of the beginning are bytes that do not occur in text.
fn is_binary(begin: &str) -> bool {
    let head = || begin.chars().take(4_096);
    let strange = |c: &char| *c == char::REPLACEMENT_CHARACTER || c.is_control() && !c.is_whitespace();
    head().filter(strange).count() * 10 > head().count()
}

fn listed<T: AsRef<str>>(names: &[T]) -> String {
    let shown: Vec<String> = names.iter().take(12).map(|n| n.as_ref().chars().take(40).collect()).collect();
    let more = if names.len() > 12 { ", …" } else { "" };
    format!("{}{more}", shown.join(", "))
}
