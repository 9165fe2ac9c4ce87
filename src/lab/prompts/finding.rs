//! Findings of the lab: one struct per kind. Shares and scores are 0 to 1; a finding about all models has `all` as its
//! model.

use lab::{Columns, Kinds};
use serde::{Deserialize, Serialize};

use super::candidates::Candidates;
use super::consistency::Regime;
use super::ledger::Ledger;
use super::library::Source;
use super::places::Ties;
use super::spec::{Sharing, Weighting};
use stats::estimate::Estimate;

/// The model of findings about all models together.
pub const ALL: &str = "all";

/// The rule of [`DisparityFinding`]: the token with the largest logit, whatever it is.
pub(crate) const TOP_TOKEN: &str = "top_token";

/// The kinds of finding.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Kinds)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Kind {
    /// Models and questions.
    Data(DataFinding),
    /// One relation: its prompts, and which of its facts are left out and why.
    Relation(RelationFinding),
    /// A model's score under one prompt.
    #[interval]
    PromptScore(PromptScoreFinding),
    /// Spread of a model's score on a relation over prompts.
    #[interval]
    PromptPreference(PromptPreferenceFinding),
    /// The same over all relations.
    #[interval]
    PreferenceSummary(PreferenceSummaryFinding),
    /// Stability of a model's answers over the names of a subject.
    #[interval]
    Verbalization(VerbalizationFinding),
    /// A model's score averaged over prompts and mentions.
    #[interval]
    Adjusted(AdjustedFinding),
    /// Share of draws in which models keep their ranks.
    #[interval]
    RankConsistency(RankConsistencyFinding),
    /// The same against the number of prompts that are averaged.
    #[interval]
    RankCurve(RankCurveFinding),
    /// Parts of the gap between two models.
    #[interval]
    Ledger(LedgerFinding),
    /// The score after further pretraining on a mixture.
    #[interval]
    Disparity(DisparityFinding),
    /// A prompt that was found automatically, its control, and a model's scores under both.
    #[interval]
    Tuned(TunedFinding),
    /// Answers of every model to the instances of a relation under one prompt.
    Instances(InstancesFinding),
    /// One model's answer to one query, with its candidates.
    Instance(InstanceFinding),
}

/// Models and questions.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Columns)]
pub struct DataFinding {
    /// Files and folders; empty if the relations are built in.
    pub sources: Vec<Source>,
    /// Content hash of the relations (first twelve hexadecimal digits of SHA-256).
    pub data_hash: String,
    /// Relations that are asked.
    pub relations: Vec<String>,
    /// Relations left out, with the reason.
    pub left_out: Vec<(String, String)>,
    /// The models in the order of the run.
    pub models: Vec<ModelNote>,
    /// Which words count as candidate answers.
    pub candidates: Candidates,
    /// Words that are one token in every model, function words left out.
    pub common_words: usize,
    /// Function words that are skipped.
    pub function_words: usize,
}

/// A model of the run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModelNote {
    pub name: String,
    /// Content hash: weights, configuration, tokenizer.
    pub hash: String,
    /// Form of the question: `masked`, `causal` or `denoising`.
    pub asked: String,
    /// Number of words that only this model lacks: without it the models would share these too.
    #[serde(default)]
    pub words_taken: usize,
    /// The first of them in alphabetical order, at most 200.
    #[serde(default)]
    pub taken: Vec<String>,
}

/// Something that is left out, and why.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LeftOut {
    pub reason: String,
    pub count: usize,
    /// The objects, subjects or prompts.
    pub what: Vec<String>,
}

/// One relation. `n` of the finding is the number of instances that are kept.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Columns)]
pub struct RelationFinding {
    /// Its identifier.
    #[id]
    pub relation: String,
    /// The relation, in words.
    pub label: String,
    /// 1-1, N-1 or N-M; empty if unknown.
    pub relation_kind: String,
    /// The prompts that are asked, the original one first.
    pub prompts: Vec<String>,
    /// Facts of the relation.
    pub facts: usize,
    /// Facts asked of every model.
    pub kept: usize,
    /// Facts that are not asked, by reason.
    pub left_out: Vec<LeftOut>,
    /// Prompts that are not asked, by reason.
    pub prompts_left_out: Vec<LeftOut>,
    /// The most mentions of any instance.
    pub mentions: usize,
    /// Share of each prompt in the average; empty until it is known.
    pub weights: Vec<f64>,
    /// Which words count as candidate answers; absent in older recordings.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub candidates: Option<Candidates>,
}

/// A model's score under one prompt, original mentions. Intervals: those of shares for P@1 and P@k, Student's t over instances for MRR.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Columns)]
pub struct PromptScoreFinding {
    /// Identifier of the relation.
    #[id]
    pub relation: String,
    /// Text of the prompt.
    #[id]
    pub prompt: String,
    /// Its place among the relation's prompts, from 0; null for one that was typed.
    #[id]
    pub prompt_index: Option<usize>,
    /// Which words count as candidate answers.
    pub candidates: Candidates,
    /// Share of instances whose first answer is the object.
    pub p_at_1: Estimate,
    /// Share of instances with the object among the first k candidates.
    pub p_at_k: Estimate,
    /// The k of `p_at_k`.
    pub k: usize,
    /// Mean reciprocal rank; 0 where the object is not a candidate.
    pub mrr: Estimate,
}

/// Spread of a model's score on a relation over prompts. Intervals from limits that hold for all prompts at once.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Columns)]
pub struct PromptPreferenceFinding {
    /// Identifier of the relation.
    #[id]
    pub relation: String,
    /// Number of prompts.
    pub prompts: usize,
    /// Lowest P@1. Its interval, like those of the highest and the gap, is by limits that hold for all prompts at once.
    pub worst: Estimate,
    /// Highest P@1.
    pub best: Estimate,
    /// Highest minus lowest P@1.
    pub gap: Estimate,
    /// Population standard deviation over prompts; it has no interval (null), except in recordings of older programs.
    pub std: Estimate,
    /// Mean over prompts.
    pub mean: Estimate,
    /// The gap with best and worst chosen on other instances; null for one prompt or one instance.
    pub gap_held_out: Option<f64>,
    /// Its interval by Student's t over the instances of one half; absent in older recordings.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gap_held_out_interval: Option<[f64; 2]>,
    /// The gap that equally good prompts would show.
    pub gap_by_chance: Option<f64>,
    /// The range of gaps of equally good prompts, at the level of the intervals; absent in older recordings.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gap_by_chance_interval: Option<[f64; 2]>,
    /// Which words count as candidate answers; absent in older recordings.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub candidates: Option<Candidates>,
}

/// Prompt preference over relations. Intervals by Student's t over relations. `n` is the number of relations.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Columns)]
pub struct PreferenceSummaryFinding {
    /// Number of relations.
    pub relations: usize,
    /// Share of relations with a gap above 10 points; for all models, of all pairs of model and relation.
    pub over_10: Estimate,
    /// Number of relations with a gap above 10 points.
    pub relations_over_10: usize,
    /// Mean over relations of the lowest P@1; null for all models together, like the following.
    pub mean_worst: Option<Estimate>,
    /// Mean over relations of the highest P@1.
    pub mean_best: Option<Estimate>,
    /// Mean over relations of the gap.
    pub mean_gap: Option<Estimate>,
    /// Mean over relations of the standard deviation.
    pub mean_std: Option<Estimate>,
    /// Mean adjusted score.
    pub mean_adjusted: Option<Estimate>,
    /// Mean of the gap with best and worst chosen on other instances, over the relations that have one; absent in older
    /// recordings.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mean_gap_held_out: Option<Estimate>,
    /// Mean of the gap that equally good prompts would show; absent in older recordings.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mean_gap_by_chance: Option<Estimate>,
    /// Mean of the verbalisation stability, over the relations that have one; absent in older recordings.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mean_stability: Option<Estimate>,
    /// For all models together: share of relations on which the order of the models changes with the prompt.
    pub unstable: Option<Estimate>,
    /// Number of relations on which the order of the models changes with the prompt.
    pub unstable_relations: Option<usize>,
    /// Which words count as candidate answers; absent in older recordings.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub candidates: Option<Candidates>,
}

/// Verbalisation stability, first prompt. `n` is `kept`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Columns)]
pub struct VerbalizationFinding {
    /// Identifier of the relation.
    #[id]
    pub relation: String,
    /// Share of the kept instances with one answer under all mentions; null if none is kept.
    pub stability: Option<Estimate>,
    /// Instances with two or more mentions.
    pub kept: usize,
    /// Mentions at most.
    pub mentions: usize,
    /// Which words count as candidate answers; absent in older recordings.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub candidates: Option<Candidates>,
}

/// The score averaged over prompts and mentions. Interval by Student's t over instances.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Columns)]
pub struct AdjustedFinding {
    /// Identifier of the relation.
    #[id]
    pub relation: String,
    /// The adjusted P@1.
    pub p_at_1: Estimate,
    /// Prompts that are averaged.
    pub prompts: usize,
    /// The most mentions of an instance that are averaged.
    pub mentions: usize,
    /// Kind of the weights: `uniform`, `user` or `perplexity`.
    pub weights: Weighting,
    /// Which words count as candidate answers; absent in older recordings.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub candidates: Option<Candidates>,
}

/// Rank consistency of a model, or of the whole order where the model is `all`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Columns)]
pub struct RankConsistencyFinding {
    /// `original`, `random` or `adjusted`.
    #[id]
    pub regime: Regime,
    /// Share of the most frequent place (of the most frequent order). Interval of the largest of several shares, over
    /// the draws: it covers the sampling of draws, not the choice of relations. Exact where every draw was counted.
    pub consistency: Estimate,
    /// Number of draws.
    pub draws: u64,
    /// Relations of a draw.
    pub subset: usize,
    /// Relations that were drawn from.
    pub relations: usize,
    /// Draws by place, 0 the worst; for `all` by whole order, the most frequent first, at most twenty.
    pub histogram: Vec<u64>,
    /// Width of a bin of the histogram: 1, or 1/2 if ties share places.
    pub step: f64,
    /// Places of equal scores.
    pub ties: Ties,
    /// True if every possible draw was counted.
    pub exact: bool,
    /// For `all`: the most frequent order, worst to best.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub order: Option<Vec<String>>,
    /// For `all`: number of different orders.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub orders: Option<usize>,
    /// Which words count as candidate answers; absent in older recordings.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub candidates: Option<Candidates>,
}

/// Rank consistency of the whole order by the number of prompts averaged in a relation, drawn anew for each draw.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Columns)]
pub struct RankCurveFinding {
    /// Prompts that are averaged.
    #[id]
    pub prompts: usize,
    /// Share of the most frequent whole order.
    pub consistency: Estimate,
    /// Mean over models of the share of the most frequent place.
    pub mean_place: f64,
    /// By model, in the order of the run: draws by place, 0 the worst, or by half places where ties share them; absent
    /// in older recordings.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub histograms: Vec<Vec<u64>>,
    /// Number of draws.
    pub draws: u64,
    /// Which words count as candidate answers; absent in older recordings.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub candidates: Option<Candidates>,
}

/// The gap of two models split. `n` is the number of instances; the intervals are by Student's t over relations.
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
    /// Which words count as candidate answers; absent in older recordings.
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
    /// P@1 over all facts: first prompt, usual name, the token with the largest logit.
    pub p_at_1: Estimate,
    /// Steps of training.
    pub steps: usize,
    /// Which words count as candidate answers: `top_token`, whatever the rule of the run; absent in older recordings.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub candidates: Option<String>,
}

/// A prompt that was found automatically. `n` is the number of instances that are asked.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Columns)]
pub struct TunedFinding {
    /// Identifier of the relation.
    #[id]
    pub relation: String,
    /// Its name: `tuned 1` and so on.
    #[id]
    pub name: String,
    /// Its text.
    pub prompt: String,
    /// Random words of the same number, from which the search started.
    pub control: String,
    /// The model that it was found for.
    pub found_for: String,
    /// P@1 under it, usual name.
    pub p_at_1: Estimate,
    /// P@1 under its control.
    pub control_p_at_1: Estimate,
    /// P@1 under the relation's first prompt.
    pub first_p_at_1: Estimate,
    /// Best minus worst P@1 over the prompts that were not found.
    pub gap_written: Option<f64>,
    /// The same with all that were found.
    pub gap_all: Option<f64>,
    /// Verbalisation stability under it.
    pub stability: Option<Estimate>,
    /// Verbalisation stability under the first prompt.
    pub first_stability: Option<Estimate>,
    /// Subjects of the facts used in the search; none of them is asked.
    pub subjects: Vec<String>,
    /// Share of the asked facts whose object is also the object of a fact used in the search.
    pub objects_seen: f64,
    /// Mean of -log P(object) on those facts, at the start and after each replaced word.
    pub losses: Vec<f64>,
    /// Rounds of the search.
    pub rounds: usize,
    /// Which words count as candidate answers.
    pub candidates: Candidates,
}

/// Answers of every model under one prompt, original mentions.
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
    /// The instances that are asked.
    pub rows: Vec<InstanceRow>,
    /// The others, with the reason.
    pub left_out: Vec<(String, String)>,
    /// Which words count as candidate answers; absent in older recordings.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub candidates: Option<Candidates>,
}

/// Answers about one instance.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct InstanceRow {
    /// The names under which its subject is asked for, the usual one first.
    pub mentions: Vec<String>,
    pub object: String,
    /// By model: what was said, and whether it is the object.
    pub said: Vec<(String, bool)>,
    /// By model: whether it says the same under every name; empty where there is one name, under a prompt that was
    /// typed, and in older recordings.
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
    /// Name of the subject that was used.
    #[id]
    pub mention: String,
    /// The right answer.
    #[id]
    pub object: String,
    /// Input of the model.
    pub text: String,
    /// Its best tokens with their probabilities, and whether they are passed over as function words.
    pub top: Vec<TopToken>,
    /// Its answer.
    pub said: String,
    /// True if that is the object.
    pub right: bool,
    /// Place of the object among the candidates, from 1.
    pub rank: Option<u32>,
    /// Which words count as candidate answers; absent in older recordings.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub candidates: Option<Candidates>,
}

/// A token with its probability.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TopToken {
    /// The token as text.
    pub text: String,
    /// Its probability over the whole vocabulary.
    pub probability: f64,
    /// True if it is passed over.
    pub passed: bool,
}
