//! The session file: a header line, then one command, event, note or view state per line.

use std::io::{BufRead, Read};

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::glance::finding_of;
use super::newer::is_newer;
pub use super::stream::Session;
use engine::board::Board;
use engine::message::{Command, Event};
use labs::{Finding, Spec};

pub const FORMAT: u32 = 2;
/// Maximum length of a line in bytes. The recorder never writes a longer one, and readers skip longer ones without buffering them.
pub const MAX_LINE: usize = 4 << 20;
/// Largest accepted time offset in seconds (three years).
pub(super) const MAX_TIME: f64 = 1e8;
/// Maximum number of line numbers listed in a report.
pub(super) const MAX_LISTED: usize = 20;

/// The first line of a session.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Header {
    /// Version of the file format; its name marks the file as a session.
    #[serde(rename = "probity_session")]
    pub format: u32,
    /// Version of the program that wrote the file.
    pub version: String,
    /// Requested device; the `ready` event states the actual one.
    pub device: String,
    /// Start of the session, RFC 3339 in UTC.
    pub created: String,
    /// Experiment of the session; `None` if this version cannot parse it.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "readable")]
    pub spec: Option<Spec>,
    /// The grid whose cells were merged into the session; `None` if a single program recorded it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub grid: Option<MergedGrid>,
}

/// Provenance of a merged session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MergedGrid {
    /// Hash of the set of cells.
    pub hash: String,
    pub cells: usize,
    /// Number of cells in the session.
    pub merged: usize,
}

/// Parses a spec, or returns `None`: a spec for an unknown lab must not make the session unreadable.
fn readable<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Option<Spec>, D::Error> {
    let value = Option::<Value>::deserialize(deserializer)?;
    Ok(value.and_then(|value| Spec::deserialize(value).ok()))
}

impl Header {
    pub fn new(device: &str, created: String, spec: Option<Spec>) -> Self {
        let version = env!("CARGO_PKG_VERSION").to_owned();
        Self { format: FORMAT, version, device: device.to_owned(), created, spec, grid: None }
    }
}

#[derive(Debug, Clone, PartialEq)]
pub enum Item {
    Command(Command),
    Event(Event),
    Note(String),
    /// State of the screen: focus, theme, zoom. It is not part of the measurements.
    View(Value),
}

#[derive(Debug, Clone, PartialEq)]
pub struct Entry {
    /// Seconds since the session began, to the millisecond; never decreases.
    pub t: f64,
    pub item: Item,
}

/// Counts and line numbers of what was not read.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Losses {
    /// Lines of an unknown kind, written by a newer program.
    pub unknown: usize,
    /// Lines that are damaged or too long.
    pub damaged: usize,
    /// Numbers of the first [`MAX_LISTED`] damaged lines, from 1.
    pub(crate) damaged_lines: Vec<usize>,
    /// Number of the last line if it is truncated, for example because the writing program was killed.
    pub cut: Option<usize>,
    /// Damaged lines longer than [`MAX_LINE`].
    pub long: usize,
}

impl Losses {
    /// Messages to the user, one for each kind of loss; empty if nothing was lost.
    pub fn sentences(&self) -> Vec<String> {
        let mut out = Vec::new();
        if let Some(line) = self.cut {
            out.push(format!("the recording ends in the middle of line {line}; everything before it was read"));
        }
        if self.damaged > 0 {
            let lines: Vec<_> = self.damaged_lines.iter().map(usize::to_string).collect();
            let more = if self.damaged > lines.len() { ", …" } else { "" };
            let long = match self.long {
                0 => String::new(),
                n => format!("; {n} of them longer than the limit of {} MiB", MAX_LINE >> 20),
            };
            out.push(format!(
                "{} damaged line(s) skipped (line {}{more}){long}; their content is missing from the replay",
                self.damaged,
                lines.join(", ")
            ));
        }
        if self.unknown > 0 {
            out.push(format!("{} line(s) skipped because this version does not know their kind", self.unknown));
        }
        out
    }
}

impl Entry {
    /// Folds the entry into a board, as the live program does.
    pub fn fold(&self, board: &mut Board) {
        match &self.item {
            Item::Command(command) => board.on_command(command),
            Item::Event(event) => board.on_event(event),
            Item::Note(_) | Item::View(_) => {}
        }
    }

    /// Parses a line of a session; `None` if its kind is unknown to this version.
    pub fn read(line: &str) -> Option<Self> {
        parse_entry(line.as_bytes(), true).ok()
    }

    /// Formats the entry as a line of the file, with the line end.
    ///
    /// # Errors
    /// An error if the content cannot be serialised as JSON; commands and events always can be.
    pub fn to_line(&self) -> serde_json::Result<String> {
        match &self.item {
            Item::Command(command) => line(self.t, command),
            Item::Event(event) => line(self.t, event),
            Item::Note(note) => line(self.t, &NoteLine { note }),
            Item::View(view) => line(self.t, &ViewLine { view }),
        }
    }
}

#[derive(Serialize)]
struct NoteLine<'a> {
    note: &'a str,
}

#[derive(Serialize)]
struct ViewLine<'a> {
    view: &'a Value,
}

/// Formats one line: the time in seconds to the millisecond, then the keys of the content.
pub fn line<T: Serialize>(t: f64, content: &T) -> serde_json::Result<String> {
    #[derive(Serialize)]
    struct Timed<'a, T> {
        t: f64,
        #[serde(flatten)]
        content: &'a T,
    }
    let t = (t.clamp(0.0, MAX_TIME) * 1000.0).round() / 1000.0;
    let mut line = serde_json::to_string(&Timed { t, content })?;
    line.push('\n');
    Ok(line)
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Line {
    /// A complete line.
    Whole,
    /// The last line, which is truncated.
    Cut,
    TooLong,
    End,
}

/// Reads the next line into `buffer`, which never exceeds [`MAX_LINE`]; skips the rest of a longer line.
pub(super) fn next_line(source: &mut impl BufRead, buffer: &mut Vec<u8>) -> std::io::Result<Line> {
    let line = first_line(source, buffer)?;
    if line == Line::TooLong {
        source.skip_until(b'\n')?;
    }
    Ok(line)
}

/// Reads a line as [`next_line`] does, but leaves the rest of a line that is too long: after it, nothing more is read.
pub(super) fn first_line(source: &mut impl BufRead, buffer: &mut Vec<u8>) -> std::io::Result<Line> {
    buffer.clear();
    source.by_ref().take(MAX_LINE as u64).read_until(b'\n', buffer)?;
    Ok(match buffer.last() {
        None => Line::End,
        Some(b'\n') => Line::Whole,
        Some(_) if buffer.len() < MAX_LINE => Line::Cut,
        Some(_) => Line::TooLong,
    })
}

pub(super) fn parse_header(line: &[u8]) -> Result<Header, String> {
    let value: Value = serde_json::from_slice(line)
        .map_err(|_| "this is not a session: the first line is not a JSON header".to_owned())?;
    let format = value.get("probity_session").and_then(Value::as_u64).ok_or_else(|| {
        "this is not a session: the first line has no `probity_session` with the format version".to_owned()
    })?;
    if format != u64::from(FORMAT) {
        let hint = if format > u64::from(FORMAT) { "use a newer Probity" } else { "run its spec again" };
        return Err(format!("the session has format {format}, but this program reads format {FORMAT}; {hint}"));
    }
    Header::deserialize(value).map_err(|e| format!("the header cannot be read: {e}"))
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unread {
    /// Written by a newer program.
    Unknown,
    Damaged,
}

/// The numbers of a version, for comparison.
pub(super) fn version(text: &str) -> Vec<u64> {
    text.split(['.', '-', '+']).map_while(|part| part.parse().ok()).collect()
}

/// Parses a line of the file; `newer` is true if a newer program wrote it. A tag, kind or lab that this version does not know indicates a
/// newer program rather than damage. So does any unreadable line in a file that a newer program wrote.
pub fn parse_entry(line: &[u8], newer: bool) -> Result<Entry, Unread> {
    // Most lines are findings.
    if let Some((t, generation, finding)) = finding_of(line)
        && let Ok(finding) = Finding::from_slice(finding)
    {
        return Ok(Entry { t, item: Item::Event(Event::Finding { generation, finding: Box::new(finding) }) });
    }
    let mut object: Map<String, Value> = serde_json::from_slice(line).map_err(|_| Unread::Damaged)?;
    let t = object.remove("t").and_then(|t| t.as_f64()).ok_or(Unread::Damaged)?;
    if !(0.0..=MAX_TIME).contains(&t) {
        return Err(Unread::Damaged);
    }
    let item = parse_item(object).map_err(|error| match error {
        Unread::Damaged if newer || serde_json::from_slice(line).is_ok_and(|object| is_newer(&object)) => {
            Unread::Unknown
        }
        other => other,
    })?;
    Ok(Entry { t, item })
}

fn parse_item(mut object: Map<String, Value>) -> Result<Item, Unread> {
    if object.contains_key("command") {
        return Command::deserialize(Value::Object(object)).map(Item::Command).map_err(|_| Unread::Damaged);
    }
    if object.contains_key("event") {
        return Event::deserialize(Value::Object(object)).map(Item::Event).map_err(|_| Unread::Damaged);
    }
    if let Some(Value::String(note)) = object.get("note") {
        return Ok(Item::Note(note.clone()));
    }
    object.remove("view").map(Item::View).ok_or(Unread::Unknown)
}

#[cfg(test)]
mod tests;
