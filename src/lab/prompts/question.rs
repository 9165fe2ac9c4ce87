//! Questions to an experiment, during a run and afterwards.

use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "question", rename_all = "snake_case")]
pub enum Question {
    /// Asks for the scores of the models with a user's prompt.
    Prompt(PromptQuestion),
    /// Asks for the models' answers to a prompt, and for the details of one instance.
    Look(LookQuestion),
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PromptQuestion {
    /// The relation whose instances are queried.
    pub relation: String,
    /// The prompt, with `[X]` and `[Y]`.
    pub prompt: String,
}

/// The instances of a relation with one prompt.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LookQuestion {
    pub relation: String,
    /// A prompt of the relation, or one typed earlier.
    pub prompt: String,
    /// Index of the instance, from 0.
    pub instance: usize,
    /// Index of the mention, from 0.
    pub mention: usize,
}
