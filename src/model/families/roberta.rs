//! RoBERTa (Liu et al., 2019), XLM-RoBERTa and CamemBERT: BERT with positions that start after the pad id, and a different head.

use serde::Deserialize;
use serde_json::{Value, json};

use super::{ConfigFile, Entry, Family, Size, bert, plain};
use crate::arch::{Activation, Arch, Head, Positions};
use crate::error::Result;

pub(super) const FAMILY: Family = Family {
    model_types: &["roberta", "xlm-roberta", "camembert"],
    prefixes: &["roberta."],
    names: &[bert::ENCODER, HEAD],
    describe,
    config: Some(config),
};

const HEAD: &[Entry] = &[
    plain("head.transform", &["lm_head.dense"]),
    plain("head.norm", &["lm_head.layer_norm"]),
    plain("head.decoder.weight", &["lm_head.decoder.weight"]),
    plain("head.decoder.bias", &["lm_head.bias", "lm_head.decoder.bias"]),
];

#[derive(Deserialize)]
struct Fields {
    pad_token_id: usize,
}

fn describe(file: &ConfigFile) -> Result<Arch> {
    let f: bert::Fields = file.fields()?;
    let Fields { pad_token_id: pad } = file.fields()?;
    let mut arch = bert::encoder(file, &f)?;
    let Some(max_positions) = pad.checked_add(1).and_then(|o| f.max_position_embeddings.checked_sub(o)) else {
        return Err(file.wrong(format!(
            "{} positions are not enough: the first {} are reserved for padding",
            f.max_position_embeddings,
            pad.saturating_add(1)
        )));
    };
    arch.max_positions = max_positions;
    arch.positions = Positions::Learned { offset: pad + 1, padding: Some(pad) };
    arch.head = Head::Masked {
        // The activation of the head is fixed, regardless of `hidden_act`.
        activation: Activation::GeluErf,
        eps: f.layer_norm_eps,
        tied: f.tie_word_embeddings,
    };
    Ok(arch)
}

/// Pad id for export, as in the published checkpoints.
const PAD: usize = 1;

/// Builds the architecture for training from scratch; see [`Arch::roberta`].
pub(super) fn arch(s: Size) -> Arch {
    let mut arch = bert::arch(s);
    arch.family = "roberta".into();
    arch.embedding.types = 1;
    arch.norm.eps = 1e-5;
    arch.positions = Positions::Learned { offset: PAD + 1, padding: Some(PAD) };
    arch.head = Head::Masked { activation: Activation::GeluErf, eps: 1e-5, tied: true };
    arch
}

fn config(a: &Arch) -> Value {
    let Positions::Learned { offset, padding } = a.positions else { return bert::config(a) };
    let mut config = bert::config(a);
    config["architectures"] = json!(["RobertaForMaskedLM"]);
    config["model_type"] = json!("roberta");
    config["max_position_embeddings"] = json!(a.max_positions + offset);
    config["pad_token_id"] = json!(padding.unwrap_or(PAD));
    config["bos_token_id"] = json!(0);
    config["eos_token_id"] = json!(2);
    config
}
