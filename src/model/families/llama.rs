//! Llama (Touvron et al., 2023) and Qwen2 (Yang et al., 2024): RMS norms, rotary positions, gated feed-forward, grouped key/value heads.

use serde::Deserialize;

use super::{ConfigFile, Entry, Family, Size, gpt2, plain, rotary};
use crate::arch::{Arch, Attention, Head, Mlp, Norm, NormKind, Positions};
use crate::error::Result;

pub(super) const FAMILY: Family =
    Family { model_types: &["llama", "qwen2"], prefixes: &["model."], names: &[NAMES], describe, config: None };

const NAMES: &[Entry] = &[
    plain("embed.tokens", &["embed_tokens"]),
    plain("blocks.{l}.norm1", &["layers.{l}.input_layernorm"]),
    plain("blocks.{l}.attn.q", &["layers.{l}.self_attn.q_proj"]),
    plain("blocks.{l}.attn.k", &["layers.{l}.self_attn.k_proj"]),
    plain("blocks.{l}.attn.v", &["layers.{l}.self_attn.v_proj"]),
    plain("blocks.{l}.attn.out", &["layers.{l}.self_attn.o_proj"]),
    plain("blocks.{l}.norm2", &["layers.{l}.post_attention_layernorm"]),
    plain("blocks.{l}.mlp.gate", &["layers.{l}.mlp.gate_proj"]),
    plain("blocks.{l}.mlp.up", &["layers.{l}.mlp.up_proj"]),
    plain("blocks.{l}.mlp.down", &["layers.{l}.mlp.down_proj"]),
    plain("final_norm", &["norm"]),
    plain("head.decoder", &["lm_head"]),
];

#[derive(Deserialize)]
struct Fields {
    vocab_size: usize,
    hidden_size: usize,
    num_hidden_layers: usize,
    num_attention_heads: usize,
    num_key_value_heads: Option<usize>,
    head_dim: Option<usize>,
    intermediate_size: usize,
    max_position_embeddings: usize,
    hidden_act: String,
    rms_norm_eps: f64,
    #[serde(default)]
    attention_bias: bool,
    #[serde(default)]
    mlp_bias: bool,
    #[serde(default)]
    tie_word_embeddings: bool,
    #[serde(default)]
    use_sliding_window: bool,
}

fn describe(file: &ConfigFile) -> Result<Arch> {
    let f: Fields = file.fields()?;
    if f.use_sliding_window {
        return Err(file.wrong("use_sliding_window is set; only full attention is supported".into()));
    }
    let positions = rotary::positions(file, 1.0)?;
    if !matches!(positions, Positions::Rotary { fraction: 1.0, .. }) {
        // For Llama and Qwen2, transformers rotates whole heads, regardless of the configuration.
        return Err(file.wrong("partial_rotary_factor is set; this family rotates whole heads".into()));
    }
    let qwen = file.model_type() == "qwen2";
    let head_dim = match f.head_dim {
        Some(width) => width,
        None => file.head_width(f.hidden_size, f.num_attention_heads)?,
    };
    let plain = gpt2::arch(Size {
        vocab: f.vocab_size,
        hidden: f.hidden_size,
        layers: f.num_hidden_layers,
        heads: f.num_attention_heads,
        max_positions: f.max_position_embeddings,
    });
    Ok(Arch {
        family: file.model_type().to_owned(),
        kv_heads: f.num_key_value_heads.unwrap_or(f.num_attention_heads),
        head_dim,
        intermediate: f.intermediate_size,
        positions,
        norm: Norm { kind: NormKind::Rms, eps: f.rms_norm_eps },
        attention: Attention { causal: true, qkv_bias: f.attention_bias || qwen, out_bias: f.attention_bias && !qwen },
        mlp: Mlp { activation: file.activation(&f.hidden_act)?, gated: true, bias: f.mlp_bias },
        head: Head::Causal { tied: f.tie_word_embeddings, bias: false },
        ..plain
    })
}
