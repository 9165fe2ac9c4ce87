//! Findings of comparisons: between methods, under other probe settings, and with fresh probes.

use lab::Columns;
use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::finding::PaperFinding;
use super::key::MethodKey;
use super::leak::Left;
use super::method::Preimages;
use super::oracle::OracleKind;
use lab::family::ALPHA;
use stats::Estimate;

/// The reason why a method has no optimum under an oracle.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Columns)]
pub struct NoOptimumFinding {
    /// Name of the method in the registry.
    #[id]
    pub method: String,
    /// Hyperparameters that differ from the method's defaults.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[id]
    pub options: BTreeMap<String, f64>,
    /// Layer of the intervention.
    #[id]
    pub layer: usize,
    /// The judging oracle.
    #[id]
    pub oracle: OracleKind,
    /// Layer whose hidden states the oracle reads.
    #[id]
    pub oracle_layer: usize,
    /// Name of the swept hyperparameter.
    pub parameter: String,
    /// The reason why the method has no best strength.
    pub reason: String,
    /// The optimum under the paper's rule, if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub paper: Option<PaperFinding>,
}

/// Scores of one strength from one training run of probes whose settings differ from the chosen ones but validate as well. The finding's
/// `n` is the number of test examples used.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Columns)]
pub struct RivalFinding {
    /// Name of the method in the registry.
    #[id]
    pub method: String,
    /// Hyperparameters that differ from the method's defaults.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[id]
    pub options: BTreeMap<String, f64>,
    /// Layer of the intervention.
    #[id]
    pub layer: usize,
    /// The judging oracle.
    #[id]
    pub oracle: OracleKind,
    /// Layer whose hidden states the oracle reads.
    #[id]
    pub oracle_layer: usize,
    /// Name of the swept hyperparameter.
    pub parameter: String,
    /// Strength of the method.
    #[id]
    pub value: f64,
    /// Rank of these settings, from 1, among each probe's settings that validate equally well.
    #[id]
    pub rival: usize,
    /// Settings of the probes: oracle of the target, oracles of the properties to keep, attacked probe.
    pub recipes: Vec<String>,
    /// Mean completeness over these examples.
    pub completeness: f64,
    /// Mean selectivity over the examples that have the other property; null if there are none.
    pub selectivity: Option<f64>,
    /// Harmonic mean of `completeness` and `selectivity`.
    pub reliability: Option<f64>,
}

/// Comparison of `a` and `b` by reliability at their optima.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Columns)]
pub struct VersusFinding {
    /// The first method with its options.
    #[id]
    pub a: MethodKey,
    /// The second method with its options.
    #[id]
    pub b: MethodKey,
    /// The judging oracle.
    #[id]
    pub oracle: OracleKind,
    /// Share of resamples of examples and replicates in which `a` is more reliable. The strengths are chosen again in each resample, and
    /// ties count half. This is not the probability that `a` is more reliable.
    pub p_greater: f64,
    /// Reliability of `a` minus that of `b`, with its interval over examples and training runs. Null if either method has no optimum, for a
    /// single training run, and in recordings made by older versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub difference: Option<Estimate>,
    /// p-value for the hypothesis of no difference, from Student's t for the differences between paired training runs. In recordings made
    /// by older versions, which lack `difference`, it is twice the smaller share of resamples.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub p: Option<f64>,
    /// `p` adjusted with Holm's method over all pairs of methods under this oracle. Absent without `p`, and from recordings made by older
    /// versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub holm_p: Option<f64>,
    /// The smallest difference that this number of training runs and examples would detect in 80 of 100 runs in a single test at the level
    /// .05. Absent without `difference`, and from recordings made by older versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detectable: Option<f64>,
    /// Changes that reverse the verdict, which is therefore uncertain: `linear oracle` or `mlp oracle`, `recipe 1`, `recipe 2`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub turns_with: Vec<String>,
}

/// Ranking of the methods by reliability at their optima under one oracle.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Columns)]
pub struct RankingFinding {
    /// The judging oracle.
    #[id]
    pub oracle: OracleKind,
    /// The methods, the most reliable first; those without an optimum last.
    pub order: Vec<MethodKey>,
    /// `places[i][p]`: share of resamples in which method i of `order` is at rank p (0 is the best).
    pub places: Vec<Vec<f64>>,
    /// Share of resamples with exactly this order.
    pub stability: f64,
    /// Number of training runs used for the ranking.
    pub replicates: usize,
}

/// Accuracy of fresh probes on the target after a nullifying method. The finding's `n` is the number of test examples.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Columns)]
pub struct LeakFinding {
    /// Name of the method in the registry.
    #[id]
    pub method: String,
    /// Hyperparameters that differ from the method's defaults.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[id]
    pub options: BTreeMap<String, f64>,
    /// Layer of the intervention.
    pub layer: usize,
    /// Layer whose states the fresh probes read.
    pub oracle_layer: usize,
    /// Name of the swept hyperparameter.
    pub parameter: String,
    /// Strength of the method.
    #[id]
    pub value: f64,
    /// Share of the largest class.
    pub chance: f64,
    /// Accuracy of a fresh logistic regression before and after the edit, and the share of its accuracy above chance that remains.
    pub linear: Left,
    /// Accuracy of a fresh MLP before and after the edit, and the share of its accuracy above chance that remains.
    pub mlp: Left,
    /// Quality of the states that a method found for erased features.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub preimages: Option<Preimages>,
}

impl VersusFinding {
    /// The p-value that determines the wording: adjusted for the other pairs, if available.
    pub fn deciding_p(&self) -> Option<f64> {
        self.holm_p.or(self.p)
    }

    /// The comparison as text. "More reliable" requires a significant difference and that neither other probe settings nor the other oracle
    /// reverse the order. The guide's page on intervals reports a check over several seeds.
    pub fn verb(&self) -> &'static str {
        let shown = self.deciding_p().is_some_and(|p| p <= ALPHA) && self.turns_with.is_empty();
        if shown { "more reliable than" } else { "ahead of" }
    }
}

impl LeakFinding {
    pub fn method_key(&self) -> MethodKey {
        MethodKey { name: self.method.clone(), options: self.options.clone() }
    }
}

impl NoOptimumFinding {
    pub fn method_key(&self) -> MethodKey {
        MethodKey { name: self.method.clone(), options: self.options.clone() }
    }
}

impl RivalFinding {
    pub fn method_key(&self) -> MethodKey {
        MethodKey { name: self.method.clone(), options: self.options.clone() }
    }
}
