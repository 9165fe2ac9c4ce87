//! Errors in training and in the gallery.

use std::path::PathBuf;

use base::Cancelled;
use corpus::facts::FactsError;
use corpus::rationales::TemplateError;
use corpus::{FrequencyError, TaskError};
use model::error::ModelError;

/// Reasons why a built-in model cannot be trained or shown.
#[derive(Debug, thiserror::Error)]
pub enum GalleryError {
    /// The path is neither a built-in model nor a folder with a card.
    #[error("{}: no card.json; give a built-in model, or a folder that `probity gallery train` wrote", .0.display())]
    NoCard(PathBuf),
    #[error("{} exists already; remove it or choose another folder with --out", .0.display())]
    Exists(PathBuf),
    /// A file could not be written.
    #[error("{}: {source}", path.display())]
    Io { path: PathBuf, source: std::io::Error },
    /// An outcome file cannot be resumed.
    #[error("{}: {what}; choose another file with --out", path.display())]
    Resume { path: PathBuf, what: String },
    /// A text file cannot be used.
    #[error("{}: {what}", path.display())]
    Text { path: PathBuf, what: String },
    /// The number of steps is out of range.
    #[error("{0} steps requested; the number must be from 1 to 1000000")]
    Steps(usize),
    /// A score could not be measured.
    #[error("scoring: {0}")]
    Score(String),
    /// A shipped card cannot be read.
    #[error("the card of {name}: {what}")]
    Card { name: String, what: String },
    /// The files in a folder of seeds contradict each other.
    #[error("{}: {what}", path.display())]
    Seeds {
        path: PathBuf,
        /// Problem and remedy.
        what: String,
    },
    /// Another process is training into the same folder.
    #[error("{}: another `probity gallery train --all` is running there; wait for it to finish, or choose another folder with --out", .0.display())]
    Busy(PathBuf),
    #[error("cannot start threads: {0}")]
    Threads(String),
    /// A bug in this program.
    #[error("internal error: {0}")]
    Internal(String),
    #[error(transparent)]
    Model(#[from] ModelError),
    #[error(transparent)]
    Task(#[from] TaskError),
    #[error(transparent)]
    Facts(#[from] FactsError),
    #[error(transparent)]
    Rationales(#[from] TemplateError),
    #[error(transparent)]
    Frequency(#[from] FrequencyError),
    /// The caller stopped the work; nothing was written.
    #[error(transparent)]
    Cancelled(#[from] Cancelled),
}

pub type Result<T> = std::result::Result<T, GalleryError>;
