//! Commands to the engine and events from it: the only language between science and screen.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::data::{DataAnswer, DataRequest};
use super::finding::Finding;
use super::forecast::Forecast;
use super::inspection::{CheckRow, Inspection};
use super::spec::Spec;
use crate::base::Problem;

/// Number of a run within a session, from 1.
pub type JobId = u64;
/// Counts how often the question changed; events of an older generation are dropped.
pub type Generation = u64;

/// What the front end asks of the engine.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "command", rename_all = "snake_case")]
pub enum Command {
    /// Name the models that can be picked.
    ListModels,
    /// Run an experiment; a run in progress is cancelled.
    Run {
        /// Number of the run.
        job: JobId,
        /// Generation of its events.
        generation: Generation,
        /// What to compute.
        spec: Box<Spec>,
    },
    /// Evaluate one strength now, on a subsample, and show one example. Only the latest request counts.
    Point(PointRequest),
    /// Stop a run.
    Cancel {
        /// Number of the run.
        job: JobId,
    },
    /// Hold or go on with the current run.
    Pause {
        /// True holds.
        hold: bool,
    },
    /// Load a model and describe it; a model that was not listed joins the list.
    Inspect {
        /// Name, folder or hub id, as `models` of a spec takes it.
        model: String,
    },
    /// Compare a model with the numbers that another implementation left beside its weights.
    Check {
        /// Name, folder or hub id, as `models` of a spec takes it.
        model: String,
    },
    /// Say what a data set holds or what is unfit in it. Answered beside a run, not after it.
    Data(DataRequest),
    /// Stop everything that was asked about data sets.
    CancelData,
    /// End the engine.
    Shutdown,
}

/// One strength of one method of the current experiment.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PointRequest {
    /// Generation of the experiment it belongs to.
    pub generation: Generation,
    /// Number of the request: answers to older ones are dropped.
    pub ticket: u64,
    /// The model, one of the experiment's.
    pub model: String,
    /// Method in the registry.
    pub method: String,
    /// Hyperparameters other than the swept one.
    pub options: BTreeMap<String, f64>,
    /// Value of the swept hyperparameter.
    pub value: f64,
    /// Test example to show.
    pub example: usize,
}

/// What the engine reports.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum Event {
    /// The engine is up.
    Ready(EngineInfo),
    /// The models that can be picked.
    Models {
        /// One entry a model.
        models: Vec<ModelInfo>,
    },
    /// A run has begun.
    Started {
        /// Number of the run.
        job: JobId,
        /// Generation of its events.
        generation: Generation,
        /// Hash of its spec.
        spec_hash: String,
    },
    /// How far the current stage is.
    Progress {
        /// Generation of the run.
        generation: Generation,
        /// Stage and counts.
        progress: Progress,
    },
    /// What a run will need; sent before anything is read, and again when the run's own first estimates are there.
    Forecast {
        /// Generation of the run.
        generation: Generation,
        /// Memory and time of one of its models.
        forecast: Box<Forecast>,
    },
    /// A result of a run.
    Finding {
        /// Generation of the run.
        generation: Generation,
        /// The result.
        finding: Box<Finding>,
    },
    /// The answer to a [`PointRequest`]: reliability, behaviour and example findings together.
    Point {
        /// Generation of the experiment.
        generation: Generation,
        /// Number of the request.
        ticket: u64,
        /// The results.
        findings: Vec<Finding>,
    },
    /// A run is over.
    Finished {
        /// Number of the run.
        job: JobId,
        /// Generation of the run.
        generation: Generation,
        /// How it ended.
        outcome: Outcome,
        /// Wall seconds.
        seconds: f64,
    },
    /// The answer to [`Command::Inspect`].
    Inspected {
        /// What was found.
        inspection: Box<Inspection>,
    },
    /// The answer to [`Command::Check`].
    Checked {
        /// The model, as it was asked for.
        model: String,
        /// One row a quantity.
        rows: Vec<CheckRow>,
    },
    /// A model could not be inspected or checked.
    ModelFailed {
        /// The model, as it was asked for.
        model: String,
        /// What failed and what to do.
        problem: Problem,
    },
    /// How far the answer to a question about a data set is.
    DataProgress {
        /// Number of the question.
        ticket: u64,
        /// Stage and counts.
        progress: Progress,
    },
    /// The answer to a [`DataRequest`].
    Data {
        /// Number of the question.
        ticket: u64,
        /// What was found.
        answer: DataAnswer,
    },
    /// Something worth saying that is no result.
    Notice(Notice),
}

/// How a run ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "outcome", rename_all = "snake_case")]
pub enum Outcome {
    /// Everything was computed.
    Done,
    /// The user stopped it.
    Cancelled,
    /// It failed.
    Failed(Problem),
}

/// What the engine runs on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct EngineInfo {
    /// Version of the program.
    pub version: String,
    /// Device, for example `cpu (2 threads)`.
    pub device: String,
}

/// A model that can be picked.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModelInfo {
    /// Name, folder or hub id, as `models` of a spec takes it.
    pub name: String,
    /// Family, for example `bert`.
    pub family: String,
    /// Number of blocks.
    pub layers: usize,
    /// Width of the hidden states.
    pub hidden: usize,
    /// Number of parameters.
    pub parameters: u64,
}

/// How far a stage is.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Progress {
    /// What is being done, for example `oracle subject_number`.
    pub stage: String,
    /// Units done.
    pub done: u64,
    /// Units in all.
    pub total: u64,
    /// Name of the unit, for example `ex`.
    pub unit: String,
    /// Units a second, smoothed; 0 while unknown.
    pub rate: f64,
    /// Share of the whole run that is done, 0 to 1.
    pub overall: f64,
    /// Seconds since the run began.
    pub elapsed: f64,
    /// Seconds until the run ends, estimated; none while unknown.
    pub left: Option<f64>,
}

/// Something worth saying.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Notice {
    /// How grave.
    pub level: NoticeLevel,
    /// What, where, and what to do.
    pub problem: Problem,
}

/// How grave a notice is.
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
