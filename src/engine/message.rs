//! Commands to the engine and events from it: the only language between science and screen.

use serde::{Deserialize, Serialize};

use super::data::{DataAnswer, DataRequest};
use super::inspection::{CheckRow, Inspection};
use base::Problem;
pub use labs::host::{EngineInfo, Notice, NoticeLevel};
use labs::{self, Finding, Forecast, Spec};

/// Number of a run within a session, from 1.
pub type JobId = u64;
/// Counts changes of the experiment; events of an older generation are dropped.
pub type Generation = u64;
/// Number of a question within a session, from 1.
pub(crate) type Ticket = u64;

/// Requests of the front end to the engine.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "command", rename_all = "snake_case")]
#[allow(clippy::large_enum_variant, reason = "commands are few, and questions are the usual ones")]
pub enum Command {
    /// List the models that can be picked.
    ListModels,
    /// Run an experiment; a run in progress is cancelled.
    Run {
        /// Number of the run.
        job: JobId,
        generation: Generation,
        spec: Box<Spec>,
    },
    /// Answer a question.
    Ask {
        /// Number of the question.
        ticket: Ticket,
        question: Question,
    },
    /// Stop answering all questions on a topic.
    Withdraw { topic: Topic },
    /// Stop a run.
    Cancel {
        /// Number of the run.
        job: JobId,
    },
    /// Pause or resume the current run.
    Pause {
        /// True to pause, false to resume.
        hold: bool,
    },
    /// End the engine.
    Shutdown,
}

/// Questions. Those to an experiment supersede each other: only the latest is answered. Those about models are answered
/// in turn, those about data alongside a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "about", rename_all = "snake_case")]
pub enum Question {
    /// About the current or last experiment.
    Experiment { generation: Generation, question: labs::Question },
    /// About one model; a model that was not listed joins the list.
    Model {
        /// Name, folder or hub id, as `models` of a spec takes it.
        model: String,
        what: ModelQuestion,
    },
    /// About a data set: its content, or its unusable rows.
    Data(DataRequest),
}

/// Topic of a question.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Topic {
    Experiment,
    Model,
    Data,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ModelQuestion {
    Inspect,
    /// Comparison of its outputs with the reference numbers in its folder.
    Check,
}

/// The answer to a question.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "about", rename_all = "snake_case")]
pub enum Answer {
    Experiment {
        generation: Generation,
        findings: Vec<Finding>,
    },
    /// About one model.
    Model {
        /// The name used in the question.
        model: String,
        answer: ModelAnswer,
    },
    /// About a data set.
    Data(DataAnswer),
}

/// Answers about one model.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ModelAnswer {
    /// To [`ModelQuestion::Inspect`].
    Inspected(Box<Inspection>),
    /// To [`ModelQuestion::Check`]: one row per quantity.
    Checked(Vec<CheckRow>),
    /// No answer: the failure and its remedy.
    Failed(Problem),
}

/// Reports of the engine.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum Event {
    Ready(EngineInfo),
    /// The models that can be picked.
    Models {
        /// One entry per model.
        models: Vec<ModelInfo>,
    },
    /// A run has begun.
    Started {
        /// Number of the run.
        job: JobId,
        generation: Generation,
        spec_hash: String,
    },
    /// Progress of the current stage.
    Progress {
        generation: Generation,
        /// Stage and counts.
        progress: Progress,
    },
    /// Needs of a run; sent before the long work begins, and again once the run has its own first estimates.
    Forecast {
        generation: Generation,
        /// Memory and time of one of its models.
        forecast: Box<Forecast>,
    },
    /// A result of a run.
    Finding {
        generation: Generation,
        finding: Box<Finding>,
    },
    /// A run is over.
    Finished {
        /// Number of the run.
        job: JobId,
        generation: Generation,
        outcome: Outcome,
        /// Wall seconds.
        seconds: f64,
    },
    AnswerProgress {
        /// Number of the question.
        ticket: Ticket,
        /// Stage and counts.
        progress: Progress,
    },
    /// The answer to a question. A quick one from few examples may be followed by one from all of them.
    Answer {
        /// Number of the question.
        ticket: Ticket,
        answer: Answer,
    },
    /// Something to report that is not a result.
    Notice(Notice),
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "outcome", rename_all = "snake_case")]
pub enum Outcome {
    /// Everything was computed.
    Done,
    /// The user stopped it.
    Cancelled,
    Failed(Problem),
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
    pub parameters: u64,
    /// Labs that can use the model; absent from the oldest recordings.
    #[serde(default)]
    pub serves: String,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Progress {
    /// The work, for example `oracle subject_number`.
    pub stage: String,
    /// Units done.
    pub done: u64,
    /// Units in total.
    pub total: u64,
    /// Name of the unit, for example `ex`.
    pub unit: String,
    /// Units per second, smoothed; 0 while unknown.
    pub rate: f64,
    /// Share of the whole run that is done, from 0 to 1.
    pub overall: f64,
    /// Seconds since the run began.
    pub elapsed: f64,
    /// Estimated seconds until the run ends; `None` while unknown.
    pub left: Option<f64>,
}
