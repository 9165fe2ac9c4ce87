//! The host of an experiment: receives progress and findings, passes questions on, and says when to stop.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::demand::{Forecast, Slice};
use super::fault::Fault;
use super::finding::Finding;
use super::store::Store;
use base::{Cancelled, Problem, Pulse};
use model::Model;

/// A message to the user that is not a result.
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
    /// The numbers need a second look.
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

/// The share of the examples on which to answer a question.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Share {
    /// The subsample, for an immediate answer.
    Quick,
    /// All that have been read.
    All,
}

/// A pending question.
#[derive(Debug, Clone, PartialEq)]
pub struct Waiting<Q> {
    pub ticket: u64,
    pub question: Q,
}

/// A run in progress. As a [`Pulse`] it is called between batches.
pub trait Host: Pulse {
    /// Receives commands; blocks while the user has paused.
    ///
    /// # Errors
    /// [`Cancelled`] if the run must stop.
    fn poll(&mut self) -> Result<(), Cancelled>;
    /// Begins a stage that takes about `seconds` of the latest plan.
    fn stage(&mut self, name: String, unit: &'static str, seconds: f64);
    /// Plans the rest of the run: the remaining stages take about `seconds` together.
    fn plan(&mut self, seconds: f64);
    /// Reports that `done` of `total` units of the stage are done, without receiving commands.
    fn progress(&mut self, done: usize, total: usize);
    /// Seconds since the run began.
    fn elapsed(&self) -> f64;
    /// A model by name, loaded if it is not in memory.
    fn model(&mut self, name: &str) -> Result<Arc<Model>, Fault>;
    /// The cache between runs.
    fn store(&self) -> Arc<dyn Store>;
    /// True if questions about results may follow. Otherwise nothing needs to stay in memory for them.
    fn asked(&self) -> bool {
        true
    }
    /// Maximum resident memory of the run in bytes.
    fn memory_limit(&self) -> Option<u64>;
    /// Reports a notice.
    fn notice(&mut self, level: NoticeLevel, problem: Problem) -> Result<(), Cancelled>;
    /// Reports the forecast of the run.
    fn foretell(&mut self, forecast: Forecast) -> Result<(), Cancelled>;
    /// Seconds per unit of this kind of work. Measured once on `slice`, a piece of real work that returns its number of
    /// units, and remembered.
    fn rate(&mut self, kind: &str, slice: Slice<'_>) -> Result<f64, Fault>;
}

/// The host of a lab whose findings are `K` and whose questions are `Q`.
pub trait Channel<K, Q>: Host {
    fn find(&mut self, finding: Finding<K>) -> Result<(), Cancelled>;
    /// The latest pending question, if any. It must be answered by [`Self::reply`], or refused by a notice.
    fn waiting(&mut self) -> Option<Waiting<Q>>;
    /// Sends the answer to a question.
    fn reply(&mut self, ticket: u64, findings: Vec<Finding<K>>, is_final: bool) -> Result<(), Cancelled>;
}
