//! The folder of a grid: the list of its cells, and one file per cell.

use std::fmt::Write;
use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize, de::DeserializeOwned};

use super::part::{self, End, Outcome};
use super::{AGAIN, PartError, VERSION};
use base::files::write_whole;
use labs::grid::share::shares;
use labs::grid::{self, Cell};

/// The file with the list of cells.
const LIST: &str = "grid.jsonl";
const PARTS: &str = "parts";
/// Folder of the shards' progress files.
pub(super) const SHARDS: &str = "shards";
/// Name of the file that a run without a grid writes to its folder.
const PLAIN: &str = "findings.jsonl";
/// Maximum size of a list of cells in bytes.
const MAX_LIST: u64 = 256 << 20;

/// The first line in the list of cells.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Head {
    /// Version of the file format; its name marks the file as a grid.
    probity_grid: u32,
    pub version: String,
    /// Hash of the set of cells, see [`grid::hash`].
    pub hash: String,
    pub cells: usize,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Listed {
    /// Number of the cell, from 1.
    pub cell: usize,
    pub spec: String,
    /// The cell's values on the axes, as text.
    pub at: String,
    /// The cell's counted work, in millions of multiply-adds.
    pub work: u64,
}

impl Listed {
    /// Formatted like `cell 3 (models bert-mini, layer 2)`.
    pub fn name(&self) -> String {
        format!("cell {} ({})", self.cell, self.about())
    }

    /// Formatted like `cell 3 of 8 (models bert-mini, layer 2)`.
    pub fn name_of(&self, cells: usize) -> String {
        format!("cell {} of {cells} ({})", self.cell, self.about())
    }

    fn about(&self) -> String {
        if self.at.is_empty() { format!("spec {}", self.spec) } else { self.at.clone() }
    }
}

#[derive(Debug)]
pub enum State {
    Absent,
    Done,
    /// The run failed, for this reason.
    Failed(String),
    Stopped,
    Broken(PartError),
}

#[derive(Debug, Clone)]
pub struct Folder {
    dir: PathBuf,
    pub head: Head,
    pub cells: Vec<Listed>,
}

impl Folder {
    /// Opens or creates the folder for these cells and their counted work.
    ///
    /// # Errors
    /// [`PartError`] if the folder cannot be created or belongs to a different experiment.
    pub fn join(dir: &Path, cells: &[Cell], work: &[u128]) -> Result<Self, PartError> {
        let head = Head { probity_grid: 1, version: VERSION.into(), hash: grid::hash(cells), cells: cells.len() };
        let listed = cells.iter().zip(work).enumerate().map(|(k, (cell, work))| Listed {
            cell: k + 1,
            spec: cell.hash.clone(),
            at: cell.label(),
            work: u64::try_from(work / 1_000_000).unwrap_or(u64::MAX).max(1),
        });
        let folder = Self { dir: dir.to_owned(), head, cells: listed.collect() };
        let refuse = |problem: &str| PartError::NoFolder { path: dir.to_owned(), problem: problem.into() };
        if dir.symlink_metadata().is_ok() && !dir.is_dir() {
            return Err(refuse("is not a folder; choose one with --out"));
        }
        if dir.join(LIST).exists() {
            let there = Self::head_of(dir)?;
            return if there.hash == folder.head.hash { Ok(folder) } else { Err(folder.other(&there)) };
        }
        if dir.join(PLAIN).exists() {
            return Err(refuse("contains the results of a plain run (findings.jsonl); choose another folder"));
        }
        folder.make()?;
        Ok(folder)
    }

    /// Returns an error if the folder chosen for a plain run contains a grid.
    pub fn none_in(dir: &Path) -> Result<(), PartError> {
        if dir.join(LIST).symlink_metadata().is_err() {
            return Ok(());
        }
        let problem = format!("contains the parts of a grid ({LIST}); choose another folder");
        Err(PartError::NoFolder { path: dir.to_owned(), problem })
    }

    /// Opens the folder of an earlier run.
    ///
    /// # Errors
    /// [`PartError`] if the folder does not belong to a grid, or a different version wrote it.
    pub fn open(dir: &Path) -> Result<Self, PartError> {
        let path = dir.join(LIST);
        let head = Self::head_of(dir)?;
        let mut lines = Lines::open(&path)?;
        lines.next::<Head>()?;
        let mut cells: Vec<Listed> = Vec::new();
        while let Some(cell) = lines.next::<Listed>()? {
            if cell.cell != cells.len() + 1 {
                return Err(lines.wrong(&format!("is cell {}, but cell {} is expected", cell.cell, cells.len() + 1)));
            }
            cells.push(cell);
        }
        if cells.len() != head.cells {
            return Err(lines.wrong(&format!("ends after {} of {} cells", cells.len(), head.cells)));
        }
        Ok(Self { dir: dir.to_owned(), head, cells })
    }

    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// Path of the file for the cell with this index; the file may not exist.
    pub fn part(&self, index: usize) -> PathBuf {
        self.dir.join(PARTS).join(format!("{}.jsonl", self.cells[index].spec))
    }

    /// For each cell, the index of the shard (out of `count`) that computes it; see [`shares`]. It depends only on the list, not on the
    /// spec.
    pub fn shares(&self, count: usize) -> Vec<usize> {
        shares(&self.cells.iter().map(|c| u128::from(c.work)).collect::<Vec<_>>(), count)
    }

    /// All files in the folder of parts, sorted by name.
    pub fn files(&self) -> Result<Vec<PathBuf>, PartError> {
        let parts = self.dir.join(PARTS);
        let listing = std::fs::read_dir(&parts).map_err(|source| PartError::Read { path: parts, source })?;
        let mut files: Vec<PathBuf> = listing.flatten().map(|entry| entry.path()).collect();
        files.retain(|f| f.extension().is_some_and(|e| e == "jsonl") && f.is_file());
        files.sort();
        Ok(files)
    }

    /// Determines the state of a cell from the first and last lines of its file.
    pub fn state(&self, index: usize) -> State {
        let path = self.part(index);
        if !path.exists() {
            return State::Absent;
        }
        match part::glance(&path).and_then(|(head, end)| self.owns(&path, &head).map(|()| end)) {
            Ok(End { end: Outcome::Done, .. }) => State::Done,
            Ok(End { end: Outcome::Stopped, .. }) => State::Stopped,
            Ok(End { problem, .. }) => State::Failed(problem.unwrap_or_default()),
            Err(error) => State::Broken(error),
        }
    }

    /// Determines the state of a cell from its whole file. The file of a finished cell must have the number of lines and the checksum
    /// stated in its last line.
    pub fn checked(&self, index: usize) -> State {
        let whole = || {
            let mut reader = part::Reader::open(&self.part(index))?;
            while reader.entry()?.is_some() {}
            Ok(State::Done)
        };
        match self.state(index) {
            State::Done => whole().unwrap_or_else(State::Broken),
            other => other,
        }
    }

    /// Checks that a part belongs to this set of cells.
    pub(super) fn owns(&self, path: &Path, head: &part::Head) -> Result<(), PartError> {
        if head.version != self.head.version {
            let (there, here) = (head.version.clone(), self.head.version.clone());
            return Err(PartError::Version { path: path.to_owned(), there, here });
        }
        let listed = head.cell.checked_sub(1).and_then(|k| self.cells.get(k));
        if head.grid != self.head.hash || listed.is_none_or(|l| l.spec != head.spec) {
            let there = format!("cell {} of {}, spec {}", head.cell, head.grid, head.spec);
            let here = format!("{} with {} cells", self.head.hash, self.head.cells);
            return Err(PartError::Other { path: path.to_owned(), there, here });
        }
        Ok(())
    }

    fn head_of(dir: &Path) -> Result<Head, PartError> {
        let path = dir.join(LIST);
        if !path.is_file() {
            let problem =
                format!("is not a grid folder: it has no {LIST}; create one with `probity run SPEC --out DIR`");
            return Err(PartError::NoFolder { path: dir.to_owned(), problem });
        }
        let head = Lines::open(&path)?.next::<Head>()?;
        let head = head.ok_or_else(|| PartError::Cut { path: path.clone(), line: 1, at: "before its first line" })?;
        if head.version != VERSION {
            return Err(PartError::Version { path, there: head.version, here: VERSION.into() });
        }
        Ok(head)
    }

    fn other(&self, there: &Head) -> PartError {
        let about = |head: &Head| format!("{} with {} cells", head.hash, head.cells);
        PartError::Other { path: self.dir.join(LIST), there: about(there), here: about(&self.head) }
    }

    /// Creates the folder. Several shards may do so at the same time, because they write the same bytes.
    fn make(&self) -> Result<(), PartError> {
        let fail = |path: &Path| {
            let path = path.to_owned();
            move |source| PartError::Write { path, source }
        };
        for inner in [PARTS, SHARDS] {
            let path = self.dir.join(inner);
            std::fs::create_dir_all(&path).map_err(fail(&path))?;
        }
        let path = self.dir.join(LIST);
        let mut text = String::new();
        let json = |e: serde_json::Error| fail(&path)(e.into());
        let _ = writeln!(text, "{}", serde_json::to_string(&self.head).map_err(json)?);
        for cell in &self.cells {
            let _ = writeln!(text, "{}", serde_json::to_string(cell).map_err(json)?);
        }
        write_whole(&path, text.as_bytes()).map_err(fail(&path))
    }
}

struct Lines {
    path: PathBuf,
    source: BufReader<std::io::Take<File>>,
    buffer: String,
    line: usize,
}

impl Lines {
    fn open(path: &Path) -> Result<Self, PartError> {
        let file = base::read::open(path).map_err(|source| PartError::Read { path: path.to_owned(), source })?;
        let source = BufReader::new(file.take(MAX_LIST));
        Ok(Self { path: path.to_owned(), source, buffer: String::new(), line: 0 })
    }

    fn next<T: DeserializeOwned>(&mut self) -> Result<Option<T>, PartError> {
        self.buffer.clear();
        self.line += 1;
        let read = self.source.read_line(&mut self.buffer);
        let read = read.map_err(|source| PartError::Read { path: self.path.clone(), source })?;
        if read == 0 {
            return Ok(None);
        }
        if !self.buffer.ends_with('\n') {
            return Err(PartError::Cut { path: self.path.clone(), line: self.line, at: "in the middle of a line" });
        }
        match serde_json::from_str(&self.buffer) {
            Ok(value) => Ok(Some(value)),
            Err(e) => Err(self.wrong(&format!("is not a line of a list of cells ({e})"))),
        }
    }

    fn wrong(&self, problem: &str) -> PartError {
        let problem = format!("{problem}; {AGAIN}");
        PartError::Line { path: self.path.clone(), line: self.line, problem }
    }
}
