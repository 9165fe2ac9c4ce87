//! Recorded sessions: questions and measurements, as lines of JSON.
//!
//! A session is an append-only file `NAME.probity.jsonl`. [`record`] writes it while the program works, [`mod@format`]
//! reads it back, and [`replay`] plays it as if it were an engine. The measurements (commands and events) and the
//! user's view of them (view lines, notes) are separate kinds of line, so that a replay can use one without the other.
//! The findings of the cells of a grid stay in [`parts`] until they are merged into a session.

pub mod format;
mod glance;
pub mod name;
mod newer;
pub mod parts;
pub mod record;
pub mod replay;
pub mod shelf;
mod stream;
pub mod thin;

use std::path::PathBuf;

use thiserror::Error;

/// Errors in reading or writing a session.
#[derive(Debug, Error)]
pub enum SessionError {
    /// The file could not be read.
    #[error("{}: cannot read the session: {source}", path.display())]
    Read {
        path: PathBuf,
        /// The system's reason.
        source: std::io::Error,
    },
    /// The file is not a session.
    #[error("{}, line {line}: {message}", path.display())]
    Format {
        path: PathBuf,
        /// Line, from 1.
        line: usize,
        /// The fault, in words.
        message: String,
    },
    /// The file could not be written.
    #[error("{}: cannot write the session: {source}. Set PROBITY_STATE_DIR to a writable folder.", path.display())]
    Write {
        /// The file or its folder.
        path: PathBuf,
        /// The system's reason.
        source: std::io::Error,
    },
    /// A session with this name already exists; recordings are never overwritten.
    #[error("{}: a session with this name already exists; choose another name", path.display())]
    Exists { path: PathBuf },
    /// No such session by name or path.
    #[error("{name}: no such session; looked for a file with this name and for {}", path.display())]
    Missing {
        /// The name that was typed.
        name: String,
        /// The file where a session with this name would be.
        path: PathBuf,
    },
    /// The platform has no known folder for state.
    #[error("no folder for sessions is known on this system; set PROBITY_STATE_DIR to one")]
    NoFolder,
}
