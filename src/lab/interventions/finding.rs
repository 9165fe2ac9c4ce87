//! What the lab finds: one struct a kind.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::key::{CurveKey, MethodKey, Place};
use super::oracle::OracleKind;
use crate::corpus::own::Provenance;
use crate::stats::estimate::Estimate;

/// The kinds of finding.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Kind {
    /// The data behind the run and how it was split.
    Data(DataFinding),
    /// A trained probe and its audit.
    Probe(ProbeFinding),
    /// Completeness, selectivity and reliability of one method at one strength.
    Reliability(ReliabilityFinding),
    /// The strength with the highest reliability.
    Optimum(OptimumFinding),
    /// What the model itself does after the intervention.
    Behaviour(BehaviourFinding),
    /// One example before and after the intervention.
    Example(ExampleFinding),
}

/// Names of the kinds, by which a reader tells what a newer program wrote from what is damaged.
pub const KINDS: [&str; 6] = ["data", "probe", "reliability", "optimum", "behaviour", "example"];

impl Kind {
    /// Whether it has intervals.
    #[must_use]
    pub fn has_interval(&self) -> bool {
        match self {
            Kind::Probe(_) | Kind::Reliability(_) | Kind::Optimum(_) | Kind::Behaviour(_) => true,
            Kind::Data(_) | Kind::Example(_) => false,
        }
    }
}

/// What data the run used.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DataFinding {
    /// Task in the registry.
    pub task: String,
    /// Content hash of the examples (first twelve hexadecimal digits of SHA-256).
    pub data_hash: String,
    /// Where the examples are from; none where they were generated.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<Provenance>,
    /// Content hash of the model: weights, configuration, tokenizer.
    pub model_hash: String,
    /// Layer of the intervention, from 1.
    pub layer: usize,
    /// Number of layers of the model.
    pub layers: usize,
    /// Width of the hidden states.
    pub dim: usize,
    /// Counts by target value (rows) and environment value (columns; the last column has none), test split.
    pub counts: Vec<Vec<usize>>,
    /// Names of the target's values.
    pub target_values: Vec<String>,
    /// Names of the environment's values.
    pub other_values: Vec<String>,
    /// Training examples of the oracles before and after decorrelation.
    pub n_oracle: (usize, usize),
    /// Training examples of the interventions.
    pub n_intervention: usize,
    /// Test examples.
    pub n_test: usize,
    /// Phi between target and environment in the oracle training data, before and after decorrelation.
    pub phi: (f64, f64),
    /// Median Euclidean norm of the hidden states, and the median over coordinates of their standard deviation.
    pub scale: (f64, f64),
}

/// A trained probe. `n` of the finding is the number of test examples that its accuracy is measured on.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ProbeFinding {
    /// `oracle` or `interventional`.
    pub role: ProbeRole,
    /// The property it predicts.
    pub property: String,
    /// Human description of the classifier that won the grid, for example `MLP 2x256, lr 0.001`.
    pub classifier: String,
    /// Which oracle it is (`mlp`, `linear`); the interventional probe has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub oracle: Option<OracleKind>,
    /// Layer whose hidden states it reads.
    pub layer: usize,
    /// Test accuracy with its Wilson interval.
    pub accuracy: Estimate,
    /// Share of the most frequent class.
    pub majority: f64,
    /// Mean recall over the classes.
    pub balanced_accuracy: f64,
    /// Expected calibration error, 15 bins of equal width.
    pub calibration_error: f64,
    /// True where the probe came from the cache.
    pub cached: bool,
    /// Description of the grid it was chosen from, for example `small: 8 of the paper's 36 points`.
    pub grid: String,
}

/// Role of a probe in the experiment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ProbeRole {
    /// Judges interventions; trained on data that no intervention saw.
    Oracle,
    /// Attacked by gradient-based interventions.
    Interventional,
}

/// Completeness, selectivity, reliability at one strength (Canby et al., equations 1 to 4).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ReliabilityFinding {
    /// Method in the registry.
    pub method: String,
    /// Hyperparameters that differ from the method's defaults.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub options: BTreeMap<String, f64>,
    /// Layer of the intervention.
    pub layer: usize,
    /// Which oracle judges.
    pub oracle: OracleKind,
    /// Layer of the oracle.
    pub oracle_layer: usize,
    /// Name of the swept hyperparameter.
    pub parameter: String,
    /// Its value.
    pub value: f64,
    /// Mean over all test examples.
    pub completeness: Estimate,
    /// Mean over the test examples that have an environment value.
    pub selectivity: Estimate,
    /// Harmonic mean of the two means; 0 where both are 0.
    pub reliability: Estimate,
    /// Examples behind the completeness.
    pub n_c: usize,
    /// Examples behind the selectivity.
    pub n_s: usize,
    /// Mean over examples of the harmonic mean per example, for comparison.
    pub mean_harmonic: f64,
    /// For nullifying methods: completeness toward the class prior in place of the uniform distribution.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub completeness_prior: Option<f64>,
}

/// The best strength of a method.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct OptimumFinding {
    /// Method in the registry.
    pub method: String,
    /// Hyperparameters that differ from the method's defaults.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub options: BTreeMap<String, f64>,
    /// Layer of the intervention.
    pub layer: usize,
    /// Which oracle judges.
    pub oracle: OracleKind,
    /// Layer of the oracle; findings of older programs do not say it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub oracle_layer: Option<usize>,
    /// Name of the swept hyperparameter.
    pub parameter: String,
    /// Its value at the highest reliability.
    pub value: f64,
    /// At that value.
    pub completeness: Estimate,
    /// At that value.
    pub selectivity: Estimate,
    /// At that value. The interval does not cover the choice of the value.
    pub reliability: Estimate,
}

/// What the language model does with the changed hidden state.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct BehaviourFinding {
    /// Method in the registry.
    pub method: String,
    /// Hyperparameters that differ from the method's defaults.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub options: BTreeMap<String, f64>,
    /// Layer of the intervention.
    pub layer: usize,
    /// Name of the swept hyperparameter.
    pub parameter: String,
    /// Its value.
    pub value: f64,
    /// Share of examples whose preferred word form changes.
    pub flip_rate: Estimate,
    /// Probability of the correct form before, relative to both forms.
    pub correct_before: Estimate,
    /// The same after the intervention.
    pub correct_after: Estimate,
}

/// A probability before and after the intervention.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Shift {
    /// What has the probability: a value of a property, or a word.
    pub label: String,
    /// Before.
    pub before: f64,
    /// After.
    pub after: f64,
}

/// One example before and after.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ExampleFinding {
    /// Index in the test split, from 0.
    pub index: usize,
    /// Number of test examples.
    pub of: usize,
    /// The sentence with its mask.
    pub text: String,
    /// Method in the registry.
    pub method: String,
    /// Hyperparameters that differ from the method's defaults.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub options: BTreeMap<String, f64>,
    /// Name of the swept hyperparameter.
    pub parameter: String,
    /// Its value.
    pub value: f64,
    /// The oracle's view: per property its name and the probability of each value.
    pub oracle: Vec<(String, Vec<Shift>)>,
    /// The model's own probabilities of the two forms (full softmax over its vocabulary).
    pub words: Vec<Shift>,
    /// The form that the grammar asks for: index into `words`.
    pub correct: usize,
}

impl ReliabilityFinding {
    /// The curve that the point belongs to.
    #[must_use]
    pub fn key(&self, model: &str) -> CurveKey {
        CurveKey {
            model: model.to_owned(),
            place: Place { layer: self.layer, oracle_layer: Some(self.oracle_layer) },
            method: MethodKey { name: self.method.clone(), options: self.options.clone() },
            oracle: self.oracle,
        }
    }
}

impl OptimumFinding {
    /// The method that it is the optimum of.
    #[must_use]
    pub fn method_key(&self) -> MethodKey {
        MethodKey { name: self.method.clone(), options: self.options.clone() }
    }
}

impl BehaviourFinding {
    /// The method after which the model behaves so.
    #[must_use]
    pub fn method_key(&self) -> MethodKey {
        MethodKey { name: self.method.clone(), options: self.options.clone() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lab::{Finding, LabId};

    #[test]
    fn a_finding_is_one_flat_object_with_the_published_keys() {
        let finding = Finding {
            lab: LabId::Interventions,
            spec: "abc".into(),
            model: "bert-mini".into(),
            seed: 3,
            n: 100,
            r#final: false,
            t: 0.5,
            level: Some(0.95),
            body: Kind::Reliability(ReliabilityFinding {
                method: "fgsm".into(),
                options: BTreeMap::new(),
                layer: 3,
                oracle: OracleKind::Mlp,
                oracle_layer: 3,
                parameter: "epsilon".into(),
                value: 0.112,
                completeness: Estimate { mean: 0.9, lo: 0.8, hi: 1.0 },
                selectivity: Estimate::exact(0.4),
                reliability: Estimate::exact(0.55),
                n_c: 100,
                n_s: 17,
                mean_harmonic: 0.5,
                completeness_prior: None,
            })
            .into(),
        };
        let json = serde_json::to_value(&finding).unwrap();
        for key in ["kind", "lab", "spec", "model", "seed", "n", "final", "t", "level", "method", "layer"] {
            assert!(json.get(key).is_some(), "{key}");
        }
        assert_eq!(json["kind"], "reliability");
        assert_eq!(json["oracle"], "mlp");
        assert_eq!(json["completeness"]["lo"], 0.8);
        assert_eq!(serde_json::from_value::<Finding>(json).unwrap(), finding);
    }
}
