//! GPT-2 (Radford et al., 2019): pre-norm causal decoder with learned positions; weights are stored as `[in, out]`.

use serde::Deserialize;
use serde_json::{Value, json};

use super::{ConfigFile, Entry, Family, Size, activation_name, bert, plain};
use crate::arch::{Activation, Arch, Attention, Embedding, Head, Mlp, Norm, Place};
use crate::error::Result;
use crate::params::{Layout, Rows};

pub(super) const FAMILY: Family =
    Family { model_types: &["gpt2"], prefixes: &["transformer."], names: &[NAMES], describe, config: Some(config) };

/// Query, key or value: a third of the columns of `c_attn`.
const fn third(stem: &'static str, index: usize) -> Entry {
    let layout = Layout { transposed: true, rows: Rows::Part { index, of: 3 } };
    Entry(stem, &["h.{l}.attn.c_attn"], layout)
}

const fn conv(stem: &'static str, stored: &'static [&'static str]) -> Entry {
    Entry(stem, stored, Layout { transposed: true, rows: Rows::All })
}

const NAMES: &[Entry] = &[
    plain("embed.tokens", &["wte"]),
    plain("embed.positions", &["wpe"]),
    plain("blocks.{l}.norm1", &["h.{l}.ln_1"]),
    third("blocks.{l}.attn.q", 0),
    third("blocks.{l}.attn.k", 1),
    third("blocks.{l}.attn.v", 2),
    conv("blocks.{l}.attn.out", &["h.{l}.attn.c_proj"]),
    plain("blocks.{l}.norm2", &["h.{l}.ln_2"]),
    conv("blocks.{l}.mlp.up", &["h.{l}.mlp.c_fc"]),
    conv("blocks.{l}.mlp.down", &["h.{l}.mlp.c_proj"]),
    plain("final_norm", &["ln_f"]),
    plain("head.decoder", &["lm_head"]),
];

#[derive(Deserialize)]
struct Fields {
    vocab_size: usize,
    n_embd: usize,
    n_layer: usize,
    n_head: usize,
    n_positions: usize,
    n_inner: Option<usize>,
    activation_function: String,
    layer_norm_epsilon: f64,
    tie_word_embeddings: bool,
    scale_attn_weights: bool,
    #[serde(default)]
    scale_attn_by_inverse_layer_idx: bool,
    #[serde(default)]
    add_cross_attention: bool,
}

fn eps() -> f64 {
    1e-5
}

fn describe(file: &ConfigFile) -> Result<Arch> {
    let f: Fields = file.fields()?;
    if !f.scale_attn_weights || f.scale_attn_by_inverse_layer_idx || f.add_cross_attention {
        return Err(file.wrong(
            "scale_attn_weights = false, scale_attn_by_inverse_layer_idx and add_cross_attention are not supported"
                .into(),
        ));
    }
    let plain = arch(Size {
        vocab: f.vocab_size,
        hidden: f.n_embd,
        layers: f.n_layer,
        heads: f.n_head,
        max_positions: f.n_positions,
    });
    Ok(Arch {
        head_dim: file.head_width(f.n_embd, f.n_head)?,
        intermediate: f.n_inner.unwrap_or(plain.intermediate),
        norm: Norm { eps: f.layer_norm_epsilon, ..plain.norm },
        mlp: Mlp { activation: file.activation(&f.activation_function)?, ..plain.mlp },
        head: Head::Causal { tied: f.tie_word_embeddings, bias: false },
        ..plain
    })
}

/// Builds the architecture for training from scratch; see [`Arch::gpt2`].
pub(super) fn arch(s: Size) -> Arch {
    let encoder = bert::arch(s);
    Arch {
        family: "gpt2".into(),
        embedding: Embedding::plain(s.hidden),
        norm: Norm { eps: eps(), ..encoder.norm },
        place: Place::Pre,
        attention: Attention { causal: true, ..encoder.attention },
        mlp: Mlp { activation: Activation::GeluTanh, ..encoder.mlp },
        final_norm: true,
        head: Head::Causal { tied: true, bias: false },
        ..encoder
    }
}

/// Id of `<|endoftext|>` in the vocabularies trained by this program.
const END: u32 = 0;

fn config(a: &Arch) -> Value {
    json!({
        "architectures": ["GPT2LMHeadModel"],
        "model_type": "gpt2",
        "vocab_size": a.vocab,
        "n_embd": a.hidden,
        "n_layer": a.layers,
        "n_head": a.heads,
        "n_positions": a.max_positions,
        "n_ctx": a.max_positions,
        "n_inner": a.intermediate,
        "activation_function": activation_name(a.mlp.activation),
        "layer_norm_epsilon": a.norm.eps,
        "resid_pdrop": 0.0,
        "embd_pdrop": 0.0,
        "attn_pdrop": 0.0,
        "initializer_range": 0.02,
        // The only special token of the vocabulary; the default id would be 50256.
        "bos_token_id": END,
        "eos_token_id": END,
        "tie_word_embeddings": !matches!(a.head, Head::Causal { tied: false, .. }),
        "torch_dtype": "float16",
    })
}
