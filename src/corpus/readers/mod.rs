//! Readers for data sets on disk.
//!
//! [`sniff`] recognises a file by its contents. [`Set`] does the same for files and folders, and reads their rows one by one in bounded
//! memory. All formats produce the same [`Row`]s, so labs can use any source. To add a format, add a file here and a line in [`FORMATS`].
//!
//! Input is handled as follows:
//! - `.gz` files are decompressed. Byte order marks and carriage returns before line ends are removed; blank lines are skipped and
//!   counted.
//! - An unreadable row is dropped and counted by [`DropKind`], with the line and reason of the first one. Examples are invalid UTF-8, NUL
//!   bytes, lines in a different format, tabs in texts, unknown labels, and indices outside the sentence.
//! - Invalid framing is a [`ReadError`] with file, line and expected form: a truncated gzip, a line over 16 MiB, UTF-16, or an unclosed
//!   JSON array. A file without any readable row is an error too.
//! - Control characters and escape sequences in texts are data and are kept; displays must escape them.

mod agreement;
mod bear;
mod blimp;
mod causal_eval;
mod ding_koehn;
mod encoding;
mod eraser;
mod error;
mod format;
mod inseq;
mod labelled;
mod lama;
mod lpaqa;
mod pararel;
pub mod plain;
mod quoting;
mod rationale;
mod read;
mod registry;
mod row;
mod scored;
mod senteval;
mod set;
pub(super) mod source;
mod table;
#[cfg(test)]
mod tests;
mod text;
mod text_source;
#[cfg(test)]
mod variants;
mod vectors;
mod verbs;

pub use error::{DropCount, DropKind, Drops, ReadError, Unread};
pub use format::{Format, Framing};
pub use read::{Reading, Report, Sink};
pub use registry::FORMATS;
pub use row::{
    Fact, Measure, Pair, Prediction, Prompt, Rationale, Relation, RelationKind, Row, Sentence, Split, Vector,
};
pub use set::{Set, SetFile};
pub use source::{MAX_DOCUMENT, MAX_LINE, Watch};
pub use table::{MARKS, is_missing, with_tabs};
pub use text::{Labels, Text};
pub use text_source::TextSource;

pub(crate) use encoding::{UTF_8, decode};

use std::path::Path;

/// Recognises the format of a file by its content.
///
/// # Errors
/// [`ReadError`] if the file cannot be opened, is not text, is empty, or has no known format.
pub fn sniff(path: &Path) -> Result<&'static Format, ReadError> {
    Ok(Reading::open(path)?.format())
}
