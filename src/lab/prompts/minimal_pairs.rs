//! Minimal pairs (Warstadt et al. 2020, BLiMP): tests whether the acceptable sentence of a pair is more likely under the model than the
//! unacceptable one.
//!
//! The score of a causal model is the log-likelihood: the sum over tokens of log P(token | tokens before). If the tokenizer has a
//! begin-of-text token, it precedes the first token; otherwise the first token is not scored. The score of other models is the
//! pseudo-log-likelihood (Salazar et al. 2020), with each token masked in turn. This overrates multi-token words, because the other tokens
//! of a word reveal the masked one. Therefore the later tokens of the word are masked too (PLL-word-l2r, Kauf and Ivanova 2023).

use std::ops::Range;

use serde::Serialize;

use super::query::{Asker, Encoded};
use super::rule::log_sum;
use lab::stimuli::StimuliError;
use model::chunk::{TOKENS_PER_BATCH, chunks};
use model::{Batch, Encoding, Model, ModelError, Plan, Sites};

/// Methods of scoring sentences.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Scoring {
    LogLikelihood,
    /// Pseudo-log-likelihood with the later tokens of the same word masked.
    PllWordL2r,
    /// Pseudo-log-likelihood with one masked token at a time.
    Pll,
}

/// Number of sentences scored together; their masked copies are all in memory.
const TOGETHER: usize = 64;
/// Maximum number of tokens whose logits are kept in memory for a causal model.
const TOKENS: usize = TOKENS_PER_BATCH / 4;

pub struct Scorer<'a> {
    asker: Asker<'a>,
    scoring: Scoring,
    /// The token that begins a text, if the tokenizer does not add it.
    start: Option<u32>,
}

impl<'a> Scorer<'a> {
    /// Creates a scorer for a model. `original` scores masked models without the within-word correction.
    ///
    /// # Errors
    /// [`StimuliError`] for a model without a head, a tokenizer, or a mask token.
    pub fn new(model: &'a Model, original: bool) -> Result<Self, StimuliError> {
        let asker = Asker::new(model)?;
        let scoring = match (model.arch().is_causal(), original) {
            (true, _) => Scoring::LogLikelihood,
            (false, false) => Scoring::PllWordL2r,
            (false, true) => Scoring::Pll,
        };
        let special = model.tokenizer()?.special();
        let start = special.bos.or(special.eos).filter(|_| scoring == Scoring::LogLikelihood);
        Ok(Self { asker, scoring, start })
    }

    pub fn scoring(&self) -> Scoring {
        self.scoring
    }

    /// Log-probabilities of sentences, in nats. `None` for a sentence that is too long or has no token to score. `between` receives the
    /// number of scored sentences.
    ///
    /// # Errors
    /// Returns errors of the model and of `between`.
    pub fn scores<E: From<ModelError>>(
        &self,
        texts: &[&str],
        mut between: impl FnMut(usize) -> Result<(), E>,
    ) -> Result<Vec<Option<f64>>, E> {
        let mut scores = Vec::with_capacity(texts.len());
        for some in texts.chunks(TOGETHER) {
            let model = self.asker.model();
            let tokenizer = model.tokenizer()?;
            let sentences: Vec<Option<Sentence>> =
                some.iter().map(|t| Ok(self.sentence(&tokenizer.encode(t)?))).collect::<Result<_, ModelError>>()?;
            scores.extend(match self.scoring {
                Scoring::LogLikelihood => self.left_to_right(&sentences)?,
                Scoring::PllWordL2r | Scoring::Pll => self.masked(&sentences)?,
            });
            between(scores.len())?;
        }
        Ok(scores)
    }

    fn sentence(&self, encoding: &Encoding) -> Option<Sentence> {
        let mut scored = encoding.body();
        let (mut ids, mut words) = (encoding.ids.clone(), encoding.words.clone());
        if let Some(start) = self.start.filter(|_| scored.start == 0) {
            ids.insert(0, start);
            words.insert(0, None);
            scored = 1..scored.end + 1;
        }
        // The first token has no context, so it is not scored.
        if self.scoring == Scoring::LogLikelihood && scored.start == 0 {
            scored.start = 1;
        }
        let fits = ids.len() <= self.asker.model().arch().max_positions && !scored.is_empty();
        fits.then_some(Sentence { ids, words, scored })
    }

    /// Scores each sentence in one pass.
    fn left_to_right(&self, sentences: &[Option<Sentence>]) -> Result<Vec<Option<f64>>, ModelError> {
        let model = self.asker.model();
        let known: Vec<(usize, &Sentence)> =
            sentences.iter().enumerate().filter_map(|(i, s)| Some((i, s.as_ref()?))).collect();
        let lengths: Vec<usize> = known.iter().map(|(_, s)| s.ids.len()).collect();
        let mut scores = vec![None; sentences.len()];
        for group in chunks(&lengths, TOKENS) {
            let rows: Vec<&[u32]> = group.iter().map(|k| known[*k].1.ids.as_slice()).collect();
            let batch = Batch::new(&rows, model.tokenizer()?.pad_id())?;
            let sites =
                group.iter().enumerate().flat_map(|(row, k)| known[*k].1.scored.clone().map(move |t| (row, t - 1)));
            let trace = model.forward(&batch, &Plan::default().logits_at(Sites::At(sites.collect())))?;
            let logits = trace.logits()?;
            let mut at = 0;
            for k in group {
                let (i, sentence) = known[k];
                let mut sum = 0.0;
                for t in sentence.scored.clone() {
                    sum += log_probability(logits.row(at), sentence.ids[t]);
                    at += 1;
                }
                scores[i] = Some(sum);
            }
        }
        Ok(scores)
    }

    /// Scores masked copies of the sentences, one per token.
    fn masked(&self, sentences: &[Option<Sentence>]) -> Result<Vec<Option<f64>>, ModelError> {
        let mask = self.asker.mask().ok_or_else(|| ModelError::Plan("the model has no mask token".into()))?;
        let mut queries: Vec<(usize, u32, Encoded)> = Vec::new();
        for (i, sentence) in sentences.iter().enumerate() {
            let Some(Sentence { ids, words, scored }) = sentence else { continue };
            for t in scored.clone() {
                let mut masked = ids.clone();
                masked[t] = mask;
                if self.scoring == Scoring::PllWordL2r && words[t].is_some() {
                    let later = (t + 1..scored.end).take_while(|k| words[*k] == words[t]);
                    later.for_each(|k| masked[k] = mask);
                }
                queries.push((i, ids[t], Encoded { ids: masked, position: t }));
            }
        }
        let asked: Vec<&Encoded> = queries.iter().map(|q| &q.2).collect();
        let read = |k: usize, logits: &[f32]| log_probability(logits, queries[k].1);
        let all = self.asker.read::<f64, ModelError>(&asked, None, TOKENS_PER_BATCH, read, |_| Ok(()))?;
        let mut scores: Vec<Option<f64>> = sentences.iter().map(|s| s.as_ref().map(|_| 0.0)).collect();
        for ((i, ..), log) in queries.iter().zip(all) {
            scores[*i] = scores[*i].map(|sum| sum + log);
        }
        Ok(scores)
    }
}

struct Sentence {
    ids: Vec<u32>,
    words: Vec<Option<u32>>,
    /// The tokens that contribute to the score.
    scored: Range<usize>,
}

fn log_probability(logits: &[f32], token: u32) -> f64 {
    logits.get(token as usize).map_or(f64::NEG_INFINITY, |l| f64::from(*l) - log_sum(logits))
}

/// Counts of sentence pairs.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Tally {
    /// Number of scored pairs.
    pub n: u64,
    /// Number of pairs whose acceptable sentence is more likely.
    pub right: u64,
    /// Number of pairs with equally likely sentences, which count as wrong.
    pub ties: u64,
}

impl Tally {
    pub fn add(&mut self, good: f64, bad: f64) {
        self.n += 1;
        self.right += u64::from(good > bad);
        self.ties += u64::from(good == bad);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::Device;

    const TEXTS: [&str; 3] = ["The dogs bark .", "The dogs barks .", "Xylophonists improvise ."];

    fn scores(name: &str, original: bool, texts: &[&str]) -> (Scoring, Vec<Option<f64>>) {
        let model = Model::load(&name.parse().unwrap(), Device::Cpu).unwrap();
        let scorer = Scorer::new(&model, original).unwrap();
        (scorer.scoring(), scorer.scores::<ModelError>(texts, |_| Ok(())).unwrap())
    }

    /// The expected values come from a numpy implementation in double precision. Without the correction, the two-token `barks` beats
    /// `bark`.
    #[test]
    fn sentence_scores_match_numpy() {
        for (name, original, scoring, wanted) in [
            ("bert-tiny", false, Scoring::PllWordL2r, [-20.434838, -22.232673, -112.038350]),
            ("bert-tiny", true, Scoring::Pll, [-20.434838, -19.469415, -100.226860]),
            ("gpt2-tiny", false, Scoring::LogLikelihood, [-41.022994, -46.997661, -173.646750]),
        ] {
            let (found, scores) = scores(name, original, &TEXTS);
            assert_eq!(found, scoring);
            for (score, wanted) in scores.into_iter().zip(wanted) {
                let score = score.unwrap();
                assert!((score - wanted).abs() < 2e-3, "{name} {scoring:?}: {score}, wanted {wanted}");
            }
        }
    }

    #[test]
    fn scores_do_not_depend_on_the_batch() {
        let long = "word ".repeat(100);
        for name in ["bert-tiny", "gpt2-tiny", "bart-tiny", "roberta-tiny"] {
            let texts: Vec<&str> = TEXTS.iter().cycle().take(70).copied().chain([long.as_str()]).collect();
            let all = scores(name, false, &texts).1;
            let alone = scores(name, false, &TEXTS[2..]).1[0].unwrap();
            assert!((all[2].unwrap() - alone).abs() < 1e-3 && (all[68].unwrap() - alone).abs() < 1e-3, "{name}");
            assert_eq!(all[70], None, "{name}");
        }
    }

    #[test]
    fn equal_sentences_are_ties_and_count_as_wrong() {
        let mut tally = Tally::default();
        for (good, bad) in [(-1.0, -2.0), (-2.0, -1.0), (-1.0, -1.0)] {
            tally.add(good, bad);
        }
        assert_eq!(tally, Tally { n: 3, right: 1, ties: 1 });
    }
}
