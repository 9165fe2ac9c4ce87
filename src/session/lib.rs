//! Recorded sessions: questions and measurements as lines of JSON.
//!
//! A session is an append-only file `NAME.probity.jsonl`. [`record`] writes it while the program works, [`mod@format`] parses it, and
//! [`replay`] plays it through the engine interface. Measurements (commands and events) and the user's view of them (view lines, notes) are
//! separate kinds of line, so a replay can use one kind without the other. Findings of grid cells stay in [`parts`] until they are merged
//! into a session.

pub mod format;
mod glance;
mod identity;
mod kept;
pub mod name;
mod newer;
pub mod parts;
pub mod record;
pub mod replay;
pub mod shelf;
mod stream;
pub mod thin;
mod threads;

use std::path::PathBuf;

use thiserror::Error;

#[derive(Debug, Error)]
pub enum SessionError {
    #[error("{}: cannot read the session: {source}", path.display())]
    Read { path: PathBuf, source: std::io::Error },
    #[error("{}, line {line}: {message}", path.display())]
    Format {
        path: PathBuf,
        /// Line number, from 1.
        line: usize,
        message: String,
    },
    #[error("{}: cannot write the session: {source}. Set PROBITY_STATE_DIR to a writable folder.", path.display())]
    Write {
        /// The file or its folder.
        path: PathBuf,
        source: std::io::Error,
    },
    /// A session with this name exists. Recordings are never overwritten.
    #[error("{}: a session with this name already exists; choose another name", path.display())]
    Exists { path: PathBuf },
    /// No session with this name or path exists.
    #[error("{name}: no such session; looked for a file with this name and for {}", path.display())]
    Missing {
        /// The name as entered.
        name: String,
        /// The file that a session with this name would have.
        path: PathBuf,
    },
    /// The state folder of this platform is not known.
    #[error("the folder for sessions is not known on this system; set PROBITY_STATE_DIR to a folder")]
    NoFolder,
}
