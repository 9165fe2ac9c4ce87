//! Errors of loading and running models, with file, cause and remedy.

use std::path::PathBuf;

use super::hook::HookPoint;
use super::offers::Offer;
use base::Cancelled;

#[derive(Debug, thiserror::Error)]
pub enum ModelError {
    /// A file could not be read or written.
    #[error("{path}: {source}")]
    Io { path: PathBuf, source: std::io::Error },
    /// A folder, hub snapshot or built-in model does not contain a required file.
    #[error("{place}: no {file}; {hint}")]
    MissingFile {
        /// Folder, hub id or name of a built-in model.
        place: String,
        file: String,
        hint: String,
    },
    /// A configuration or tokenizer file contains an invalid value.
    #[error("{file}: {what}")]
    Config {
        file: String,
        /// The invalid value, and the accepted values.
        what: String,
    },
    /// `config.json` names an unsupported architecture.
    #[error("{file}: architecture '{found}' is not supported; supported: {known}")]
    UnknownArchitecture {
        file: String,
        /// `model_type` in the file.
        found: String,
        /// All supported values of `model_type`.
        known: String,
    },
    /// A weights file is damaged or malicious.
    #[error("{file}: {what}")]
    Weights {
        file: String,
        /// Cause and remedy.
        what: String,
    },
    /// Pickled weights name a Python object that tensors do not need; loading them could run code.
    #[error(
        "{file}: its pickle names {global}, which tensors do not need and which could run code; save only the state dict"
    )]
    PickledCode {
        file: String,
        /// Module and name of the object.
        global: String,
    },
    /// The weights do not contain a tensor that the architecture needs.
    #[error(
        "{file}: no tensor '{tensor}', which '{family}' needs; the file is incomplete or belongs to a different family"
    )]
    MissingTensor {
        file: String,
        /// First name tried for the tensor.
        tensor: String,
        family: String,
    },
    /// The request needs a tokenizer, but the model has none.
    #[error("{model}: no tokenizer; {hint}")]
    NoTokenizer { model: String, hint: String },
    /// Logits were requested from a model without an output matrix.
    #[error("{model}: no {kind} head, which prompts need; probes of hidden states work without one")]
    NoHead {
        model: String,
        /// `masked-LM` or `causal-LM`.
        kind: &'static str,
    },
    /// The model does not support the request.
    #[error("{model}: no {what} ({serves}); choose another model (`probity models` lists what each supports)")]
    NotOffered {
        model: String,
        what: Offer,
        /// Labs that support the model.
        serves: &'static str,
    },
    /// A row is longer than the maximum length at which a logits-only family agrees with its reference.
    #[error("sentence {row} has {len} tokens; this model supports at most {max} tokens, because {why}; shorten it")]
    BeyondLimit {
        /// Row in the batch, from 0.
        row: usize,
        len: usize,
        max: usize,
        /// Difference from the reference beyond this length.
        why: &'static str,
    },
    /// A row has more tokens than the model has positions.
    #[error("sentence {row} has {len} tokens; the model accepts at most {max}; shorten it")]
    TooLong {
        /// Row in the batch, from 0.
        row: usize,
        len: usize,
        max: usize,
    },
    /// A row has no tokens, or the batch has no rows.
    #[error("sentence {row} has no tokens; give at least one")]
    Empty {
        /// Row in the batch, from 0.
        row: usize,
    },
    /// A token id is outside the vocabulary.
    #[error(
        "token id {id} in sentence {row} has no embedding: the model has only {vocab} embeddings; remove that \
        token from the text"
    )]
    TokenId {
        id: u32,
        /// Row in the batch, from 0.
        row: usize,
        /// Vocabulary size.
        vocab: usize,
    },
    /// The plan requests something that this model or batch cannot provide.
    #[error("plan: {0}")]
    Plan(String),
    /// The backward pass did not reach a requested tensor, because of a bug or an operation without a backward pass. A missing gradient is
    /// never treated as zero.
    #[error("no gradient reached {0}: the scalar does not depend on it, or an operation has no backward pass")]
    MissingGradient(HookPoint),
    #[error("device {device}: {what}")]
    Device {
        device: String,
        /// Cause and remedy.
        what: String,
    },
    #[error("dtype {0}: unknown; use f32, f16 or bf16")]
    Dtype(String),
    /// A hub model id could not be resolved.
    #[error("hub {id}: {what}")]
    Hub {
        id: String,
        /// Cause and remedy.
        what: String,
    },
    /// A file of expected values cannot be used.
    #[error("{file}: '{key}': {what}")]
    Expected {
        file: String,
        key: String,
        /// The problem and the expected form.
        what: String,
    },
    #[error(transparent)]
    Cancelled(#[from] Cancelled),
    /// Training failed, for example because the loss is not finite or a target is outside the batch.
    #[error("training: {0}")]
    Training(String),
    #[error("computation failed: {0}")]
    Compute(String),
}

impl ModelError {
    /// Wraps an I/O error for `path`, for use in `map_err`.
    pub(crate) fn io(path: &std::path::Path) -> impl FnOnce(std::io::Error) -> ModelError + '_ {
        move |source| ModelError::Io { path: path.to_owned(), source }
    }
}

pub type Result<T> = std::result::Result<T, ModelError>;
