//! A grid on disk: one file of findings per cell, written by any number of machines that share a folder.
//!
//! ```text
//! DIR/grid.jsonl            the list of cells: a header, then a line per cell (the same bytes from every machine)
//! DIR/parts/HASH.jsonl      the findings of one cell; HASH is the hash of its spec
//! DIR/shards/I-of-N.json    progress of a shard
//! ```
//!
//! Every file is written under a temporary name and renamed. No locks are needed, so the folder may be on a network file system. A part
//! consists of a header line, session lines (final findings only), and a closing line with the outcome, the number of lines and their
//! checksum.

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

#[derive(Debug, Error)]
pub enum PartError {
    #[error("{}: cannot read: {source}", path.display())]
    Read { path: PathBuf, source: std::io::Error },
    #[error("{}: cannot write: {source}. Free some space, or choose a different folder.", path.display())]
    Write { path: PathBuf, source: std::io::Error },
    /// The folder does not belong to a grid.
    #[error("{}: {problem}", path.display())]
    NoFolder {
        path: PathBuf,
        /// The fault and its remedy.
        problem: String,
    },
    /// The folder contains the parts of a different set of cells.
    #[error(
        "{}: contains the parts of a different experiment ({there}); this is {here}. Choose a different folder, or run the spec of that experiment.",
        path.display()
    )]
    Other {
        /// The file that shows the mismatch.
        path: PathBuf,
        there: String,
        /// The requested set of cells.
        here: String,
    },
    /// A different version of the program wrote the file.
    #[error(
        "{}: written by version {there} of the program, but this is {here}: numbers from two versions must not be mixed. \
         Choose a different folder, or use that version.",
        path.display()
    )]
    Version {
        path: PathBuf,
        /// The version that wrote the file.
        there: String,
        /// This version.
        here: String,
    },
    #[error("{}, line {line}: {problem}", path.display())]
    Line {
        path: PathBuf,
        /// Line number, from 1.
        line: usize,
        /// The fault and its remedy.
        problem: String,
    },
    #[error(
        "{}, line {line}: the file is truncated {at}. Delete it and run the spec again: `probity run SPEC --out DIR` computes the missing cells.",
        path.display()
    )]
    Cut {
        path: PathBuf,
        /// Number of the last line, from 1.
        line: usize,
        at: &'static str,
    },
    /// Two files for the same cell contain different results.
    #[error(
        "{} and {}: these files have different results for {cell}. One of them comes from different data, a different model with the same name, or a faulty machine: delete that file.",
        first.display(), second.display()
    )]
    Twice { cell: String, first: PathBuf, second: PathBuf },
}

impl PartError {
    /// True for a system error; false for invalid content.
    pub fn is_of_the_system(&self) -> bool {
        matches!(self, PartError::Write { .. })
    }
}

/// The version of this program, as written in parts.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");

/// Advice for the user if a file is invalid.
const AGAIN: &str = "delete the file and run the spec again";
