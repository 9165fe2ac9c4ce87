//! A text file for readers outside this crate: its whole text, or its JSON rows.

use std::borrow::Cow;
use std::io::Read;
use std::path::Path;

use super::encoding::{UTF_8, decode};
use super::error::ReadError;
use super::source::{self, Frames};
use crate::results::python::{exact_integers, plain};

/// An open text file. Gzip is decompressed, and other encodings are refused with the command that converts them.
pub struct TextSource(Frames);

impl TextSource {
    /// Opens a regular file.
    ///
    /// # Errors
    /// [`ReadError`] if the file cannot be opened or is not text.
    pub fn open(path: &Path) -> Result<Self, ReadError> {
        source::open(path).map(Self)
    }

    /// Reads a stream, which is called `name` in errors.
    ///
    /// # Errors
    /// Same as [`TextSource::open`].
    pub fn stream(source: Box<dyn Read>, name: &Path) -> Result<Self, ReadError> {
        Frames::new(source, name).map(Self)
    }

    pub fn path(&self) -> &Path {
        self.0.file()
    }

    /// True if the file begins with a JSON object or list.
    pub fn is_json(&self) -> bool {
        self.0.window().trim_ascii_start().starts_with(b"{") || self.0.window().trim_ascii_start().starts_with(b"[")
    }

    /// Returns the line and text of the next JSON row. Python's `NaN` becomes null, and integers beyond 64 bits become strings.
    ///
    /// # Errors
    /// [`ReadError`] if reading fails, or for text that is not UTF-8.
    pub fn next_row(&mut self) -> Result<Option<(u64, String)>, ReadError> {
        let Some((line, range)) = self.0.next_row()? else { return Ok(None) };
        let bytes = self.0.bytes(range);
        decode(bytes).map_err(|what| ReadError::line(self.0.file(), line, what, UTF_8))?;
        let text = match exact_integers(bytes) {
            Cow::Borrowed(bytes) => plain(bytes).into_owned(),
            Cow::Owned(bytes) => plain(&bytes).into_owned(),
        };
        Ok(Some((line, String::from_utf8_lossy(&text).into_owned())))
    }

    /// Returns the text of the whole file, up to [`super::MAX_DOCUMENT`] bytes.
    ///
    /// # Errors
    /// [`ReadError`] if reading fails, for a larger file, or for text that is not UTF-8.
    pub fn text(&mut self) -> Result<String, ReadError> {
        let range = self.0.document()?;
        let bytes = self.0.bytes(range);
        let line = |at: usize| bytes[..at].iter().filter(|b| **b == b'\n').count() as u64 + 1;
        match std::str::from_utf8(bytes) {
            Ok(text) => Ok(text.to_owned()),
            Err(e) => {
                let begin = memchr::memrchr(b'\n', &bytes[..e.valid_up_to()]).map_or(0, |at| at + 1);
                let what = decode(&bytes[begin..]).err().unwrap_or_default();
                Err(ReadError::line(self.0.file(), line(begin), what, UTF_8))
            }
        }
    }
}
