//! ELECTRA (Clark et al., 2020): BERT with a narrower embedding table. The generator has a masked-LM head, the discriminator has none.

use serde::Deserialize;

use super::{ConfigFile, Entry, Family, bert, plain};
use crate::arch::{Activation, Arch, Head};
use crate::error::Result;

pub(super) const FAMILY: Family =
    Family { model_types: &["electra"], prefixes: &["electra."], names: &[bert::ENCODER, OWN], describe, config: None };

const OWN: &[Entry] = &[
    plain("embed.project", &["embeddings_project"]),
    plain("head.transform", &["generator_predictions.dense"]),
    plain("head.norm", &["generator_predictions.LayerNorm"]),
    plain("head.decoder", &["generator_lm_head"]),
];

#[derive(Deserialize)]
struct Fields {
    embedding_size: usize,
}

fn describe(file: &ConfigFile) -> Result<Arch> {
    let f: bert::Fields = file.fields()?;
    let Fields { embedding_size } = file.fields()?;
    let mut arch = bert::encoder(file, &f)?;
    arch.embedding.width = embedding_size;
    arch.embedding.projection = embedding_size != f.hidden_size;
    // The activation of the generator's head is fixed, regardless of `hidden_act`.
    arch.head = Head::Masked { activation: Activation::GeluErf, eps: f.layer_norm_eps, tied: f.tie_word_embeddings };
    Ok(arch)
}
