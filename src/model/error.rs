//! Errors between a model folder and a number, each with the file, the fault and the remedy.

use std::path::PathBuf;

use super::hook::HookPoint;
use super::offers::Offer;
use base::Cancelled;

/// Every failure of loading or running a model.
#[derive(Debug, thiserror::Error)]
pub enum ModelError {
    /// A file could not be read or written.
    #[error("{path}: {source}")]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// The system's reason.
        source: std::io::Error,
    },
    /// A folder, a hub snapshot or a built-in lacks a file.
    #[error("{place}: no {file}; {hint}")]
    MissingFile {
        /// The folder, hub id or built-in name.
        place: String,
        /// The missing file.
        file: String,
        hint: String,
    },
    /// A configuration or tokenizer file contains an invalid value.
    #[error("{file}: {what}")]
    Config {
        file: String,
        /// The value, and the accepted ones.
        what: String,
    },
    /// `config.json` names an architecture that no family describes.
    #[error("{file}: architecture '{found}' is not supported; supported: {known}")]
    UnknownArchitecture {
        file: String,
        /// `model_type` as found.
        found: String,
        /// Every supported `model_type`.
        known: String,
    },
    /// A weights file is damaged or hostile.
    #[error("{file}: {what}")]
    Weights {
        file: String,
        /// The fault and its remedy.
        what: String,
    },
    /// Pickled weights name a Python object that tensors do not need: reading them would run code.
    #[error(
        "{file}: its pickle names {global}, which tensors do not need and which could run code; save the state dict alone"
    )]
    PickledCode {
        file: String,
        /// Module and name of the object.
        global: String,
    },
    /// The weights lack a tensor that the architecture needs.
    #[error("{file}: no tensor '{tensor}', which '{family}' needs; the file is incomplete or of another family")]
    MissingTensor {
        file: String,
        /// The first name tried for the tensor.
        tensor: String,
        /// The family that needs it.
        family: String,
    },
    /// The question needs a tokenizer and the model has none.
    #[error("{model}: no tokenizer; add tokenizer.json (or vocab.txt, or vocab.json and merges.txt)")]
    NoTokenizer {
        /// The model's name.
        model: String,
    },
    /// Logits were requested from a model without an output matrix.
    #[error("{model}: no {kind} head: prompts need one; hidden-state probes work")]
    NoHead {
        /// The model's name.
        model: String,
        /// `masked-LM` or `causal-LM`.
        kind: &'static str,
    },
    /// A request that models of this kind do not support.
    #[error("{model}: no {what}: {serves}; take a model that offers them (`probity models` lists what each serves)")]
    NotOffered {
        /// The model's name.
        model: String,
        what: Offer,
        /// Labs that can use the model.
        serves: &'static str,
    },
    /// A row is longer than the length up to which a family that is run by its logits agrees with its reference.
    #[error("sentence {row} has {len} tokens; this model is offered up to {max} tokens: {why}; shorten it")]
    BeyondLimit {
        /// Row in the batch, from 0.
        row: usize,
        /// Its number of tokens.
        len: usize,
        max: usize,
        /// The further difference.
        why: &'static str,
    },
    /// A row has more tokens than the model has positions.
    #[error("sentence {row} has {len} tokens, the model takes {max}; shorten it")]
    TooLong {
        /// Row in the batch, from 0.
        row: usize,
        /// Its number of tokens.
        len: usize,
        /// The model's limit.
        max: usize,
    },
    /// A row has no tokens, or the batch no rows.
    #[error("sentence {row} has no tokens; give at least one")]
    Empty {
        /// Row in the batch, from 0.
        row: usize,
    },
    /// An id outside the vocabulary.
    #[error(
        "token id {id} in sentence {row} has no embedding: the model has {vocab}; leave that token out of the text"
    )]
    TokenId {
        id: u32,
        /// Row in the batch, from 0.
        row: usize,
        /// Vocabulary size.
        vocab: usize,
    },
    /// A plan requests something that this model or batch cannot provide.
    #[error("plan: {0}")]
    Plan(String),
    /// The backward pass did not reach a wanted tensor: a bug or an operation without backward pass; never treated as zero.
    #[error("no gradient arrived at {0}: the scalar does not depend on it, or an operation has no backward")]
    MissingGradient(HookPoint),
    /// The device cannot be used.
    #[error("device {device}: {what}")]
    Device {
        device: String,
        /// The reason and the remedy.
        what: String,
    },
    /// No element type with this name.
    #[error("dtype {0}: unknown; use f32, f16 or bf16")]
    Dtype(String),
    /// A model id could not be resolved.
    #[error("hub {id}: {what}")]
    Hub {
        id: String,
        /// The failure and its remedy.
        what: String,
    },
    /// A file of expected values cannot be used for a comparison.
    #[error("{file}: '{key}': {what}")]
    Expected {
        file: String,
        /// Key of the entry.
        key: String,
        /// The fault and what is needed.
        what: String,
    },
    /// The user stopped it.
    #[error(transparent)]
    Cancelled(#[from] Cancelled),
    /// Training failed (a loss that is not finite, a target outside the batch).
    #[error("training: {0}")]
    Training(String),
    /// The tensor library failed.
    #[error("computation failed: {0}")]
    Compute(String),
}

impl ModelError {
    /// An [`ModelError::Io`] for `path`, as a `map_err` argument.
    pub(crate) fn io(path: &std::path::Path) -> impl FnOnce(std::io::Error) -> ModelError + '_ {
        move |source| ModelError::Io { path: path.to_owned(), source }
    }
}

/// The module's result.
pub type Result<T> = std::result::Result<T, ModelError>;
