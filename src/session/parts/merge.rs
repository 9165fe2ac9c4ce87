//! Merges parts into a session: checks them first, then copies them with only one line in memory at a time.

use std::collections::HashMap;
use std::io::Write;
use std::path::PathBuf;

use super::folder::Folder;
use super::part::{self, End, Outcome, Reader};
use super::{AGAIN, PartError};
use crate::format::{Entry, Header, Item, MergedGrid};
use engine::message::{Command, Event};
use labs::family::{Comparison, Family};
use labs::{Finding, Spec};

/// The part of a finished cell.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Done {
    pub path: PathBuf,
    pub bytes: u64,
    /// Number of lines between the first and the last.
    pub lines: usize,
}

/// First and last lines of the parts in a folder, read before the parts themselves.
#[derive(Debug, Default)]
pub struct Survey {
    /// Parts of finished cells, by index in the list.
    pub done: HashMap<usize, Done>,
    /// Indices of cells that have no part, or whose part was stopped.
    pub missing: Vec<usize>,
    /// Cells that failed, each with the reason.
    pub failed: Vec<(usize, String)>,
    /// Files that duplicate another file.
    pub copies: Vec<PathBuf>,
}

impl Survey {
    /// Reads the first and last line of every part.
    ///
    /// # Errors
    /// [`PartError`] for the first file that does not belong to the grid, is truncated, or contradicts a second file for the same cell.
    pub fn of(folder: &Folder) -> Result<Self, PartError> {
        let mut found: HashMap<usize, (PathBuf, End)> = HashMap::new();
        let mut survey = Self::default();
        for path in folder.files()? {
            let (head, end) = part::glance(&path)?;
            folder.owns(&path, &head)?;
            let index = head.cell - 1;
            match found.get_mut(&index) {
                None => {
                    found.insert(index, (path, end));
                }
                Some((first, there)) if there.end == Outcome::Done && end.end == Outcome::Done => {
                    if there.digest != end.digest {
                        let (cell, first) = (folder.cells[index].name(), first.clone());
                        return Err(PartError::Twice { cell, first, second: path });
                    }
                    survey.copies.push(path);
                }
                // If there were two attempts at a cell, the finished one counts.
                Some(entry) if end.end == Outcome::Done => *entry = (path, end),
                Some(_) => {}
            }
        }
        for index in 0..folder.cells.len() {
            match found.remove(&index) {
                Some((path, End { end: Outcome::Done, lines, .. })) => {
                    let about = std::fs::metadata(&path);
                    let bytes = about.map_err(|source| PartError::Read { path: path.clone(), source })?.len();
                    survey.done.insert(index, Done { path, bytes, lines });
                }
                Some((_, End { end: Outcome::Failed, problem, .. })) => {
                    survey.failed.push((index, problem.unwrap_or_default()));
                }
                _ => survey.missing.push(index),
            }
        }
        Ok(survey)
    }

    /// Groups finished cells in order into as few sessions as possible, each with at most this many bytes and lines. A cell is never
    /// divided; a cell that is too large becomes a session by itself.
    pub fn volumes(&self, most_bytes: u64, most_lines: usize) -> Vec<Vec<usize>> {
        let mut all: Vec<usize> = self.done.keys().copied().collect();
        all.sort_unstable();
        let (mut out, mut bytes, mut lines) = (Vec::<Vec<usize>>::new(), 0, 0);
        for index in all {
            let part = &self.done[&index];
            // Times in the session include earlier cells, so they may have more digits; an additional line announces the cell.
            let (more, further) = (part.bytes + DIGITS * part.lines as u64 + ABOUT, part.lines + 1);
            match out.last_mut() {
                Some(last) if bytes + more <= most_bytes && lines + further <= most_lines => {
                    last.push(index);
                    (bytes, lines) = (bytes + more, lines + further);
                }
                _ => {
                    out.push(vec![index]);
                    (bytes, lines) = (ABOUT + more, further);
                }
            }
        }
        out
    }

    #[cfg(test)]
    pub(crate) fn is_complete(&self) -> bool {
        self.missing.is_empty() && self.failed.is_empty()
    }
}

/// Maximum number of bytes by which a line grows when its time is counted from the start of a session.
const DIGITS: u64 = 12;
/// Maximum size in bytes of a session's header, or of the line that announces a cell.
const ABOUT: u64 = 16 << 10;

#[derive(Debug, Default)]
pub struct Merged {
    /// Number of cells in the session.
    pub cells: usize,
    /// Number of lines after the header.
    pub entries: usize,
    pub bytes: u64,
    /// All comparisons, each with the index of its cell.
    pub family: Vec<(usize, Comparison)>,
}

/// Writes a session of the finished cells among `cells` (indices); see [`Survey::volumes`].
///
/// # Errors
/// [`PartError`] for the first invalid line; [`PartError::Write`] if `out` cannot be written.
pub fn write(
    folder: &Folder,
    survey: &Survey,
    cells: &[usize],
    created: String,
    out: &mut dyn Write,
) -> Result<Merged, PartError> {
    let merged = cells.iter().filter(|index| survey.done.contains_key(*index)).count();
    let grid = MergedGrid { hash: folder.head.hash.clone(), cells: folder.cells.len(), merged };
    let mut tape = Tape { out, merged: Merged::default(), offset: 0.0, last: 0.0, grid: Some(grid) };
    for index in cells.iter().copied() {
        let (Some(Done { path, .. }), Some(listed)) = (survey.done.get(&index), folder.cells.get(index)) else {
            continue;
        };
        let mut reader = Reader::open(path)?;
        let wrong =
            |problem: &str| PartError::Line { path: path.clone(), line: 2, problem: format!("{problem}; {AGAIN}") };
        let Some(first) = reader.entry()? else { return Err(wrong("contains no results")) };
        let spec = match &first.item {
            Item::Command(Command::Run { job, generation, spec })
                if *job == listed.cell as u64 && generation == job && spec.hash() == listed.spec =>
            {
                spec
            }
            _ => return Err(wrong("does not begin with the run of this cell")),
        };
        tape.header(spec, &created)?;
        let of = format!("cell {} of {}", listed.cell, folder.cells.len());
        let note = if listed.at.is_empty() { of } else { format!("{of}: {}", listed.at) };
        tape.put(Entry { t: 0.0, item: Item::Note(note) })?;
        tape.put(first)?;
        let mut family = Family::default();
        while let Some(entry) = reader.entry()? {
            if let Item::Event(Event::Finding { finding, .. }) = &entry.item {
                join(&mut family, finding);
            }
            tape.put(entry)?;
        }
        let members = family.members().iter().map(|c| (index, c.clone()));
        tape.merged.family.extend(members);
        tape.merged.cells += 1;
        tape.offset = tape.last;
    }
    tape.out.flush().map_err(|source| PartError::Write { path: folder.dir().to_owned(), source })?;
    Ok(tape.merged)
}

fn join(family: &mut Family, finding: &Finding) {
    if let Some(comparison) = labs::by_id(finding.lab).compared(finding) {
        family.join(comparison);
    }
}

/// The session being written.
struct Tape<'a> {
    out: &'a mut dyn Write,
    merged: Merged,
    /// Start of the cell in seconds.
    offset: f64,
    last: f64,
    /// Provenance for the header; `None` once the header has been written.
    grid: Option<MergedGrid>,
}

impl Tape<'_> {
    fn header(&mut self, spec: &Spec, created: &str) -> Result<(), PartError> {
        let Some(grid) = self.grid.take() else { return Ok(()) };
        let header = Header { grid: Some(grid), ..Header::new("auto", created.to_owned(), Some(spec.clone())) };
        self.line(serde_json::to_string(&header).map(|text| text + "\n"))
    }

    fn put(&mut self, mut entry: Entry) -> Result<(), PartError> {
        entry.t += self.offset;
        self.last = self.last.max(entry.t);
        self.merged.entries += 1;
        self.line(entry.to_line())
    }

    fn line(&mut self, text: serde_json::Result<String>) -> Result<(), PartError> {
        let written = text.map_err(std::io::Error::from).and_then(|text| {
            self.merged.bytes += text.len() as u64;
            self.out.write_all(text.as_bytes())
        });
        written.map_err(|source| PartError::Write { path: "the merged session".into(), source })
    }
}
