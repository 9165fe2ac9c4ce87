//! Findings of the lab, one struct per kind. Shares and scores are from 0 to 1. Findings about all models have the model `all`.

use lab::{Columns, Kinds};
use serde::{Deserialize, Serialize};

use super::candidates::Candidates;
use super::consistency::Regime;
use super::ledger::Ledger;
use super::library::Source;
use super::places::Ties;
use super::spec::{Sharing, Weighting};
use stats::estimate::Estimate;

pub const ALL: &str = "all";

/// The rule of [`DisparityFinding`]: the token with the largest logit.
pub(crate) const TOP_TOKEN: &str = "top_token";

#[derive(Debug, Clone, PartialEq, Serialize, Kinds)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Kind {
    /// Models, relations and rules of the run.
    Data(DataFinding),
    /// One relation: its prompts, and its omitted facts with reasons.
    Relation(RelationFinding),
    /// A model's score with one prompt.
    #[interval]
    PromptScore(PromptScoreFinding),
    /// Spread of a model's score on a relation over prompts.
    #[interval]
    PromptPreference(PromptPreferenceFinding),
    /// Spread of a model's scores over prompts, on all relations.
    #[interval]
    PreferenceSummary(PreferenceSummaryFinding),
    /// Stability of a model's answers across the names of a subject.
    #[interval]
    Verbalization(VerbalizationFinding),
    /// A model's score averaged over prompts and mentions.
    #[interval]
    Adjusted(AdjustedFinding),
    /// Share of draws in which models keep their ranks.
    #[interval]
    RankConsistency(RankConsistencyFinding),
    /// Rank consistency against the number of averaged prompts.
    #[interval]
    RankCurve(RankCurveFinding),
    /// Parts of the gap between two models.
    #[interval]
    Ledger(LedgerFinding),
    /// The score after further pretraining on a mixture.
    #[interval]
    Disparity(DisparityFinding),
    /// A prompt found automatically, its control, and a model's scores with both.
    #[interval]
    Tuned(TunedFinding),
    /// Answers of every model to the instances of a relation with one prompt.
    Instances(InstancesFinding),
    /// One model's answer to one query, with its candidates.
    Instance(InstanceFinding),
}

/// Models, relations and rules of the run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Columns)]
pub struct DataFinding {
    /// Files and folders; empty for built-in relations.
    pub sources: Vec<Source>,
    /// Content hash of the relations (first twelve hexadecimal digits of SHA-256).
    pub data_hash: String,
    /// Relations used in the run.
    pub relations: Vec<String>,
    /// Relations left out, with reasons.
    pub left_out: Vec<(String, String)>,
    /// The models in the order of the run.
    pub models: Vec<ModelNote>,
    /// Rule for the words that count as candidate answers.
    pub candidates: Candidates,
    /// Number of words that are one token in every model, without function words.
    pub common_words: usize,
    /// Number of skipped function words.
    pub function_words: usize,
}

/// A model of the run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModelNote {
    pub name: String,
    /// Content hash: weights, configuration, tokenizer.
    pub hash: String,
    /// Form of the query: `masked`, `causal` or `denoising`.
    pub asked: String,
    /// Number of words that are single tokens in all models but this one.
    #[serde(default)]
    pub words_taken: usize,
    /// The first of these words in alphabetical order, at most 200.
    #[serde(default)]
    pub taken: Vec<String>,
}

/// Omitted objects, subjects or prompts, with the reason.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LeftOut {
    pub reason: String,
    pub count: usize,
    /// The objects, subjects or prompts.
    pub what: Vec<String>,
}

/// One relation. `n` of the finding is the number of kept instances.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Columns)]
pub struct RelationFinding {
    /// Identifier of the relation.
    #[id]
    pub relation: String,
    /// The relation, in words.
    pub label: String,
    /// 1-1, N-1 or N-M; empty if unknown.
    pub relation_kind: String,
    /// The prompts used, the original one first.
    pub prompts: Vec<String>,
    /// Number of facts in the relation.
    pub facts: usize,
    /// Number of facts queried in every model.
    pub kept: usize,
    /// Omitted facts, by reason.
    pub left_out: Vec<LeftOut>,
    /// Omitted prompts, by reason.
    pub prompts_left_out: Vec<LeftOut>,
    /// Maximum number of mentions per instance.
    pub mentions: usize,
    /// Share of each prompt in the average; empty until it is known.
    pub weights: Vec<f64>,
    /// Rule for the words that count as candidate answers; absent in recordings made by older versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub candidates: Option<Candidates>,
}

/// A model's score with one prompt and the original mentions. P@1 and P@k have intervals for proportions; MRR has a Student's t interval
/// over instances.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Columns)]
pub struct PromptScoreFinding {
    /// Identifier of the relation.
    #[id]
    pub relation: String,
    /// Text of the prompt.
    #[id]
    pub prompt: String,
    /// Index among the relation's prompts, from 0; null for a typed prompt.
    #[id]
    pub prompt_index: Option<usize>,
    /// Rule for the words that count as candidate answers.
    pub candidates: Candidates,
    /// Share of instances whose first answer is the object.
    pub p_at_1: Estimate,
    /// Share of instances with the object among the first k candidates.
    pub p_at_k: Estimate,
    /// The k of `p_at_k`.
    pub k: usize,
    /// Mean reciprocal rank, counting 0 for objects that are not candidates.
    pub mrr: Estimate,
}

/// Spread of a model's score on a relation over prompts. Intervals are based on simultaneous limits for all prompts.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Columns)]
pub struct PromptPreferenceFinding {
    /// Identifier of the relation.
    #[id]
    pub relation: String,
    /// Number of prompts.
    pub prompts: usize,
    /// Lowest P@1. The intervals of `worst`, `best` and `gap` are based on simultaneous limits for all prompts.
    pub worst: Estimate,
    /// Highest P@1.
    pub best: Estimate,
    /// Highest minus lowest P@1.
    pub gap: Estimate,
    /// Population standard deviation over prompts, without an interval (null) except in recordings made by older
    /// versions.
    pub std: Estimate,
    /// Mean over prompts.
    pub mean: Estimate,
    /// The gap with best and worst prompt selected on other instances; null for one prompt or one instance.
    pub gap_held_out: Option<f64>,
    /// Student's t interval of `gap_held_out` over the instances in one half of a split; absent in recordings made by older versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gap_held_out_interval: Option<[f64; 2]>,
    /// The gap expected from equally good prompts.
    pub gap_by_chance: Option<f64>,
    /// The range of gaps expected from equally good prompts, at the level of the intervals; absent in recordings made by older versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gap_by_chance_interval: Option<[f64; 2]>,
    /// Rule for the words that count as candidate answers; absent in recordings made by older versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub candidates: Option<Candidates>,
}

/// Prompt preference over relations, with Student's t intervals over relations. `n` is the number of relations.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Columns)]
pub struct PreferenceSummaryFinding {
    /// Number of relations.
    pub relations: usize,
    /// Share of relations with a gap above 10 points; for all models, share of model-relation pairs.
    pub over_10: Estimate,
    /// Number of relations with a gap above 10 points.
    pub relations_over_10: usize,
    /// Lowest P@1, averaged over relations. This and the other averages are null for all models together.
    pub mean_worst: Option<Estimate>,
    /// Highest P@1, averaged over relations.
    pub mean_best: Option<Estimate>,
    /// Gap, averaged over relations.
    pub mean_gap: Option<Estimate>,
    /// Standard deviation, averaged over relations.
    pub mean_std: Option<Estimate>,
    /// Mean adjusted score.
    pub mean_adjusted: Option<Estimate>,
    /// Gap with best and worst prompt selected on other instances, averaged over the relations for which it is known; absent in recordings
    /// made by older versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mean_gap_held_out: Option<Estimate>,
    /// Gap expected from equally good prompts, averaged over relations; absent in recordings made by older versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mean_gap_by_chance: Option<Estimate>,
    /// Verbalisation stability, averaged over the relations for which it is known; absent in recordings made by older versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mean_stability: Option<Estimate>,
    /// For all models together: share of relations on which the order of the models changes with the prompt.
    pub unstable: Option<Estimate>,
    /// Number of relations on which the order of the models changes with the prompt.
    pub unstable_relations: Option<usize>,
    /// Rule for the words that count as candidate answers; absent in recordings made by older versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub candidates: Option<Candidates>,
}

/// Verbalisation stability with the first prompt. `n` is `kept`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Columns)]
pub struct VerbalizationFinding {
    /// Identifier of the relation.
    #[id]
    pub relation: String,
    /// Share of the kept instances with the same answer for all mentions; null if none is kept.
    pub stability: Option<Estimate>,
    /// Number of instances with two or more mentions.
    pub kept: usize,
    /// Maximum number of mentions per instance.
    pub mentions: usize,
    /// Rule for the words that count as candidate answers; absent in recordings made by older versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub candidates: Option<Candidates>,
}

/// The score averaged over prompts and mentions, with a Student's t interval over instances.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Columns)]
pub struct AdjustedFinding {
    /// Identifier of the relation.
    #[id]
    pub relation: String,
    /// The adjusted P@1.
    pub p_at_1: Estimate,
    /// Number of averaged prompts.
    pub prompts: usize,
    /// Maximum number of averaged mentions per instance.
    pub mentions: usize,
    /// Weights: `uniform`, `user` or `perplexity`.
    pub weights: Weighting,
    /// Rule for the words that count as candidate answers; absent in recordings made by older versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub candidates: Option<Candidates>,
}

/// Rank consistency of a model, or of the whole order if the model is `all`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Columns)]
pub struct RankConsistencyFinding {
    /// `original`, `random` or `adjusted`.
    #[id]
    pub regime: Regime,
    /// Share of draws with the most frequent rank (or order). The interval is for the largest of several shares over the draws; it covers
    /// the sampling of draws, not the choice of relations. Exact if every draw was counted.
    pub consistency: Estimate,
    /// Number of draws.
    pub draws: u64,
    /// Number of relations per draw.
    pub subset: usize,
    /// Number of relations to draw from.
    pub relations: usize,
    /// Number of draws by rank, 0 the worst; for `all`, by whole order, most frequent first, at most twenty.
    pub histogram: Vec<u64>,
    /// Bin width of the histogram: 1, or 1/2 if tied models share ranks.
    pub step: f64,
    /// Rule for ranking tied scores.
    pub ties: Ties,
    /// True if every possible draw was counted.
    pub exact: bool,
    /// For `all`: the most frequent order, from worst to best.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub order: Option<Vec<String>>,
    /// For `all`: number of distinct orders.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub orders: Option<usize>,
    /// Rule for the words that count as candidate answers; absent in recordings made by older versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub candidates: Option<Candidates>,
}

/// Rank consistency of the whole order for one number of averaged prompts per relation; prompts are resampled for each draw.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Columns)]
pub struct RankCurveFinding {
    /// Number of averaged prompts.
    #[id]
    pub prompts: usize,
    /// Share of draws with the most frequent complete order of the models.
    pub consistency: Estimate,
    /// Share of draws with the most frequent rank, averaged over models.
    pub mean_place: f64,
    /// By model, in the order of the run: number of draws by rank, 0 the worst, in steps of one half if tied models share ranks; absent in
    /// recordings made by older versions.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub histograms: Vec<Vec<u64>>,
    /// Number of draws.
    pub draws: u64,
    /// Rule for the words that count as candidate answers; absent in recordings made by older versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub candidates: Option<Candidates>,
}

/// Decomposition of the gap between two models. `n` is the number of instances; intervals use Student's t over relations.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Columns)]
pub struct LedgerFinding {
    /// First model.
    #[id]
    pub a: String,
    /// Second model.
    #[id]
    pub b: String,
    /// `shared` if both models get the same prompt and mentions.
    pub draws: Sharing,
    /// Number of relations.
    pub relations: usize,
    /// Rule for the words that count as candidate answers; absent in recordings made by older versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub candidates: Option<Candidates>,
    #[serde(flatten)]
    pub parts: Ledger,
}

/// The score after further pretraining.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Columns)]
pub struct DisparityFinding {
    /// Share of sentences that state facts; null for the original model.
    #[id]
    pub gamma: Option<f64>,
    /// P@1 over all facts, with the first prompt, the usual name and the token with the largest logit.
    pub p_at_1: Estimate,
    /// Number of training steps.
    pub steps: usize,
    /// Rule for the words that count as candidate answers: `top_token`, independent of the run's rule; absent in
    /// recordings made by older versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub candidates: Option<String>,
}

/// A prompt found automatically. `n` is the number of queried instances.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Columns)]
pub struct TunedFinding {
    /// Identifier of the relation.
    #[id]
    pub relation: String,
    /// Name of the prompt: `tuned 1` and so on.
    #[id]
    pub name: String,
    /// Text of the prompt.
    pub prompt: String,
    /// Prompt with the same number of random words, from which the search started.
    pub control: String,
    /// The model for which the prompt was found.
    pub found_for: String,
    /// P@1 with this prompt and the usual name.
    pub p_at_1: Estimate,
    /// P@1 with the control.
    pub control_p_at_1: Estimate,
    /// P@1 with the relation's first prompt.
    pub first_p_at_1: Estimate,
    /// Best minus worst P@1 over the written prompts.
    pub gap_written: Option<f64>,
    /// Best minus worst P@1 over written and found prompts.
    pub gap_all: Option<f64>,
    /// Verbalisation stability with this prompt.
    pub stability: Option<Estimate>,
    /// Verbalisation stability with the first prompt.
    pub first_stability: Option<Estimate>,
    /// Subjects of the facts used in the search; these facts are not queried.
    pub subjects: Vec<String>,
    /// Share of the queried facts whose object also occurs in a fact used in the search.
    pub objects_seen: f64,
    /// Mean of -log P(object) over the facts used in the search, at the start and after each replaced word.
    pub losses: Vec<f64>,
    /// Number of search rounds.
    pub rounds: usize,
    /// Rule for the words that count as candidate answers.
    pub candidates: Candidates,
}

/// Answers of every model to one prompt with the original mentions.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Columns)]
pub struct InstancesFinding {
    /// Identifier of the relation.
    #[id]
    pub relation: String,
    /// Text of the prompt.
    #[id]
    pub prompt: String,
    /// The models, in the order of the answers.
    pub models: Vec<String>,
    /// The queried instances.
    pub rows: Vec<InstanceRow>,
    /// The omitted instances, with reasons.
    pub left_out: Vec<(String, String)>,
    /// Rule for the words that count as candidate answers; absent in recordings made by older versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub candidates: Option<Candidates>,
}

/// All models' answers to one instance.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct InstanceRow {
    /// Names used for the subject, the usual one first.
    pub mentions: Vec<String>,
    pub object: String,
    /// By model: the answer, and whether it is the object.
    pub said: Vec<(String, bool)>,
    /// By model: whether the answer is the same for every name; empty for a single name, for a typed prompt, and in recordings made by
    /// older versions.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub stable: Vec<bool>,
}

/// One model's answer to one query.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Columns)]
pub struct InstanceFinding {
    /// Identifier of the relation.
    #[id]
    pub relation: String,
    /// Text of the prompt.
    #[id]
    pub prompt: String,
    /// Name used for the subject.
    #[id]
    pub mention: String,
    /// The right answer.
    #[id]
    pub object: String,
    /// Input of the model.
    pub text: String,
    /// The best tokens with their probabilities; tokens skipped as function words are marked.
    pub top: Vec<TopToken>,
    /// The answer.
    pub said: String,
    /// True if the answer is the object.
    pub right: bool,
    /// Rank of the object among the candidates, from 1.
    pub rank: Option<u32>,
    /// Rule for the words that count as candidate answers; absent in recordings made by older versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub candidates: Option<Candidates>,
}

/// A token with its probability.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TopToken {
    /// The token as text.
    pub text: String,
    /// Probability over the whole vocabulary.
    pub probability: f64,
    /// True if the token is skipped.
    pub passed: bool,
}
