//! T5 (Raffel et al., 2020), in its original form (ReLU, tied output) and 1.1 (gated GELU, untied output matrix).
//!
//! A text contains a sentinel at the position to predict. Without explicit input, the decoder reads the start token and the sentinel
//! (`<extra_id_0>`), and the token that follows is the prediction.

use candle_core::{Device, Tensor};
use candle_transformers::models::t5::{
    ActivationWithOptionalGating, Config, T5EncoderModel, T5ForConditionalGeneration,
};
use serde::Deserialize;

use super::stored::{Change, Rules};
use super::{ConfigFile, LogitsNet, Served, Sizes, Stored, Texts, columns, count, family};
use crate::arch::{Arch, Decoder, Head};
use crate::error::Result;
use crate::offers::Limit;

pub(super) const SERVED: Served = Served { family: family(&["t5"], describe), open, untied: true };

/// Word embeddings of both stacks; a table stored for one stack takes precedence there.
const SHARED: &str = "shared.weight";
const ENCODER: &str = "encoder.embed_tokens.weight";
const DECODER: &str = "decoder.embed_tokens.weight";
const OUTPUT: &str = "lm_head.weight";

#[derive(Deserialize)]
struct Fields {
    vocab_size: usize,
    d_model: usize,
    d_kv: usize,
    d_ff: usize,
    num_layers: usize,
    num_decoder_layers: Option<usize>,
    num_heads: usize,
    n_positions: usize,
    relative_attention_num_buckets: usize,
    relative_attention_max_distance: usize,
    layer_norm_epsilon: f64,
    feed_forward_proj: String,
    tie_word_embeddings: bool,
    scale_decoder_outputs: Option<bool>,
    is_encoder_decoder: bool,
    #[serde(default)]
    decoder_start_token_id: u32,
}

fn fields(file: &ConfigFile) -> Result<Fields> {
    let f: Fields = file.fields()?;
    file.only(f.is_encoder_decoder, "a model without a decoder")?;
    let known = matches!(f.feed_forward_proj.as_str(), "relu" | "gated-gelu");
    file.only(known, "a feed_forward_proj other than relu and gated-gelu")?;
    let (n, far) = (f.relative_attention_num_buckets, f.relative_attention_max_distance);
    let sound = n >= 4 && n.is_multiple_of(4) && n <= 1 << 16 && far > n && far <= 1 << 24;
    file.only(
        sound,
        "a number of relative attention buckets that is not a multiple of 4, or a maximum distance that does not exceed it",
    )?;
    Ok(f)
}

impl Fields {
    fn gated(&self) -> bool {
        self.feed_forward_proj == "gated-gelu"
    }

    fn decoder_layers(&self) -> usize {
        self.num_decoder_layers.unwrap_or(self.num_layers)
    }

    fn parameters(&self) -> u64 {
        let (d, e, l) = (self.d_model, self.num_layers, self.decoder_layers());
        let inner = self.num_heads.saturating_mul(self.d_kv);
        let attentions = e.saturating_add(l.saturating_mul(2));
        let blocks = e.saturating_add(l);
        let feed_forward = if self.gated() { 3 } else { 2 };
        count(&[
            (if self.tie_word_embeddings { 1 } else { 2 }, &[self.vocab_size, d]),
            (attentions.saturating_mul(4), &[inner, d]),
            (blocks.saturating_mul(feed_forward), &[self.d_ff, d]),
            (attentions.saturating_add(blocks).saturating_add(2), &[d]),
            (2, &[self.relative_attention_num_buckets, self.num_heads]),
        ])
    }
}

fn describe(file: &ConfigFile) -> Result<Arch> {
    let f = fields(file)?;
    let sizes = Sizes {
        vocab: f.vocab_size,
        hidden: f.d_model,
        layers: f.num_layers,
        heads: f.num_heads,
        kv_heads: f.num_heads,
        head_dim: f.d_kv,
        intermediate: f.d_ff,
        max_positions: f.n_positions,
        eps: f.layer_norm_epsilon,
    };
    let head = Head::Causal { tied: f.tie_word_embeddings, bias: false };
    let mut arch = sizes.arch(file, head, Limit::Positions, f.parameters());
    arch.attention.causal = false;
    arch.decoder = Some(Decoder {
        layers: f.decoder_layers(),
        heads: f.num_heads,
        intermediate: f.d_ff,
        start_token: f.decoder_start_token_id,
    });
    Ok(arch)
}

fn open(file: &ConfigFile, stored: &Stored<'_>) -> Result<Box<dyn LogitsNet>> {
    let f = fields(file)?;
    let gelu = ActivationWithOptionalGating { gated: f.gated(), activation: candle_nn::Activation::NewGelu };
    let config = Config {
        vocab_size: f.vocab_size,
        d_model: f.d_model,
        d_kv: f.d_kv,
        d_ff: f.d_ff,
        num_layers: f.num_layers,
        num_decoder_layers: Some(f.decoder_layers()),
        num_heads: f.num_heads,
        relative_attention_num_buckets: f.relative_attention_num_buckets,
        relative_attention_max_distance: f.relative_attention_max_distance,
        layer_norm_epsilon: f.layer_norm_epsilon,
        feed_forward_proj: gelu,
        // The output matrix is chosen, and its input scaled, below.
        tie_word_embeddings: false,
        use_cache: false,
        ..Config::default()
    };
    let renamed = vec![(SHARED, ENCODER), (SHARED, SHARED), (SHARED, DECODER)];
    let encoder = stored.builder(Rules { renamed, ..Rules::default() });
    let encoder = stored.built(T5EncoderModel::load(encoder, &config))?;
    // The library's decoder reserves half of its buckets for later tokens, as an encoder does, but a decoder needs all of them for earlier
    // tokens. With twice as many buckets, the half that is used is the whole table, and the causal mask hides the other half. The encoder
    // that comes with the decoder has no blocks.
    let twice = 2 * f.relative_attention_num_buckets;
    let config = Config { num_layers: 0, relative_attention_num_buckets: twice, ..config };
    let changed = vec![("relative_attention_bias.weight", Change::PadRows(twice))];
    let mut renamed = vec![(SHARED, DECODER), (SHARED, SHARED), (SHARED, ENCODER)];
    if stored.is_tied() || !stored.contains(OUTPUT) {
        // The output matrix is tied to `shared`, even where a separate table is stored for the decoder.
        renamed.extend([(OUTPUT, SHARED), (OUTPUT, DECODER), (OUTPUT, ENCODER)]);
    }
    let builder = stored.builder(Rules { changed, renamed });
    let decoder = stored.built(T5ForConditionalGeneration::load(builder, &config))?;
    // T5 1.1 does not scale. Files of transformers 4 show this only by an untied output.
    let scaled = f.scale_decoder_outputs.unwrap_or(f.tie_word_embeddings);
    let scale = if scaled { 1.0 / (f.d_model as f64).sqrt() } else { 1.0 };
    let (device, start) = (stored.device().clone(), f.decoder_start_token_id);
    Ok(Box::new(T5 { encoder, decoder, scale, start, device }))
}

struct T5 {
    encoder: T5EncoderModel,
    decoder: T5ForConditionalGeneration,
    scale: f64,
    start: u32,
    device: Device,
}

impl LogitsNet for T5 {
    fn logits(&mut self, texts: &Texts<'_>, at: &[usize]) -> candle_core::Result<Tensor> {
        let ids = columns(&texts.ids, (0, texts.ids[0].len()), &self.device)?;
        let encoded = self.encoder.forward(&ids)?;
        let mut answers = Vec::with_capacity(at.len());
        for &t in at {
            let read = match &texts.decoder {
                Some(rows) => columns(rows, (0, t + 1), &self.device)?,
                None => {
                    let pairs: Vec<u32> = texts.ids.iter().flat_map(|row| [self.start, row[t]]).collect();
                    Tensor::from_vec(pairs, (texts.ids.len(), 2), &self.device)?
                }
            };
            let logits = (self.decoder.decode(&read, &encoded)? * self.scale)?;
            answers.push(logits.unsqueeze(1)?);
        }
        Tensor::cat(&answers, 1)
    }
}
