//! A grid on disk: the findings of its cells, one file per cell, written by any number of machines that share a folder.
//!
//! ```text
//! DIR/grid.jsonl            the list of cells: a header, then a line per cell (the same bytes from every machine)
//! DIR/parts/HASH.jsonl      the findings of one cell; HASH is that of its spec
//! DIR/shards/I-of-N.json    progress of a shard
//! ```
//!
//! Every file is written under a temporary name and renamed, without locks, so the folder may be on a network file
//! system. A part is a header line, the lines of a session (final findings only), and a closing line with the outcome,
//! the number of lines and their checksum.

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
    /// Not the folder of a grid.
    #[error("{}: {problem}", path.display())]
    NoFolder {
        path: PathBuf,
        /// The fault and its remedy.
        problem: String,
    },
    /// The folder has the parts of another set of cells.
    #[error(
        "{}: contains the parts of another experiment ({there}); this is {here}. Name another folder, or run the spec of that experiment.",
        path.display()
    )]
    Other {
        /// The file that shows it.
        path: PathBuf,
        there: String,
        /// The requested set of cells.
        here: String,
    },
    /// Another version of the program wrote it.
    #[error(
        "{}: written by version {there} of the program, but this is {here}: numbers of two versions must not be mixed. \
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
    /// A line is invalid.
    #[error("{}, line {line}: {problem}", path.display())]
    Line {
        path: PathBuf,
        /// Line, from 1.
        line: usize,
        /// The fault and its remedy.
        problem: String,
    },
    /// The file is truncated.
    #[error(
        "{}, line {line}: the file is truncated {at}. Delete it and run the spec again: `probity run SPEC --out DIR` computes what is missing.",
        path.display()
    )]
    Cut {
        /// The file.
        path: PathBuf,
        /// Its last line, from 1.
        line: usize,
        /// Place of the truncation.
        at: &'static str,
    },
    /// Two files of one cell disagree.
    #[error(
        "{} and {}: two results of {cell} with different numbers. One of them comes from other data, another model with the same name, or a faulty machine: delete it.",
        first.display(), second.display()
    )]
    Twice {
        cell: String,
        /// One file.
        first: PathBuf,
        /// The other.
        second: PathBuf,
    },
}

impl PartError {
    /// True for an error of the system; false if the content is wrong.
    pub fn is_of_the_system(&self) -> bool {
        matches!(self, PartError::Write { .. })
    }
}

/// The version of this program, as written in parts.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");

/// Advice for an invalid file.
const AGAIN: &str = "delete the file and run the spec again";
