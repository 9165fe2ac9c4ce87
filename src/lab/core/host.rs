//! The host of an experiment: receives progress and findings, passes on questions, and stops the run.

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
    pub problem: Problem,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NoticeLevel {
    Info,
    /// The numbers need a closer look.
    Warning,
    Error,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct EngineInfo {
    pub version: String,
    /// The device, for example `cpu (2 threads)`.
    pub device: String,
}

/// The share of the examples used to answer a question.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Share {
    /// The subsample, for an immediate answer.
    Quick,
    /// All examples processed so far.
    All,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Waiting<Q> {
    pub ticket: u64,
    pub question: Q,
}

/// A run in progress, called between batches as a [`Pulse`].
pub trait Host: Pulse {
    /// Receives commands; blocks while the run is paused.
    ///
    /// # Errors
    /// [`Cancelled`] if the run must stop.
    fn poll(&mut self) -> Result<(), Cancelled>;
    /// Begins a stage that should take about `seconds` of the planned time.
    fn stage(&mut self, name: String, unit: &'static str, seconds: f64);
    /// Sets the total time of the remaining stages.
    fn plan(&mut self, seconds: f64);
    /// Reports that `done` of `total` units of the stage are finished, without receiving commands.
    fn progress(&mut self, done: usize, total: usize);
    /// Seconds since the start of the run.
    fn elapsed(&self) -> f64;
    /// Returns a model by name, loading it if necessary.
    fn model(&mut self, name: &str) -> Result<Arc<Model>, Fault>;
    /// The cache between runs.
    fn store(&self) -> Arc<dyn Store>;
    /// True if questions about results may follow. If false, data for them can be dropped.
    fn asked(&self) -> bool {
        true
    }
    /// Maximum resident memory of the run, in bytes.
    fn memory_limit(&self) -> Option<u64>;
    fn notice(&mut self, level: NoticeLevel, problem: Problem) -> Result<(), Cancelled>;
    fn foretell(&mut self, forecast: Forecast) -> Result<(), Cancelled>;
    /// Seconds per unit of this kind of work, measured once on `slice` and remembered. `slice` does a piece of real work and returns its
    /// number of units.
    fn rate(&mut self, kind: &str, slice: Slice<'_>) -> Result<f64, Fault>;
}

/// The host of a lab with findings `K` and questions `Q`.
pub trait Channel<K, Q>: Host {
    fn find(&mut self, finding: Finding<K>) -> Result<(), Cancelled>;
    /// The latest pending question, if any. It must be answered with [`Self::reply`] or refused with a notice.
    fn waiting(&mut self) -> Option<Waiting<Q>>;
    fn reply(&mut self, ticket: u64, findings: Vec<Finding<K>>, is_final: bool) -> Result<(), Cancelled>;
}
