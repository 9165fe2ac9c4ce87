//! Findings of the lab, one struct per kind. Words are counted from 0. A word's score is the sum over its sub-words.

use lab::family::Comparison;
use lab::{Columns, Head, Kinds, LabId};
use serde::{Deserialize, Serialize};

use super::methods::{RANDOM, named};
use super::spec::Direction;
use stats::estimate::Estimate;

/// The name for all dimensions, all kinds of perturbation, or all models.
pub const ALL: &str = "all";
/// Identifier of a typed sentence.
pub const OWN: &str = "own";

#[derive(Debug, Clone, PartialEq, Serialize, Kinds)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Kind {
    /// Sentences and models of the run.
    Data(DataFinding),
    /// A sentence, reported once for all models.
    Sentence(SentenceFinding),
    /// Prediction of a model.
    Prediction(PredictionFinding),
    /// Scores of the words from a method.
    Saliency(SaliencyFinding),
    /// Share of correct predictions.
    #[interval]
    Accuracy(AccuracyFinding),
    /// Agreement with annotators, and between a sentence and its perturbed forms.
    #[interval]
    Interpretability(Box<InterpretabilityFinding>),
    /// Agreement with annotators and between forms, split by whether the model's answers are right.
    #[interval]
    Correctness(Box<CorrectnessFinding>),
    /// Agreement among inputs with similar rationale ratios.
    #[interval]
    Ratio(RatioFinding),
    /// Difference between two models or two methods on the same inputs.
    #[interval]
    Difference(DifferenceFinding),
    /// Attention of all heads.
    Attention(AttentionFinding),
}

/// Sentences and models of the run. The finding's model is `all`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Columns)]
pub struct DataFinding {
    /// The file as named in the spec, or the built-in source.
    pub source: String,
    /// SHA-256 of the source.
    pub sha256: String,
    /// Number of originals.
    pub originals: usize,
    /// Number of perturbed partners.
    pub perturbed: usize,
    /// Originals and partners by dimension.
    pub dimensions: Vec<DimensionNote>,
    /// Omitted inputs, by reason.
    pub left_out: Vec<LeftOut>,
    /// The models, with the inputs and methods available for each.
    pub models: Vec<ModelNote>,
    /// Rule for the length of a predicted rationale, in words.
    pub k: String,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DimensionNote {
    pub dimension: String,
    pub originals: usize,
    /// Number of perturbed partners.
    pub perturbed: usize,
    /// Mean share of words in the gold rationale.
    pub ratio: f64,
}

/// Inputs left out for one reason.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LeftOut {
    /// The model; `all` for inputs left out for every model.
    pub model: String,
    pub reason: String,
    pub count: usize,
    /// Identifier of the first input left out.
    pub first: String,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ModelNote {
    pub name: String,
    /// Hash of the weights and the tokenizer.
    pub hash: String,
    /// Available methods.
    pub methods: Vec<String>,
    /// Unavailable methods, with reasons.
    pub refused: Vec<(String, String)>,
    /// Number of inputs.
    pub inputs: usize,
    /// Number of layers; for a denoising model, the number in its decoder.
    pub layers: usize,
    /// Number of heads per layer.
    pub heads: usize,
    /// Number of inputs longer than the model's maximum length, of which it processes only a part.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub cut: usize,
}

fn is_zero(count: &usize) -> bool {
    *count == 0
}

/// Form of a sentence.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Sample {
    /// The benchmark's original.
    Original,
    /// A changed form of an original.
    Perturbed,
    /// A sentence typed by the user.
    Own,
}

impl Sample {
    pub fn name(self) -> &'static str {
        match self {
            Sample::Original => "original",
            Sample::Perturbed => "perturbed",
            Sample::Own => OWN,
        }
    }
}

/// A sentence. The finding's model is `all`; `n` is the number of words.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Columns)]
pub struct SentenceFinding {
    /// Identifier from the data, or `own`.
    #[id]
    pub sentence: String,
    /// Dimension; empty if there is none.
    pub dimension: String,
    /// `original`, `perturbed` or `own`.
    pub sample: Sample,
    /// Kind of perturbation: `dispens`, `import`, `trans`.
    pub perturbation: Option<String>,
    /// The original of a perturbed sentence.
    pub original: Option<String>,
    /// The perturbed partners of an original.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub partners: Vec<String>,
    /// The text as written, with `[MASK]`.
    pub text: String,
    /// The words, including the mask as `[MASK]`.
    pub words: Vec<String>,
    /// Start and end of each word in the text, in characters.
    pub spans: Vec<(usize, usize)>,
    /// Indices of the masks.
    pub masks: Vec<usize>,
    /// Gold rationales as sets of words, any of which is sufficient.
    pub gold: Vec<Vec<usize>>,
    /// The expected word at the mask; null if none is expected.
    pub answer: Option<String>,
    /// Other words that fit the mask and count as right.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub other_answers: Vec<String>,
    /// For a perturbed sentence: pairs (word in the original, word in this sentence).
    pub alignment: Option<Vec<(usize, usize)>>,
}

/// An answer with its probability.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Guess {
    /// The answer; for several masks, the text of all their tokens.
    pub answer: String,
    /// Probability of the answer; for several masks, the product of the probabilities at the masks.
    pub probability: f64,
}

/// A model's prediction for a sentence. `n` is 1.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Columns)]
pub struct PredictionFinding {
    /// Identifier of the sentence.
    #[id]
    pub sentence: String,
    /// Dimension of the benchmark; empty if there is none.
    pub dimension: String,
    /// `original`, `perturbed` or `own`.
    pub sample: Sample,
    /// Kind of perturbation: `dispens`, `import`, `trans`.
    pub perturbation: Option<String>,
    /// Number of masks that the answer needs with this model.
    pub masks: usize,
    /// The most probable answers, best first.
    pub top: Vec<Guess>,
    /// Probability of the expected answer, excluding other answers that fit; null if no answer is expected.
    pub answer_probability: Option<f64>,
    /// True if the first answer is one of the gold answers.
    pub top1: Option<bool>,
    /// True if one of the first three answers is a gold answer.
    pub top3: Option<bool>,
}

/// A token of the model.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Subword {
    /// Spelling in the vocabulary.
    pub text: String,
    /// The words that it overlaps; empty for special tokens.
    pub words: Vec<usize>,
    pub score: f32,
}

/// Scores of the words with respect to a prediction. `n` is the number of words.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Columns)]
pub struct SaliencyFinding {
    /// Identifier of the sentence.
    #[id]
    pub sentence: String,
    /// Dimension of the benchmark; empty if there is none.
    pub dimension: String,
    /// `original`, `perturbed` or `own`.
    pub sample: Sample,
    /// Kind of perturbation: `dispens`, `import`, `trans`.
    pub perturbation: Option<String>,
    /// Identifier of the method.
    #[id]
    pub method: String,
    /// The words, including the mask.
    pub tokens: Vec<String>,
    /// One signed score per word, 0 for words outside the ranking.
    pub scores: Vec<f32>,
    /// Words outside the ranking: masks, and words that the model does not process.
    pub excluded: Vec<usize>,
    /// The ranked words by descending score; ties keep the order of the sentence.
    pub ranking: Vec<usize>,
    /// Number of words at the top of the ranking that form the predicted rationale; 0 without a gold rationale.
    pub k: usize,
    /// The model's tokens, with the words that each overlaps.
    #[serde(default)]
    pub subwords: Vec<Subword>,
    /// The tokens whose prediction is explained.
    pub target: String,
    /// Token-F1 of the predicted rationale; null without a gold rationale.
    pub token_f1: Option<f64>,
    /// Completeness error, only for integrated gradients: |sum of attributions − (f(x) − f(baseline))| / |f(x) − f(baseline)|.
    pub gap: Option<f64>,
    /// Number of steps on the path.
    pub steps: Option<usize>,
    /// True if the completeness error is within tolerance; null for other methods.
    pub complete: Option<bool>,
    /// Probability lost when only the predicted rationale remains.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sufficiency: Option<f64>,
    /// Probability lost when the predicted rationale is masked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub comprehensiveness: Option<f64>,
    /// Smallest known change to the predicted rationale's word embeddings that changes the prediction: its Frobenius norm relative to the
    /// sentence's embeddings, at most 4.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sensitivity: Option<f64>,
}

/// Share of correct predictions. `n` is the number of inputs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Columns)]
pub struct AccuracyFinding {
    /// Dimension, or `all`.
    #[id]
    pub dimension: String,
    /// `original`, `perturbed`, or `all`.
    #[id]
    pub sample: String,
    /// Kind of perturbation, or `all`; only originals with a partner of this kind count.
    #[id]
    pub perturbation: String,
    /// Share of inputs whose first answer is right.
    pub top1: Estimate,
    /// Share of inputs with a right answer among the first three.
    pub top3: Estimate,
    /// For partners of one kind: `top1` of the partners minus `top1` of the originals with a partner of this kind.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub change: Option<Estimate>,
}

/// Agreement with annotators, and between a sentence and its perturbed forms. `n` is the number of inputs of token-F1.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Columns)]
pub struct InterpretabilityFinding {
    /// Dimension, or `all`.
    #[id]
    pub dimension: String,
    /// Kind of perturbation, or `all`.
    #[id]
    pub perturbation: String,
    /// Identifier of the method.
    #[id]
    pub method: String,
    /// Token-F1 against the gold rationales, over originals and partners if `perturbation` is `all`, otherwise over partners. Null without
    /// gold rationales.
    pub token_f1: Option<Estimate>,
    /// Expected F1 of a random ranking.
    pub random_f1: Option<Estimate>,
    /// `token_f1` minus `random_f1`, paired by input; absent if either is missing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub f1_above: Option<Estimate>,
    /// Mean average precision of the partners' rankings against those of the originals; null without partners.
    pub map: Option<Estimate>,
    /// MAP of random rankings.
    pub random_map: Option<Estimate>,
    /// Mean correlation of aligned scores, over pairs with p < .05.
    pub pcc: Option<Estimate>,
    /// Mean correlation over all pairs. Filtering by p keeps only high correlations, so `pcc` is biased upward.
    pub pcc_all: Option<Estimate>,
    /// Number of pairs with p < .05.
    pub pcc_kept: usize,
    /// Number of pairs for which a correlation is computed.
    pub pcc_total: usize,
    /// Number of pairs without a correlation, because scores are constant or there are fewer than three words.
    pub pcc_undefined: usize,
    /// MAP over the pairs for which PCC is computed (all but syntactic transformations).
    pub map_star: Option<Estimate>,
    /// The absolute value of `f1_delta_signed`.
    pub f1_delta: Option<Estimate>,
    /// Mean F1 of the originals with a partner of this kind, minus mean F1 of these partners.
    pub f1_delta_signed: Option<Estimate>,
    /// Absolute difference in F1, averaged over pairs.
    pub f1_delta_pairs: Option<Estimate>,
    /// Mean share of words in the gold rationale over these inputs. K depends on a different mean, the one over the dimension's originals
    /// in the finding `data`.
    pub ratio: Option<f64>,
    /// Probability lost when only the predicted rationale remains; null if not requested.
    pub sufficiency: Option<Estimate>,
    /// Probability lost without the predicted rationale; null if not requested.
    pub comprehensiveness: Option<Estimate>,
    /// Mean of the smallest relative change to the predicted rationale that changes the prediction (after Yin et al. 2022); low if the
    /// prediction depends on the rationale. Absent if not requested.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sensitivity: Option<Estimate>,
    /// Lowest MAP among partners with the same prediction, averaged over originals (after Yin et al. 2022).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stability: Option<Estimate>,
    /// Number of original-partner pairs.
    pub pairs: usize,
    /// Number of partners that the model could not process.
    pub missing: usize,
    /// Number of originals, the units of the intervals.
    pub originals: usize,
    /// Number of rows whose completeness error in integrated gradients exceeds the tolerance.
    pub incomplete: usize,
}

/// Correctness of a model's answers to the inputs in a part.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Answers {
    /// All answers are right.
    Right,
    /// All answers are wrong.
    Wrong,
    /// One answer in a pair is right and the other is wrong.
    Changed,
}

impl Answers {
    pub(crate) const ALL: [Self; 3] = [Answers::Right, Answers::Wrong, Answers::Changed];

    pub fn name(self) -> &'static str {
        match self {
            Answers::Right => "right",
            Answers::Wrong => "wrong",
            Answers::Changed => "changed",
        }
    }
}

/// The scores of `interpretability`, split by whether the model's first answer is right. `n` counts inputs, or pairs for `changed`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Columns)]
pub struct CorrectnessFinding {
    /// `right` or `wrong`: inputs with a right (or wrong) answer, and pairs with two of them. `changed`: pairs with only one right answer.
    #[id]
    pub answers: Answers,
    /// For `right`: token-F1 above chance for right inputs minus token-F1 above chance for wrong inputs, with a Student's t interval over
    /// originals.
    pub f1_gap: Option<Estimate>,
    /// Two-sided p-value of `f1_gap`, from Student's t over originals.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub f1_gap_p: Option<f64>,
    /// For `right`: MAP above chance for right pairs minus MAP above chance for wrong pairs.
    pub map_gap: Option<Estimate>,
    #[serde(flatten)]
    pub numbers: InterpretabilityFinding,
}

impl CorrectnessFinding {
    /// True for the tested difference: right against wrong answers, for a method over all dimensions and perturbations.
    pub(crate) fn is_tested(&self) -> bool {
        let v = &self.numbers;
        self.answers == Answers::Right && v.dimension == ALL && v.perturbation == ALL && v.method != RANDOM
    }

    pub(crate) fn compared(&self, finding: Head<'_>) -> Option<Comparison> {
        let p = self.f1_gap_p.filter(|_| self.is_tested())?;
        let question = "right against wrong answers: token-F1".to_owned();
        let method = named(&self.numbers.method).map_or(self.numbers.method.as_str(), |m| m.title());
        let what = format!("{} by {method}: right against wrong answers", finding.model);
        let about = Comparison::of(LabId::Saliency, finding.spec, question, what, "Student's t over originals");
        Some(Comparison { n: self.numbers.originals, p, ..about })
    }
}

/// Agreement among inputs with similar rationale ratios. `n` is the number of inputs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Columns)]
pub struct RatioFinding {
    /// Dimension, or `all`.
    #[id]
    pub dimension: String,
    /// Identifier of the method.
    #[id]
    pub method: String,
    /// Lower limit of the ratios.
    #[id]
    pub from: f64,
    /// Upper limit of the ratios.
    pub to: f64,
    /// Mean ratio.
    pub ratio: f64,
    /// Mean token-F1 over inputs in this range.
    pub token_f1: Option<Estimate>,
    /// Expected F1 of a random ranking; it increases with the ratio.
    pub random_f1: Option<Estimate>,
    /// MAP of partners whose originals are in this range; null without partners.
    pub map: Option<Estimate>,
    /// MAP of random rankings.
    pub random_map: Option<Estimate>,
    /// Number of originals, the units of the intervals.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub originals: Option<usize>,
}

/// Difference between two models or two methods on the same inputs. The finding's model is `all`; `n` is the number of originals, which are
/// the units.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Columns)]
pub struct DifferenceFinding {
    /// The first side, for example `bert-mini attention`.
    #[id]
    pub a: String,
    /// The second side.
    #[id]
    pub b: String,
    /// `token_f1`, `map`, or `top1`.
    #[id]
    pub metric: String,
    /// Mean of the first side minus mean of the second.
    pub difference: Estimate,
    /// Two-sided p-value.
    pub p: f64,
    /// Name of the test.
    pub test: String,
}

/// Attention of all heads between the mask and the words. `n` is the number of words.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Columns)]
pub struct AttentionFinding {
    /// Identifier of the sentence.
    #[id]
    pub sentence: String,
    /// The words of the sentence.
    pub words: Vec<String>,
    /// Words outside the ranking: masks, and words that the model does not process.
    pub excluded: Vec<usize>,
    /// Direction of attention.
    pub direction: Direction,
    /// Probabilities by layer, head and word.
    pub scores: Vec<Vec<Vec<f32>>>,
}
