//! DistilBERT (Sanh et al., 2019): BERT without token types, with different tensor names.

use serde::Deserialize;

use super::{ConfigFile, Entry, Family, Size, bert, plain};
use crate::arch::{Arch, Head};
use crate::error::Result;

pub(super) const FAMILY: Family =
    Family { model_types: &["distilbert"], prefixes: &["distilbert."], names: &[NAMES], describe, config: None };

const NAMES: &[Entry] = &[
    plain("embed.tokens", &["embeddings.word_embeddings"]),
    plain("embed.positions", &["embeddings.position_embeddings"]),
    plain("embed.norm", &["embeddings.LayerNorm"]),
    plain("blocks.{l}.attn.q", &["transformer.layer.{l}.attention.q_lin"]),
    plain("blocks.{l}.attn.k", &["transformer.layer.{l}.attention.k_lin"]),
    plain("blocks.{l}.attn.v", &["transformer.layer.{l}.attention.v_lin"]),
    plain("blocks.{l}.attn.out", &["transformer.layer.{l}.attention.out_lin"]),
    plain("blocks.{l}.norm1", &["transformer.layer.{l}.sa_layer_norm"]),
    plain("blocks.{l}.mlp.up", &["transformer.layer.{l}.ffn.lin1"]),
    plain("blocks.{l}.mlp.down", &["transformer.layer.{l}.ffn.lin2"]),
    plain("blocks.{l}.norm2", &["transformer.layer.{l}.output_layer_norm"]),
    plain("head.transform", &["vocab_transform"]),
    plain("head.norm", &["vocab_layer_norm"]),
    plain("head.decoder", &["vocab_projector"]),
];

#[derive(Deserialize)]
struct Fields {
    vocab_size: usize,
    dim: usize,
    n_layers: usize,
    n_heads: usize,
    hidden_dim: usize,
    max_position_embeddings: usize,
    activation: String,
    tie_word_embeddings: bool,
}

fn describe(file: &ConfigFile) -> Result<Arch> {
    let f: Fields = file.fields()?;
    let activation = file.activation(&f.activation)?;
    let mut arch = bert::arch(Size {
        vocab: f.vocab_size,
        hidden: f.dim,
        layers: f.n_layers,
        heads: f.n_heads,
        max_positions: f.max_position_embeddings,
    });
    arch.family = file.model_type().to_owned();
    arch.head_dim = file.head_width(f.dim, f.n_heads)?;
    arch.intermediate = f.hidden_dim;
    arch.embedding.types = 0;
    arch.mlp.activation = activation;
    arch.head = Head::Masked { activation, eps: arch.norm.eps, tied: f.tie_word_embeddings };
    Ok(arch)
}
