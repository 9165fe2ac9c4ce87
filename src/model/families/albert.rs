//! ALBERT (Lan et al., 2020): one block shared by all layers, and a factorised embedding table.

use serde::Deserialize;

use super::{ConfigFile, Entry, Family, bert, plain};
use crate::arch::Arch;
use crate::error::Result;

pub(super) const FAMILY: Family =
    Family { model_types: &["albert"], prefixes: &["albert."], names: &[NAMES], describe, config: None };

macro_rules! block {
    ($part:literal) => {
        &[concat!("encoder.albert_layer_groups.0.albert_layers.0.", $part)]
    };
}

const NAMES: &[Entry] = &[
    plain("embed.tokens", &["embeddings.word_embeddings"]),
    plain("embed.positions", &["embeddings.position_embeddings"]),
    plain("embed.types", &["embeddings.token_type_embeddings"]),
    plain("embed.norm", &["embeddings.LayerNorm"]),
    plain("embed.project", &["encoder.embedding_hidden_mapping_in"]),
    plain("blocks.{l}.attn.q", block!("attention.query")),
    plain("blocks.{l}.attn.k", block!("attention.key")),
    plain("blocks.{l}.attn.v", block!("attention.value")),
    plain("blocks.{l}.attn.out", block!("attention.dense")),
    plain("blocks.{l}.norm1", block!("attention.LayerNorm")),
    plain("blocks.{l}.mlp.up", block!("ffn")),
    plain("blocks.{l}.mlp.down", block!("ffn_output")),
    plain("blocks.{l}.norm2", block!("full_layer_layer_norm")),
    plain("head.transform", &["predictions.dense"]),
    plain("head.norm", &["predictions.LayerNorm"]),
    plain("head.decoder.weight", &["predictions.decoder.weight"]),
    plain("head.decoder.bias", &["predictions.bias", "predictions.decoder.bias"]),
];

#[derive(Deserialize)]
struct Fields {
    embedding_size: usize,
    num_hidden_groups: usize,
    inner_group_num: usize,
    hidden_act: String,
}

fn describe(file: &ConfigFile) -> Result<Arch> {
    let own: Fields = file.fields()?;
    if own.num_hidden_groups != 1 || own.inner_group_num != 1 {
        return Err(file.wrong("num_hidden_groups and inner_group_num other than 1 are not supported".into()));
    }
    let mut fields: bert::Fields = file.fields()?;
    fields.hidden_act = own.hidden_act;
    let mut arch = bert::encoder(file, &fields)?;
    arch.embedding.width = own.embedding_size;
    arch.embedding.projection = true;
    arch.shared_block = true;
    Ok(arch)
}
