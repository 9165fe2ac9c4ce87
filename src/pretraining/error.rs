//! Errors of training and of the gallery.

use std::path::PathBuf;

use base::Cancelled;
use corpus::facts::FactsError;
use corpus::rationales::TemplateError;
use corpus::{FrequencyError, TaskError};
use model::error::ModelError;

/// Reasons why a built-in model could not be made or shown.
#[derive(Debug, thiserror::Error)]
pub enum GalleryError {
    /// Neither a built-in model nor a folder with a card.
    #[error("{}: no card.json; name a built-in model, or a folder that `probity gallery train` wrote", .0.display())]
    NoCard(PathBuf),
    /// The folder to be written already exists.
    #[error("{} exists already; remove it or choose another folder with --out", .0.display())]
    Exists(PathBuf),
    /// A file could not be written.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// The system's error.
        source: std::io::Error,
    },
    /// A file of outcomes cannot be continued.
    #[error("{}: {what}; choose another file with --out", path.display())]
    Resume {
        /// The file.
        path: PathBuf,
        /// The fault, in words.
        what: String,
    },
    /// A file of text cannot be used.
    #[error("{}: {what}", path.display())]
    Text {
        /// The file.
        path: PathBuf,
        /// The fault, in words.
        what: String,
    },
    /// The number of steps is out of range.
    #[error("{0} steps; allowed are 1 to 1000000")]
    Steps(usize),
    /// A score could not be measured.
    #[error("scoring: {0}")]
    Score(String),
    /// A shipped card cannot be read.
    #[error("the card of {name}: {what}")]
    Card {
        /// Name of the model.
        name: String,
        /// The fault, in words.
        what: String,
    },
    /// The files in a folder of seeds do not belong together.
    #[error("{}: {what}", path.display())]
    Seeds {
        /// The file or folder.
        path: PathBuf,
        /// The fault and its remedy.
        what: String,
    },
    /// Another process trains into the same folder.
    #[error("{}: another `probity gallery train --all` is at work there; wait for it, or choose another folder with --out", .0.display())]
    Busy(PathBuf),
    /// No threads could be started.
    #[error("cannot start threads: {0}")]
    Threads(String),
    /// A bug in this program.
    #[error("internal error: {0}")]
    Internal(String),
    /// The model failed.
    #[error(transparent)]
    Model(#[from] ModelError),
    /// The corpus failed.
    #[error(transparent)]
    Task(#[from] TaskError),
    /// The facts cannot be read.
    #[error(transparent)]
    Facts(#[from] FactsError),
    /// The templates of the rationale benchmark cannot be used.
    #[error(transparent)]
    Rationales(#[from] TemplateError),
    /// The corpus failed.
    #[error(transparent)]
    Frequency(#[from] FrequencyError),
    /// The caller stopped the work; nothing was written.
    #[error(transparent)]
    Cancelled(#[from] Cancelled),
}

/// The module's result.
pub type Result<T> = std::result::Result<T, GalleryError>;
