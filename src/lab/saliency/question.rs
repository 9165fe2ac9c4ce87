//! Questions during an experiment, and afterwards.

use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "question", rename_all = "snake_case")]
pub enum Question {
    /// Prediction and scores for a typed sentence. The answer is the sentence, and for each model its prediction and
    /// one `saliency` a method.
    Sentence(SentenceQuestion),
    /// Attention of every head of every layer between the mask and the tokens. The answer is one `attention`.
    Attention(AttentionQuestion),
}

/// A user's sentence.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SentenceQuestion {
    /// The text, with `[MASK]` in the place of each token asked for; the masks are adjacent.
    pub text: String,
    /// The word that is expected; `None` if nothing is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer: Option<String>,
    /// Names of models; empty means those of the spec.
    #[serde(default)]
    pub models: Vec<String>,
    /// Identifiers of methods; empty means those of the spec.
    #[serde(default)]
    pub methods: Vec<String>,
}

/// The heads of a model.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AttentionQuestion {
    /// The model; empty takes the spec's first.
    #[serde(default)]
    pub model: String,
    /// The sentence of the benchmark; `None` if `text` was typed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sentence: Option<String>,
    /// The text, if `sentence` is `None`.
    #[serde(default)]
    pub text: String,
}
