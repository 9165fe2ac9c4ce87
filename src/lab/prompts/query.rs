//! Queries: a model's input for a prompt and a mention, and the position of its answer.
//!
//! Masked and denoising models are given the mask in place of the object and answer at the last mask. Causal models are given the text
//! before the object and answer at its last token. Both follow the code of Cao et al. 2022.

use std::sync::OnceLock;

use rayon::prelude::*;

use corpus::facts::{OBJECT, SUBJECT, said};
use lab::stimuli::StimuliError;
use model::chunk::chunks;
use model::{Array, Batch, Model, ModelError, Plan, Sites};

/// A model with the rules for querying it.
pub struct Asker<'a> {
    model: &'a Model,
    mask: Option<(String, u32)>,
    /// True if names are fitted into the sentence, as with built-in facts.
    said: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Encoded {
    pub ids: Vec<u32>,
    /// Position of the answer.
    pub position: usize,
}

impl<'a> Asker<'a> {
    /// Creates an asker for a model; it inserts names unchanged.
    ///
    /// # Errors
    /// [`StimuliError::NoMask`], and [`ModelError::NoTokenizer`] or [`ModelError::NoHead`] within it.
    pub fn new(model: &'a Model) -> Result<Self, StimuliError> {
        let tokenizer = model.tokenizer()?;
        model.require(model::Offer::Logits)?;
        if model.arch().is_causal() {
            return Ok(Self { model, mask: None, said: false });
        }
        match (tokenizer.mask_token(), tokenizer.special().mask) {
            (Some(text), Some(id)) => Ok(Self { model, mask: Some((text, id)), said: false }),
            _ => Err(StimuliError::NoMask { model: model.name().to_owned() }),
        }
    }

    /// Sets whether names are fitted into the sentence ([`said`]). Built-in facts are written for this; names in files are used unchanged,
    /// as published.
    pub fn fitting(self, said: bool) -> Self {
        Self { said, ..self }
    }

    /// The mask token; `None` for a causal model.
    pub(crate) fn mask(&self) -> Option<u32> {
        self.mask.as_ref().map(|(_, id)| *id)
    }

    pub fn model(&self) -> &'a Model {
        self.model
    }

    /// The model's input for a prompt and a mention.
    pub fn text(&self, prompt: &str, mention: &str) -> String {
        // The prompt is split first, because a name may contain anything.
        let (before, after) = prompt.split_once(OBJECT).unwrap_or((prompt, ""));
        let put = |part: &str| match self.said && part.contains(SUBJECT) {
            true => said(part, mention),
            false => part.replacen(SUBJECT, mention, 1),
        };
        let [before, after] = [before, after].map(put);
        match &self.mask {
            Some((mask, _)) => format!("{before}{mask}{after}"),
            None => before.trim_end().to_owned(),
        }
    }

    /// The model's input as tokens; `None` if it has no tokens, lacks a mask, or exceeds the model's maximum length.
    pub fn encode(&self, prompt: &str, mention: &str) -> Result<Option<Encoded>, ModelError> {
        let ids = self.model.tokenizer()?.ids(&self.text(prompt, mention))?;
        let position = match &self.mask {
            Some((_, mask)) => ids.iter().rposition(|id| id == mask),
            None => ids.len().checked_sub(1),
        };
        let fits = ids.len() <= self.model.arch().max_positions;
        Ok(position.filter(|_| fits).map(|position| Encoded { ids, position }))
    }

    /// The query for token `k` of a word in the answer position. Masked and denoising models see all other tokens of the word; causal
    /// models see only the preceding ones.
    pub fn within(&self, query: &Encoded, word: &[u32], k: usize) -> Encoded {
        let (before, after) = query.ids.split_at(query.position);
        match &self.mask {
            Some((_, mask)) => Encoded {
                ids: [before, &word[..k], &[*mask], &word[k + 1..], &after[1..]].concat(),
                position: query.position + k,
            },
            None => Encoded { ids: [before, after, &word[..k]].concat(), position: query.position + k },
        }
    }

    /// Runs queries sorted by length and passes the logits of each to `take`, for the whole vocabulary or for the tokens `vocab` in their
    /// order. `between` is called after each batch with the number of finished queries.
    ///
    /// # Errors
    /// Returns errors of the model and of `between`.
    pub fn logits<E: From<ModelError>>(
        &self,
        queries: &[&Encoded],
        vocab: Option<&[u32]>,
        tokens_per_batch: usize,
        mut take: impl FnMut(usize, &[f32]),
        between: impl FnMut(usize) -> Result<(), E>,
    ) -> Result<(), E> {
        let mut each = |group: &[usize], logits: &Array| {
            group.iter().enumerate().for_each(|(row, k)| take(*k, logits.row(row)));
        };
        self.batches(queries, vocab, tokens_per_batch, &mut each, between)
    }

    /// Runs queries like [`Self::logits`] and reduces their logits on all threads. Results are in the order of the queries.
    pub fn read<T: Send + Sync, E: From<ModelError>>(
        &self,
        queries: &[&Encoded],
        vocab: Option<&[u32]>,
        tokens_per_batch: usize,
        read: impl Fn(usize, &[f32]) -> T + Sync,
        between: impl FnMut(usize) -> Result<(), E>,
    ) -> Result<Vec<T>, E> {
        let found: Vec<OnceLock<T>> = queries.iter().map(|_| OnceLock::new()).collect();
        // Each query is evaluated once, so its slot is still empty.
        let one = |k: usize, logits: &[f32]| drop(found[k].set(read(k, logits)));
        let mut each = |group: &[usize], logits: &Array| on_all_threads(group, logits, &one);
        self.batches(queries, vocab, tokens_per_batch, &mut each, between)?;
        Ok(found.into_iter().filter_map(OnceLock::into_inner).collect())
    }

    /// Runs queries in batches. `take` receives the indices of a batch's queries and their logits.
    fn batches<E: From<ModelError>>(
        &self,
        queries: &[&Encoded],
        vocab: Option<&[u32]>,
        tokens_per_batch: usize,
        take: &mut dyn FnMut(&[usize], &Array),
        mut between: impl FnMut(usize) -> Result<(), E>,
    ) -> Result<(), E> {
        // For model families that provide only logits, each batch has queries with the same answer position.
        let mut order: Vec<usize> = (0..queries.len()).collect();
        order.sort_by_key(|k| queries[*k].position);
        let lengths: Vec<usize> = order.iter().map(|k| queries[*k].ids.len()).collect();
        let pad = self.model.tokenizer()?.pad_id();
        let mut done = 0;
        for group in chunks(&lengths, tokens_per_batch) {
            let group: Vec<usize> = group.into_iter().map(|at| order[at]).collect();
            let ids: Vec<&[u32]> = group.iter().map(|k| queries[*k].ids.as_slice()).collect();
            let positions: Vec<usize> = group.iter().map(|k| queries[*k].position).collect();
            let batch = Batch::new(&ids, pad)?;
            let mut plan = Plan::default().logits_at(Sites::per_row(&positions));
            if let Some(at) = &mut plan.logits {
                at.vocab = vocab.map(<[u32]>::to_vec);
            }
            let trace = self.model.forward(&batch, &plan)?;
            take(&group, trace.logits()?);
            done += group.len();
            between(done)?;
        }
        Ok(())
    }
}

/// Passes the logits of each query to `one`, in parallel.
fn on_all_threads(group: &[usize], logits: &Array, one: &(dyn Fn(usize, &[f32]) + Sync)) {
    group.par_iter().enumerate().for_each(|(row, k)| one(*k, logits.row(row)));
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::Device;

    fn model(name: &str) -> Model {
        Model::load(&name.parse().unwrap(), Device::Cpu).unwrap()
    }

    #[test]
    fn masked_models_get_the_mask_and_causal_models_the_prefix() {
        let (bert, gpt2, bart) = (model("bert-tiny"), model("gpt2-tiny"), model("bart-tiny"));
        let prompt = "The capital of [X] is [Y] .";
        let texts = [&bert, &gpt2, &bart].map(|m| Asker::new(m).unwrap().text(prompt, "France"));
        assert_eq!(texts[0], "The capital of France is [MASK] .");
        assert_eq!(texts[1], "The capital of France is");
        assert_eq!(texts[2], "The capital of France is <mask> .");
        let asker = Asker::new(&gpt2).unwrap();
        let encoded = asker.encode(prompt, "France").unwrap().unwrap();
        assert_eq!(encoded.position + 1, encoded.ids.len());
        assert_eq!(asker.encode("[Y] is [X] .", "").unwrap(), None, "there is nothing before the object");
        let long = "word ".repeat(3_000);
        assert_eq!(Asker::new(&bert).unwrap().encode(prompt, &long).unwrap(), None);
    }

    /// The answer depends neither on the rest of the batch nor on the rest of the vocabulary.
    #[test]
    fn logits_do_not_depend_on_batch_or_vocabulary_rows() {
        for name in ["bert-tiny", "gpt2-tiny", "bart-tiny"] {
            let model = model(name);
            let asker = Asker::new(&model).unwrap();
            let each = [
                ("France", "The capital of [X] is [Y] ."),
                ("the Kingdom of Norway", "As its capital city , [X] has [Y] ."),
            ];
            let queries: Vec<Encoded> = each.iter().map(|(x, p)| asker.encode(p, x).unwrap().unwrap()).collect();
            let all: Vec<&Encoded> = queries.iter().collect();
            let run = |queries: &[&Encoded], vocab: Option<&[u32]>| {
                let mut rows = vec![Vec::new(); queries.len()];
                let take = |k: usize, row: &[f32]| rows[k] = row.to_vec();
                asker.logits::<ModelError>(queries, vocab, 4096, take, |_| Ok(())).unwrap();
                rows
            };
            let (together, chosen) = (run(&all, None), run(&all, Some(&[7, 300])));
            for (k, query) in all.iter().enumerate() {
                let alone = &run(&[query], None)[0];
                let gap = alone.iter().zip(&together[k]).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
                assert!(gap < 1e-3, "{name}: {gap}");
                assert!((chosen[k][0] - together[k][7]).abs() < 1e-4 && (chosen[k][1] - together[k][300]).abs() < 1e-4);
            }
        }
    }
}
