//! Capabilities of models: shown in lists before loading, and used by labs to refuse with a reason.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::Model;
use super::arch::{Arch, Head, Network};
use super::error::{ModelError, Result};

/// One kind of answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Offer {
    /// Hidden states, to be read and changed.
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

/// A network that only offers logits, according to its description.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LogitsOnly {
    /// Number of scalar parameters, by the sizes of the configuration.
    pub parameters: u64,
    /// The limit on the length of a text.
    pub limit: Limit,
}

/// Reasons for a limit on the length of texts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Limit {
    /// Its positions end there.
    Positions,
    /// Its attention has a window, which the library applies differently from transformers; shorter texts are unaffected.
    Window,
    /// Its rotary frequencies change there for the whole text, but the library changes them token by token.
    Rotary,
}

impl Limit {
    /// The reason in words, after `up to N tokens:`.
    pub fn reason(self) -> &'static str {
        match self {
            Limit::Positions => "its positions end there",
            Limit::Window => {
                "its attention has a window of that size, which candle-transformers applies differently from transformers"
            }
            Limit::Rotary => {
                "beyond it the rotary frequencies change, which candle-transformers applies differently from transformers"
            }
        }
    }
}

/// The result of [`Arch::serves`] for a model that every lab can use.
pub const ALL_LABS: &str = "all labs";

impl Arch {
    /// Capabilities of a model of this architecture, in the order of [`Offer`]. The presence of the head is only known
    /// once the weights are read.
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

    /// Labs that can use it, for a list of models: one line, without the family's name.
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
    /// Capabilities of this model.
    pub fn offers(&self) -> Vec<Offer> {
        self.arch().offers()
    }

    /// Refuses an unsupported request before anything is computed.
    ///
    /// # Errors
    /// [`ModelError::NoHead`] for logits without a head, else [`ModelError::NotOffered`].
    pub fn require(&self, what: Offer) -> Result<()> {
        require(self.name(), self.arch(), what)
    }
}

/// See [`Model::require`].
pub(super) fn require(name: &str, arch: &Arch, what: Offer) -> Result<()> {
    if arch.offers().contains(&what) {
        return Ok(());
    }
    if what == Offer::Logits {
        return Err(ModelError::NoHead { model: name.to_owned(), kind: arch.head_kind() });
    }
    Err(ModelError::NotOffered { model: name.to_owned(), what, serves: arch.serves() })
}
