//! Converts sentences to vectors, pooled at a layer, with a cache if possible and with optional noise.

use std::sync::Arc;

use rand_distr::{Distribution, Normal};

use crate::Host;
use crate::spec::SideSpec;
use base::Problem;
use base::matrix::Matrix;
use lab::fault::{Fault, problem};
use lab::host::NoticeLevel;
use lab::layer::LayerRef;
use lab::store::{Key, Space, key};
use model::{HookPoint, Long, Model, ModelError, Pooling, Readout};
use stats::rng::stream;

/// Number of sentences encoded between two progress reports.
const TOGETHER: usize = 256;

/// Encoder of a side, with its readout.
#[derive(Clone)]
pub(crate) struct Reader {
    pub model: Arc<Model>,
    /// The layer; 0 for the embeddings.
    pub layer: usize,
    at: HookPoint,
    pooling: Pooling,
    long: Long,
    noise: f64,
    /// `a` or `b`. Each side has its own stream of noise.
    side: &'static str,
}

impl Reader {
    pub(crate) fn new(model: Arc<Model>, spec: &SideSpec, long: Long, side: &'static str) -> Result<Self, Fault> {
        let layers = model.arch().layers;
        let (layer, at) = match spec.layer {
            _ if layers == 0 => (0, model.layer_point(0)?),
            LayerRef::Last => (layers, model.top()),
            LayerRef::At(l) => (l, model.layer_point(l)?),
        };
        let pooling = spec.pooling.map_or_else(|| model.sentence_pooling(), |over| Ok(Pooling::plain(over)))?;
        Ok(Self { model, layer, at, pooling, long, noise: spec.noise, side })
    }

    /// Returns the same reader with a different standard deviation for the noise.
    pub(crate) fn with_noise(&self, noise: f64) -> Self {
        Self { noise, ..self.clone() }
    }

    /// Returns the same readout for another model of the same shape.
    pub(crate) fn on(self, model: Arc<Model>) -> Self {
        Self { model, ..self }
    }

    pub(crate) fn width(&self) -> usize {
        self.at.width(self.model.arch()).unwrap_or(self.model.arch().hidden)
    }

    fn keys(&self, texts: &[&str]) -> Result<(Space, Vec<Key>), ModelError> {
        let space = Space::new(&self.model, self.at, &Readout::Sentence(self.pooling));
        let tokenizer = self.model.tokenizer()?;
        let most = self.model.arch().max_positions;
        // The cache key of a truncated text is made from its remaining tokens. The key of a text encoded in windows is made from all its
        // tokens.
        let key_of = |text: &&str| -> Result<Key, ModelError> {
            let mut ids = tokenizer.ids(text)?;
            if self.long == Long::Truncate && ids.len() > most {
                ids = tokenizer.encode(text)?.parts(most, self.long).pop().map_or(ids, |part| part.ids);
            }
            Ok(key(&ids, usize::MAX))
        };
        Ok((space, texts.iter().map(key_of).collect::<Result<_, ModelError>>()?))
    }

    /// Number of sentences without cached vectors.
    pub(crate) fn absent(&self, texts: &[&str], host: &Host<'_>) -> Result<usize, Fault> {
        let (space, keys) = self.keys(texts)?;
        Ok(host.store().absent(&space, &keys).len())
    }

    /// Vectors of sentences, without noise and without the cache.
    pub(crate) fn fresh(&self, texts: &[&str]) -> Result<Matrix, ModelError> {
        let array = self.model.long_sentence_vectors(texts, self.at, self.pooling, self.long)?;
        let width = array.shape.last().copied().unwrap_or(0);
        Matrix::from_vec(texts.len(), width, array.data).map_err(|e| ModelError::Plan(e.to_string()))
    }

    /// Vectors of sentences, as sentences x width.
    pub(crate) fn vectors(&self, texts: &[&str], seed: u64, host: &mut Host<'_>) -> Result<Matrix, Fault> {
        let (space, keys) = self.keys(texts)?;
        let store = host.store();
        let mut out = Matrix::zeros(texts.len(), self.width());
        let missing = store.fetch(&space, &keys, &mut out).missing;
        for chunk in missing.chunks(TOGETHER) {
            host.poll()?;
            let part: Vec<&str> = chunk.iter().map(|i| texts[*i]).collect();
            let rows = self.fresh(&part)?;
            chunk.iter().enumerate().for_each(|(k, i)| out.row_mut(*i).copy_from_slice(rows.row(k)));
            let kept: Vec<Key> = chunk.iter().map(|i| keys[*i]).collect();
            if let Err(e) = store.keep(&space, &kept, &rows) {
                let what = format!("vectors could not be cached: {e}; the run continues without the cache");
                let hint = "free space, or set PROBITY_CACHE_DIR to another folder".to_owned();
                let place = store.place().map_or_else(String::new, |d| d.display().to_string());
                host.notice(NoticeLevel::Warning, Problem { what, r#where: place, hint })?;
            }
        }
        if !out.is_finite() {
            return Err(problem(
                &"a vector contains values that are not finite",
                "encoder",
                "choose another model or layer",
            )
            .into());
        }
        self.disturb(texts, &mut out, seed)?;
        Ok(out)
    }

    /// Adds this side's noise. The noise of a sentence does not depend on other sentences.
    fn disturb(&self, texts: &[&str], rows: &mut Matrix, seed: u64) -> Result<(), Fault> {
        if self.noise == 0.0 {
            return Ok(());
        }
        let normal =
            Normal::new(0.0, self.noise).map_err(|e| problem(&e, "noise", "choose another standard deviation"))?;
        for (i, text) in texts.iter().enumerate() {
            let mut rng = stream(seed, &format!("noise {} {text}", self.side));
            rows.row_mut(i).iter_mut().for_each(|v| *v += normal.sample(&mut rng) as f32);
        }
        Ok(())
    }
}
