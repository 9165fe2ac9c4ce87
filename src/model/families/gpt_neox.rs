//! GPT-NeoX (Black et al., 2022), the architecture of Pythia: parallel sublayers and partial rotary positions.

use serde::Deserialize;

use super::{ConfigFile, Entry, Family, Size, gpt2, plain, rotary};
use crate::arch::{Arch, Attention, Head, Mlp, Norm, Place};
use crate::error::Result;
use crate::params::{Layout, Rows};

pub(super) const FAMILY: Family =
    Family { model_types: &["gpt_neox"], prefixes: &["gpt_neox."], names: &[NAMES], describe, config: None };

/// Query, key or value: a third of the rows within each head.
const fn third(stem: &'static str, index: usize) -> Entry {
    let layout = Layout { transposed: false, rows: Rows::PartOfHead { index, of: 3 } };
    Entry(stem, &["layers.{l}.attention.query_key_value"], layout)
}

const NAMES: &[Entry] = &[
    plain("embed.tokens", &["embed_in"]),
    plain("blocks.{l}.norm1", &["layers.{l}.input_layernorm"]),
    third("blocks.{l}.attn.q", 0),
    third("blocks.{l}.attn.k", 1),
    third("blocks.{l}.attn.v", 2),
    plain("blocks.{l}.attn.out", &["layers.{l}.attention.dense"]),
    plain("blocks.{l}.norm2", &["layers.{l}.post_attention_layernorm"]),
    plain("blocks.{l}.mlp.up", &["layers.{l}.mlp.dense_h_to_4h"]),
    plain("blocks.{l}.mlp.down", &["layers.{l}.mlp.dense_4h_to_h"]),
    plain("final_norm", &["final_layer_norm"]),
    plain("head.decoder", &["embed_out", "lm_head"]),
];

#[derive(Deserialize)]
struct Fields {
    vocab_size: usize,
    hidden_size: usize,
    num_hidden_layers: usize,
    num_attention_heads: usize,
    intermediate_size: usize,
    max_position_embeddings: usize,
    hidden_act: String,
    layer_norm_eps: f64,
    use_parallel_residual: bool,
    attention_bias: bool,
    #[serde(default)]
    tie_word_embeddings: bool,
}

fn describe(file: &ConfigFile) -> Result<Arch> {
    let f: Fields = file.fields()?;
    let plain = gpt2::arch(Size {
        vocab: f.vocab_size,
        hidden: f.hidden_size,
        layers: f.num_hidden_layers,
        heads: f.num_attention_heads,
        max_positions: f.max_position_embeddings,
    });
    Ok(Arch {
        family: file.model_type().to_owned(),
        head_dim: file.head_width(f.hidden_size, f.num_attention_heads)?,
        intermediate: f.intermediate_size,
        positions: rotary::positions(file, 0.25)?,
        norm: Norm { eps: f.layer_norm_eps, ..plain.norm },
        place: if f.use_parallel_residual { Place::Parallel } else { Place::Pre },
        attention: Attention { causal: true, qkv_bias: f.attention_bias, out_bias: f.attention_bias },
        mlp: Mlp { activation: file.activation(&f.hidden_act)?, ..plain.mlp },
        head: Head::Causal { tied: f.tie_word_embeddings, bias: false },
        ..plain
    })
}
