//! Work that the loop delegates to other threads: writing figures, listing and reading sessions.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::action::{Document, Existing, Export, Exported, Saved};
use base::Problem;
use labs::Spec;
use session::format::Session;
use session::shelf;

#[derive(Clone)]
pub struct Outside {
    /// Estimates the duration of an experiment in seconds; `None` if there is no estimate.
    pub forecast: Forecaster,
    /// Writes a figure to files and returns their paths; existing files are handled as requested. Reports the numbers of files written and
    /// to be written.
    pub export: Exporter,
    /// Changes one session if requested, then lists all, newest first.
    pub sessions: Lister,
    pub read: Reader,
    /// Writes a text to a file; an existing file is handled as requested.
    pub save: Saver,
    pub load: Loader,
    /// Resubmits the failed cells of the followed grid and returns a message.
    pub submit: Submitter,
}

pub(crate) type Forecaster = Arc<dyn Fn(&Spec) -> Option<f64> + Send + Sync>;
pub type Submitter = Arc<dyn Fn() -> Result<String, Problem> + Send + Sync>;
pub(crate) type Saver = Arc<dyn Fn(&Document, Existing) -> Result<Saved, Problem> + Send + Sync>;
pub(crate) type Loader = Arc<dyn Fn(&Path) -> Result<Document, Problem> + Send + Sync>;

pub(crate) type Exporter =
    Arc<dyn Fn(&Export, Existing, &dyn Fn(usize, usize)) -> Result<Exported, Problem> + Send + Sync>;
pub(crate) type Lister =
    Arc<dyn Fn(Option<&(PathBuf, shelf::Change)>) -> Result<Vec<shelf::Recorded>, Problem> + Send + Sync>;
pub type Reader = Arc<dyn Fn(&Path) -> Result<Session, Problem> + Send + Sync>;
