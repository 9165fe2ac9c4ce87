//! Families that candle-transformers runs, for their logits alone.
//!
//! A family is offered where it agrees with Hugging Face transformers. Where the library departs from it, the departure
//! is either made good from outside (weights scaled or padded on their way in, a setting passed on changed, a head
//! written here), each with its reason beside it, or refused in words: a length beyond which they differ
//! (`Limit`) or a setting that was compared with nothing.
//!
//! To add one: a file with a `SERVED`, and its line in [`SERVED`].

mod causal;
mod deberta;
mod mamba;
mod modernbert;
mod stored;
mod t5;

use candle_core::Tensor;

pub(crate) use self::stored::Stored;

use super::{ConfigFile, Family};
use crate::arch::{Activation, Arch, Attention, Embedding, Head, Mlp, Network, Norm, NormKind, Place, Positions};
use crate::error::Result;
use crate::offers::{Limit, LogitsOnly};

/// A family with the way to open its weights.
pub(crate) struct Served {
    /// The configuration; its tables of names are empty, because the library uses its own names.
    pub family: Family,
    /// Builds the network.
    pub open: Open,
}

/// The description of such a family.
const fn family(model_types: &'static [&'static str], describe: fn(&ConfigFile) -> Result<Arch>) -> Family {
    Family { model_types, prefixes: &[], names: &[], describe, config: None }
}

/// Builds a network from a configuration that `describe` has accepted.
pub(crate) type Open = fn(&ConfigFile, &Stored<'_>) -> Result<Box<dyn LogitsNet>>;

/// Every family that is run by its logits.
pub(crate) const SERVED: &[Served] = &[
    causal::MISTRAL,
    causal::GEMMA2,
    causal::QWEN3,
    causal::PHI3,
    modernbert::SERVED,
    t5::SERVED,
    mamba::SERVED,
    deberta::SERVED,
];

/// The family of a `model_type`, if it is one of these.
pub(crate) fn find(model_type: &str) -> Option<&'static Served> {
    SERVED.iter().find(|s| s.family.model_types.contains(&model_type))
}

/// Texts of one length, side by side, without padding.
pub(crate) struct Texts<'a> {
    /// One list of ids for each text.
    pub ids: Vec<&'a [u32]>,
    /// Explicit input of the decoder, for an encoder-decoder: also of equal length.
    pub decoder: Option<Vec<&'a [u32]>>,
}

/// A network that returns logits.
pub(crate) trait LogitsNet: Send {
    /// Logits `[B, N, V]` at the N positions `at`, ascending and distinct; of the decoder's input if given.
    fn logits(&mut self, texts: &Texts<'_>, at: &[usize]) -> candle_core::Result<Tensor>;
}

/// Longest text of a family that names no limit: bounds the tables of rotary positions.
const LONGEST: usize = 1 << 16;

/// Sizes common to all families.
struct Sizes {
    vocab: usize,
    hidden: usize,
    layers: usize,
    heads: usize,
    kv_heads: usize,
    head_dim: usize,
    intermediate: usize,
    max_positions: usize,
    eps: f64,
}

impl Sizes {
    /// The description for lists and checks: sizes and head, without the library's internals.
    fn arch(self, file: &ConfigFile, head: Head, limit: Limit, parameters: u64) -> Arch {
        Arch {
            family: file.model_type().to_owned(),
            network: Network::LogitsOnly(LogitsOnly { parameters, limit }),
            vocab: self.vocab,
            hidden: self.hidden,
            layers: self.layers,
            heads: self.heads,
            kv_heads: self.kv_heads,
            head_dim: self.head_dim,
            intermediate: self.intermediate,
            max_positions: self.max_positions.min(LONGEST),
            embedding: Embedding::plain(self.hidden),
            positions: Positions::None,
            norm: Norm { kind: NormKind::Rms, eps: self.eps },
            place: Place::Pre,
            attention: Attention { causal: matches!(head, Head::Causal { .. }), qkv_bias: false, out_bias: false },
            mlp: Mlp { activation: Activation::GeluErf, gated: true, bias: false },
            shared_block: false,
            final_norm: true,
            head,
            decoder: None,
        }
    }
}

/// Number of parameters in tensors of these sizes and counts. Sizes come from a file, so the sum saturates.
fn count(tensors: &[(usize, &[usize])]) -> u64 {
    let one = |(times, shape): &(usize, &[usize])| shape.iter().fold(*times as u64, |n, &s| n.saturating_mul(s as u64));
    tensors.iter().fold(0, |n, t| n.saturating_add(one(t)))
}

/// The library's name of an activation.
fn activation(a: Activation) -> candle_nn::Activation {
    match a {
        Activation::GeluErf => candle_nn::Activation::Gelu,
        Activation::GeluTanh => candle_nn::Activation::NewGelu,
        Activation::Relu => candle_nn::Activation::Relu,
        Activation::Silu => candle_nn::Activation::Silu,
    }
}

impl ConfigFile {
    /// Refuses a setting that was not checked against transformers.
    fn only(&self, holds: bool, what: &str) -> Result<()> {
        if holds {
            return Ok(());
        }
        Err(self.wrong(format!(
            "unsupported: {what}; '{}' runs only in configurations that were checked against transformers",
            self.model_type()
        )))
    }
}

/// Ids side by side, columns `from` to below `to`, `[B, to - from]`.
fn columns(rows: &[&[u32]], (from, to): (usize, usize), device: &candle_core::Device) -> candle_core::Result<Tensor> {
    let ids: Vec<u32> = rows.iter().flat_map(|r| r[from..to].iter().copied()).collect();
    Tensor::from_vec(ids, (rows.len(), to - from), device)
}

/// Chosen positions of `[B, T, W]`, `[B, N, W]`.
fn positions(all: &Tensor, at: &[usize]) -> candle_core::Result<Tensor> {
    let at: Vec<u32> = at.iter().map(|&t| t as u32).collect();
    all.index_select(&Tensor::new(at, all.device())?, 1)
}
