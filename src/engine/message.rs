//! Commands to the engine and events from it: the only interface between experiments and user interface.

use serde::{Deserialize, Serialize};

use super::data::{DataAnswer, DataRequest};
use super::inspection::{CheckRow, Inspection};
use base::Problem;
pub use labs::host::{EngineInfo, Notice, NoticeLevel};
use labs::{self, Finding, Forecast, Spec};

/// Number of a run within a session, from 1.
pub type JobId = u64;
/// Number that increases with each change of the experiment; events of an older generation are dropped.
pub type Generation = u64;
/// Number of a question within a session, from 1.
pub(crate) type Ticket = u64;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "command", rename_all = "snake_case")]
#[allow(clippy::large_enum_variant, reason = "commands are rare, and most of them are questions")]
pub enum Command {
    ListModels,
    /// Runs an experiment; cancels a run that is in progress.
    Run {
        /// Number of the run.
        job: JobId,
        generation: Generation,
        spec: Box<Spec>,
    },
    Ask {
        /// Number of the question.
        ticket: Ticket,
        question: Question,
    },
    /// Withdraws all questions on a topic.
    Withdraw {
        topic: Topic,
    },
    /// Stops a run.
    Cancel {
        /// Number of the run.
        job: JobId,
    },
    /// Pauses or resumes the current run.
    Pause {
        /// True to pause, false to resume.
        hold: bool,
    },
    Shutdown,
}

/// Questions to an experiment supersede each other: only the latest is answered. Questions about models are answered in order. Questions
/// about data are answered even during a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "about", rename_all = "snake_case")]
pub enum Question {
    /// A question about the current or last experiment.
    Experiment { generation: Generation, question: labs::Question },
    /// A question about one model; an unlisted model is added to the list.
    Model {
        /// Name, folder or hub id, as in the `models` field of a spec.
        model: String,
        what: ModelQuestion,
    },
    /// A question about a data set: its contents, or its unusable rows.
    Data(DataRequest),
}

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
    /// Compares the model's outputs with the reference numbers in its folder.
    Check,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "about", rename_all = "snake_case")]
pub enum Answer {
    Experiment {
        generation: Generation,
        findings: Vec<Finding>,
    },
    Model {
        /// Model name as in the question.
        model: String,
        answer: ModelAnswer,
    },
    Data(DataAnswer),
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ModelAnswer {
    Inspected(Box<Inspection>),
    /// Answer to [`ModelQuestion::Check`]: one row per quantity.
    Checked(Vec<CheckRow>),
    /// The problem and how to solve it.
    Failed(Problem),
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum Event {
    Ready(EngineInfo),
    Models {
        models: Vec<ModelInfo>,
    },
    Started {
        job: JobId,
        generation: Generation,
        spec_hash: String,
    },
    Progress {
        generation: Generation,
        progress: Progress,
    },
    /// Time and memory that a run needs, sent before the long work begins and again after the run's first estimates.
    Forecast {
        generation: Generation,
        forecast: Box<Forecast>,
    },
    Finding {
        generation: Generation,
        finding: Box<Finding>,
    },
    Finished {
        job: JobId,
        generation: Generation,
        outcome: Outcome,
        /// Wall-clock time in seconds.
        seconds: f64,
    },
    AnswerProgress {
        ticket: Ticket,
        progress: Progress,
    },
    /// The answer to a question. A quick answer from few examples may be followed by one from all examples.
    Answer {
        ticket: Ticket,
        answer: Answer,
    },
    /// A report that is not a result.
    Notice(Notice),
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "outcome", rename_all = "snake_case")]
pub enum Outcome {
    Done,
    /// The user stopped the run.
    Cancelled,
    Failed(Problem),
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModelInfo {
    /// Name, folder or hub id, as in the `models` field of a spec.
    pub name: String,
    /// Family, for example `bert`.
    pub family: String,
    pub layers: usize,
    pub hidden: usize,
    pub parameters: u64,
    /// Labs that can use the model; absent from the oldest recordings.
    #[serde(default)]
    pub serves: String,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Progress {
    /// The current work, for example `oracle subject_number`.
    pub stage: String,
    pub done: u64,
    pub total: u64,
    /// Name of the unit, such as `ex`.
    pub unit: String,
    /// Units per second, smoothed; 0 while unknown.
    pub rate: f64,
    /// Completed proportion of the whole run, from 0 to 1.
    pub overall: f64,
    /// Time in seconds since the run began.
    pub elapsed: f64,
    /// Estimated time in seconds until the run ends; `None` while unknown.
    pub left: Option<f64>,
}
