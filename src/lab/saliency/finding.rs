//! Findings of the lab: one struct per kind. Words are counted from 0; a score belongs to a word, and is the sum over
//! its sub-words.

use lab::family::Comparison;
use lab::{Columns, Head, Kinds, LabId};
use serde::{Deserialize, Serialize};

use super::methods::{RANDOM, named};
use super::spec::Direction;
use stats::estimate::Estimate;

/// The name for all dimensions, all kinds of perturbation, or all models together.
pub const ALL: &str = "all";
/// Identifier of a typed sentence.
pub const OWN: &str = "own";

/// The kinds of finding.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Kinds)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Kind {
    /// Sentences and models of the run.
    Data(DataFinding),
    /// A sentence, once for all models.
    Sentence(SentenceFinding),
    /// Prediction of a model.
    Prediction(PredictionFinding),
    /// Scores of the words, by a method.
    Saliency(SaliencyFinding),
    /// Share of right predictions.
    #[interval]
    Accuracy(AccuracyFinding),
    /// Agreement with people and with the perturbed form.
    #[interval]
    Interpretability(Box<InterpretabilityFinding>),
    /// Agreement with people and with the perturbed form, by whether the model's answers are right.
    #[interval]
    Correctness(Box<CorrectnessFinding>),
    /// Agreement among inputs with similar rationale ratios.
    #[interval]
    Ratio(RatioFinding),
    /// Two models or two methods on the same inputs.
    #[interval]
    Difference(DifferenceFinding),
    /// Attention of all heads.
    Attention(AttentionFinding),
}

/// Sentences and models of the run. Its model is `all`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Columns)]
pub struct DataFinding {
    /// The file as the spec names it, or what is built in.
    pub source: String,
    /// SHA-256 of the source.
    pub sha256: String,
    /// Originals that are asked.
    pub originals: usize,
    /// Perturbed partners that are asked.
    pub perturbed: usize,
    /// The same by dimension.
    pub dimensions: Vec<DimensionNote>,
    /// Inputs that were left out, by reason.
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
    /// Perturbed partners.
    pub perturbed: usize,
    /// Mean share of the words in the gold rationale.
    pub ratio: f64,
}

/// Inputs that were left out for one reason.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LeftOut {
    /// The model; `all` for inputs left out for every model.
    pub model: String,
    pub reason: String,
    pub count: usize,
    /// Identifier of the first.
    pub first: String,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ModelNote {
    pub name: String,
    /// Hash of its weights and tokenizer.
    pub hash: String,
    /// Methods available for it.
    pub methods: Vec<String>,
    /// Methods not available for it, each with the reason.
    pub refused: Vec<(String, String)>,
    /// Inputs that it is asked.
    pub inputs: usize,
    /// Number of its layers; of a denoising model, of its decoder's.
    pub layers: usize,
    /// Number of heads of a layer.
    pub heads: usize,
    /// Inputs that are too long for it, of which it reads a part.
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
    /// Changed.
    Perturbed,
    /// Typed by the user.
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

/// A sentence. Its model is `all`; `n` is the number of its words.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Columns)]
pub struct SentenceFinding {
    /// Identifier: that of the data, or `own`.
    #[id]
    pub sentence: String,
    /// Dimension; empty if there is none.
    pub dimension: String,
    /// `original`, `perturbed` or `own`.
    pub sample: Sample,
    /// Kind of perturbation: `dispens`, `import`, `trans`.
    pub perturbation: Option<String>,
    /// The original of a perturbed one.
    pub original: Option<String>,
    /// The perturbed partners of an original.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub partners: Vec<String>,
    /// The text as written, with `[MASK]`.
    pub text: String,
    /// Its words, the mask among them as `[MASK]`.
    pub words: Vec<String>,
    /// Start and end of each word in the text, in characters.
    pub spans: Vec<(usize, usize)>,
    /// Indices of the words that are masks.
    pub masks: Vec<usize>,
    /// Gold rationales: sets of words, of which any one suffices.
    pub gold: Vec<Vec<usize>>,
    /// The word for the mask; null if nothing is expected.
    pub answer: Option<String>,
    /// Other words that fit the mask as well: any of them is as right as the answer.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub other_answers: Vec<String>,
    /// Of a perturbed one: pairs (word of the original, word of this one).
    pub alignment: Option<Vec<(usize, usize)>>,
}

/// An answer with its probability.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Guess {
    /// The answer; the tokens of several masks together.
    pub answer: String,
    /// Its probability; with several masks the product of theirs.
    pub probability: f64,
}

/// Prediction of a model in a sentence. `n` is 1.
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
    /// Number of mask tokens for the answer in this model.
    pub masks: usize,
    /// The most probable answers, best first.
    pub top: Vec<Guess>,
    /// Probability of the expected answer alone, without other fitting ones; null if nothing is expected.
    pub answer_probability: Option<f64>,
    /// True if the first is one of the gold answers.
    pub top1: Option<bool>,
    /// True if one of the first three is one of the gold answers.
    pub top3: Option<bool>,
}

/// A token of the model.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Subword {
    /// Its spelling in the vocabulary.
    pub text: String,
    /// Words that it overlaps; empty for special tokens.
    pub words: Vec<usize>,
    pub score: f32,
}

/// Scores of the words behind a prediction. `n` is the number of words.
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
    /// The words, the mask among them.
    pub tokens: Vec<String>,
    /// One signed score per word. Words outside the ranking have 0.
    pub scores: Vec<f32>,
    /// Words outside the ranking: the masks, and words that a causal model does not see.
    pub excluded: Vec<usize>,
    /// The ranked words, highest score first; ties in the order of the sentence.
    pub ranking: Vec<usize>,
    /// Size of the predicted rationale: the first `k` words of the ranking. 0 without a gold rationale to compare with.
    pub k: usize,
    /// The model's tokens.
    #[serde(default)]
    pub subwords: Vec<Subword>,
    /// Explained target: the predicted tokens.
    pub target: String,
    /// Token-F1 of these words; null without gold rationale.
    pub token_f1: Option<f64>,
    /// Completeness error: |sum of attributions − (f(x) − f(baseline))| / |f(x) − f(baseline)|. Only for integrated
    /// gradients.
    pub gap: Option<f64>,
    /// Steps of the path.
    pub steps: Option<usize>,
    /// True if the error is within the tolerance; null for other methods.
    pub complete: Option<bool>,
    /// Loss of the model's probability when only the predicted rationale is left.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sufficiency: Option<f64>,
    /// Loss when the predicted rationale is masked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub comprehensiveness: Option<f64>,
    /// Frobenius norm of the least change of the predicted rationale's word embeddings that was found to change the prediction, relative to
    /// the norm of the sentence's embeddings; at most 4.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sensitivity: Option<f64>,
}

/// Share of right predictions. `n` is the number of inputs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Columns)]
pub struct AccuracyFinding {
    /// Dimension, or `all`.
    #[id]
    pub dimension: String,
    /// `original`, `perturbed`, or `all`.
    #[id]
    pub sample: String,
    /// Kind of perturbation, or `all`; only originals with such a partner count.
    #[id]
    pub perturbation: String,
    /// Share of inputs whose first answer is right.
    pub top1: Estimate,
    /// Share of inputs with a right answer among the first three.
    pub top3: Estimate,
    /// Of the partners of one kind: their `top1` minus that of the originals that have such a partner.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub change: Option<Estimate>,
}

/// Agreement with people and with the perturbed form. `n` is the number of inputs behind token-F1.
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
    /// Token-F1 against the gold rationales; of originals and partners where `perturbation` is `all`, else of the
    /// partners. Null without gold rationales.
    pub token_f1: Option<Estimate>,
    /// F1 of a random ranking, computed over all rankings.
    pub random_f1: Option<Estimate>,
    /// `token_f1` minus `random_f1`, paired by input; absent if one of them is missing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub f1_above: Option<Estimate>,
    /// Mean average precision of the partners' rankings; null without partners.
    pub map: Option<Estimate>,
    /// MAP of random rankings.
    pub random_map: Option<Estimate>,
    /// Mean correlation of aligned scores, over pairs with p < .05.
    pub pcc: Option<Estimate>,
    /// Mean correlation over all pairs; the filter by p keeps only the high ones.
    pub pcc_all: Option<Estimate>,
    /// Pairs with p < .05.
    pub pcc_kept: usize,
    /// Pairs for which a correlation is computed.
    pub pcc_total: usize,
    /// Pairs without a correlation: constant scores, or fewer than three words.
    pub pcc_undefined: usize,
    /// MAP over the pairs for which PCC is suitable (all but syntactic transformations).
    pub map_star: Option<Estimate>,
    /// The absolute value of `f1_delta_signed`.
    pub f1_delta: Option<Estimate>,
    /// Mean F1 of the originals that have such a partner minus mean F1 of the partners.
    pub f1_delta_signed: Option<Estimate>,
    /// Mean absolute difference pair by pair.
    pub f1_delta_pairs: Option<Estimate>,
    /// Mean share of the words in the gold rationale, over these inputs; the ratio that sets K is that of the
    /// dimension's originals, in the finding `data`.
    pub ratio: Option<f64>,
    /// Loss of probability when only the predicted rationale is left; null if not requested.
    pub sufficiency: Option<Estimate>,
    /// Loss without the predicted rationale.
    pub comprehensiveness: Option<Estimate>,
    /// Mean relative change of the predicted rationale that changes the prediction (after Yin et al. 2022); low where
    /// the prediction rests on it. Absent if not requested.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sensitivity: Option<Estimate>,
    /// Mean over originals of the lowest MAP among the partners with the same prediction (after Yin et al. 2022).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stability: Option<Estimate>,
    /// Pairs of an original and a partner.
    pub pairs: usize,
    /// Partners that could not be asked.
    pub missing: usize,
    /// Originals, the units of the intervals.
    pub originals: usize,
    /// Rows of integrated gradients that miss the tolerance.
    pub incomplete: usize,
}

/// Correctness of a model's answers to the inputs of a part.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Answers {
    /// All are right.
    Right,
    /// All are wrong.
    Wrong,
    /// One answer of a pair is right and the other is wrong.
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

/// The scores of `interpretability`, split by whether the model's first answer is right. `n` counts inputs; for
/// `changed` it counts pairs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Columns)]
pub struct CorrectnessFinding {
    /// `right` or `wrong`: inputs that are answered so, and pairs in which both are. `changed`: pairs in which one of the two is right.
    #[id]
    pub answers: Answers,
    /// In `right`: token-F1 above chance minus that of the inputs that are answered wrong, by Student's t over originals.
    pub f1_gap: Option<Estimate>,
    /// Two-sided p-value of `f1_gap`, by Student's t over originals.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub f1_gap_p: Option<f64>,
    /// In `right`: MAP above chance minus that of the pairs that are answered wrong.
    pub map_gap: Option<Estimate>,
    #[serde(flatten)]
    pub numbers: InterpretabilityFinding,
}

impl CorrectnessFinding {
    /// True for the difference that is tested: right against wrong answers, of a method over all dimensions and perturbations.
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
    /// Least ratio.
    #[id]
    pub from: f64,
    /// Upper limit of the ratios.
    pub to: f64,
    /// Mean ratio.
    pub ratio: f64,
    /// Mean token-F1 of inputs with such a ratio.
    pub token_f1: Option<Estimate>,
    /// F1 of a random ranking, which rises with the ratio.
    pub random_f1: Option<Estimate>,
    /// MAP of the partners whose original has such a ratio; null without partners.
    pub map: Option<Estimate>,
    /// MAP of random rankings.
    pub random_map: Option<Estimate>,
    /// Originals, the units of the intervals.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub originals: Option<usize>,
}

/// Two models or two methods on the same inputs. Its model is `all`; `n` is the number of originals, which are the units.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Columns)]
pub struct DifferenceFinding {
    /// The first, for example `bert-mini attention`.
    #[id]
    pub a: String,
    /// The second.
    #[id]
    pub b: String,
    /// `token_f1`, `map`, or `top1`.
    #[id]
    pub metric: String,
    /// Mean of the first less mean of the second.
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
    /// Words that are masks or that the model does not see.
    pub excluded: Vec<usize>,
    /// Direction of attention.
    pub direction: Direction,
    /// Probabilities by layer, head and word.
    pub scores: Vec<Vec<Vec<f32>>>,
}
