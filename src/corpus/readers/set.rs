//! A file or a folder as a data set: its files, their formats, and their rows.
//!
//! Folders are walked in alphabetical order. Folder formats (LAMA, ParaRel, BEAR, ERASER) are recognised by their files, not by the
//! folder's name. Files that are not data (a README, a pickle) are listed with the reason.

use std::fs;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use super::error::ReadError;
use super::format::Format;
use super::read::{Reading, Report};
use super::row::Row;
use super::source::Watch;
use super::{bear, ding_koehn, eraser, lama, lpaqa, pararel, plain};

/// Maximum depth of nested folders.
const DEPTH: usize = 5;
/// Name of the prompts table in a LAMA or mLAMA folder.
const TEMPLATES: &str = "templates.jsonl";
/// Maximum number of files in a folder.
const FILES: usize = 20_000;

#[derive(Debug, Clone)]
pub struct SetFile {
    pub path: PathBuf,
    pub format: &'static Format,
    pub gzip: bool,
    /// Size on disk, in bytes.
    pub bytes: u64,
}

/// A data set: one file, or a folder of files.
#[derive(Debug, Clone)]
pub struct Set {
    /// Path given by the user.
    pub root: PathBuf,
    /// Title of the only format, name of the folder layout, or "folder with files in several formats".
    pub title: String,
    /// Files that are read, in order.
    pub files: Vec<SetFile>,
    /// Files that are not read, with the reason for each.
    pub left_out: Vec<(PathBuf, String)>,
}

/// A folder layout: name, required formats, optional formats.
type Layout = (&'static str, &'static [&'static str], &'static [&'static str]);

const LAYOUTS: &[Layout] = &[
    ("BEAR folder", &[bear::METADATA.id], &[bear::FACTS.id, bear::RESULTS.id, bear::RUN.id]),
    ("ERASER folder", &[eraser::ROWS.id], &[eraser::PREDICTIONS.id]),
    ("ParaRel folder", &[pararel::PATTERNS.id, pararel::FACTS.id], &[]),
    (
        "LAMA folder",
        &[lama::RELATIONS.id, lama::FACTS.id],
        &[plain::FORMAT.id, pararel::FACTS.id, lpaqa::LINES.id, lpaqa::WEIGHTED.id],
    ),
    ("Ding & Koehn folder", &[ding_koehn::PREFIXES.id], &[]),
];

impl Set {
    /// Recognises a file, or every file of a folder, by content.
    ///
    /// # Errors
    /// [`ReadError`] if the file, or every file of the folder, has an unknown format.
    pub fn open(path: &Path) -> Result<Self, ReadError> {
        Self::open_watched(path, &unwatched())
    }

    /// Opens a set with an observer that can stop the reading.
    ///
    /// # Errors
    /// Same as [`Set::open`]; also if `watch` stops reading.
    pub(crate) fn open_watched(path: &Path, watch: &Watch) -> Result<Self, ReadError> {
        let kind = fs::metadata(path)
            .map_err(|e| ReadError::file(path, format!("cannot open it: {e}"), "a file or a folder"))?;
        if !kind.is_dir() {
            let file = describe(path, watch)?;
            let title = file.format.title.to_owned();
            return Ok(Self { root: path.to_owned(), title, files: vec![file], left_out: Vec::new() });
        }
        let mut set = Self { root: path.to_owned(), title: String::new(), files: Vec::new(), left_out: Vec::new() };
        set.walk(path, 0, watch)?;
        if set.files.is_empty() {
            let what = match set.left_out.first() {
                Some((file, why)) => {
                    let (n, file) = (set.left_out.len(), file.display());
                    format!("none of its {n} files can be read; the first, {file}: {why}")
                }
                None => "it has no files".to_owned(),
            };
            return Err(ReadError::file(path, what, "a folder with files of known formats"));
        }
        set.one_language()?;
        set.title = set.layout();
        Ok(set)
    }

    /// Rejects folders with several languages. mLAMA has one folder per language with the same relations, but prompts in one language do
    /// not fit objects in another.
    fn one_language(&self) -> Result<(), ReadError> {
        let templates = self.files.iter().filter(|f| f.path.file_name().is_some_and(|name| name == TEMPLATES));
        let folders: Vec<String> = templates.filter_map(|f| f.path.parent()).map(|folder| self.name(folder)).collect();
        let [first, _, ..] = folders.as_slice() else { return Ok(()) };
        let named = folders.iter().take(6).cloned().collect::<Vec<_>>().join(", ");
        let more = if folders.len() > 6 { ", …" } else { "" };
        let what =
            format!("it has templates in {} languages, which must be used separately: {named}{more}", folders.len());
        let expected = format!("one of these folders, for example {}", self.root.join(first).display());
        Err(ReadError::file(&self.root, what, expected))
    }

    fn walk(&mut self, folder: &Path, depth: usize, watch: &Watch) -> Result<(), ReadError> {
        let unreadable =
            |e: std::io::Error| ReadError::file(folder, format!("cannot list it: {e}"), "a readable folder");
        let mut entries: Vec<PathBuf> = Vec::new();
        for entry in fs::read_dir(folder).map_err(unreadable)? {
            entries.push(entry.map_err(unreadable)?.path());
        }
        entries.sort();
        let documents = entries.iter().any(|p| is_annotation(p));
        for path in entries {
            if path.file_name().is_some_and(|n| n.to_string_lossy().starts_with('.')) {
                self.left_out.push((path, "a hidden file".to_owned()));
                continue;
            }
            // Links to folders are not followed, because they may form cycles.
            let real = fs::symlink_metadata(&path).is_ok_and(|m| m.is_dir());
            if documents && (real && path.ends_with("docs") || path.ends_with(eraser::DOCUMENTS)) {
                self.left_out.push((path, "documents, read with the rows that refer to them".to_owned()));
            } else if real && depth < DEPTH {
                self.walk(&path, depth + 1, watch)?;
            } else if path.is_dir() {
                self.left_out.push((path, "a folder that is a link or nested too deep".to_owned()));
            } else {
                self.add(path, watch)?;
            }
        }
        Ok(())
    }

    fn add(&mut self, path: PathBuf, watch: &Watch) -> Result<(), ReadError> {
        if self.files.len() + self.left_out.len() >= FILES {
            let what = format!("it has more than {FILES} files");
            return Err(ReadError::file(&self.root, what, "a smaller folder"));
        }
        match describe(&path, watch) {
            Ok(file) if file.format.id == ding_koehn::PARTS.id => {
                self.left_out.push((path, "read with its prefix file".to_owned()));
            }
            Ok(file) => self.files.push(file),
            Err(e) => self.left_out.push((path, e.what)),
        }
        Ok(())
    }

    fn layout(&self) -> String {
        let has = |id: &&str| self.files.iter().any(|f| f.format.id == *id);
        let fits = |(_, must, may): &&Layout| {
            let known = |f: &SetFile| must.contains(&f.format.id) || may.contains(&f.format.id);
            must.iter().all(has) && self.files.iter().all(known)
        };
        if let Some((name, ..)) = LAYOUTS.iter().find(fits) {
            return (*name).to_owned();
        }
        let first = self.files[0].format;
        if self.files.iter().all(|f| f.format == first) {
            return format!("folder of {}", first.title);
        }
        "folder with files in several formats".to_owned()
    }

    /// Returns the file names: paths relative to the folder, or the requested path.
    pub fn names(&self) -> Vec<String> {
        self.files.iter().map(|f| self.name(&f.path)).collect()
    }

    pub fn name(&self, path: &Path) -> String {
        let inside = path.strip_prefix(&self.root).ok().filter(|p| !p.as_os_str().is_empty());
        inside.unwrap_or(path).display().to_string()
    }

    /// Reads the rows of all files in order. The sink receives the index into [`Set::files`], the row and its line. Returns a report for
    /// each file reached. A file in a folder that yields no rows because its format was misrecognised is skipped; its report states the
    /// reason.
    ///
    /// # Errors
    /// [`ReadError`] if the framing of a file becomes invalid after some rows, or if no file has readable rows.
    pub fn rows(&self, sink: &mut dyn FnMut(usize, Row<'_>, u64) -> ControlFlow<()>) -> Result<Vec<Report>, ReadError> {
        self.rows_watched(&unwatched(), sink)
    }

    /// Reads the rows with an observer that can stop the reading, even between dropped rows.
    ///
    /// # Errors
    /// Same as [`Set::rows`]; also if `watch` stops reading.
    pub fn rows_watched(
        &self,
        watch: &Watch,
        sink: &mut dyn FnMut(usize, Row<'_>, u64) -> ControlFlow<()>,
    ) -> Result<Vec<Report>, ReadError> {
        let mut reports = Vec::with_capacity(self.files.len());
        let mut failed = None;
        for (k, file) in self.files.iter().enumerate() {
            let mut rows = 0u64;
            let read = Reading::open_watched(&file.path, watch).and_then(|reading| {
                reading.rows(&mut |row, line| {
                    rows += 1;
                    sink(k, row, line)
                })
            });
            let report = match read {
                Ok(report) => report,
                // After some rows, an error is returned so that a partial file is not mistaken for a complete one; a caller that stops
                // needs no report.
                Err(e) if rows > 0 || self.files.len() == 1 || watch(0).is_break() => return Err(e),
                Err(e) => {
                    let line = e.line.map_or_else(String::new, |n| format!("line {n}: "));
                    let why = format!("{line}{}", e.what);
                    failed.get_or_insert(e);
                    Report { failed: Some(why), ..Report::default() }
                }
            };
            let stopped = report.stopped;
            reports.push(report);
            if stopped {
                break;
            }
        }
        match failed {
            Some(e) if reports.iter().all(|r: &Report| r.failed.is_some()) => Err(e),
            _ => Ok(reports),
        }
    }
}

/// Returns an observer that never stops reading.
fn unwatched() -> Watch {
    Rc::new(|_| ControlFlow::Continue(()))
}

fn describe(path: &Path, watch: &Watch) -> Result<SetFile, ReadError> {
    let reading = Reading::open_watched(path, watch)?;
    let bytes = fs::metadata(path).map_or(0, |m| m.len());
    Ok(SetFile { path: path.to_owned(), format: reading.format(), gzip: reading.is_gzip(), bytes })
}

/// True if the file's rows refer to documents in the neighbouring folder `docs`.
fn is_annotation(path: &Path) -> bool {
    path.is_file()
        && path.file_name().is_some_and(|n| n.to_string_lossy().contains(".json"))
        && Reading::open(path).is_ok_and(|r| r.format().id == eraser::ROWS.id)
}
