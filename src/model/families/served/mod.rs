//! Families run by candle-transformers, which provide only logits.
//!
//! A family is supported where it agrees with Hugging Face transformers. Where the library differs, one of two things is done, with the
//! reason stated in the code:
//! - The difference is corrected from outside: weights are scaled or padded, a setting is changed, or the head is implemented here.
//! - The request is rejected with a message: if the text exceeds a certain length (`Limit`), or for a setting that was never compared with
//!   transformers.
//!
//! To add a family, add a file with a `SERVED` and a line in [`SERVED`].

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

/// A family with the function that opens its weights.
pub(crate) struct Served {
    /// Description of the family; its name tables are empty because the library uses its own names.
    pub family: Family,
    pub open: Open,
    /// True if the output matrix may differ from the word embeddings.
    pub untied: bool,
}

/// Creates the description of a logits-only family.
const fn family(model_types: &'static [&'static str], describe: fn(&ConfigFile) -> Result<Arch>) -> Family {
    Family { model_types, prefixes: &[], names: &[], describe, config: None }
}

/// Builds a network from a configuration accepted by `describe`.
pub(crate) type Open = fn(&ConfigFile, &Stored<'_>) -> Result<Box<dyn LogitsNet>>;

/// All logits-only families.
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

/// Returns the logits-only family of a `model_type`, if any.
pub(crate) fn find(model_type: &str) -> Option<&'static Served> {
    SERVED.iter().find(|s| s.family.model_types.contains(&model_type))
}

/// Texts of equal length, without padding.
pub(crate) struct Texts<'a> {
    pub ids: Vec<&'a [u32]>,
    /// Explicit decoder input of an encoder-decoder, also of equal length.
    pub decoder: Option<Vec<&'a [u32]>>,
}

pub(crate) trait LogitsNet: Send {
    /// Returns the logits `[B, N, V]` at the N positions in `at`, which are ascending and distinct. If there is a decoder input, the
    /// positions refer to it.
    fn logits(&mut self, texts: &Texts<'_>, at: &[usize]) -> candle_core::Result<Tensor>;
}

/// Maximum text length for families without their own limit; it bounds the tables of rotary positions.
const LONGEST: usize = 1 << 16;

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
    /// Creates a description for lists and checks, with sizes and head but without the library's internals.
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

/// Counts parameters in tensors given as (number, shape). Sizes come from a file, so the sum saturates.
fn count(tensors: &[(usize, &[usize])]) -> u64 {
    let one = |(times, shape): &(usize, &[usize])| shape.iter().fold(*times as u64, |n, &s| n.saturating_mul(s as u64));
    tensors.iter().fold(0, |n, t| n.saturating_add(one(t)))
}

fn activation(a: Activation) -> candle_nn::Activation {
    match a {
        Activation::GeluErf => candle_nn::Activation::Gelu,
        Activation::GeluTanh => candle_nn::Activation::NewGelu,
        Activation::Relu => candle_nn::Activation::Relu,
        Activation::Silu => candle_nn::Activation::Silu,
    }
}

impl ConfigFile {
    /// Rejects a setting that was not compared with transformers.
    fn only(&self, holds: bool, what: &str) -> Result<()> {
        if holds {
            return Ok(());
        }
        Err(self.wrong(format!(
            "unsupported: {what}; '{}' runs only in configurations verified against transformers",
            self.model_type()
        )))
    }
}

/// Returns the columns from `from` to below `to` of equally long rows, `[B, to - from]`.
fn columns(rows: &[&[u32]], (from, to): (usize, usize), device: &candle_core::Device) -> candle_core::Result<Tensor> {
    let ids: Vec<u32> = rows.iter().flat_map(|r| r[from..to].iter().copied()).collect();
    Tensor::from_vec(ids, (rows.len(), to - from), device)
}

/// Selects positions of `[B, T, W]`: `[B, N, W]`.
fn positions(all: &Tensor, at: &[usize]) -> candle_core::Result<Tensor> {
    let at: Vec<u32> = at.iter().map(|&t| t as u32).collect();
    all.index_select(&Tensor::new(at, all.device())?, 1)
}
