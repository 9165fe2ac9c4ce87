//! Index of a run's sentences, predictions and scores: a benchmark has thousands of each.

use std::collections::HashMap;

use labs::Tagged;
use labs::saliency::finding::{PredictionFinding, SaliencyFinding, SentenceFinding};
use labs::saliency::results::Results;

/// Indices into the lists of [`Results`], updated as these grow.
#[derive(Debug, Clone, Default)]
pub(crate) struct Index {
    generation: u64,
    sentences: usize,
    predictions: usize,
    rows: usize,
    of: HashMap<String, Entry>,
}

#[derive(Debug, Clone, Default)]
struct Entry {
    sentence: Option<usize>,
    predictions: Vec<usize>,
    rows: Vec<usize>,
}

impl Index {
    /// Adds results that are new since the last call; starts over for another run.
    pub(crate) fn follow(&mut self, results: &Results, generation: u64) {
        let shrunk = results.sentences.len() < self.sentences
            || results.predictions.len() < self.predictions
            || results.rows.len() < self.rows;
        if generation != self.generation || shrunk {
            *self = Self { generation, ..Self::default() };
        }
        for (at, s) in results.sentences.iter().enumerate().skip(self.sentences) {
            self.of.entry(s.value.sentence.clone()).or_default().sentence = Some(at);
        }
        for (at, p) in results.predictions.iter().enumerate().skip(self.predictions) {
            self.of.entry(p.value.sentence.clone()).or_default().predictions.push(at);
        }
        for (at, r) in results.rows.iter().enumerate().skip(self.rows) {
            self.of.entry(r.value.sentence.clone()).or_default().rows.push(at);
        }
        self.sentences = results.sentences.len();
        self.predictions = results.predictions.len();
        self.rows = results.rows.len();
    }

    /// A value that changes whenever the sentences or their predictions change.
    pub(crate) fn stamp(&self) -> (u64, usize, usize) {
        (self.generation, self.sentences, self.predictions)
    }

    pub(crate) fn sentence<'r>(&self, results: &'r Results, id: &str) -> Option<&'r Tagged<SentenceFinding>> {
        results.sentences.get(self.of.get(id)?.sentence?)
    }

    pub(crate) fn prediction<'r>(
        &self,
        results: &'r Results,
        model: &str,
        id: &str,
    ) -> Option<&'r Tagged<PredictionFinding>> {
        let all = self.of.get(id)?.predictions.iter().filter_map(|at| results.predictions.get(*at));
        all.into_iter().find(|p| p.model == model)
    }

    pub(crate) fn row<'r>(
        &self,
        results: &'r Results,
        model: &str,
        id: &str,
        method: &str,
    ) -> Option<&'r Tagged<SaliencyFinding>> {
        let all = self.of.get(id)?.rows.iter().filter_map(|at| results.rows.get(*at));
        all.into_iter().find(|r| r.model == model && r.value.method == method)
    }
}
