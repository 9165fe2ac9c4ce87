//! The surroundings of an experiment, as it sees them: a host takes progress and findings, passes questions on and says
//! when to stop.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::demand::{Forecast, Slice};
use super::fault::Fault;
use super::finding::Finding;
use super::store::Store;
use base::{Cancelled, Problem, Pulse};
use model::Model;

/// Something worth saying that is not a result.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Notice {
    pub level: NoticeLevel,
    /// Place, failure and remedy.
    pub problem: Problem,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NoticeLevel {
    /// For information.
    Info,
    /// The numbers deserve a second look.
    Warning,
    /// Something failed.
    Error,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct EngineInfo {
    pub version: String,
    /// Device, for example `cpu (2 threads)`.
    pub device: String,
}

/// On how many examples a question is answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Share {
    /// On the subsample that answers at once.
    Quick,
    /// On all that have been read.
    All,
}

/// A question that waits for its answer.
#[derive(Debug, Clone, PartialEq)]
pub struct Waiting<Q> {
    pub ticket: u64,
    pub question: Q,
}

/// A run in progress. As a [`Pulse`] it is called between batches.
pub trait Host: Pulse {
    /// Takes in commands; blocks while the user has paused.
    ///
    /// # Errors
    /// [`Cancelled`] where the run is to stop.
    fn poll(&mut self) -> Result<(), Cancelled>;
    /// Begins a stage that takes about `seconds` of the latest plan.
    fn stage(&mut self, name: String, unit: &'static str, seconds: f64);
    /// Plans the rest of the run: all stages that follow take about `seconds` together.
    fn plan(&mut self, seconds: f64);
    /// Reports that `done` of `total` units of the stage are done, without taking anything in.
    fn progress(&mut self, done: usize, total: usize);
    /// Seconds since the run began.
    fn elapsed(&self) -> f64;
    /// A model by name, loaded where it is not in memory.
    fn model(&mut self, name: &str) -> Result<Arc<Model>, Fault>;
    /// Store between runs.
    fn store(&self) -> Arc<dyn Store>;
    /// True if questions about results may come later. If not, nothing need stay in memory for them.
    fn asked(&self) -> bool {
        true
    }
    /// Bytes of resident memory that the run may take at most.
    fn memory_limit(&self) -> Option<u64>;
    /// Reports a message that is not a result.
    fn notice(&mut self, level: NoticeLevel, problem: Problem) -> Result<(), Cancelled>;
    /// Reports the forecast of the run.
    fn foretell(&mut self, forecast: Forecast) -> Result<(), Cancelled>;
    /// Seconds that a unit of this kind of work takes. Measured once on `slice`, a piece of real work that says how many
    /// units it did, and remembered.
    fn rate(&mut self, kind: &str, slice: Slice<'_>) -> Result<f64, Fault>;
}

/// The host of a lab whose findings are `K` and whose questions are `Q`.
pub trait Channel<K, Q>: Host {
    fn find(&mut self, finding: Finding<K>) -> Result<(), Cancelled>;
    /// The latest question that waits, if any. It has to be answered by [`Self::reply`], or refused by a notice.
    fn waiting(&mut self) -> Option<Waiting<Q>>;
    /// Sends the answer to a question.
    fn reply(&mut self, ticket: u64, findings: Vec<Finding<K>>, is_final: bool) -> Result<(), Cancelled>;
}
