//! Readers for the data sets that analysts have on disk.
//!
//! [`sniff`] says by content what a file is; [`Set`] does so for folders too and reads their rows one after the other in
//! bounded memory, whatever the size. All formats give the same [`Row`]s, so that a lab can use any source. A new format is
//! one file here and one line in [`FORMATS`].
//!
//! What is read and what is refused:
//! - `.gz` is read as is. A byte order mark, carriage returns before line ends and blank lines are passed over; blank lines
//!   are counted.
//! - A row that cannot be read is dropped and counted under its [`DropKind`], with the line and reason of the first: bytes
//!   that are not UTF-8, NUL bytes, foreign lines, a tab in a text, unknown labels, indices outside the sentence.
//! - Broken framing is a [`ReadError`] that names file, line and what was expected: half a gzip, a line over 16 MiB, UTF-16, a
//!   JSON array that does not end; so is a file of which no row could be read.
//! - Control characters and escape sequences in texts are kept, because they are data; what shows them makes them printable.

mod agreement;
mod bear;
mod blimp;
mod causal_eval;
mod ding_koehn;
mod eraser;
mod error;
mod format;
mod inseq;
mod labelled;
mod lama;
mod lpaqa;
mod pararel;
pub mod plain;
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
pub use table::{MARKS, with_tabs};
pub use text::{Labels, Text};

use std::path::Path;

/// The format of a file, recognised by its content.
///
/// # Errors
/// [`ReadError`] where it cannot be opened, is not text, is empty, or of no known format.
pub fn sniff(path: &Path) -> Result<&'static Format, ReadError> {
    Ok(Reading::open(path)?.format())
}
