//! Questions to an experiment, during a run and afterwards.

use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "question", rename_all = "snake_case")]
pub enum Question {
    /// Asks for the prediction and the scores for a typed sentence. The answer is the sentence and, for each model, its prediction and one
    /// `saliency` finding per method.
    Sentence(SentenceQuestion),
    /// Asks for the attention of all heads between the mask and the tokens. The answer is one `attention` finding.
    Attention(AttentionQuestion),
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SentenceQuestion {
    /// The text with adjacent `[MASK]`s, one for each token to predict.
    pub text: String,
    /// The expected word; `None` if none is expected.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer: Option<String>,
    /// Names of models; empty for those in the spec.
    #[serde(default)]
    pub models: Vec<String>,
    /// Identifiers of methods; empty for those in the spec.
    #[serde(default)]
    pub methods: Vec<String>,
}

/// A question about a model's attention heads.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AttentionQuestion {
    /// The model; empty for the first in the spec.
    #[serde(default)]
    pub model: String,
    /// A sentence of the benchmark; `None` if `text` was typed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sentence: Option<String>,
    /// The text, if `sentence` is `None`.
    #[serde(default)]
    pub text: String,
}
