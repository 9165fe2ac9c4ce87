//! Splits the bytes of a file into lines or JSON values in bounded memory.
//!
//! Gzip is recognised by content and decompressed. Byte order marks and carriage returns before line ends are removed. Escape sequences and
//! other control characters are data and are kept; displays escape them. Invalid framing is an error: UTF-16, other compression formats, a
//! truncated gzip, a line over 16 MiB.

use std::fs::File;
use std::io::{ErrorKind, Read};
use std::ops::{ControlFlow, Range};
use std::path::{Path, PathBuf};
use std::rc::Rc;

use flate2::read::MultiGzDecoder;
use memchr::{memchr, memchr_iter};

use super::encoding::foreign;
use super::error::ReadError;
use super::table::record_length;

/// Maximum length of a line or JSON value, in bytes.
pub const MAX_LINE: usize = 16 << 20;
/// Maximum size of a file parsed as one document, in bytes.
pub const MAX_DOCUMENT: usize = 64 << 20;
/// Maximum length of a quoted cell over several lines, in bytes.
const MAX_RECORD: usize = 64 << 10;
/// Number of bytes from which formats are recognised.
pub(crate) const HEAD: usize = 256 << 10;

/// A byte stream with a sliding window.
pub(crate) struct Frames {
    source: Box<dyn Read>,
    file: PathBuf,
    buffer: Vec<u8>,
    start: usize,
    end: usize,
    line: u64,
    ended: bool,
    gzip: bool,
    /// True inside a top-level JSON array.
    inside: bool,
    /// True if JSON rows extend over lines or are elements of an array; `None` before the first row.
    spread: Option<bool>,
}

/// First line (from 1) and byte range of a piece.
pub(crate) type Piece = (u64, Range<usize>);

/// Observer of file reading, called with the number of bytes read from disk. If it returns `Break`, reading stops with an error, which the
/// caller must explain to the user.
pub type Watch = Rc<dyn Fn(u64) -> ControlFlow<()>>;

struct Watched {
    file: File,
    watch: Watch,
}

impl Read for Watched {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let n = self.file.read(buffer)?;
        match (self.watch)(n as u64) {
            ControlFlow::Continue(()) => Ok(n),
            ControlFlow::Break(()) => Err(std::io::Error::other("reading was stopped")),
        }
    }
}

/// Opens a regular file; pipes and devices are rejected because they could block forever.
///
/// # Errors
/// [`ReadError`] if the file cannot be opened or its beginning is not text.
pub(crate) fn open(path: &Path) -> Result<Frames, ReadError> {
    Frames::new(Box::new(regular(path)?), path)
}

/// Opens a file with an observer.
///
/// # Errors
/// Same as [`open`]; also if `watch` stops reading.
pub(crate) fn open_watched(path: &Path, watch: &Watch) -> Result<Frames, ReadError> {
    let watched = Watched { file: regular(path)?, watch: watch.clone() };
    Frames::new(Box::new(watched), path)
}

fn regular(path: &Path) -> Result<File, ReadError> {
    base::read::open(path).map_err(|e| ReadError::file(path, format!("cannot open it: {e}"), "a readable file"))
}

impl Frames {
    /// Splits a stream; errors name `file`.
    ///
    /// # Errors
    /// [`ReadError`] if reading fails or the beginning is not text.
    pub(crate) fn new(source: Box<dyn Read>, file: &Path) -> Result<Self, ReadError> {
        let mut frames = Self::over(source, file);
        frames.fill(2)?;
        if frames.window().starts_with(&[0x1f, 0x8b]) {
            // The bytes that have already been read come first.
            let begun = std::io::Cursor::new(frames.window().to_vec());
            let source = MultiGzDecoder::new(begun.chain(frames.source));
            frames = Self::over(Box::new(source), file);
            frames.gzip = true;
        }
        frames.fill(HEAD)?;
        if let Some((found, expected)) = foreign(frames.window(), file) {
            return Err(ReadError::line(file, 1, found, expected));
        }
        if frames.window().starts_with(&[0xef, 0xbb, 0xbf]) {
            frames.start += 3;
        }
        // Excel begins tables with a line that names the separator.
        let begins = frames.window().get(..4).is_some_and(|begin| begin.eq_ignore_ascii_case(b"sep="));
        if let Some(end) = memchr(b'\n', frames.window()).filter(|end| begins && *end <= 7) {
            frames.start += end + 1;
            frames.line = 1;
        }
        Ok(frames)
    }

    fn over(source: Box<dyn Read>, file: &Path) -> Self {
        Self {
            source,
            file: file.to_owned(),
            buffer: vec![0; HEAD],
            start: 0,
            end: 0,
            line: 0,
            ended: false,
            gzip: false,
            inside: false,
            spread: None,
        }
    }

    /// Path used in errors.
    pub(crate) fn file(&self) -> &Path {
        &self.file
    }

    /// Line of the latest piece, from 1.
    pub(crate) fn line_number(&self) -> u64 {
        self.line
    }

    pub(crate) fn is_gzip(&self) -> bool {
        self.gzip
    }

    /// Bytes read but not yet consumed; initially the beginning of the file.
    pub(crate) fn window(&self) -> &[u8] {
        &self.buffer[self.start..self.end]
    }

    /// True if the window extends to the end of the file.
    pub(crate) fn is_whole(&self) -> bool {
        self.ended
    }

    /// Returns the bytes of a piece, valid until the next one is read.
    pub(crate) fn bytes(&self, range: Range<usize>) -> &[u8] {
        &self.buffer[range]
    }

    fn fill(&mut self, least: usize) -> Result<(), ReadError> {
        while !self.ended && self.end - self.start < least {
            self.more()?;
        }
        Ok(())
    }

    /// Extends the window. The buffer grows only if a single piece fills it.
    fn more(&mut self) -> Result<(), ReadError> {
        if self.start > 0 {
            self.buffer.copy_within(self.start..self.end, 0);
            self.end -= self.start;
            self.start = 0;
        }
        if self.end == self.buffer.len() {
            self.buffer.resize(2 * self.end, 0);
        }
        loop {
            match self.source.read(&mut self.buffer[self.end..]) {
                Ok(0) => self.ended = true,
                Ok(n) => self.end += n,
                Err(e) if e.kind() == ErrorKind::Interrupted => continue,
                Err(e) => return Err(self.broken(&e)),
            }
            return Ok(());
        }
    }

    fn broken(&self, error: &std::io::Error) -> ReadError {
        let what = match error.kind() {
            ErrorKind::UnexpectedEof if self.gzip => "the compressed data is truncated".to_owned(),
            ErrorKind::InvalidInput | ErrorKind::InvalidData if self.gzip => {
                format!("the compressed data is damaged ({error})")
            }
            _ => format!("cannot continue reading: {error}"),
        };
        ReadError::line(&self.file, self.line + 1, what, "a complete file; fetch it again")
    }

    /// Returns the next line without its end, or `None` at the end of the file.
    ///
    /// # Errors
    /// [`ReadError`] if reading fails or the line exceeds [`MAX_LINE`].
    pub(crate) fn next_line(&mut self) -> Result<Option<Piece>, ReadError> {
        let mut scanned = 0;
        loop {
            if let Some(k) = memchr(b'\n', &self.window()[scanned..]) {
                let from = self.start;
                let to = from + scanned + k;
                // The window may exceed the limit before it contains the end of the line.
                self.check_length(to - from, self.line + 1)?;
                self.start = to + 1;
                self.line += 1;
                let to = if to > from && self.buffer[to - 1] == b'\r' { to - 1 } else { to };
                return Ok(Some((self.line, from..to)));
            }
            scanned = self.end - self.start;
            if self.ended {
                if scanned == 0 {
                    return Ok(None);
                }
                self.check_length(scanned, self.line + 1)?;
                let range = self.start..self.end;
                self.start = self.end;
                self.line += 1;
                return Ok(Some((self.line, range)));
            }
            self.check_length(scanned, self.line + 1)?;
            self.more()?;
        }
    }

    /// Returns the next record of a table: a line, or several if a quoted cell spans them (up to [`MAX_RECORD`]).
    ///
    /// # Errors
    /// Same as [`Frames::next_line`].
    pub(crate) fn next_record(&mut self, mark: u8) -> Result<Option<Piece>, ReadError> {
        let Some((line, range)) = self.next_line()? else { return Ok(None) };
        if record_length(self.bytes(range.clone()), mark).is_some() {
            return Ok(Some((line, range)));
        }
        let consumed = self.start - range.start;
        self.start = range.start;
        self.fill(MAX_RECORD)?;
        let from = self.start;
        let whole = |length: &usize| *length < self.window().len() || self.ended;
        let Some(length) = record_length(self.window(), mark).filter(whole) else {
            self.start += consumed;
            return Ok(Some((line, from..from + range.len())));
        };
        let to = from + length;
        self.line += memchr_iter(b'\n', &self.buffer[from..to]).count() as u64;
        self.start = self.end.min(to + 1);
        Ok(Some((line, from..if self.buffer[..to].ends_with(b"\r") { to - 1 } else { to })))
    }

    fn check_length(&self, length: usize, line: u64) -> Result<(), ReadError> {
        if length <= MAX_LINE {
            return Ok(());
        }
        let what = format!("a line or value longer than {} MiB", MAX_LINE >> 20);
        Err(ReadError::line(&self.file, line, what, "one row per line, or a JSON array of rows"))
    }

    /// Returns the next object of a top-level JSON array or of a sequence of objects, over any number of lines.
    ///
    /// # Errors
    /// [`ReadError`] if reading fails, the next value is not an object, or the object is unclosed.
    pub(crate) fn next_value(&mut self) -> Result<Option<Piece>, ReadError> {
        if !self.skip_between()? {
            return Ok(None);
        }
        let line = self.line + 1;
        let mut scan = Scan::default();
        let mut scanned = 0;
        loop {
            if let Some(k) = scan.end(&self.window()[scanned..]) {
                let range = self.start..self.start + scanned + k + 1;
                self.check_length(range.len(), line)?;
                self.line += memchr_iter(b'\n', &self.buffer[range.clone()]).count() as u64;
                self.start = range.end;
                return Ok(Some((line, range)));
            }
            scanned = self.end - self.start;
            if self.ended {
                let what = "the file ends inside a JSON object";
                return Err(ReadError::line(&self.file, line, what, "a closing brace"));
            }
            self.check_length(scanned, line)?;
            self.more()?;
        }
    }

    /// Skips white space, commas and array brackets up to the next object; returns false at the end.
    fn skip_between(&mut self) -> Result<bool, ReadError> {
        loop {
            let Some(&byte) = self.window().first() else {
                if self.ended {
                    if self.inside {
                        let what = "the file ends inside a JSON array";
                        return Err(ReadError::line(&self.file, self.line + 1, what, "a closing bracket"));
                    }
                    return Ok(false);
                }
                self.more()?;
                continue;
            };
            match byte {
                b'{' => return Ok(true),
                b'\n' => self.line += 1,
                b' ' | b'\t' | b'\r' => {}
                b',' if self.inside => {}
                b'[' if !self.inside => self.inside = true,
                b']' if self.inside => self.inside = false,
                other => {
                    let what = format!("`{}` between rows", (other as char).escape_default());
                    return Err(ReadError::line(&self.file, self.line + 1, what, "JSON objects"));
                }
            }
            self.start += 1;
        }
    }

    /// Returns the next JSON row: a line that is not blank, an object over several lines, or an element of an array.
    ///
    /// # Errors
    /// Same as [`Frames::next_line`] and [`Frames::next_value`].
    pub(crate) fn next_row(&mut self) -> Result<Option<Piece>, ReadError> {
        let window = self.window().trim_ascii_start();
        let spread = self.spread.unwrap_or_else(|| window.starts_with(b"[") || !first_line_is_whole(window));
        self.spread = Some(spread);
        loop {
            let piece = if spread { self.next_value()? } else { self.next_line()? };
            match piece {
                Some((_, range)) if self.bytes(range.clone()).iter().all(u8::is_ascii_whitespace) => {}
                piece => return Ok(piece),
            }
        }
    }

    /// Returns the rest of the file as one piece.
    ///
    /// # Errors
    /// [`ReadError`] if reading fails or the file exceeds [`MAX_DOCUMENT`].
    pub(crate) fn document(&mut self) -> Result<Range<usize>, ReadError> {
        while !self.ended {
            if self.end - self.start > MAX_DOCUMENT {
                let what = format!("a document larger than {} MiB", MAX_DOCUMENT >> 20);
                return Err(ReadError::file(&self.file, what, "a smaller one"));
            }
            self.more()?;
        }
        let range = self.start..self.end;
        self.start = self.end;
        Ok(range)
    }
}

/// Finds the end of a JSON object across windows.
#[derive(Default)]
struct Scan {
    depth: usize,
    string: bool,
    escaped: bool,
}

impl Scan {
    /// Returns the index of the brace that closes the object.
    fn end(&mut self, bytes: &[u8]) -> Option<usize> {
        for (k, &b) in bytes.iter().enumerate() {
            if self.string {
                match b {
                    _ if self.escaped => self.escaped = false,
                    b'\\' => self.escaped = true,
                    b'"' => self.string = false,
                    _ => {}
                }
                continue;
            }
            match b {
                b'"' => self.string = true,
                b'{' | b'[' => self.depth += 1,
                b'}' | b']' => {
                    self.depth = self.depth.saturating_sub(1);
                    if self.depth == 0 {
                        return Some(k);
                    }
                }
                _ => {}
            }
        }
        None
    }
}

/// True if the first row is a single line.
fn first_line_is_whole(rest: &[u8]) -> bool {
    let end = memchr(b'\n', rest).unwrap_or(rest.len());
    let line = rest[..end].trim_ascii_end();
    // A line longer than the window is a long row.
    end == rest.len() || line.ends_with(b"}")
}
