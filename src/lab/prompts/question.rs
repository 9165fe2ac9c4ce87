//! Questions during an experiment, and afterwards.

use serde::{Deserialize, Serialize};

/// A question to the lab.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "question", rename_all = "snake_case")]
pub enum Question {
    /// Scores of the models under a prompt of the user's.
    Prompt(PromptQuestion),
    /// Answers of the models to a prompt, and the details of one instance.
    Look(LookQuestion),
}

/// A user's prompt.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PromptQuestion {
    /// The relation whose instances are asked.
    pub relation: String,
    /// The prompt, with `[X]` and `[Y]`.
    pub prompt: String,
}

/// The instances of a relation under one prompt.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LookQuestion {
    pub relation: String,
    /// The prompt: one of the relation's, or one typed before.
    pub prompt: String,
    /// The instance, from 0.
    pub instance: usize,
    /// Index of its mention, from 0.
    pub mention: usize,
}
