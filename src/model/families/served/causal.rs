//! Decoders with a cache of keys and values: Mistral (Jiang et al., 2023), Gemma 2 (Gemma Team, 2024), Qwen3 (Yang et al., 2025) and Phi-3
//! (Abdin et al., 2024).

use candle_core::{Device, Tensor};
use candle_transformers::models::{gemma2, mistral, phi3, qwen3};
use serde::Deserialize;

use super::super::rotary::{self, Rotary};
use super::stored::{Change, Rules};
use super::{ConfigFile, LogitsNet, Served, Sizes, Stored, Texts, activation, columns, count, family};
use crate::arch::{Arch, Head, Positions, Scaling};
use crate::error::Result;
use crate::offers::Limit;

pub(super) const MISTRAL: Served =
    Served { family: family(&["mistral"], |f| mistral_fields(f)?.arch(f)), open: open_mistral, untied: true };
pub(super) const GEMMA2: Served =
    Served { family: family(&["gemma2"], |f| gemma2_fields(f)?.arch(f)), open: open_gemma2, untied: false };
pub(super) const QWEN3: Served =
    Served { family: family(&["qwen3"], |f| qwen3_fields(f)?.arch(f)), open: open_qwen3, untied: true };
pub(super) const PHI3: Served =
    Served { family: family(&["phi3"], |f| phi3_fields(f)?.arch(f)), open: open_phi3, untied: true };

/// Settings shared by all four families, named as in published files.
#[derive(Deserialize)]
struct Common {
    vocab_size: usize,
    hidden_size: usize,
    intermediate_size: usize,
    num_hidden_layers: usize,
    num_attention_heads: usize,
    num_key_value_heads: Option<usize>,
    max_position_embeddings: usize,
    rms_norm_eps: f64,
}

impl Common {
    fn kv_heads(&self) -> usize {
        self.num_key_value_heads.unwrap_or(self.num_attention_heads)
    }

    fn sizes(&self, head_dim: usize) -> Sizes {
        Sizes {
            vocab: self.vocab_size,
            hidden: self.hidden_size,
            layers: self.num_hidden_layers,
            heads: self.num_attention_heads,
            kv_heads: self.kv_heads(),
            head_dim,
            intermediate: self.intermediate_size,
            max_positions: self.max_position_embeddings,
            eps: self.rms_norm_eps,
        }
    }

    /// Counts the parameters except for the output matrix. Each block has `norms` norms of width D and `head_norms` norms as wide as a
    /// head.
    fn count(&self, head_dim: usize, norms: usize, head_norms: usize) -> u64 {
        let (d, l) = (self.hidden_size, self.num_hidden_layers);
        let queries = self.num_attention_heads.saturating_mul(head_dim);
        let keys = self.kv_heads().saturating_mul(head_dim);
        count(&[
            (1, &[self.vocab_size, d]),
            (l.saturating_mul(2), &[queries, d]),
            (l.saturating_mul(2), &[keys, d]),
            (l.saturating_mul(3), &[self.intermediate_size, d]),
            (l.saturating_mul(norms), &[d]),
            (l.saturating_mul(head_norms), &[head_dim]),
            (1, &[d]),
        ])
    }

    fn head_dim(&self, file: &ConfigFile, given: Option<usize>) -> Result<usize> {
        given.map_or_else(|| file.head_width(self.hidden_size, self.num_attention_heads), Ok)
    }
}

/// Returns the base of rotary positions; whole heads without scaling are required.
fn plain_theta(file: &ConfigFile) -> Result<f64> {
    match rotary::positions(file, 1.0)? {
        Positions::Rotary { theta, fraction: 1.0, scaling: Scaling::None } => Ok(theta),
        Positions::Rotary { fraction: 1.0, .. } => {
            Err(file.wrong("rotary scaling is supported for llama, qwen2 and gpt_neox".into()))
        }
        _ => Err(file.wrong("rotary positions over a part of each head are not supported here".into())),
    }
}

/// Counts the output matrix `[V, D]`, unless it is the word-embedding table.
fn output(common: &Common, tied: bool) -> u64 {
    if tied { 0 } else { count(&[(1, &[common.vocab_size, common.hidden_size])]) }
}

// -- Mistral ---------------------------------------------------------------------------------------------------------

#[derive(Deserialize)]
struct Mistral {
    #[serde(flatten)]
    common: Common,
    head_dim: Option<usize>,
    hidden_act: String,
    sliding_window: Option<usize>,
    #[serde(default)]
    tie_word_embeddings: bool,
}

fn mistral_fields(file: &ConfigFile) -> Result<Mistral> {
    let f: Mistral = file.fields()?;
    plain_theta(file)?;
    file.only(f.sliding_window != Some(0), "a sliding_window of 0")?;
    Ok(f)
}

impl Mistral {
    fn arch(self, file: &ConfigFile) -> Result<Arch> {
        let c = &self.common;
        let head_dim = c.head_dim(file, self.head_dim)?;
        let parameters = c.count(head_dim, 2, 0).saturating_add(output(c, self.tie_word_embeddings));
        let head = Head::Causal { tied: self.tie_word_embeddings, bias: false };
        Ok(c.sizes(head_dim).arch(file, head, Limit::Positions, parameters))
    }
}

fn open_mistral(file: &ConfigFile, stored: &Stored<'_>) -> Result<Box<dyn LogitsNet>> {
    let f = mistral_fields(file)?;
    let c = &f.common;
    let config = mistral::Config {
        vocab_size: c.vocab_size,
        hidden_size: c.hidden_size,
        intermediate_size: c.intermediate_size,
        num_hidden_layers: c.num_hidden_layers,
        num_attention_heads: c.num_attention_heads,
        head_dim: f.head_dim,
        num_key_value_heads: c.kv_heads(),
        hidden_act: activation(file.activation(&f.hidden_act)?),
        max_position_embeddings: c.max_position_embeddings.min(super::LONGEST),
        rms_norm_eps: c.rms_norm_eps,
        rope_theta: plain_theta(file)?,
        // The library counts only the tokens before the current one, but transformers includes the current one.
        sliding_window: f.sliding_window.map(|w| w - 1),
        use_flash_attn: false,
    };
    let renamed = if stored.is_tied() { vec![TIED] } else { vec![] };
    let builder = stored.builder(Rules { renamed, ..Rules::default() });
    let model = stored.built(mistral::Model::new(&config, builder))?;
    Ok(Box::new(Causal { model, device: stored.device().clone(), window: f.sliding_window }))
}

/// Name of a tied output matrix in checkpoints.
const TIED: (&str, &str) = ("lm_head.weight", "model.embed_tokens.weight");

// -- Gemma 2 ---------------------------------------------------------------------------------------------------------

#[derive(Deserialize)]
struct Gemma2 {
    #[serde(flatten)]
    common: Common,
    head_dim: usize,
    #[serde(default)]
    attention_bias: bool,
    hidden_activation: String,
    query_pre_attn_scalar: usize,
    sliding_window: Option<usize>,
    final_logit_softcapping: Option<f64>,
    attn_logit_softcapping: Option<f64>,
    tie_word_embeddings: bool,
}

fn gemma2_fields(file: &ConfigFile) -> Result<Gemma2> {
    let f: Gemma2 = file.fields()?;
    plain_theta(file)?;
    file.only(f.tie_word_embeddings, "a separate output matrix")?;
    file.only(!f.attention_bias, "attention_bias is set")?;
    file.only(f.query_pre_attn_scalar > 0, "a query_pre_attn_scalar of 0")?;
    for cap in [f.final_logit_softcapping, f.attn_logit_softcapping].into_iter().flatten() {
        file.only(cap > 0.0, "a softcapping that is not positive")?;
    }
    Ok(f)
}

impl Gemma2 {
    fn arch(self, file: &ConfigFile) -> Result<Arch> {
        let c = &self.common;
        let mut sizes = c.sizes(self.head_dim);
        // The library applies the window in every block and makes it one token wider; transformers applies it in every other block.
        let limit = shorten(&mut sizes, self.sliding_window, Limit::Window);
        let head = Head::Causal { tied: true, bias: false };
        Ok(sizes.arch(file, head, limit, c.count(self.head_dim, 4, 0)))
    }
}

/// Limits texts to `most` tokens, with the reason `why`.
fn shorten(sizes: &mut Sizes, most: Option<usize>, why: Limit) -> Limit {
    match most.filter(|w| *w < sizes.max_positions.min(super::LONGEST)) {
        Some(w) => {
            sizes.max_positions = w;
            why
        }
        None => Limit::Positions,
    }
}

fn open_gemma2(file: &ConfigFile, stored: &Stored<'_>) -> Result<Box<dyn LogitsNet>> {
    let f = gemma2_fields(file)?;
    let c = &f.common;
    let config = gemma2::Config {
        attention_bias: f.attention_bias,
        head_dim: f.head_dim,
        hidden_activation: activation(file.activation(&f.hidden_activation)?),
        hidden_size: c.hidden_size,
        intermediate_size: c.intermediate_size,
        num_attention_heads: c.num_attention_heads,
        num_hidden_layers: c.num_hidden_layers,
        num_key_value_heads: c.kv_heads(),
        rms_norm_eps: c.rms_norm_eps,
        rope_theta: plain_theta(file)?,
        vocab_size: c.vocab_size,
        final_logit_softcapping: f.final_logit_softcapping,
        attn_logit_softcapping: f.attn_logit_softcapping,
        query_pre_attn_scalar: f.query_pre_attn_scalar,
        sliding_window: None,
        max_position_embeddings: c.max_position_embeddings.min(super::LONGEST),
    };
    // The library always divides by the root of the head width, regardless of query_pre_attn_scalar.
    let mut changed = Vec::new();
    if f.query_pre_attn_scalar != f.head_dim {
        let by = (f.head_dim as f64 / f.query_pre_attn_scalar as f64).sqrt();
        changed.push(("self_attn.q_proj.weight", Change::Scale(by)));
    }
    let builder = stored.builder(Rules { changed, ..Rules::default() });
    let model = stored.built(gemma2::Model::new(false, &config, builder))?;
    Ok(Box::new(Causal { model, device: stored.device().clone(), window: None }))
}

// -- Qwen3 -----------------------------------------------------------------------------------------------------------

#[derive(Deserialize)]
struct Qwen3 {
    #[serde(flatten)]
    common: Common,
    head_dim: usize,
    #[serde(default)]
    attention_bias: bool,
    hidden_act: String,
    #[serde(default)]
    use_sliding_window: bool,
    #[serde(default)]
    tie_word_embeddings: bool,
}

fn qwen3_fields(file: &ConfigFile) -> Result<Qwen3> {
    let f: Qwen3 = file.fields()?;
    plain_theta(file)?;
    file.only(!f.use_sliding_window, "use_sliding_window is set")?;
    file.only(!f.attention_bias, "attention_bias is set")?;
    Ok(f)
}

impl Qwen3 {
    fn arch(self, file: &ConfigFile) -> Result<Arch> {
        let c = &self.common;
        let parameters = c.count(self.head_dim, 2, 2).saturating_add(output(c, self.tie_word_embeddings));
        let head = Head::Causal { tied: self.tie_word_embeddings, bias: false };
        Ok(c.sizes(self.head_dim).arch(file, head, Limit::Positions, parameters))
    }
}

fn open_qwen3(file: &ConfigFile, stored: &Stored<'_>) -> Result<Box<dyn LogitsNet>> {
    let f = qwen3_fields(file)?;
    let c = &f.common;
    let config = qwen3::Config {
        vocab_size: c.vocab_size,
        hidden_size: c.hidden_size,
        intermediate_size: c.intermediate_size,
        num_hidden_layers: c.num_hidden_layers,
        num_attention_heads: c.num_attention_heads,
        head_dim: f.head_dim,
        attention_bias: f.attention_bias,
        num_key_value_heads: c.kv_heads(),
        max_position_embeddings: c.max_position_embeddings.min(super::LONGEST),
        sliding_window: None,
        max_window_layers: c.num_hidden_layers,
        tie_word_embeddings: stored.is_tied(),
        rope_theta: plain_theta(file)?,
        rms_norm_eps: c.rms_norm_eps,
        use_sliding_window: false,
        hidden_act: activation(file.activation(&f.hidden_act)?),
    };
    let model = stored.built(qwen3::ModelForCausalLM::new(&config, stored.builder(Rules::default())))?;
    Ok(Box::new(Causal { model, device: stored.device().clone(), window: None }))
}

// -- Phi-3 -----------------------------------------------------------------------------------------------------------

#[derive(Deserialize)]
struct Phi3 {
    #[serde(flatten)]
    common: Common,
    hidden_act: String,
    #[serde(default)]
    sliding_window: Option<usize>,
    #[serde(default)]
    tie_word_embeddings: bool,
    original_max_position_embeddings: usize,
    #[serde(skip)]
    rotary: Rotary,
    #[serde(skip)]
    scaling: Option<LongRope>,
}

/// Factors of rotary frequencies, one for each pair of dimensions.
#[derive(Deserialize)]
struct LongRope {
    short_factor: Vec<f32>,
    long_factor: Vec<f32>,
}

/// Keys of longrope in published files. Any other key changes the results of transformers and is rejected.
const LONGROPE: [&str; 7] = [
    "type",
    "rope_type",
    "short_factor",
    "long_factor",
    "rope_theta",
    "partial_rotary_factor",
    "original_max_position_embeddings",
];

fn phi3_fields(file: &ConfigFile) -> Result<Phi3> {
    let mut f: Phi3 = file.fields()?;
    f.rotary = Rotary::read(file)?;
    let head_dim = f.common.head_dim(file, None)?;
    let rotated = f.rotated(head_dim);
    let even = rotated > 0 && rotated.is_multiple_of(2) && rotated <= head_dim;
    file.only(even, "a partial_rotary_factor that does not give an even number of rotated dimensions")?;
    file.only(f.sliding_window != Some(0), "a sliding_window of 0")?;
    if let Some(kind) = f.rotary.kind().filter(|kind| *kind != "default") {
        let name: String = kind.chars().take(40).collect::<String>().escape_debug().to_string();
        file.only(kind == "longrope", &format!("rotary scaling '{name}'"))?;
        let settings = &f.rotary.settings;
        file.only(
            settings.keys().all(|k| LONGROPE.contains(&k.as_str())),
            "settings of longrope other than its factors",
        )?;
        let long = LongRope::deserialize(serde_json::Value::from(settings.clone()));
        let long = long.map_err(|e| file.wrong(format!("rotary scaling 'longrope': {e}")))?;
        let whole = |list: &[f32]| list.len() == rotated / 2 && list.iter().all(|v| *v > 0.0);
        let sound = whole(&long.short_factor) && whole(&long.long_factor);
        file.only(sound, "rotary factors other than one positive number for each pair of dimensions")?;
        file.only(f.original_max_position_embeddings > 1, "an original_max_position_embeddings below 2")?;
        f.scaling = Some(long);
    }
    Ok(f)
}

impl Phi3 {
    /// Number of rotated dimensions per head, as in transformers.
    fn rotated(&self, head_dim: usize) -> usize {
        self.rotary.fraction.map_or(head_dim, |share| (head_dim as f64 * share) as usize)
    }

    fn arch(self, file: &ConfigFile) -> Result<Arch> {
        let c = &self.common;
        let head_dim = c.head_dim(file, None)?;
        let parameters = c.count(head_dim, 2, 0).saturating_add(output(c, self.tie_word_embeddings));
        let mut sizes = c.sizes(head_dim);
        // The library ignores the window.
        let mut limit = shorten(&mut sizes, self.sliding_window, Limit::Window);
        if self.scaling.is_some() {
            // In longer texts, the long factors apply to all tokens.
            let shorter = shorten(&mut sizes, Some(self.original_max_position_embeddings), Limit::Rotary);
            limit = if shorter == Limit::Rotary { shorter } else { limit };
        }
        let head = Head::Causal { tied: self.tie_word_embeddings, bias: false };
        Ok(sizes.arch(file, head, limit, parameters))
    }

    /// Factor of sines and cosines in longrope (Ding et al., 2024), as in transformers.
    fn attention_factor(&self) -> f64 {
        let original = self.original_max_position_embeddings as f64;
        let factor = self.common.max_position_embeddings as f64 / original;
        if factor <= 1.0 { 1.0 } else { (1.0 + factor.ln() / original.ln()).sqrt() }
    }
}

fn open_phi3(file: &ConfigFile, stored: &Stored<'_>) -> Result<Box<dyn LogitsNet>> {
    let f = phi3_fields(file)?;
    let c = &f.common;
    let head_dim = c.head_dim(file, None)?;
    let rotated = f.rotated(head_dim);
    let mut changed = Vec::new();
    let rope_scaling = f.scaling.as_ref().map(|long| {
        // Scores of rotated dimensions contain the factor twice: once for the query and once for the key.
        let by = f.attention_factor().powi(2);
        let rows = c.num_attention_heads * head_dim;
        let change = Change::ScaleRotated { rows, head: head_dim, rotated, by };
        changed.push(("self_attn.qkv_proj.weight", change));
        // The library multiplies frequencies by the longrope factors; transformers divides by them.
        let short_factor: Vec<f32> = long.short_factor.iter().map(|v| 1.0 / v).collect();
        let long_factor = short_factor.clone();
        phi3::RopeScaling { short_factor, long_factor, type_: phi3::RopeScalingType::LongRope }
    });
    let config = phi3::Config {
        vocab_size: c.vocab_size,
        hidden_act: activation(file.activation(&f.hidden_act)?),
        hidden_size: c.hidden_size,
        intermediate_size: c.intermediate_size,
        num_hidden_layers: c.num_hidden_layers,
        num_attention_heads: c.num_attention_heads,
        num_key_value_heads: c.kv_heads(),
        rms_norm_eps: c.rms_norm_eps,
        rope_theta: f.rotary.theta,
        bos_token_id: None,
        eos_token_id: None,
        rope_scaling,
        max_position_embeddings: c.max_position_embeddings.min(super::LONGEST),
        original_max_position_embeddings: None,
        partial_rotary_factor: f.rotary.fraction.filter(|_| rotated < head_dim),
        tie_word_embeddings: stored.is_tied(),
    };
    let builder = stored.builder(Rules { changed, ..Rules::default() });
    let model = stored.built(phi3::Model::new(&config, builder))?;
    Ok(Box::new(Causal { model, device: stored.device().clone(), window: None }))
}

// -- running ---------------------------------------------------------------------------------------------------------

/// Common interface of the library's decoders, which share no trait.
trait Decoder: Send {
    /// Returns the logits after the last token of `ids`, `[B, 1, V]`. The first token of `ids` is at position `offset`.
    fn step(&mut self, ids: &Tensor, offset: usize) -> candle_core::Result<Tensor>;
    fn forget(&mut self);
}

macro_rules! decoders {
    ($($model:ty),*) => {$(
        impl Decoder for $model {
            fn step(&mut self, ids: &Tensor, offset: usize) -> candle_core::Result<Tensor> {
                self.forward(ids, offset)
            }
            fn forget(&mut self) {
                self.clear_kv_cache();
            }
        }
    )*};
}
decoders!(mistral::Model, gemma2::Model, qwen3::ModelForCausalLM, phi3::Model);

/// A decoder of the library, which returns logits only for the last token.
struct Causal<M> {
    model: M,
    device: Device,
    /// Length up to which the window makes no difference; a longer text is re-read for each position.
    window: Option<usize>,
}

impl<M: Decoder> LogitsNet for Causal<M> {
    fn logits(&mut self, texts: &Texts<'_>, at: &[usize]) -> candle_core::Result<Tensor> {
        self.model.forget();
        let mut answers = Vec::with_capacity(at.len());
        let mut read = 0;
        for &t in at {
            if self.window.is_some_and(|w| t >= w) {
                self.model.forget();
                read = 0;
            }
            answers.push(self.model.step(&columns(&texts.ids, (read, t + 1), &self.device)?, read)?);
            read = t + 1;
        }
        self.model.forget();
        Tensor::cat(&answers, 1)
    }
}
