//! Sentence vectors: pooling over tokens, normalization, and the pooler of BERT-like models.

use serde::{Deserialize, Serialize};

use super::arch::Network;
use super::array::Array;
use super::batch::Batch;
use super::chunk::{TOKENS_PER_BATCH, chunks};
use super::error::{ModelError, Result};
use super::families::Family;
use super::hook::HookPoint;
use super::long::Long;
use super::plan::{Plan, Sites};
use super::weights::Checkpoint;
use super::{Arch, Model};

/// Pooling of token vectors.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Pooling {
    /// Tokens to pool and the pooling function.
    pub over: PoolOver,
    /// True if the result is divided by its L2 norm; a zero vector stays zero.
    pub normalise: bool,
}

impl Pooling {
    pub fn plain(over: PoolOver) -> Pooling {
        Pooling { over, normalise: false }
    }
}

/// Tokens to pool. Padding is never included.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PoolOver {
    /// Mean of all tokens of the sentence, including special ones.
    Mean,
    /// First token (`[CLS]`).
    First,
    /// Coordinate-wise maximum.
    Max,
    /// Last token, the only one that attends to the whole sentence in a causal model.
    Last,
    /// First token of the top layer, passed through the model's pooler, tanh(W h + b).
    Pooler,
}

impl std::fmt::Display for PoolOver {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            PoolOver::Mean => "mean over tokens",
            PoolOver::First => "first token",
            PoolOver::Max => "maximum over tokens",
            PoolOver::Last => "last token",
            PoolOver::Pooler => "pooler",
        })
    }
}

impl std::fmt::Display for Pooling {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}{}", self.over, if self.normalise { ", L2-normalised" } else { "" })
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Readout {
    /// Vector at one position per sentence.
    Positions(Vec<usize>),
    /// Pooled vector of the sentence.
    Sentence(Pooling),
}

/// Dense layer with tanh that BERT-like checkpoints apply to the first token.
#[derive(Clone, Debug, PartialEq)]
pub struct Pooler {
    /// `[D,D]`, rows are outputs.
    pub weight: Array,
    /// `[D]`
    pub bias: Array,
}

impl Pooler {
    /// Loads the pooler, if the weights have one.
    ///
    /// # Errors
    /// [`ModelError::Weights`] for a pooler of a different shape, or values that are not finite.
    pub fn read(arch: &Arch, family: &Family, weights: &Checkpoint) -> Result<Option<Pooler>> {
        let stems = ["pooler.dense", "pooler"];
        let names = stems.iter().flat_map(|stem| {
            let prefixed = family.prefixes.iter().map(move |p| format!("{p}{stem}"));
            prefixed.chain([(*stem).to_owned()])
        });
        for name in names {
            let (weight, bias) = (format!("{name}.weight"), format!("{name}.bias"));
            let (Some(w), Some(b)) = (weights.read(&weight), weights.read(&bias)) else { continue };
            let (w, b) = (w?, b?);
            if w.shape != [arch.hidden, arch.hidden] || b.shape != [arch.hidden] {
                return Err(ModelError::Weights {
                    file: weights.label(),
                    what: format!(
                        "the pooler '{name}' has shape {:?}, but the model's width is {}",
                        w.shape, arch.hidden
                    ),
                });
            }
            return Ok(Some(Pooler { weight: w, bias: b }));
        }
        Ok(None)
    }

    /// Computes tanh(W h + b), `[D]` to `[D]`, summing in double precision.
    pub fn apply(&self, h: &[f32]) -> Vec<f32> {
        let row = |i: usize| -> f64 {
            let products = self.weight.row(i).iter().zip(h).map(|(w, x)| f64::from(*w) * f64::from(*x));
            products.sum::<f64>() + f64::from(self.bias.data[i])
        };
        (0..self.bias.data.len()).map(|i| row(i).tanh() as f32).collect()
    }
}

impl Model {
    /// Hook point after `layer` blocks, from 0 to L: the input of the first block, or the output of block `layer` (from 1) before any
    /// final norm. For word vectors, which have only layer 0, and for the LSTM, layer 0 is the embedding table.
    ///
    /// # Errors
    /// [`ModelError::Plan`] for a layer that does not exist.
    pub fn layer_point(&self, layer: usize) -> Result<HookPoint> {
        match layer {
            0 if self.arch.network != Network::Transformer => Ok(HookPoint::Embed),
            0 => Ok(HookPoint::ResidPre(0)),
            l if l <= self.arch.layers => Ok(HookPoint::ResidPost(l - 1)),
            l => Err(ModelError::Plan(format!("layer {l} of '{}'; it has 0 to {}", self.name, self.arch.layers))),
        }
    }

    /// Hook point of Hugging Face's last hidden state: after the final norm, if any; for an encoder-decoder, the top of the encoder.
    pub fn top(&self) -> HookPoint {
        match self.arch.layers {
            0 => HookPoint::Embed,
            _ if self.arch.final_norm && self.arch.decoder.is_none() => HookPoint::FinalNorm,
            l => HookPoint::ResidPost(l - 1),
        }
    }

    /// Default pooling of sentence vectors: the one that the folder specifies, otherwise the maximum for the LSTM encoder and the mean for
    /// all others.
    ///
    /// # Errors
    /// [`ModelError::Config`] if the folder specifies one that is not supported.
    pub fn sentence_pooling(&self) -> Result<Pooling> {
        if let Some((file, what)) = &self.sentence.unsupported {
            return Err(ModelError::Config { file: file.clone(), what: what.clone() });
        }
        Ok(self.sentence.pooling.unwrap_or(Pooling::plain(match self.arch.network {
            Network::BiLstm => PoolOver::Max,
            Network::Transformer | Network::Table | Network::LogitsOnly(_) => PoolOver::Mean,
        })))
    }

    pub fn pooler(&self) -> Option<&Pooler> {
        self.pooler.as_ref()
    }

    /// Reads the input of a probe at a hook point, one vector per sentence: `[B,W]`.
    ///
    /// # Errors
    /// Errors from [`Model::forward`]; [`ModelError::Plan`] if the number of positions is not B, or if a pooler is missing or requested
    /// below the top.
    pub fn read(&self, batch: &Batch, at: HookPoint, readout: &Readout) -> Result<Array> {
        let pooling = match readout {
            Readout::Positions(p) if p.len() != batch.rows() => {
                let what = format!("{} positions for {} sentences", p.len(), batch.rows());
                return Err(ModelError::Plan(what));
            }
            Readout::Positions(p) => return self.vectors(batch, at, Sites::per_row(p)),
            Readout::Sentence(pooling) => *pooling,
        };
        let each = |of: fn(usize) -> std::ops::Range<usize>| -> Vec<(usize, usize)> {
            batch.lengths().iter().enumerate().flat_map(|(b, n)| of(*n).map(move |t| (b, t))).collect()
        };
        let sites = match pooling.over {
            PoolOver::First | PoolOver::Pooler => each(|_| 0..1),
            PoolOver::Last => each(|n| n - 1..n),
            PoolOver::Mean | PoolOver::Max => each(|n| 0..n),
        };
        let vectors = self.vectors(batch, at, Sites::At(sites))?;
        let mut out = match pooling.over {
            PoolOver::First | PoolOver::Last => vectors,
            PoolOver::Mean => pool(&vectors, batch.lengths(), mean),
            PoolOver::Max => pool(&vectors, batch.lengths(), largest),
            PoolOver::Pooler => {
                let pooler = self.pooler_at(at)?;
                pool(&vectors, &vec![1; batch.rows()], |row, to| to.copy_from_slice(&pooler.apply(row)))
            }
        };
        if pooling.normalise {
            (0..out.rows()).for_each(|i| normalise(out.row_mut(i)));
        }
        Ok(out)
    }

    fn pooler_at(&self, at: HookPoint) -> Result<&Pooler> {
        if at != self.top() {
            return Err(ModelError::Plan(format!("the pooler applies only to {}, not to {at}", self.top())));
        }
        self.pooler.as_ref().ok_or_else(|| {
            ModelError::Plan(format!("'{}' has no pooler; pool by mean, max, first or last token", self.name))
        })
    }

    fn vectors(&self, batch: &Batch, at: HookPoint, sites: Sites) -> Result<Array> {
        self.forward(batch, &Plan::default().capture_at(at, sites))?.take(at)
    }

    /// Returns one vector per text, `[B,D]`: the top of the model, pooled by [`Model::sentence_pooling`].
    ///
    /// # Errors
    /// Errors of [`Model::batch`] and [`Model::forward`], with text indices as rows.
    pub fn sentence_vectors<S: AsRef<str>>(&self, texts: &[S]) -> Result<Array> {
        self.sentence_vectors_at(texts, self.top(), self.sentence_pooling()?)
    }

    /// Returns one vector per text, `[B,W]`, from any hook point with any pooling. Texts of similar length run together.
    pub fn sentence_vectors_at<S: AsRef<str>>(&self, texts: &[S], at: HookPoint, pooling: Pooling) -> Result<Array> {
        self.long_sentence_vectors(texts, at, pooling, Long::Drop)
    }

    /// Returns sentence vectors even for texts that are too long, which are truncated or read in windows. Mean and maximum cover the tokens
    /// of all windows; single-token vectors are averaged over the windows.
    ///
    /// # Errors
    /// [`ModelError::TooLong`] for such a text under [`Long::Drop`].
    pub fn long_sentence_vectors<S: AsRef<str>>(
        &self,
        texts: &[S],
        at: HookPoint,
        pooling: Pooling,
        long: Long,
    ) -> Result<Array> {
        let tokenizer = self.tokenizer()?;
        let max = self.sentence.longest.map_or(self.arch.max_positions, |n| n.min(self.arch.max_positions));
        let (mut ids, mut counts) = (Vec::with_capacity(texts.len()), Vec::with_capacity(texts.len()));
        for (row, text) in texts.iter().enumerate() {
            let whole = tokenizer.ids(text.as_ref())?;
            match whole.len() {
                0 => return Err(ModelError::Empty { row }),
                n if n <= max => {
                    counts.push(1);
                    ids.push(whole);
                }
                len => {
                    let parts = tokenizer.encode(text.as_ref())?.parts(max, long);
                    if parts.is_empty() {
                        return Err(ModelError::TooLong { row, len, max });
                    }
                    counts.push(parts.len());
                    ids.extend(parts.into_iter().map(|p| p.ids));
                }
            }
        }
        let lengths: Vec<usize> = ids.iter().map(Vec::len).collect();
        let width = at.width(&self.arch).unwrap_or(self.arch.hidden);
        let mut parts = Array::zeros([ids.len(), width]);
        for group in chunks(&lengths, TOKENS_PER_BATCH) {
            let rows: Vec<&[u32]> = group.iter().map(|i| ids[*i].as_slice()).collect();
            let batch = Batch::new(&rows, tokenizer.pad_id())?;
            let part = self.read(&batch, at, &Readout::Sentence(Pooling::plain(pooling.over)))?;
            group.iter().enumerate().for_each(|(k, i)| parts.row_mut(*i).copy_from_slice(part.row(k)));
        }
        let mut out = joined(parts, &lengths, &counts, pooling.over);
        if pooling.normalise {
            (0..out.rows()).for_each(|i| normalise(out.row_mut(i)));
        }
        Ok(out)
    }
}

/// Pools each group of `lengths[b]` consecutive rows into row b.
fn pool(vectors: &Array, lengths: &[usize], mut f: impl FnMut(&[f32], &mut [f32])) -> Array {
    let width = vectors.width();
    let mut out = Array::zeros([lengths.len(), width]);
    let mut from = 0;
    for (b, n) in lengths.iter().enumerate() {
        f(&vectors.data[from * width..(from + n) * width], out.row_mut(b));
        from += n;
    }
    out
}

/// Combines the vectors of `counts[b]` parts into one vector for text b.
fn joined(parts: Array, lengths: &[usize], counts: &[usize], over: PoolOver) -> Array {
    if parts.rows() == counts.len() {
        return parts;
    }
    let mut from = 0;
    let each = |rows: &[f32], to: &mut [f32]| {
        let width = to.len();
        let count = rows.len() / width;
        let weights: Vec<f64> = match over {
            PoolOver::Mean => lengths[from..from + count].iter().map(|n| *n as f64).collect(),
            _ => vec![1.0; count],
        };
        from += count;
        if over == PoolOver::Max || count == 1 {
            return largest(rows, to);
        }
        let all: f64 = weights.iter().sum();
        for (j, to) in to.iter_mut().enumerate() {
            let values = rows.iter().skip(j).step_by(width).zip(&weights);
            *to = (values.map(|(v, w)| w * f64::from(*v)).sum::<f64>() / all) as f32;
        }
    };
    pool(&parts, counts, each)
}

/// Averages rows, summing in double precision.
fn mean(rows: &[f32], to: &mut [f32]) {
    let width = to.len();
    let n = (rows.len() / width) as f64;
    for (j, to) in to.iter_mut().enumerate() {
        let sum: f64 = rows.iter().skip(j).step_by(width).map(|v| f64::from(*v)).sum();
        *to = (sum / n) as f32;
    }
}

fn largest(rows: &[f32], to: &mut [f32]) {
    to.fill(f32::NEG_INFINITY);
    for row in rows.chunks_exact(to.len()) {
        to.iter_mut().zip(row).for_each(|(t, v)| *t = t.max(*v));
    }
}

fn normalise(row: &mut [f32]) {
    let norm = row.iter().map(|v| f64::from(*v).powi(2)).sum::<f64>().sqrt();
    if norm > 0.0 {
        row.iter_mut().for_each(|v| *v = (f64::from(*v) / norm) as f32);
    }
}

mod files;
#[cfg(test)]
mod tests;

pub(super) use self::files::{Files as SentenceFiles, SETTINGS, transformer_folder};
