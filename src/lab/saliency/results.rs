//! Results of a run so far: the fold of its findings.

use serde::{Deserialize, Serialize};

use super::finding::{
    ALL, AccuracyFinding, AttentionFinding, CorrectnessFinding, DataFinding, DifferenceFinding,
    InterpretabilityFinding, Kind, PredictionFinding, RatioFinding, SaliencyFinding, SentenceFinding,
};
use lab::Head;
use lab::results::{Tagged, put};

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Results {
    pub data: Option<Tagged<DataFinding>>,
    /// The sentences, each original followed by its partners.
    pub sentences: Vec<Tagged<SentenceFinding>>,
    /// Predictions in the order of computation.
    pub predictions: Vec<Tagged<PredictionFinding>>,
    /// Scores of tokens in the order of computation.
    pub rows: Vec<Tagged<SaliencyFinding>>,
    /// Shares of right predictions.
    pub accuracy: Vec<Tagged<AccuracyFinding>>,
    /// Agreement by model, method, dimension and perturbation.
    pub interpretability: Vec<Tagged<InterpretabilityFinding>>,
    /// Agreement split by whether the answers are right.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub correctness: Vec<Tagged<CorrectnessFinding>>,
    /// Agreement against the rationale ratio.
    pub ratios: Vec<Tagged<RatioFinding>>,
    /// Comparisons of models and methods.
    pub differences: Vec<Tagged<DifferenceFinding>>,
    /// The latest typed sentence.
    pub own: Option<Own>,
    /// The attention heads in the latest answer.
    pub attention: Option<Tagged<AttentionFinding>>,
    /// Number of the latest answer.
    #[serde(default)]
    pub answered: u64,
}

/// The answer to a typed sentence.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Own {
    pub ticket: u64,
    pub sentence: Option<Tagged<SentenceFinding>>,
    pub predictions: Vec<Tagged<PredictionFinding>>,
    /// Scores by model and method.
    pub rows: Vec<Tagged<SaliencyFinding>>,
}

impl Results {
    /// Adds a finding of the run. Each sentence, prediction and row of scores arrives once.
    pub fn take(&mut self, finding: Head<'_>, kind: &Kind) {
        match kind {
            Kind::Data(x) => self.data = Some(Tagged::new(finding, x)),
            Kind::Sentence(x) => self.sentences.push(Tagged::new(finding, x)),
            Kind::Prediction(x) => self.predictions.push(Tagged::new(finding, x)),
            Kind::Saliency(x) => self.rows.push(Tagged::new(finding, x)),
            Kind::Accuracy(x) => put(&mut self.accuracy, finding, x),
            Kind::Interpretability(x) => put(&mut self.interpretability, finding, x.as_ref()),
            Kind::Correctness(x) => put(&mut self.correctness, finding, x.as_ref()),
            Kind::Ratio(x) => put(&mut self.ratios, finding, x),
            Kind::Difference(x) => put(&mut self.differences, finding, x),
            Kind::Attention(x) => self.attention = Some(Tagged::new(finding, x)),
        }
    }

    /// Records the answer to the question with this number. Returns false if a later answer is already present.
    pub fn answer<'a>(&mut self, ticket: u64, findings: impl IntoIterator<Item = (Head<'a>, &'a Kind)>) -> bool {
        if ticket < self.answered {
            return false;
        }
        self.answered = ticket;
        let mut own = Own { ticket, ..Own::default() };
        for (finding, kind) in findings {
            match kind {
                Kind::Sentence(x) => own.sentence = Some(Tagged::new(finding, x)),
                Kind::Prediction(x) => own.predictions.push(Tagged::new(finding, x)),
                Kind::Saliency(x) => own.rows.push(Tagged::new(finding, x)),
                Kind::Attention(x) => self.attention = Some(Tagged::new(finding, x)),
                _ => {}
            }
        }
        if own.sentence.is_some() {
            self.own = Some(own);
        }
        true
    }

    pub fn sentence(&self, id: &str) -> Option<&Tagged<SentenceFinding>> {
        self.sentences.iter().find(|s| s.value.sentence == id)
    }

    pub fn prediction(&self, model: &str, sentence: &str) -> Option<&Tagged<PredictionFinding>> {
        self.predictions.iter().find(|p| p.value.sentence == sentence && p.model == model)
    }

    pub fn row(&self, model: &str, sentence: &str, method: &str) -> Option<&Tagged<SaliencyFinding>> {
        let is =
            |r: &&Tagged<SaliencyFinding>| r.value.sentence == sentence && r.value.method == method && r.model == model;
        self.rows.iter().find(is)
    }

    /// Agreement split by whether the answers are right, over all kinds of perturbation, in the order of tables.
    pub fn by_answers(&self) -> Vec<&Tagged<CorrectnessFinding>> {
        let mut all: Vec<_> = self.correctness.iter().filter(|c| c.value.numbers.perturbation == ALL).collect();
        all.sort_by_key(|c| {
            let v = &c.value.numbers;
            (self.place(&c.model, &v.method, &v.dimension), c.value.answers)
        });
        all
    }

    /// Names of the models, in the order of the run.
    pub fn models(&self) -> Vec<&str> {
        let notes = self.data.as_ref().map_or(&[][..], |d| &d.value.models);
        notes.iter().map(|m| m.name.as_str()).collect()
    }

    /// Identifiers of the methods, in the order of the run.
    pub fn methods(&self) -> Vec<&str> {
        let mut methods: Vec<&str> = Vec::new();
        for note in self.data.iter().flat_map(|d| &d.value.models) {
            let more = note.methods.iter().map(String::as_str).filter(|m| !methods.contains(m));
            let more: Vec<&str> = more.collect();
            methods.extend(more);
        }
        methods
    }

    /// Sort key in tables: models, methods and dimensions in the order of the run, with `all` after the individual dimensions.
    pub fn place(&self, model: &str, method: &str, dimension: &str) -> (usize, usize, usize) {
        fn at<'a>(mut all: impl Iterator<Item = &'a str>, one: &str) -> usize {
            all.position(|x| x == one).unwrap_or(usize::MAX)
        }
        let dimensions = self.data.iter().flat_map(|d| &d.value.dimensions);
        (
            at(self.models().into_iter(), model),
            at(self.methods().into_iter(), method),
            at(dimensions.map(|d| d.dimension.as_str()), dimension),
        )
    }
}
