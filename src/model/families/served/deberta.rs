//! DeBERTa-v2 and v3 (He et al., 2021, 2023): disentangled attention. The masked-LM head is implemented here because the library has none.

use candle_core::{Device, Module, Tensor};
use candle_nn::{LayerNorm, Linear};
use candle_transformers::models::debertav2::{Config, DebertaV2Model, HiddenAct};
use serde::Deserialize;
use serde_json::Value;

use super::stored::Rules;
use super::{ConfigFile, LogitsNet, Served, Sizes, Stored, Texts, activation, columns, count, family, positions};
use crate::arch::{Activation, Arch, Head};
use crate::error::Result;
use crate::offers::Limit;

pub(super) const SERVED: Served = Served { family: family(&["deberta-v2"], describe), open, untied: false };

#[derive(Deserialize)]
struct Fields {
    vocab_size: usize,
    hidden_size: usize,
    num_hidden_layers: usize,
    num_attention_heads: usize,
    intermediate_size: usize,
    hidden_act: String,
    max_position_embeddings: usize,
    #[serde(default)]
    type_vocab_size: usize,
    layer_norm_eps: f64,
    #[serde(default)]
    relative_attention: bool,
    max_relative_positions: i64,
    position_biased_input: bool,
    #[serde(default)]
    pos_att_type: Value,
    #[serde(default = "none")]
    position_buckets: i64,
    #[serde(default)]
    share_att_key: bool,
    attention_head_size: Option<usize>,
    embedding_size: Option<usize>,
    #[serde(default)]
    norm_rel_ebd: String,
    #[serde(default)]
    conv_kernel_size: usize,
}

fn none() -> i64 {
    -1
}

fn fields(file: &ConfigFile) -> Result<Fields> {
    let f: Fields = file.fields()?;
    // The library does not implement the convolution and would panic.
    file.only(f.conv_kernel_size == 0, "a convolution after the first block (conv_kernel_size)")?;
    file.only(
        f.relative_attention && f.share_att_key,
        "absolute attention, or relative attention with separate matrices",
    )?;
    file.only(!f.position_biased_input && f.type_vocab_size == 0, "positions or types added to the input")?;
    let both = match &f.pos_att_type {
        Value::String(s) => s.split('|').map(str::to_owned).collect::<Vec<_>>(),
        Value::Array(list) => list.iter().filter_map(Value::as_str).map(str::to_owned).collect(),
        _ => vec![],
    };
    let both = both.len() == 2 && ["c2p", "p2c"].iter().all(|k| both.iter().any(|s| s == k));
    file.only(both, "a pos_att_type other than c2p and p2c")?;
    file.only(f.norm_rel_ebd.trim() == "layer_norm", "a norm_rel_ebd other than layer_norm")?;
    let buckets = (4..=1 << 16).contains(&f.position_buckets) && f.position_buckets % 2 == 0;
    file.only(buckets, "an odd number of position_buckets, or one outside 4 to 65536")?;
    let far = f.farthest();
    file.only(
        far > f.position_buckets && far <= 1 << 24,
        "a maximum relative position that does not exceed position_buckets",
    )?;
    let width = file.head_width(f.hidden_size, f.num_attention_heads)?;
    let plain = f.attention_head_size.is_none_or(|n| n == width) && f.embedding_size.is_none_or(|n| n == f.hidden_size);
    file.only(plain, "an attention_head_size or embedding_size other than the default")?;
    hidden_act(file, &f)?;
    Ok(f)
}

impl Fields {
    fn farthest(&self) -> i64 {
        if self.max_relative_positions < 1 {
            i64::try_from(self.max_position_embeddings).unwrap_or(i64::MAX)
        } else {
            self.max_relative_positions
        }
    }
}

fn hidden_act(file: &ConfigFile, f: &Fields) -> Result<(Activation, HiddenAct)> {
    let name = file.activation(&f.hidden_act)?;
    match name {
        Activation::GeluErf => Ok((name, HiddenAct::Gelu)),
        Activation::GeluTanh => Ok((name, HiddenAct::GeluApproximate)),
        Activation::Relu => Ok((name, HiddenAct::Relu)),
        Activation::Silu => Err(file.wrong("activation silu is not supported in this family".into())),
    }
}

fn describe(file: &ConfigFile) -> Result<Arch> {
    let f = fields(file)?;
    let (d, l, i) = (f.hidden_size, f.num_hidden_layers, f.intermediate_size);
    let rows = usize::try_from(f.position_buckets).unwrap_or(0) * 2;
    let parameters = count(&[
        (1, &[f.vocab_size, d]),
        (1, &[rows, d]),
        (l.saturating_mul(4), &[d, d]),
        (l.saturating_mul(2), &[i, d]),
        // For each block: biases of query, key, value, output and feed-forward, and two norms.
        (l.saturating_mul(9), &[d]),
        (l, &[i]),
        (1, &[d, d]),
        // Norms of embeddings and relative positions, bias and norm of the head.
        (7, &[d]),
        (1, &[f.vocab_size]),
    ]);
    let sizes = Sizes {
        vocab: f.vocab_size,
        hidden: d,
        layers: l,
        heads: f.num_attention_heads,
        kv_heads: f.num_attention_heads,
        head_dim: file.head_width(d, f.num_attention_heads)?,
        intermediate: i,
        max_positions: f.max_position_embeddings,
        eps: f.layer_norm_eps,
    };
    let head = Head::Masked { activation: hidden_act(file, &f)?.0, eps: f.layer_norm_eps, tied: true };
    Ok(sizes.arch(file, head, Limit::Positions, parameters))
}

fn open(file: &ConfigFile, stored: &Stored<'_>) -> Result<Box<dyn LogitsNet>> {
    let f = fields(file)?;
    let (act, hidden_act) = hidden_act(file, &f)?;
    let config = Config {
        vocab_size: f.vocab_size,
        hidden_size: f.hidden_size,
        num_hidden_layers: f.num_hidden_layers,
        num_attention_heads: f.num_attention_heads,
        intermediate_size: f.intermediate_size,
        hidden_act,
        hidden_dropout_prob: 0.0,
        attention_probs_dropout_prob: 0.0,
        max_position_embeddings: f.max_position_embeddings.min(super::LONGEST),
        type_vocab_size: 0,
        initializer_range: 0.0,
        layer_norm_eps: f.layer_norm_eps,
        relative_attention: true,
        max_relative_positions: f.farthest() as isize,
        pad_token_id: None,
        position_biased_input: false,
        pos_att_type: vec!["p2c".into(), "c2p".into()],
        position_buckets: Some(f.position_buckets as isize),
        share_att_key: Some(true),
        attention_head_size: None,
        embedding_size: None,
        norm_rel_ebd: Some("layer_norm".into()),
        conv_kernel_size: None,
        conv_groups: None,
        conv_act: None,
        id2label: None,
        label2id: None,
        pooler_dropout: None,
        pooler_hidden_act: None,
        pooler_hidden_size: None,
        cls_dropout: None,
    };
    let root = stored.builder(Rules::default());
    let model = stored.built(DebertaV2Model::load(root.pp("deberta"), &config))?;
    let (d, v) = (f.hidden_size, f.vocab_size);
    // The name of the head in published files follows the paper's code, whereas transformers uses BERT's name; the computation is the same.
    let (head, bias) = match root.contains_tensor("lm_predictions.lm_head.dense.weight") {
        true => (root.pp("lm_predictions.lm_head"), "lm_predictions.lm_head.bias"),
        false if root.contains_tensor("cls.predictions.decoder.bias") => {
            (root.pp("cls.predictions.transform"), "cls.predictions.decoder.bias")
        }
        false => (root.pp("cls.predictions.transform"), "cls.predictions.bias"),
    };
    let table = stored.built(root.get((v, d), "deberta.embeddings.word_embeddings.weight"))?;
    let bias = stored.built(root.get(v, bias))?;
    Ok(Box::new(Deberta {
        model,
        dense: stored.built(candle_nn::linear(d, d, head.pp("dense")))?,
        act: activation(act),
        norm: stored.built(candle_nn::layer_norm(d, f.layer_norm_eps, head.pp("LayerNorm")))?,
        words: Linear::new(table, Some(bias)),
        device: stored.device().clone(),
    }))
}

/// The library's stack with the head of published checkpoints: dense, activation, norm, word embeddings.
struct Deberta {
    model: DebertaV2Model,
    dense: Linear,
    act: candle_nn::Activation,
    norm: LayerNorm,
    words: Linear,
    device: Device,
}

impl LogitsNet for Deberta {
    fn logits(&mut self, texts: &Texts<'_>, at: &[usize]) -> candle_core::Result<Tensor> {
        let ids = columns(&texts.ids, (0, texts.ids[0].len()), &self.device)?;
        let hidden = positions(&self.model.forward(&ids, None, None)?, at)?;
        let seen = self.norm.forward(&self.act.forward(&self.dense.forward(&hidden)?)?)?;
        self.words.forward(&seen)
    }
}
