//! BART (Lewis et al., 2020): post-norm encoder-decoder with learned positions. The decoder predicts the encoder's own tokens, including
//! masked ones.

use serde::Deserialize;
use serde_json::{Value, json};

use super::{ConfigFile, Entry, Family, Size, activation_name, bert, plain};
use crate::arch::{Arch, Decoder, Embedding, Head, Mlp, Norm, Positions};
use crate::error::Result;

pub(super) const FAMILY: Family = Family {
    model_types: &["bart"],
    prefixes: &["model."],
    names: &[ENCODER, DECODER],
    describe,
    config: Some(config),
};

const ENCODER: &[Entry] = &[
    plain("embed.tokens", &["shared", "encoder.embed_tokens", "decoder.embed_tokens"]),
    plain("embed.positions", &["encoder.embed_positions"]),
    plain("embed.norm", &["encoder.layernorm_embedding"]),
    plain("blocks.{l}.attn.q", &["encoder.layers.{l}.self_attn.q_proj"]),
    plain("blocks.{l}.attn.k", &["encoder.layers.{l}.self_attn.k_proj"]),
    plain("blocks.{l}.attn.v", &["encoder.layers.{l}.self_attn.v_proj"]),
    plain("blocks.{l}.attn.out", &["encoder.layers.{l}.self_attn.out_proj"]),
    plain("blocks.{l}.norm1", &["encoder.layers.{l}.self_attn_layer_norm"]),
    plain("blocks.{l}.mlp.up", &["encoder.layers.{l}.fc1"]),
    plain("blocks.{l}.mlp.down", &["encoder.layers.{l}.fc2"]),
    plain("blocks.{l}.norm2", &["encoder.layers.{l}.final_layer_norm"]),
    plain("head.decoder.weight", &["lm_head.weight"]),
    plain("head.decoder.bias", &["final_logits_bias"]),
];

const DECODER: &[Entry] = &[
    plain("decoder.embed.positions", &["decoder.embed_positions"]),
    plain("decoder.embed.norm", &["decoder.layernorm_embedding"]),
    plain("decoder.blocks.{l}.attn.q", &["decoder.layers.{l}.self_attn.q_proj"]),
    plain("decoder.blocks.{l}.attn.k", &["decoder.layers.{l}.self_attn.k_proj"]),
    plain("decoder.blocks.{l}.attn.v", &["decoder.layers.{l}.self_attn.v_proj"]),
    plain("decoder.blocks.{l}.attn.out", &["decoder.layers.{l}.self_attn.out_proj"]),
    plain("decoder.blocks.{l}.norm1", &["decoder.layers.{l}.self_attn_layer_norm"]),
    plain("decoder.blocks.{l}.cross.q", &["decoder.layers.{l}.encoder_attn.q_proj"]),
    plain("decoder.blocks.{l}.cross.k", &["decoder.layers.{l}.encoder_attn.k_proj"]),
    plain("decoder.blocks.{l}.cross.v", &["decoder.layers.{l}.encoder_attn.v_proj"]),
    plain("decoder.blocks.{l}.cross.out", &["decoder.layers.{l}.encoder_attn.out_proj"]),
    plain("decoder.blocks.{l}.norm_cross", &["decoder.layers.{l}.encoder_attn_layer_norm"]),
    plain("decoder.blocks.{l}.mlp.up", &["decoder.layers.{l}.fc1"]),
    plain("decoder.blocks.{l}.mlp.down", &["decoder.layers.{l}.fc2"]),
    plain("decoder.blocks.{l}.norm2", &["decoder.layers.{l}.final_layer_norm"]),
];

#[derive(Deserialize)]
struct Fields {
    vocab_size: usize,
    d_model: usize,
    encoder_layers: usize,
    encoder_attention_heads: usize,
    encoder_ffn_dim: usize,
    decoder_layers: usize,
    decoder_attention_heads: usize,
    decoder_ffn_dim: usize,
    max_position_embeddings: usize,
    activation_function: String,
    #[serde(default)]
    scale_embedding: bool,
    tie_word_embeddings: bool,
    decoder_start_token_id: u32,
    #[serde(default)]
    normalize_before: bool,
    #[serde(default)]
    add_final_layer_norm: bool,
    #[serde(default)]
    static_position_embeddings: bool,
    normalize_embedding: bool,
}

/// Number of rows in the position table before the row of the first position, regardless of the pad id.
const OFFSET: usize = 2;

fn describe(file: &ConfigFile) -> Result<Arch> {
    let f: Fields = file.fields()?;
    if f.normalize_before || f.add_final_layer_norm || f.static_position_embeddings || !f.normalize_embedding {
        return Err(file.wrong(
            "normalize_before, add_final_layer_norm, static_position_embeddings and a false normalize_embedding are not supported"
                .into(),
        ));
    }
    let plain = arch(Size {
        vocab: f.vocab_size,
        hidden: f.d_model,
        layers: f.encoder_layers,
        heads: f.encoder_attention_heads,
        max_positions: f.max_position_embeddings,
    });
    let scale = if f.scale_embedding { (f.d_model as f64).sqrt() } else { 1.0 };
    Ok(Arch {
        head_dim: file.head_width(f.d_model, f.encoder_attention_heads)?,
        intermediate: f.encoder_ffn_dim,
        embedding: Embedding { scale, ..plain.embedding },
        mlp: Mlp { activation: file.activation(&f.activation_function)?, ..plain.mlp },
        head: Head::Causal { tied: f.tie_word_embeddings, bias: true },
        decoder: Some(Decoder {
            layers: f.decoder_layers,
            heads: f.decoder_attention_heads,
            intermediate: f.decoder_ffn_dim,
            start_token: f.decoder_start_token_id,
        }),
        ..plain
    })
}

/// Start token of the decoder: the end of a sentence, as in the published checkpoints.
const START: u32 = 2;

/// Builds the architecture for training from scratch; see [`Arch::bart`].
pub(super) fn arch(s: Size) -> Arch {
    let plain = bert::arch(s);
    Arch {
        family: "bart".into(),
        embedding: Embedding { types: 0, ..plain.embedding },
        positions: Positions::Learned { offset: OFFSET, padding: None },
        norm: Norm { eps: 1e-5, ..plain.norm },
        head: Head::Causal { tied: true, bias: true },
        decoder: Some(Decoder {
            layers: s.layers,
            heads: s.heads,
            intermediate: plain.intermediate,
            start_token: START,
        }),
        ..plain
    }
}

fn config(a: &Arch) -> Value {
    let d = a.decoder.unwrap_or(Decoder { layers: 0, heads: 1, intermediate: 0, start_token: START });
    json!({
        "architectures": ["BartForConditionalGeneration"],
        "model_type": "bart",
        "vocab_size": a.vocab,
        "d_model": a.hidden,
        "encoder_layers": a.layers,
        "encoder_attention_heads": a.heads,
        "encoder_ffn_dim": a.intermediate,
        "decoder_layers": d.layers,
        "decoder_attention_heads": d.heads,
        "decoder_ffn_dim": d.intermediate,
        "decoder_start_token_id": d.start_token,
        "max_position_embeddings": a.max_positions,
        "activation_function": activation_name(a.mlp.activation),
        "scale_embedding": a.embedding.scale != 1.0,
        "bos_token_id": 0,
        "pad_token_id": 1,
        "eos_token_id": 2,
        "dropout": 0.0,
        "attention_dropout": 0.0,
        "activation_dropout": 0.0,
        "init_std": 0.02,
        "is_encoder_decoder": true,
        "tie_word_embeddings": !matches!(a.head, Head::Causal { tied: false, .. }),
        "torch_dtype": "float16",
    })
}
