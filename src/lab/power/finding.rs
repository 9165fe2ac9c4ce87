//! Findings of the lab, one struct per kind. If no number of items is enough, the upper end of an interval is null.

use lab::interval::{is_few, two_values};
use lab::{Columns, Kinds};
use serde::{Deserialize, Serialize};

use super::plan::Hypothesis;
use super::tally::Tally;
use super::tasks::{FlipFinding, PooledFinding, TaskFinding};
use stats::estimate::Estimate;
use stats::mcnemar::Test;

#[derive(Debug, Clone, PartialEq, Serialize, Kinds)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Kind {
    /// One side of the comparison at one size of training data.
    #[interval]
    Configuration(ConfigurationFinding),
    /// The comparison of both sides on the same items.
    #[interval]
    Comparison(ComparisonFinding),
    /// Power at a number of items, estimated from the pilot.
    #[interval]
    Power(PowerFinding),
    /// Number of items needed.
    #[interval]
    Required(RequiredFinding),
    /// States whether the comparison is too weak to recommend a number of items, with reasons.
    Collapse(CollapseFinding),
    /// The sequential test, valid at any time.
    #[interval]
    Sequential(SequentialFinding),
    /// Accuracy of a side, with the excess risk that the bound allows.
    Margin(MarginFinding),
    /// Item counts, kept so that other settings of the test can be evaluated without the items or a model.
    Tally(TallyFinding),
    /// Code length of the labels given the encoder's vectors.
    Mdl(MdlFinding),
    /// The share of random labels that a probe memorises.
    Control(ControlFinding),
    /// Accuracy lost by the probes through optimisation and through lack of data.
    #[interval]
    Shortfall(ShortfallFinding),
    /// The comparison with noise of a given strength on the second side.
    #[interval]
    Noise(NoiseFinding),
    /// Baselines from surface features of the sentences.
    #[interval]
    Baseline(BaselineFinding),
    /// Results of both sides on a task that two folders of results share.
    #[interval]
    Task(TaskFinding),
    /// The difference over all tasks of two folders.
    #[interval]
    Pooled(PooledFinding),
    /// An item whose result differs between the two sides.
    Flip(FlipFinding),
}

/// One side of the comparison at one size of training data. The finding's `n` is the number of test items.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Columns)]
pub struct ConfigurationFinding {
    /// Name of the side in the comparison.
    pub name: String,
    /// `a` or `b`.
    #[id]
    pub side: String,
    /// Task of the side.
    pub task: String,
    /// The model, or the file of results.
    pub encoder: String,
    /// Layer; 0 for the embeddings, null for results from a file.
    pub layer: Option<usize>,
    /// Classifier on the vectors; for results from a file, the metric.
    pub classifier: String,
    /// Number of training examples.
    #[id]
    pub n_train: usize,
    /// Mean accuracy over seeds, with the interval over test items.
    pub accuracy: Estimate,
    /// Standard deviation over seeds; null for a single seed.
    pub sd: Option<f64>,
    /// Share of the most frequent class among the test items; null if unknown.
    pub majority: Option<f64>,
    /// Number of runs with different seeds.
    pub seeds: usize,
    /// Number of sentences beyond an encoder's maximum length, which are left out, truncated or encoded in windows as set in the spec.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub long: usize,
}

fn is_zero(count: &usize) -> bool {
    *count == 0
}

/// The comparison of both sides on the same items.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Columns)]
pub struct ComparisonFinding {
    /// Name of the first side.
    #[id]
    pub a: String,
    /// Name of the second side.
    #[id]
    pub b: String,
    /// Name of the metric.
    #[id]
    pub metric: String,
    /// Items that both sides get right, summed over seeds; null for non-binary metrics.
    pub both: Option<u64>,
    /// Items that only the first side gets right.
    pub only_a: Option<u64>,
    /// Items that only the second side gets right.
    pub only_b: Option<u64>,
    /// Items that neither side gets right.
    pub neither: Option<u64>,
    /// Mean of the first side minus mean of the second.
    pub difference: Estimate,
    /// Exact McNemar p-value; with several seeds, twice their median p-value, at most 1.
    pub exact_p: Option<f64>,
    /// McNemar's mid-p-value, combined over seeds like `exact_p`; absent in recordings made by older versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mid_p: Option<f64>,
    /// McNemar's p-value by χ² without continuity correction, combined over seeds like `exact_p`.
    pub chi2_p: Option<f64>,
    /// McNemar's p-value by χ² with continuity correction, combined over seeds like `exact_p`.
    pub corrected_p: Option<f64>,
    /// p-value of Student's t on the differences of items or clusters. For binary metrics, it is at least the probability that all
    /// differing units favour the same side by chance.
    pub(crate) t_p: Option<f64>,
    /// The p-value of the test named in `test`.
    pub p: f64,
    /// `p` with Holm's correction over all comparisons in the run.
    pub holm_p: f64,
    /// `p` with the correction of Benjamini and Hochberg (false discovery rate).
    pub bh_q: f64,
    /// Number of comparisons in the correction.
    pub family: usize,
    /// Items that are wrong on the first side and right on the second.
    pub wrong_to_right: Option<u64>,
    /// Items that are right on the first side and wrong on the second.
    pub right_to_wrong: Option<u64>,
    /// The equivalence margin.
    pub margin: f64,
    /// p-value for equivalence within the margin.
    pub equivalence_p: f64,
    /// `equivalence_p` corrected together with the p-values of the differences, if it is at most the significance level; absent in
    /// recordings made by older versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub equivalence_holm_p: Option<f64>,
    /// The anytime-valid p-value, if items are the steps of the sequential test; absent once all items are known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub anytime_p: Option<f64>,
    /// The deciding test, and the method used for the interval.
    pub test: String,
    /// True if a plan fixed the comparison before any result was seen.
    #[serde(default)]
    pub planned: bool,
    /// Hypothesis of the plan; absent without a plan.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hypothesis: Option<Hypothesis>,
    /// Number of runs per side with different seeds.
    pub seeds: usize,
    /// Standard deviation of the difference over seeds; absent for a single seed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seed_sd: Option<f64>,
    /// Number of item clusters; absent if items are independent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clusters: Option<usize>,
    /// True if the sides have different items, as with two tasks; the test is then Welch's unpaired t.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub unpaired: bool,
    /// Number of clusters (without clusters: of items, if there are several seeds) on which the sides differ; absent for a binary metric
    /// with one run per side, and for non-binary metrics.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub differing: Option<usize>,
    /// True if the interval of `difference` is a bound because all units have the same difference.
    #[serde(default)]
    pub bound: bool,
    /// Percentile interval for the difference, from resampling items or clusters; given for non-binary metrics, several seeds, and
    /// clusters.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bootstrap: Option<Estimate>,
}

/// A number whose interval may have no upper limit.
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
    /// Name of the first side.
    pub a: String,
    /// Name of the second side.
    pub b: String,
    /// Number of items.
    #[id]
    pub at_n: u64,
    /// Power, with the interval from the pilot's uncertainty.
    pub power: Estimate,
    /// Mean factor by which a significant difference is exaggerated if the true one is at the end of its interval nearer to 0. Absent if
    /// the interval contains 0 or if one side wins no item.
    pub type_m: Option<f64>,
    /// Share of significant differences with the wrong sign, under the same assumption as `type_m`.
    pub type_s: Option<f64>,
    /// The form of McNemar's test for which power is computed.
    pub test: Test,
    /// True if power is that of Student's t: with clusters, for non-binary metrics, and for two sets of items.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub student: bool,
}

/// Number of items needed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Columns)]
pub struct RequiredFinding {
    /// Name of the first side.
    pub a: String,
    /// Name of the second side.
    pub b: String,
    /// Target power.
    pub target: f64,
    /// Significance level of the test.
    pub alpha: f64,
    /// Number of test items for the target power.
    pub n_test: Open,
    /// The smallest difference that the current items would detect with the target power; null if even the largest would not be detected.
    pub mde: Option<f64>,
    /// Power with the current items.
    pub power: f64,
    /// The interval of `power`, computed from the pilot.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub band: Option<Estimate>,
    /// Design effect of clusters: variance of the difference relative to the same number of independent items. Power is then that of
    /// Student's t over clusters.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub design: Option<f64>,
    /// Number of training examples for the probes; absent for results from files.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[id]
    pub trained: Option<u64>,
    /// Number of training examples recommended by the bound; null if the difference is too small.
    pub n_train: Option<u64>,
    /// Total number of examples at the split ratio.
    pub n_total: Option<u64>,
    /// Name of the bound; null for results from files, whose classifiers are unknown.
    pub bound: Option<String>,
    /// Number of parameters used in the bound.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parameters: Option<u64>,
}

/// States whether the comparison is too weak to recommend a number of items, with reasons.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Columns)]
pub struct CollapseFinding {
    /// Name of the first side.
    pub a: String,
    /// Name of the second side.
    pub b: String,
    /// True if no number of items should be recommended.
    pub collapsed: bool,
    /// The reasons.
    pub reasons: Vec<String>,
}

/// The sequential test, valid at any time, after `at_n` items in an order drawn by the seed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Columns)]
pub struct SequentialFinding {
    /// Name of the first side.
    pub a: String,
    /// Name of the second side.
    pub b: String,
    /// Number of items so far.
    #[id]
    pub at_n: u64,
    /// The e-value; null if it overflows.
    pub e_value: Option<f64>,
    /// Logarithm of the e-value.
    pub log_e: f64,
    /// Lower end of the confidence sequence for the share of discordant items that favour the first side.
    pub lo: f64,
    /// Upper end of the confidence sequence.
    pub hi: f64,
    /// Observed share of discordant items that favour the first side; absent before the first discordant item.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub share: Option<f64>,
    /// True if the e-values so far permit stopping.
    pub may_stop: bool,
    /// Logarithm of the largest e-value so far.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub largest: Option<f64>,
    /// True for the decision of a plan that stops early: the first step with permission to stop or, without one, the plan's last step.
    #[serde(default)]
    pub planned: bool,
}

/// Counts of the first items in the order drawn by the seed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Columns)]
pub struct TallyFinding {
    /// Name of the first side.
    pub a: String,
    /// Name of the second side.
    pub b: String,
    /// Name of the metric.
    #[id]
    pub metric: String,
    /// Counts of the items.
    pub tally: Tally,
}

/// Code length of the labels given the encoder's vectors (Voita and Titov 2020). The finding's `n` is the number of coded examples.
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
    /// Total length in bits, as the mean over seeds.
    pub codelength: f64,
    /// Standard deviation over seeds, which determine the order of the examples or the search; absent for a single seed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sd: Option<f64>,
    /// Number of codes with different seeds.
    pub seeds: usize,
    /// Length of a uniform code in bits.
    pub uniform: f64,
    /// Length of the uniform code divided by this code's length.
    pub compression: f64,
    /// For the prequential code of `b`: number of training examples that the bound recommends for the difference from the code of `a` in
    /// bits per example (Zhu et al. 2022, equation 3). Losses are clipped at 10 bits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub n_train: Option<u64>,
}

/// A control task (Hewitt and Liang 2019): probes are trained on random labels, which are assigned by hashes of the sentences and are as
/// balanced as those of the task. Accuracy on other sentences is near chance, because sentences share no word types that could carry a
/// random label.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Columns)]
pub struct ControlFinding {
    /// Name of the side.
    pub name: String,
    /// `a` or `b`.
    #[id]
    pub side: String,
    /// Number of training examples.
    pub at_n: u64,
    /// Share of the random training labels that the probe has memorised.
    pub memorised: f64,
    /// Accuracy on the random labels of the test sentences, the control accuracy of Zhu et al. 2022; absent in recordings made by older
    /// versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub accuracy: Option<f64>,
    /// For `b`: number of training examples that the bound recommends for the difference from `a` in accuracy minus control accuracy (Zhu
    /// et al. 2022, theorem 1), with δ/2 for each side.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub n_train: Option<u64>,
}

/// The accuracy lost by a side's probes at one training size, in two parts (Zhu et al. 2022, section D.1 and Figure 12). The first part is
/// the loss of the trained probe compared with the best probe on the same training examples. The second is the loss of this best probe
/// compared with the best possible probe, for which the best probe on the training examples of the largest size is used. The finding's `n`
/// is the number of test items at the largest size.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Columns)]
pub struct ShortfallFinding {
    /// Name of the side.
    pub name: String,
    /// `a` or `b`.
    #[id]
    pub side: String,
    /// Number of training examples.
    #[id]
    pub at_n: u64,
    /// Origin of the best probe on the training examples: `solved`, or the `seed` with the lowest training loss.
    pub optimum: String,
    /// Accuracy of the best probe minus the mean accuracy of the trained probes; negative if early stopping generalises better.
    pub optimisation: Estimate,
    /// Accuracy of the best probe at the largest size minus that of the best probe at this size; absent at the largest size.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data: Option<Estimate>,
    /// Standard deviation of `optimisation` over seeds; absent for a single seed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sd: Option<f64>,
    /// Number of training runs with different seeds.
    pub seeds: usize,
}

impl ShortfallFinding {
    /// Loss due to optimisation in each of two training runs, which are too few for an interval.
    pub(crate) fn values(&self) -> Option<[f64; 2]> {
        self.sd.filter(|_| is_few(self.seeds)).map(|sd| two_values(self.optimisation.mean, sd))
    }
}

/// The comparison with noise of a given standard deviation on the second side (Zhu et al. 2022, Figure 3).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Columns)]
pub struct NoiseFinding {
    /// Name of the first side.
    pub a: String,
    /// Name of the second side, including the noise.
    pub b: String,
    /// Standard deviation of the noise.
    #[id]
    pub(crate) sigma: f64,
    /// True for the comparison with the spec's own noise, repeated to complete the curve.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub own: bool,
    /// Number of training examples.
    pub n_train: u64,
    /// Number of test items.
    #[id]
    pub at_n: u64,
    /// Mean of the first side minus mean of the second.
    pub difference: Estimate,
    /// The p-value of the comparison.
    pub p: f64,
    /// The deciding test.
    pub test: String,
    /// Power at `at_n` items, with its interval.
    pub power: Estimate,
}

/// Baselines from surface features of the sentences: the majority class, the bag of words, the number of words, or the first word. They are
/// learned from the same sentences as the probes ([`corpus::shortcuts`]). The finding's `n` is the number of test sentences for the probes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Columns)]
pub struct BaselineFinding {
    /// Name of the baseline.
    #[id]
    pub name: String,
    /// The side whose task it is, `a` or `b`; absent if both sides have the same task.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[id]
    pub side: Option<String>,
    /// Number of training examples.
    #[id]
    pub at_n: u64,
    /// Accuracy, with an interval for a proportion.
    pub accuracy: Estimate,
}

/// Accuracy of a side, with the excess risk that the bound allows.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Columns)]
pub struct MarginFinding {
    /// Name of the side.
    #[id]
    pub name: String,
    /// Number of training examples.
    #[id]
    pub at_n: u64,
    /// Mean accuracy over the seeds.
    pub accuracy: f64,
    /// Standard deviation of the accuracy over seeds; null for a single seed.
    pub sd: Option<f64>,
    /// Excess risk that the bound allows.
    pub epsilon: f64,
}
