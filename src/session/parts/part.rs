//! One part: the findings of one cell, with a header and a closing line.

use std::fs::File;
use std::io::{BufRead, BufReader, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::status::Reporter;
use super::{AGAIN, PartError};
use crate::SessionError;
use crate::format::{Entry, Item, Line, MAX_LINE, first_line, line, next_line, parse_entry};
use crate::record::Record;
use base::files::{hex, write_whole};
use base::text::shortened;
use engine::message::{self, Command, EngineInfo, Event};
use labs::{Body, Common, Finding};

/// The first line of a part.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Head {
    /// Version of the file format; its name marks the file as a part.
    pub probity_part: u32,
    pub version: String,
    /// Hash of the set of cells to which the part belongs.
    pub grid: String,
    /// Number of the cell, from 1.
    pub cell: usize,
    /// Hash of the cell's spec.
    pub spec: String,
    /// The cell's values on the axes, as text.
    pub at: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    Done,
    Failed,
    Stopped,
}

/// The last line of a part.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct End {
    pub end: Outcome,
    /// Reason for a failure.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
    /// Number of lines between the first line and this one.
    pub lines: usize,
    /// Checksum of the findings, excluding times and cache use.
    pub digest: String,
    /// Wall time in seconds.
    pub seconds: f64,
}

/// Checksum of findings that does not depend on their order.
#[derive(Debug, Default)]
struct Sum(Vec<[u8; 32]>);

/// Keys that differ between two runs of the same spec: times, device, cache use.
const CIRCUMSTANCES: [&str; 4] = ["t", "seconds", "cached", "device"];

impl Sum {
    fn add(&mut self, finding: &Finding) -> serde_json::Result<()> {
        let mut value = serde_json::to_value(finding)?;
        if let Some(object) = value.as_object_mut() {
            CIRCUMSTANCES.iter().for_each(|key| drop(object.remove(*key)));
        }
        self.0.push(Sha256::digest(value.to_string().as_bytes()).into());
        Ok(())
    }

    fn digest(mut self) -> String {
        self.0.sort_unstable();
        hex(&Sha256::digest(self.0.concat())[..8])
    }
}

/// Maximum length in characters of a failure reason in the last line.
const LONGEST: usize = 2_000;

/// Writer for the part of one cell. The part stays in memory until the cell ends, because a temporary file that grows for hours could be
/// mistaken for a leftover of a killed process.
pub struct Writer<'a> {
    path: PathBuf,
    lines: Vec<u8>,
    count: usize,
    sum: Sum,
    ready: bool,
    outcome: Option<Outcome>,
    problem: Option<String>,
    seconds: f64,
    status: Option<&'a mut Reporter>,
    engine: Option<EngineInfo>,
}

impl<'a> Writer<'a> {
    /// Begins the file for a cell; an existing file is replaced when the cell ends. `status` receives the cell's progress. `engine`
    /// describes the engine, if its description has already arrived.
    pub fn new(
        path: PathBuf,
        head: &Head,
        status: Option<&'a mut Reporter>,
        engine: Option<EngineInfo>,
    ) -> Result<Self, SessionError> {
        let mut writer = Self {
            path,
            lines: Vec::new(),
            count: 0,
            sum: Sum::default(),
            ready: false,
            outcome: None,
            problem: None,
            seconds: 0.0,
            status,
            engine,
        };
        writer.put(serde_json::to_string(head).map(|text| text + "\n"))?;
        writer.count = 0;
        Ok(writer)
    }

    fn put(&mut self, text: serde_json::Result<String>) -> Result<(), SessionError> {
        let text = text.map_err(|e| SessionError::Write { path: self.path.clone(), source: e.into() })?;
        self.lines.extend_from_slice(text.as_bytes());
        self.count += 1;
        Ok(())
    }
}

impl Record for Writer<'_> {
    fn command(&mut self, t: f64, command: &Command) -> Result<(), SessionError> {
        match command {
            Command::Run { .. } => self.put(line(t, command))?,
            _ => return Ok(()),
        }
        // The engine describes itself only once, during the first of several cells, so the description is repeated for the others.
        self.engine.take().map_or(Ok(()), |engine| self.event(t, &Event::Ready(engine)))
    }

    fn event(&mut self, t: f64, event: &Event) -> Result<(), SessionError> {
        self.seconds = t;
        match event {
            Event::Ready(_) if std::mem::replace(&mut self.ready, true) => return Ok(()),
            Event::Ready(_) | Event::Started { .. } | Event::Notice(_) => {}
            // Interim findings depend on the state of the cache, but final findings do not.
            Event::Finding { finding, .. } if !finding.r#final => return Ok(()),
            Event::Finding { finding, .. } => {
                if let Body::Common(Common::Error(problem)) = &finding.body {
                    self.problem = Some(shortened(&problem.to_string(), LONGEST));
                }
                let added = self.sum.add(finding);
                added.map_err(|e| SessionError::Write { path: self.path.clone(), source: e.into() })?;
            }
            Event::Finished { outcome, .. } => {
                self.outcome = Some(match outcome {
                    message::Outcome::Done => Outcome::Done,
                    message::Outcome::Cancelled => Outcome::Stopped,
                    message::Outcome::Failed(problem) => {
                        self.problem = Some(shortened(&problem.to_string(), LONGEST));
                        Outcome::Failed
                    }
                });
            }
            Event::Progress { progress, .. } => {
                if let Some(status) = &mut self.status {
                    status.progress(progress);
                }
                return Ok(());
            }
            _ => return Ok(()),
        }
        self.put(line(t, event))
    }

    fn finish(&mut self) -> Result<(), SessionError> {
        let end = match self.outcome {
            // A run that reported an error has not computed everything.
            Some(Outcome::Done) if self.problem.is_some() => Outcome::Failed,
            Some(outcome) => outcome,
            None if self.problem.is_some() => Outcome::Failed,
            None => Outcome::Stopped,
        };
        let lines = self.count;
        let digest = std::mem::take(&mut self.sum).digest();
        let end = End { end, problem: self.problem.take(), lines, digest, seconds: self.seconds };
        self.put(serde_json::to_string(&end).map(|text| text + "\n"))?;
        let fail = |source| SessionError::Write { path: self.path.clone(), source };
        write_whole(&self.path, &self.lines).map_err(fail)
    }
}

/// Number of bytes at the end of a part that are searched for the last line.
const TAIL: u64 = 64 << 10;

/// Reads the first and the last line of a part.
///
/// # Errors
/// [`PartError::Cut`] if the last line is missing, otherwise the reason why the file is not a part.
pub fn glance(path: &Path) -> Result<(Head, End), PartError> {
    let head = Reader::open(path)?.head;
    let fail = |source| PartError::Read { path: path.to_owned(), source };
    let mut file = base::read::open(path).map_err(fail)?;
    let length = file.metadata().map_err(fail)?.len();
    file.seek(SeekFrom::Start(length.saturating_sub(TAIL))).map_err(fail)?;
    let mut tail = Vec::new();
    Read::by_ref(&mut file).take(TAIL).read_to_end(&mut tail).map_err(fail)?;
    let whole = tail.ends_with(b"\n");
    let body = tail.strip_suffix(b"\n").unwrap_or(&tail);
    let last = body.rsplit(|b| *b == b'\n').next().unwrap_or(&[]);
    match serde_json::from_slice::<End>(last) {
        Ok(end) if whole => Ok((head, end)),
        _ => {
            let line = lines_in(path).map_err(fail)?;
            let at = if whole { "after a line" } else { "in the middle of a line" };
            Err(PartError::Cut { path: path.to_owned(), line, at })
        }
    }
}

fn head_of(path: &Path, line: &[u8]) -> Result<Head, PartError> {
    let head = serde_json::from_slice::<Head>(line).ok().filter(|h| h.probity_part == 1);
    head.ok_or_else(|| PartError::Line {
        path: path.to_owned(),
        line: 1,
        problem: format!("is not the header of a part that this program can read; {AGAIN}"),
    })
}

/// Number of lines of a file, including an unterminated last line.
fn lines_in(path: &Path) -> std::io::Result<usize> {
    let mut source = BufReader::new(base::read::open(path)?);
    let (mut lines, mut open) = (0, false);
    loop {
        let chunk = source.fill_buf()?;
        if chunk.is_empty() {
            return Ok(lines + usize::from(open));
        }
        lines += chunk.iter().filter(|byte| **byte == b'\n').count();
        open = !chunk.ends_with(b"\n");
        let used = chunk.len();
        source.consume(used);
    }
}

/// Reads a part line by line, with only one line in memory.
pub struct Reader {
    path: PathBuf,
    source: BufReader<File>,
    buffer: Vec<u8>,
    line: usize,
    sum: Sum,
    /// The first line.
    pub head: Head,
}

impl Reader {
    pub fn open(path: &Path) -> Result<Self, PartError> {
        let fail = |source| PartError::Read { path: path.to_owned(), source };
        let mut source = BufReader::new(base::read::open(path).map_err(fail)?);
        let mut buffer = Vec::new();
        let head = match first_line(&mut source, &mut buffer).map_err(fail)? {
            Line::Whole => head_of(path, &buffer)?,
            Line::TooLong => head_of(path, &[])?,
            Line::Cut | Line::End => {
                return Err(PartError::Cut { path: path.to_owned(), line: 1, at: "in the middle of a line" });
            }
        };
        Ok(Self { path: path.to_owned(), source, buffer, line: 1, sum: Sum::default(), head })
    }

    /// Returns the next session entry; `None` at the end, after the lines read have been checked against the closing line.
    pub fn entry(&mut self) -> Result<Option<Entry>, PartError> {
        self.line += 1;
        let read = next_line(&mut self.source, &mut self.buffer);
        let read = read.map_err(|source| PartError::Read { path: self.path.clone(), source })?;
        match read {
            Line::Whole => {}
            Line::TooLong => return Err(self.wrong(&format!("is longer than {} MiB", MAX_LINE >> 20))),
            Line::Cut => {
                return Err(PartError::Cut { path: self.path.clone(), line: self.line, at: "in the middle of a line" });
            }
            Line::End => {
                return Err(PartError::Cut { path: self.path.clone(), line: self.line - 1, at: "after a line" });
            }
        }
        if let Ok(end) = serde_json::from_slice::<End>(&self.buffer) {
            let read = self.line - 2;
            if end.lines != read {
                return Err(self.wrong(&format!("states {} lines, but the file has {read}", end.lines)));
            }
            if end.digest != std::mem::take(&mut self.sum).digest() {
                return Err(self.wrong("has a checksum that does not match the findings above"));
            }
            return Ok(None);
        }
        let entry = parse_entry(&self.buffer, false);
        let entry = entry.map_err(|_| self.wrong("is damaged"))?;
        if let Item::Event(Event::Finding { finding, .. }) = &entry.item {
            let added = self.sum.add(finding);
            added.map_err(|e| self.wrong(&format!("is damaged ({e})")))?;
        }
        Ok(Some(entry))
    }

    fn wrong(&self, problem: &str) -> PartError {
        PartError::Line { path: self.path.clone(), line: self.line, problem: format!("{problem}; {AGAIN}") }
    }
}
