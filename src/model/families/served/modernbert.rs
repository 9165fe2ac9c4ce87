//! ModernBERT (Warner et al., 2024): a masked LM with local attention in two of three blocks.

use std::collections::BTreeMap;

use candle_core::{DType, Device, Tensor};
use candle_transformers::models::modernbert::{Config, ModernBertForMaskedLM};
use serde::Deserialize;

use super::stored::Rules;
use super::{ConfigFile, LogitsNet, Served, Sizes, Stored, Texts, columns, count, family, positions};
use crate::arch::{Activation, Arch, Head};
use crate::error::Result;
use crate::offers::Limit;

pub(super) const SERVED: Served = Served { family: family(&["modernbert"], describe), open, untied: false };

#[derive(Deserialize)]
struct Fields {
    vocab_size: usize,
    hidden_size: usize,
    num_hidden_layers: usize,
    num_attention_heads: usize,
    intermediate_size: usize,
    max_position_embeddings: usize,
    norm_eps: f64,
    global_attn_every_n_layers: Option<usize>,
    global_rope_theta: Option<f64>,
    local_attention: usize,
    local_rope_theta: Option<f64>,
    /// Type of each block, as in transformers 5.
    #[serde(default)]
    layer_types: Vec<String>,
    /// Rotary settings by block type.
    #[serde(default)]
    rope_parameters: BTreeMap<String, Rope>,
    #[serde(default)]
    attention_bias: bool,
    #[serde(default)]
    mlp_bias: bool,
    #[serde(default)]
    norm_bias: bool,
    #[serde(default)]
    classifier_bias: bool,
    decoder_bias: bool,
    tie_word_embeddings: bool,
    hidden_activation: String,
    classifier_activation: String,
}

#[derive(Deserialize)]
struct Rope {
    rope_theta: f64,
    #[serde(default = "unscaled")]
    rope_type: String,
}

fn unscaled() -> String {
    "default".into()
}

impl Fields {
    /// Interval between blocks with global attention, the first of which is block 0; `None` if they are not evenly spaced.
    fn global_every(&self) -> Option<usize> {
        if self.layer_types.is_empty() {
            return Some(self.global_attn_every_n_layers.unwrap_or(3)).filter(|n| *n > 0);
        }
        let global = |l: usize| self.layer_types.get(l).is_some_and(|t| t == "full_attention");
        let every = (1..self.num_hidden_layers).find(|l| global(*l)).unwrap_or(self.num_hidden_layers);
        let known = |t: &String| t == "full_attention" || t == "sliding_attention";
        let regular = self.layer_types.len() == self.num_hidden_layers
            && self.layer_types.iter().all(known)
            && (0..self.num_hidden_layers).all(|l| global(l) == l.is_multiple_of(every.max(1)));
        Some(every).filter(|n| *n > 0 && regular)
    }

    /// Base of rotary positions for blocks with global or local attention.
    fn theta(&self, kind: &str, old: Option<f64>, default: f64) -> f64 {
        self.rope_parameters.get(kind).map(|r| r.rope_theta).or(old).unwrap_or(default)
    }
}

fn fields(file: &ConfigFile) -> Result<Fields> {
    let f: Fields = file.fields()?;
    let biases = [f.attention_bias, f.mlp_bias, f.norm_bias, f.classifier_bias];
    file.only(!biases.contains(&true), "biases other than that of the decoder")?;
    file.only(f.decoder_bias, "decoder_bias is false")?;
    file.only(f.tie_word_embeddings, "a separate output matrix")?;
    for name in [&f.hidden_activation, &f.classifier_activation] {
        file.only(file.activation(name)? == Activation::GeluErf, "an activation other than gelu")?;
    }
    file.only(
        f.global_every().is_some(),
        "full-attention blocks that are not evenly spaced, starting at the first block",
    )?;
    file.only(f.rope_parameters.values().all(|r| r.rope_type == "default"), "rotary scaling")?;
    let head_dim = file.head_width(f.hidden_size, f.num_attention_heads)?;
    file.only(head_dim.is_multiple_of(2), "heads of odd width")?;
    Ok(f)
}

fn describe(file: &ConfigFile) -> Result<Arch> {
    let f = fields(file)?;
    let (d, l) = (f.hidden_size, f.num_hidden_layers);
    let parameters = count(&[
        (1, &[f.vocab_size, d]),
        // The first block has no norm before its attention, but the embeddings have one.
        (l.saturating_mul(2).saturating_add(2), &[d]),
        (l.saturating_mul(4), &[d, d]),
        (l.saturating_mul(3), &[f.intermediate_size, d]),
        (1, &[d, d]),
        (1, &[f.vocab_size]),
    ]);
    let sizes = Sizes {
        vocab: f.vocab_size,
        hidden: d,
        layers: l,
        heads: f.num_attention_heads,
        kv_heads: f.num_attention_heads,
        head_dim: file.head_width(d, f.num_attention_heads)?,
        intermediate: f.intermediate_size,
        max_positions: f.max_position_embeddings,
        eps: f.norm_eps,
    };
    let head = Head::Masked { activation: Activation::GeluErf, eps: f.norm_eps, tied: true };
    Ok(sizes.arch(file, head, Limit::Positions, parameters))
}

fn open(file: &ConfigFile, stored: &Stored<'_>) -> Result<Box<dyn LogitsNet>> {
    let f = fields(file)?;
    let config = Config {
        vocab_size: f.vocab_size,
        hidden_size: f.hidden_size,
        num_hidden_layers: f.num_hidden_layers,
        num_attention_heads: f.num_attention_heads,
        intermediate_size: f.intermediate_size,
        max_position_embeddings: f.max_position_embeddings.min(super::LONGEST),
        // transformers uses `norm_eps`; published files have both.
        layer_norm_eps: f.norm_eps,
        pad_token_id: 0,
        global_attn_every_n_layers: f.global_every().unwrap_or(1),
        global_rope_theta: f.theta("full_attention", f.global_rope_theta, 160_000.0),
        local_attention: f.local_attention,
        local_rope_theta: f.theta("sliding_attention", f.local_rope_theta, 10_000.0),
        classifier_config: None,
    };
    let model = stored.built(ModernBertForMaskedLM::load(stored.builder(Rules::default()), &config))?;
    Ok(Box::new(ModernBert { model, device: stored.device().clone() }))
}

struct ModernBert {
    model: ModernBertForMaskedLM,
    device: Device,
}

impl LogitsNet for ModernBert {
    fn logits(&mut self, texts: &Texts<'_>, at: &[usize]) -> candle_core::Result<Tensor> {
        let ids = columns(&texts.ids, (0, texts.ids[0].len()), &self.device)?;
        let everything = Tensor::ones(ids.dims(), DType::F32, &self.device)?;
        positions(&self.model.forward(&ids, &everything)?, at)
    }
}
