//! Capabilities of models, known before loading; labs use them to reject unsupported models with a reason.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::Model;
use super::arch::{Arch, Head, Network};
use super::error::{ModelError, Result};

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Offer {
    /// Hidden states, readable and editable.
    Hidden,
    Attention,
    /// Gradients with respect to embeddings and hidden states.
    Gradients,
    /// Logits over the vocabulary.
    Logits,
}

impl fmt::Display for Offer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Offer::Hidden => "hidden states",
            Offer::Attention => "attention probabilities",
            Offer::Gradients => "gradients",
            Offer::Logits => "logits",
        })
    }
}

/// Properties of a logits-only network.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LogitsOnly {
    /// Number of scalar parameters, computed from the configuration.
    pub parameters: u64,
    /// Reason for the maximum text length.
    pub limit: Limit,
}

/// Reason for a maximum text length.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Limit {
    /// The model has no position embeddings beyond this length.
    Positions,
    /// The library applies the attention window differently from transformers; texts within the window are unaffected.
    Window,
    /// In longer texts, transformers changes the rotary frequencies of all tokens, but the library only those of later tokens.
    Rotary,
}

impl Limit {
    /// The reason as text, to follow `at most N tokens, because`.
    pub fn reason(self) -> &'static str {
        match self {
            Limit::Positions => "it has no positions for longer texts",
            Limit::Window => {
                "its attention window has this size, and candle-transformers applies the window differently from transformers"
            }
            Limit::Rotary => {
                "its rotary frequencies change at this length, and candle-transformers applies them differently from transformers"
            }
        }
    }
}

/// Value of [`Arch::serves`] for models that every lab supports.
pub const ALL_LABS: &str = "all labs";

impl Arch {
    /// Returns the capabilities of the architecture, in the order of [`Offer`]. Only the weights show whether a head is present.
    pub fn offers(&self) -> Vec<Offer> {
        use Offer::{Attention, Gradients, Hidden, Logits};
        let mut offers = match self.network {
            Network::Transformer => vec![Hidden, Attention, Gradients],
            Network::Table => vec![Hidden],
            Network::BiLstm => vec![Hidden, Gradients],
            Network::LogitsOnly(_) => vec![],
        };
        if self.head != Head::None {
            offers.push(Logits);
        }
        offers
    }

    /// Labs that support the architecture, as one line for lists.
    pub fn serves(&self) -> &'static str {
        match (self.network, self.head) {
            (Network::LogitsOnly(_), _) => "logits only: prompts; no hidden states, no gradients",
            (Network::Transformer, Head::None) => "hidden states; no head, so no prompts",
            (Network::Transformer, _) => ALL_LABS,
            (Network::Table, _) => "word vectors: probes; no gradients, no prompts",
            (Network::BiLstm, _) => "hidden states and gradients; no prompts",
        }
    }
}

impl Model {
    pub fn offers(&self) -> Vec<Offer> {
        self.arch().offers()
    }

    /// Rejects an unsupported request before anything is computed.
    ///
    /// # Errors
    /// [`ModelError::NoHead`] for logits without a head, otherwise [`ModelError::NotOffered`].
    pub fn require(&self, what: Offer) -> Result<()> {
        require(self.name(), self.arch(), what)
    }
}

/// Rejects a request that this architecture does not support; see [`Model::require`].
pub(super) fn require(name: &str, arch: &Arch, what: Offer) -> Result<()> {
    if arch.offers().contains(&what) {
        return Ok(());
    }
    if what == Offer::Logits {
        return Err(ModelError::NoHead { model: name.to_owned(), kind: arch.head_kind() });
    }
    Err(ModelError::NotOffered { model: name.to_owned(), what, serves: arch.serves() })
}
