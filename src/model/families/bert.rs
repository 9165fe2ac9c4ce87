//! BERT (Devlin et al., 2019): post-norm encoder with learned positions and token types, with or without its head.

use serde::Deserialize;
use serde_json::{Value, json};

use super::{ConfigFile, Entry, Family, Size, activation_name, plain};
use crate::arch::{Activation, Arch, Attention, Embedding, Head, Mlp, Network, Norm, NormKind, Place, Positions};
use crate::error::Result;

pub(super) const FAMILY: Family =
    Family { model_types: &["bert"], prefixes: &["bert."], names: &[ENCODER, HEAD], describe, config: Some(config) };

/// Names of embeddings and blocks in all BERT descendants that kept its module names.
pub(super) const ENCODER: &[Entry] = &[
    plain("embed.tokens", &["embeddings.word_embeddings"]),
    plain("embed.positions", &["embeddings.position_embeddings"]),
    plain("embed.types", &["embeddings.token_type_embeddings"]),
    plain("embed.norm", &["embeddings.LayerNorm"]),
    plain("blocks.{l}.attn.q", &["encoder.layer.{l}.attention.self.query"]),
    plain("blocks.{l}.attn.k", &["encoder.layer.{l}.attention.self.key"]),
    plain("blocks.{l}.attn.v", &["encoder.layer.{l}.attention.self.value"]),
    plain("blocks.{l}.attn.out", &["encoder.layer.{l}.attention.output.dense"]),
    plain("blocks.{l}.norm1", &["encoder.layer.{l}.attention.output.LayerNorm"]),
    plain("blocks.{l}.mlp.up", &["encoder.layer.{l}.intermediate.dense"]),
    plain("blocks.{l}.mlp.down", &["encoder.layer.{l}.output.dense"]),
    plain("blocks.{l}.norm2", &["encoder.layer.{l}.output.LayerNorm"]),
];

/// Masked-LM head under BERT's names.
pub(super) const HEAD: &[Entry] = &[
    plain("head.transform", &["cls.predictions.transform.dense"]),
    plain("head.norm", &["cls.predictions.transform.LayerNorm"]),
    plain("head.decoder.weight", &["cls.predictions.decoder.weight"]),
    plain("head.decoder.bias", &["cls.predictions.bias", "cls.predictions.decoder.bias"]),
];

/// Fields of `config.json` used by BERT and its close descendants.
#[derive(Deserialize)]
pub(super) struct Fields {
    pub(crate) vocab_size: usize,
    /// Width of the residual stream.
    pub(crate) hidden_size: usize,
    pub num_hidden_layers: usize,
    pub(crate) num_attention_heads: usize,
    /// Width of the feed-forward part.
    pub(crate) intermediate_size: usize,
    /// Rows of the position table.
    pub max_position_embeddings: usize,
    /// Number of token types; default 2. All defaults follow the reference implementation.
    pub(crate) type_vocab_size: usize,
    /// Name of the activation; default `gelu`.
    pub(crate) hidden_act: String,
    /// Epsilon of norms; default 1e-12.
    pub(crate) layer_norm_eps: f64,
    /// True if the head shares the token table; default true.
    pub(crate) tie_word_embeddings: bool,
    /// True for a decoder, which is rejected; default false.
    #[serde(default)]
    pub(crate) is_decoder: bool,
    /// `absolute` or absent.
    pub position_embedding_type: Option<String>,
}

fn eps() -> f64 {
    1e-12
}

/// Creates a post-norm encoder with these fields: BERT itself.
pub(super) fn encoder(file: &ConfigFile, f: &Fields) -> Result<Arch> {
    if let Some(kind) = f.position_embedding_type.as_deref().filter(|k| *k != "absolute") {
        return Err(
            file.wrong(format!("position_embedding_type '{}' is not supported; only absolute is", kind.escape_debug()))
        );
    }
    if f.is_decoder {
        return Err(file.wrong("is_decoder is set; only the encoder form is supported".into()));
    }
    let activation = file.activation(&f.hidden_act)?;
    let plain = arch(Size {
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
        embedding: Embedding { types: f.type_vocab_size, ..plain.embedding },
        norm: Norm { eps: f.layer_norm_eps, ..plain.norm },
        mlp: Mlp { activation, ..plain.mlp },
        head: Head::Masked { activation, eps: f.layer_norm_eps, tied: f.tie_word_embeddings },
        ..plain
    })
}

fn describe(file: &ConfigFile) -> Result<Arch> {
    encoder(file, &file.fields()?)
}

/// Builds the architecture for training from scratch; see [`Arch::bert`].
pub(super) fn arch(s: Size) -> Arch {
    Arch {
        family: "bert".into(),
        network: Network::Transformer,
        vocab: s.vocab,
        hidden: s.hidden,
        layers: s.layers,
        heads: s.heads,
        kv_heads: s.heads,
        head_dim: s.hidden / s.heads.max(1),
        intermediate: s.hidden.saturating_mul(4),
        max_positions: s.max_positions,
        embedding: Embedding { types: 2, norm: true, ..Embedding::plain(s.hidden) },
        positions: Positions::Learned { offset: 0, padding: None },
        norm: Norm { kind: NormKind::Layer, eps: eps() },
        place: Place::Post,
        attention: Attention { causal: false, qkv_bias: true, out_bias: true },
        mlp: Mlp { activation: Activation::GeluErf, gated: false, bias: true },
        shared_block: false,
        final_norm: false,
        head: Head::Masked { activation: Activation::GeluErf, eps: eps(), tied: true },
        decoder: None,
    }
}

/// Returns the `config.json` that [`encoder`] parses.
pub(super) fn config(a: &Arch) -> Value {
    let tied = !matches!(a.head, Head::Masked { tied: false, .. });
    json!({
        "architectures": [if a.head == Head::None { "BertModel" } else { "BertForMaskedLM" }],
        "model_type": "bert",
        "vocab_size": a.vocab,
        "hidden_size": a.hidden,
        "num_hidden_layers": a.layers,
        "num_attention_heads": a.heads,
        "intermediate_size": a.intermediate,
        "max_position_embeddings": a.max_positions,
        "type_vocab_size": a.embedding.types,
        "hidden_act": activation_name(a.mlp.activation),
        "layer_norm_eps": a.norm.eps,
        "hidden_dropout_prob": 0.0,
        "attention_probs_dropout_prob": 0.0,
        "initializer_range": 0.02,
        "tie_word_embeddings": tied,
        "torch_dtype": "float16",
    })
}
