//! Findings of the lab: one struct a kind. The upper end of an interval may be missing (no number of items is enough);
//! it is null then.

use lab::interval::{is_few, two_values};
use lab::{Columns, Kinds};
use serde::{Deserialize, Serialize};

use super::plan::Hypothesis;
use super::tally::Tally;
use super::tasks::{FlipFinding, PooledFinding, TaskFinding};
use stats::estimate::Estimate;
use stats::mcnemar::Test;

/// The kinds of finding.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Kinds)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Kind {
    /// One side of the comparison at one size of training data.
    #[interval]
    Configuration(ConfigurationFinding),
    /// Both sides on the same items.
    #[interval]
    Comparison(ComparisonFinding),
    /// Power at a number of items, estimated from the pilot.
    #[interval]
    Power(PowerFinding),
    /// Number of items needed.
    #[interval]
    Required(RequiredFinding),
    /// Reasons why the comparison is too weak to recommend a number of items.
    Collapse(CollapseFinding),
    /// The test that is valid at any time.
    #[interval]
    Sequential(SequentialFinding),
    /// Accuracy compared with the bound.
    Margin(MarginFinding),
    /// Item counts, kept so that other settings of the test can be evaluated without the items or a model.
    Tally(TallyFinding),
    /// Code length of the labels given the encoder's vectors.
    Mdl(MdlFinding),
    /// The share of random labels that a probe memorises.
    Control(ControlFinding),
    /// Accuracy that the probes lack by optimisation and by data.
    #[interval]
    Shortfall(ShortfallFinding),
    /// The comparison with more or less noise on the second side.
    #[interval]
    Noise(NoiseFinding),
    /// Baselines from surface features of the sentences.
    #[interval]
    Baseline(BaselineFinding),
    /// Both sides on one task of two folders of results.
    #[interval]
    Task(TaskFinding),
    /// The difference over all tasks of two folders.
    #[interval]
    Pooled(PooledFinding),
    /// An item of results on which the sides differ.
    Flip(FlipFinding),
}

/// One side of the comparison at one size of training data. `n` of the finding is the number of test items.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Columns)]
pub struct ConfigurationFinding {
    /// Its name in the comparison.
    pub name: String,
    /// `a` or `b`.
    #[id]
    pub side: String,
    /// Task of the side.
    pub task: String,
    /// The model, or the file of results.
    pub encoder: String,
    /// Layer, 0 for the embeddings; null if the results are from a file.
    pub layer: Option<usize>,
    /// Classifier of the vectors; for results from a file, the metric.
    pub classifier: String,
    /// Training examples.
    #[id]
    pub n_train: usize,
    /// Mean over the seeds, with the interval over test items.
    pub accuracy: Estimate,
    /// Standard deviation over the seeds; null with a single one.
    pub sd: Option<f64>,
    /// Share of the most frequent class among the test items; null if unknown.
    pub majority: Option<f64>,
    /// Number of runs, each with a different seed.
    pub seeds: usize,
    /// Sentences that are longer than an encoder of them reads: left out, cut or read in windows, as the spec says.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub long: usize,
}

fn is_zero(count: &usize) -> bool {
    *count == 0
}

/// Both sides on the same items.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Columns)]
pub struct ComparisonFinding {
    /// Name of the first.
    #[id]
    pub a: String,
    /// Name of the second.
    #[id]
    pub b: String,
    /// Name of the metric.
    #[id]
    pub metric: String,
    /// Items that both get right, summed over seeds; null for metrics that are not 0 or 1.
    pub both: Option<u64>,
    /// Items that only the first gets right.
    pub only_a: Option<u64>,
    /// Items that only the second gets right.
    pub only_b: Option<u64>,
    /// Items that neither gets right.
    pub neither: Option<u64>,
    /// Mean of the first minus mean of the second.
    pub difference: Estimate,
    /// Exact McNemar; with several seeds twice the median of theirs, at most 1.
    pub exact_p: Option<f64>,
    /// McNemar's mid-p-value; with several seeds twice the median of theirs. Absent in older recordings.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mid_p: Option<f64>,
    /// McNemar's p-value by χ² without correction; with several seeds twice the median of theirs.
    pub chi2_p: Option<f64>,
    /// McNemar's p-value by χ² with continuity correction; with several seeds twice the median of theirs.
    pub corrected_p: Option<f64>,
    /// p-value of Student's t on the differences of items, or of clusters. For right and wrong never below the probability that all
    /// units that differ favour one side.
    pub(crate) t_p: Option<f64>,
    /// The p-value of the test named in `test`.
    pub p: f64,
    /// That p-value with Holm's correction over all comparisons in the run.
    pub holm_p: f64,
    /// The same by Benjamini and Hochberg.
    pub bh_q: f64,
    /// Number of comparisons in the adjustment.
    pub family: usize,
    /// Items that become right from the first to the second.
    pub wrong_to_right: Option<u64>,
    /// Items that become wrong from the first to the second.
    pub right_to_wrong: Option<u64>,
    /// The margin of equivalence.
    pub margin: f64,
    /// p-value of equivalence within the margin.
    pub equivalence_p: f64,
    /// That p-value adjusted with those of the differences, if it is small enough for a claim; absent in findings of
    /// older programs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub equivalence_holm_p: Option<f64>,
    /// While more items are to come: the p-value that is valid at any time, if items are the steps of the sequential test.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub anytime_p: Option<f64>,
    /// The test that counts, and how the interval was made.
    pub test: String,
    /// True if a plan fixed it before any result was seen.
    #[serde(default)]
    pub planned: bool,
    /// Hypothesis of the plan; absent if it is not planned.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hypothesis: Option<Hypothesis>,
    /// Number of runs of each side, each with a different seed.
    pub seeds: usize,
    /// Standard deviation of the difference over the seeds; absent with a single one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seed_sd: Option<f64>,
    /// Number of clusters that items belong to; absent if items are independent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clusters: Option<usize>,
    /// True if the sides have different items, as two tasks have: the test is then Welch's unpaired t.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub unpaired: bool,
    /// Clusters, or items under several seeds, in which the sides differ; absent if an item is right or wrong once, and
    /// for other metrics.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub differing: Option<usize>,
    /// True if the interval of `difference` is a bound: all units have the same difference and show no spread.
    #[serde(default)]
    pub bound: bool,
    /// Percentile interval of the difference by resampling items or clusters, for metrics that are not 0 or 1, several seeds, and
    /// items that belong together.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bootstrap: Option<Estimate>,
}

/// A number with an interval that may have no end.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Open {
    /// The estimate; null if no number is enough.
    pub mean: Option<f64>,
    /// Lower end.
    pub lo: Option<f64>,
    /// Upper end.
    pub hi: Option<f64>,
}

/// Power at a number of items, estimated from the pilot.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Columns)]
pub struct PowerFinding {
    /// Name of the first.
    pub a: String,
    /// Name of the second.
    pub b: String,
    /// Number of items.
    #[id]
    pub at_n: u64,
    /// Power, with the interval from the pilot's uncertainty.
    pub power: Estimate,
    /// Mean exaggeration of a significant difference, if the true one is at the near end of its interval. Absent if the
    /// interval contains 0, or one side won no item.
    pub type_m: Option<f64>,
    /// Share of significant differences with the wrong sign, likewise.
    pub type_s: Option<f64>,
    /// The McNemar test whose power this is.
    pub test: Test,
    /// True for the power of Student's paired t: over clusters, for metrics that are not 0 or 1, and for two sets of
    /// items.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub student: bool,
}

/// Number of items needed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Columns)]
pub struct RequiredFinding {
    /// Name of the first.
    pub a: String,
    /// Name of the second.
    pub b: String,
    /// Wanted power.
    pub target: f64,
    /// Level of the test.
    pub alpha: f64,
    /// Test items for the wanted power.
    pub n_test: Open,
    /// The smallest difference that these items would show with the wanted power; null if even the largest would not.
    pub mde: Option<f64>,
    /// Power with the current items.
    pub power: f64,
    /// Power with the current items, with the interval from the pilot.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub band: Option<Estimate>,
    /// Design effect of clusters: variance of the difference relative to that of the same number of independent items.
    /// Power is then that of Student's t over clusters.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub design: Option<f64>,
    /// Training examples of the probes; absent if results are from files.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[id]
    pub trained: Option<u64>,
    /// Training examples by the bound; null if the difference is too small for one.
    pub n_train: Option<u64>,
    /// Total number of examples at the ratio of the split.
    pub n_total: Option<u64>,
    /// The bound; null if the results are from files, whose classifiers are unknown.
    pub bound: Option<String>,
    /// Parameters as the bound counts them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parameters: Option<u64>,
}

/// Reasons why the comparison is too weak to recommend a number of items.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Columns)]
pub struct CollapseFinding {
    /// Name of the first.
    pub a: String,
    /// Name of the second.
    pub b: String,
    /// True if no number of items should be recommended.
    pub collapsed: bool,
    /// Reasons for a collapse.
    pub reasons: Vec<String>,
}

/// The sequential test, valid at any time, after `at_n` items in an order drawn by the seed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Columns)]
pub struct SequentialFinding {
    /// Name of the first.
    pub a: String,
    /// Name of the second.
    pub b: String,
    /// Items seen.
    #[id]
    pub at_n: u64,
    /// The e-value; null if it overflows.
    pub e_value: Option<f64>,
    /// Logarithm of the e-value.
    pub log_e: f64,
    /// Lower end of the confidence sequence of the share of discordant items that favour the first.
    pub lo: f64,
    /// Upper end of the confidence sequence.
    pub hi: f64,
    /// Observed share of discordant items that favour the first; absent before the first one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub share: Option<f64>,
    /// True if the largest e-value so far allows to stop.
    pub may_stop: bool,
    /// Largest logarithm of the e-value so far.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub largest: Option<f64>,
    /// True for the decision of a plan that stops early: the first step at which it may stop or, if there is none, the
    /// plan's last.
    #[serde(default)]
    pub planned: bool,
}

/// Counts of the first items in the order drawn by the seed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Columns)]
pub struct TallyFinding {
    /// Name of the first.
    pub a: String,
    /// Name of the second.
    pub b: String,
    /// Name of the metric.
    #[id]
    pub metric: String,
    /// Counts of the items.
    pub tally: Tally,
}

/// Code length of the labels given the encoder's vectors (Voita and Titov 2020). `n` of the finding is the number of
/// coded examples.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Columns)]
pub struct MdlFinding {
    /// Name of the side.
    pub name: String,
    /// `a` or `b`.
    #[id]
    pub side: String,
    /// The code: `prequential` or `variational`.
    #[id]
    pub method: String,
    /// Total bits: the mean over the seeds.
    pub codelength: f64,
    /// Standard deviation over the seeds (orders of the examples, or searches); absent with a single one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sd: Option<f64>,
    /// Number of codes, each with a different seed.
    pub seeds: usize,
    /// Bits of a uniform code.
    pub uniform: f64,
    /// Length of the uniform code divided by this one.
    pub compression: f64,
    /// With the prequential code of `b`: training examples that the bound recommends for its difference from `a` (Zhu
    /// et al. 2022, equation 3, in bits per example, losses clipped at 10 bits).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub n_train: Option<u64>,
}

/// Share of random labels of its training sentences that the probe learns, dealt by their hashes and as balanced as the task's. Control-task
/// selectivity (Hewitt and Liang 2019) is not defined here: its labels belong to word types, which training and test share; sentences have
/// no types, so that accuracy on other sentences would be chance by construction.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Columns)]
pub struct ControlFinding {
    /// Name of the side.
    pub name: String,
    /// `a` or `b`.
    #[id]
    pub side: String,
    /// Training examples.
    pub at_n: u64,
    /// Share of the random labels of the training sentences that the probe has memorised.
    pub memorised: f64,
}

/// The accuracy that a side's probes lack at one size of training data, in two parts (Zhu et al. 2022, section D.1 and Figure 12): from the
/// trained probe to the best one on its training examples, and from that to the best one of all. The best of all is not known; the best one on
/// the training examples of the largest size takes its place. `n` of the finding is the number of test items, those of the largest size.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Columns)]
pub struct ShortfallFinding {
    /// Name of the side.
    pub name: String,
    /// `a` or `b`.
    #[id]
    pub side: String,
    /// Training examples.
    #[id]
    pub at_n: u64,
    /// Origin of the best probe on the training examples: `solved`, or the `seed` with the lowest training loss.
    pub optimum: String,
    /// Its accuracy minus the mean accuracy of the trained probes. Negative if early stopping generalises better.
    pub optimisation: Estimate,
    /// Accuracy of the best one at the largest size minus that of this size; absent at the largest.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data: Option<Estimate>,
    /// Standard deviation over seeds of the part due to optimisation; absent with a single seed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sd: Option<f64>,
    /// Number of trainings, each with a different seed.
    pub seeds: usize,
}

impl ShortfallFinding {
    /// The part due to optimisation of each of two trainings, which are too few for an interval.
    pub(crate) fn values(&self) -> Option<[f64; 2]> {
        self.sd.filter(|_| is_few(self.seeds)).map(|sd| two_values(self.optimisation.mean, sd))
    }
}

/// The comparison with noise of a standard deviation on the second side (Zhu et al. 2022, Figure 3).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Columns)]
pub struct NoiseFinding {
    /// Name of the first.
    pub a: String,
    /// Name of the second, with this noise.
    pub b: String,
    /// Standard deviation of the noise.
    #[id]
    pub(crate) sigma: f64,
    /// True for the comparison of the spec itself, repeated so that the curve is complete.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub own: bool,
    /// Training examples.
    pub n_train: u64,
    /// Test items.
    #[id]
    pub at_n: u64,
    /// Mean of the first minus mean of the second.
    pub difference: Estimate,
    /// The p-value of the comparison.
    pub p: f64,
    /// The test that decides.
    pub test: String,
    /// Power at that number of items, with its interval.
    pub power: Estimate,
}

/// Baselines from surface features of the sentences: the majority class, the bag of words, the number of words or the
/// first word, learned from the same sentences as the probes ([`corpus::shortcuts`]). `n` of the finding is the number
/// of test sentences, the probes' own.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Columns)]
pub struct BaselineFinding {
    /// Name of the baseline.
    #[id]
    pub name: String,
    /// The side whose task it answers, `a` or `b`; absent if both have the same.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[id]
    pub side: Option<String>,
    /// Training examples.
    #[id]
    pub at_n: u64,
    /// Its accuracy, with the interval of a share.
    pub accuracy: Estimate,
}

/// Accuracy compared with the bound.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Columns)]
pub struct MarginFinding {
    /// Name of the side.
    #[id]
    pub name: String,
    /// Training examples.
    #[id]
    pub at_n: u64,
    /// Mean accuracy over the seeds.
    pub accuracy: f64,
    /// Its standard deviation over the seeds; null with a single one.
    pub sd: Option<f64>,
    /// Excess risk that the bound allows.
    pub epsilon: f64,
}
