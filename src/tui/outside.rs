//! The work that the loop delegates to other threads: writing figures, listing and reading sessions.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::action::{Document, Existing, Export, Exported, Saved};
use base::Problem;
use labs::Spec;
use session::format::Session;
use session::shelf;

/// The work that the loop delegates to other threads.
#[derive(Clone)]
pub struct Outside {
    /// Measures how many seconds an experiment would take, if it can run.
    pub forecast: Forecaster,
    /// Writes a figure to files and says which; asks first if they exist.
    pub export: Exporter,
    /// Lists the recorded sessions, newest first, after a change of one of them.
    pub sessions: Lister,
    /// Reads a recorded session.
    pub read: Reader,
    /// Writes a text to a file and reports it; asks first if it exists.
    pub save: Saver,
    /// Reads the text of a file.
    pub load: Loader,
    /// Resubmits the failed cells of the followed grid and reports them.
    pub submit: Submitter,
}

/// See [`Outside::forecast`].
pub(crate) type Forecaster = Arc<dyn Fn(&Spec) -> Option<f64> + Send + Sync>;
/// See [`Outside::submit`].
pub type Submitter = Arc<dyn Fn() -> Result<String, Problem> + Send + Sync>;
/// See [`Outside::save`].
pub(crate) type Saver = Arc<dyn Fn(&Document, Existing) -> Result<Saved, Problem> + Send + Sync>;
/// See [`Outside::load`].
pub(crate) type Loader = Arc<dyn Fn(&Path) -> Result<Document, Problem> + Send + Sync>;

/// See [`Outside::export`].
pub(crate) type Exporter = Arc<dyn Fn(&Export, Existing) -> Result<Exported, Problem> + Send + Sync>;
/// See [`Outside::sessions`].
pub(crate) type Lister =
    Arc<dyn Fn(Option<&(PathBuf, shelf::Change)>) -> Result<Vec<shelf::Recorded>, Problem> + Send + Sync>;
/// See [`Outside::read`].
pub type Reader = Arc<dyn Fn(&Path) -> Result<Session, Problem> + Send + Sync>;
