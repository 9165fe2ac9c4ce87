//! Mamba (Gu and Dao, 2023): state spaces instead of attention, computed token by token.

use candle_core::{DType, Device, Tensor};
use candle_transformers::models::mamba::{Config, Model, State};
use serde::Deserialize;
use serde_json::Value;

use super::stored::Rules;
use super::{ConfigFile, LogitsNet, Served, Sizes, Stored, Texts, columns, count, family};
use crate::arch::{Arch, Head};
use crate::error::Result;
use crate::offers::Limit;

pub(super) const SERVED: Served = Served { family: family(&["mamba"], describe), open, untied: false };

/// State size, fixed in the library.
const STATE: usize = 16;
/// Convolution width, fixed in the library.
const CONVOLUTION: usize = 4;

#[derive(Deserialize)]
struct Fields {
    vocab_size: usize,
    hidden_size: usize,
    num_hidden_layers: usize,
    expand: usize,
    intermediate_size: Option<usize>,
    state_size: usize,
    conv_kernel: usize,
    #[serde(default)]
    time_step_rank: Value,
    layer_norm_epsilon: f64,
    #[serde(default)]
    use_bias: bool,
    use_conv_bias: bool,
    tie_word_embeddings: bool,
    hidden_act: String,
}

fn fields(file: &ConfigFile) -> Result<Fields> {
    let f: Fields = file.fields()?;
    let inner = f.hidden_size.saturating_mul(2);
    file.only(f.expand == 2 && f.intermediate_size.is_none_or(|n| n == inner), "expand is not 2")?;
    file.only(f.state_size == STATE, "state_size is not 16")?;
    file.only(f.conv_kernel == CONVOLUTION, "conv_kernel is not 4")?;
    let rank = f.time_step_rank.as_u64().is_none_or(|n| n == f.hidden_size.div_ceil(16) as u64);
    file.only(rank, "time_step_rank is not a sixteenth of hidden_size")?;
    file.only(f.layer_norm_epsilon == 1e-5, "layer_norm_epsilon is not 1e-5")?;
    file.only(!f.use_bias && f.use_conv_bias, "biases other than that of the convolution")?;
    file.only(f.tie_word_embeddings, "a separate output matrix")?;
    file.only(matches!(f.hidden_act.as_str(), "silu" | "swish"), "hidden_act is not silu")?;
    Ok(f)
}

fn describe(file: &ConfigFile) -> Result<Arch> {
    let f = fields(file)?;
    let (d, l) = (f.hidden_size, f.num_hidden_layers);
    let (inner, rank) = (d.saturating_mul(2), d.div_ceil(16));
    let parameters = count(&[
        (1, &[f.vocab_size, d]),
        (l.saturating_add(1), &[d]),
        (l.saturating_mul(3), &[inner, d]),
        (l, &[rank + 2 * STATE, inner]),
        (l, &[inner, rank]),
        (l, &[inner, STATE]),
        (l, &[inner, CONVOLUTION]),
        // Biases of the convolution and of the time step, and the skip connection (D).
        (l.saturating_mul(3), &[inner]),
    ]);
    let sizes = Sizes {
        vocab: f.vocab_size,
        hidden: d,
        layers: l,
        heads: 1,
        kv_heads: 1,
        head_dim: d,
        intermediate: inner,
        max_positions: super::LONGEST,
        eps: f.layer_norm_epsilon,
    };
    Ok(sizes.arch(file, Head::Causal { tied: true, bias: false }, Limit::Positions, parameters))
}

fn open(file: &ConfigFile, stored: &Stored<'_>) -> Result<Box<dyn LogitsNet>> {
    let f = fields(file)?;
    let config = Config {
        d_model: f.hidden_size,
        n_layer: f.num_hidden_layers,
        vocab_size: f.vocab_size,
        // The size in the file is already rounded up.
        pad_vocab_size_multiple: 1,
    };
    // The library uses the tensor name of the first release; checkpoints for transformers use the current one.
    let rules = Rules { renamed: vec![("embedding.weight", "embeddings.weight")], ..Rules::default() };
    let model = stored.built(Model::new(&config, stored.builder(rules).pp("backbone")))?;
    Ok(Box::new(Mamba { model, config, device: stored.device().clone() }))
}

struct Mamba {
    model: Model,
    config: Config,
    device: Device,
}

impl LogitsNet for Mamba {
    /// Runs the texts one by one, because the library's step would combine the states of one text with the inputs of all texts.
    fn logits(&mut self, texts: &Texts<'_>, at: &[usize]) -> candle_core::Result<Tensor> {
        let mut answers = Vec::with_capacity(texts.ids.len());
        let last = at.last().map_or(0, |t| t + 1);
        for text in &texts.ids {
            let mut state = State::new(1, &self.config, DType::F32, &self.device)?;
            let mut asked = Vec::with_capacity(at.len());
            for t in 0..last {
                let ids = columns(&[*text], (t, t + 1), &self.device)?.squeeze(1)?;
                let logits = self.model.forward(&ids, &mut state)?;
                if at.contains(&t) {
                    asked.push(logits.unsqueeze(1)?);
                }
            }
            answers.push(Tensor::cat(&asked, 1)?);
        }
        Tensor::cat(&answers, 0)
    }
}
