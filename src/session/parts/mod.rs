//! A grid on disk: the findings of its cells, one file a cell, written by any number of machines that share a folder.
//!
//! ```text
//! DIR/grid.jsonl            what the set is: a header, then a line a cell (the same bytes from every machine)
//! DIR/parts/HASH.jsonl      what one cell found; HASH is that of its spec
//! DIR/shards/I-of-N.json    how far a shard has got
//! ```
//!
//! Every file is written beside its place and renamed, and no lock is held, so that the folder may lie on a network file system. A
//! part is a header line, the lines of a session (final findings only), and a line that says how it ended, how many lines there
//! are and what they add up to.

pub mod folder;
pub mod log;
pub mod merge;
pub mod part;
pub mod status;
#[cfg(test)]
mod tests;
pub mod watch;

use std::path::PathBuf;

use thiserror::Error;

/// Errors in a folder of parts, or in a part.
#[derive(Debug, Error)]
pub enum PartError {
    /// Could not be read.
    #[error("{}: cannot read: {source}", path.display())]
    Read {
        /// The file or folder.
        path: PathBuf,
        /// The system's reason.
        source: std::io::Error,
    },
    /// Could not be written.
    #[error("{}: cannot write: {source}. Make room, or name another folder.", path.display())]
    Write {
        /// The file or folder.
        path: PathBuf,
        /// The system's reason.
        source: std::io::Error,
    },
    /// No folder of parts.
    #[error("{}: {problem}", path.display())]
    NoFolder {
        path: PathBuf,
        /// The fault and its remedy.
        problem: String,
    },
    /// The folder has the parts of another set of cells.
    #[error(
        "{}: holds the parts of another experiment ({there}); this is {here}. Name another folder, or run the spec that it is of.",
        path.display()
    )]
    Other {
        /// The file that says so.
        path: PathBuf,
        there: String,
        /// The set of cells asked for.
        here: String,
    },
    /// Another version of the program wrote it.
    #[error(
        "{}: written by version {there} of the program, and this is {here}: numbers of two versions do not belong together. \
         Name another folder, or use that version.",
        path.display()
    )]
    Version {
        path: PathBuf,
        /// Its version.
        there: String,
        /// This version.
        here: String,
    },
    /// A line is not what it should be.
    #[error("{}, line {line}: {problem}", path.display())]
    Line {
        path: PathBuf,
        /// Line, from 1.
        line: usize,
        /// The fault and its remedy.
        problem: String,
    },
    /// The file ends too early.
    #[error(
        "{}, line {line}: the file is cut {at}. Delete it and run the spec again: `probity run SPEC --out DIR` computes what is missing.",
        path.display()
    )]
    Cut {
        /// The file.
        path: PathBuf,
        /// Its last line, from 1.
        line: usize,
        /// Position of the cut.
        at: &'static str,
    },
    /// Two files of one cell disagree.
    #[error(
        "{} and {}: two results of {cell} with other numbers. One of them is from other data, another model of the same name or a damaged \
         machine: delete it.",
        first.display(), second.display()
    )]
    Twice {
        cell: String,
        /// A file.
        first: PathBuf,
        /// The other.
        second: PathBuf,
    },
}

impl PartError {
    /// True if the system refused; false if the content is wrong.
    pub fn is_of_the_system(&self) -> bool {
        matches!(self, PartError::Write { .. })
    }
}

/// The version of this program, as parts state it.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");

/// Advice for a file that is not what it claims to be.
const AGAIN: &str = "delete the file and run the spec again";
