//! Findings of the lab: one struct per kind.

use std::collections::BTreeMap;

use lab::{Columns, Kinds};
use serde::{Deserialize, Serialize};

use super::banded::Banded;
pub use super::behaviour::{BehaviourFinding, Told};
use super::distance::DistanceFinding;
use super::front::FrontFinding;
pub use super::kept::{FurtherData, OnFinding, TokensFinding};
use super::key::{CurveKey, MethodKey, Place};
use super::lens::LensFinding;
use super::map::{MapFinding, NoMapFinding};
use super::optimum::End;
use super::oracle::OracleKind;
use super::score::Distance;
use super::verdict::{LeakFinding, NoOptimumFinding, RankingFinding, RivalFinding, VersusFinding};
use corpus::own::Provenance;
use figure::layers::grouped;
use lab::plan::Material;
use stats::estimate::{Estimate, number_or_null};

#[derive(Debug, Clone, PartialEq, Serialize, Kinds)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Kind {
    /// The run's data and their split.
    Data(DataFinding),
    /// A trained probe and its audit.
    #[interval]
    Probe(ProbeFinding),
    /// Completeness, selectivity and reliability of one method at one strength.
    #[interval]
    Reliability(ReliabilityFinding),
    /// The strength with the highest reliability.
    #[interval]
    Optimum(OptimumFinding),
    /// Behaviour of the model itself after the intervention.
    #[interval]
    Behaviour(BehaviourFinding),
    /// One example before and after the intervention.
    Example(ExampleFinding),
    /// The reason why a method has no optimum.
    #[interval]
    NoOptimum(NoOptimumFinding),
    /// The scores of one strength under other probe settings that validate equally well.
    Rival(RivalFinding),
    /// Comparison of two methods by reliability.
    Versus(VersusFinding),
    /// The order of the methods and its stability.
    Ranking(RankingFinding),
    /// Accuracy of fresh probes after a nullifying method.
    #[interval]
    Leak(LeakFinding),
    /// Distances between real states and states edited by one method at one strength.
    #[interval]
    Distance(DistanceFinding),
    /// The front of completeness and selectivity over the settings of all methods, and its knee.
    #[interval]
    Front(FrontFinding),
    /// The scores of one method that edits one layer and is judged at that layer or a later one.
    #[interval]
    Map(MapFinding),
    /// The reason why a row of the map is empty.
    NoMap(NoMapFinding),
    /// The accuracy of the model's own head and of a linear oracle at one layer.
    #[interval]
    Lens(LensFinding),
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Columns)]
pub struct DataFinding {
    /// Name of the task.
    pub task: String,
    /// Content hash of the examples (first twelve hexadecimal digits of SHA-256).
    pub data_hash: String,
    /// Origin of the examples; absent if they were generated.
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
    /// Number of test examples by value of the target (rows) and of the other property (columns, the last for examples without it).
    pub counts: Vec<Vec<usize>>,
    /// Names of the target's values.
    pub target_values: Vec<String>,
    /// Names of the values of the other property.
    pub other_values: Vec<String>,
    /// Number of training examples for the oracles before and after decorrelation.
    pub n_oracle: (usize, usize),
    /// Number of training examples for the interventions.
    pub n_intervention: usize,
    /// Number of test examples.
    pub n_test: usize,
    /// Phi between target and other property in the oracles' training data, before and after decorrelation.
    pub phi: (f64, f64),
    /// Median Euclidean norm of the hidden states, and median standard deviation of their coordinates.
    pub scale: (f64, f64),
    /// Additional properties to keep; empty if there is only one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub further: Vec<FurtherData>,
    /// Distance that defines C and S: `js` for Jensen-Shannon; absent for total variation.
    #[serde(default, skip_serializing_if = "Distance::is_papers")]
    pub distance: Distance,
    /// Number of examples that are longer than the model's context; the spec determines whether they are dropped, truncated or read in a
    /// window.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub long: usize,
    /// The texts whose tokens are the examples, at every token.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokens: Option<TokensFinding>,
}

/// A trained probe. The finding's `n` is the number of test examples used for its accuracy.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Columns)]
pub struct ProbeFinding {
    /// `oracle` or `interventional`.
    #[id]
    pub role: ProbeRole,
    /// The property that the probe predicts.
    #[id]
    pub property: String,
    /// The chosen classifier, for example `MLP 2x256, lr 0.001`.
    pub classifier: String,
    /// The kind of oracle (`mlp`, `linear`); absent for the interventional probe.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[id]
    pub oracle: Option<OracleKind>,
    /// Layer whose hidden states the probe reads.
    #[id]
    pub layer: usize,
    /// Test accuracy with an interval for a proportion.
    pub accuracy: Estimate,
    /// Share of the most frequent class.
    pub majority: f64,
    /// Mean recall over the classes.
    pub balanced_accuracy: f64,
    /// Expected calibration error, 15 bins of equal width.
    pub calibration_error: f64,
    /// True if the probe came from the cache.
    pub cached: bool,
    /// Description of the grid from which the classifier was chosen, for example `small: 12 of the paper's 36 points`.
    pub grid: String,
    /// The choice of the classifier's settings, and the variation between its training runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub choice: Option<ChoiceFinding>,
}

/// Choice of probe settings, and the variation between training runs with these settings.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ChoiceFinding {
    /// Number of replicates over which the audit averages.
    pub replicates: usize,
    /// Smallest and largest accuracy of a single replicate.
    pub accuracy_range: [f64; 2],
    /// Smallest and largest calibration error of a single replicate.
    pub calibration_range: [f64; 2],
    /// Accuracy of the chosen settings on the validation examples, and the best of all settings.
    pub validation: [f64; 2],
    /// Number of Adam steps up to the validation at which the weights were kept.
    pub steps: usize,
    /// Other settings that validate as well as the chosen ones, the simplest first.
    pub rivals: Vec<String>,
    pub material: Material,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ProbeRole {
    /// Judges interventions; trained on data that no intervention uses.
    Oracle,
    /// Attacked by gradient-based interventions.
    Interventional,
}

/// Completeness, selectivity and reliability at one strength (Canby et al., equations 1 to 4).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Columns)]
pub struct ReliabilityFinding {
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
    #[id]
    pub parameter: String,
    /// Strength of the method.
    #[id]
    pub value: f64,
    /// Completeness: mean over all test examples.
    pub completeness: Banded,
    /// Selectivity: mean over the test examples that have the other property, averaged over the properties if there are several.
    pub selectivity: Banded,
    /// Reliability: harmonic mean of `completeness` and `selectivity`; 0 if both are 0.
    pub reliability: Banded,
    /// Number of examples used for completeness.
    pub n_c: usize,
    /// Number of examples used for selectivity: those with a property to keep.
    pub n_s: usize,
    /// Mean over examples of each example's harmonic mean, for comparison with `reliability`.
    #[serde(deserialize_with = "number_or_null")]
    pub mean_harmonic: f64,
    /// For nullifying methods: completeness toward the class prior instead of the uniform distribution.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub completeness_prior: Option<f64>,
    /// Number of training runs averaged for the point, and its additional scores.
    #[serde(flatten)]
    pub beside: Beside,
}

impl ReliabilityFinding {
    /// Numbers of examples behind completeness and selectivity: `2,400`, or `9,600 (2,400 texts)` for tokens.
    pub fn counts(&self) -> [String; 2] {
        [0, 1].map(|score| {
            let n = grouped([self.n_c, self.n_s][score]);
            self.beside.texts.map_or_else(|| n.clone(), |texts| format!("{n} ({} texts)", grouped(texts[score])))
        })
    }
}

/// Number of training runs behind a point, and its further scores; absent from the oldest recordings.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, Columns)]
pub struct Beside {
    /// Number of training runs judged so far; 0 if unknown.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub replicates: usize,
    /// Numbers of texts behind completeness and selectivity, if the examples are tokens of texts; intervals are over texts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub texts: Option<[usize; 2]>,
    /// True while the probes have provisional settings.
    #[serde(default, skip_serializing_if = "is_false")]
    pub provisional: bool,
    /// Selectivity of an oracle that gives the majority value of the other property for every example.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub s_floor: Option<f64>,
    /// Selectivity averaged over the values of the other property.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub s_by_class: Option<Banded>,
    /// Completeness on the examples that have the other property.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub c_on_s: Option<Banded>,
    /// Completeness if the intended value is chosen to differ from the predicted value, not from the true one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub c_predicted: Option<f64>,
    /// Completeness before any intervention.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub c_before: Option<f64>,
    /// Balanced accuracy of the other property's oracle after the intervention.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ze_balanced_accuracy: Option<Estimate>,
    /// Confusion matrix of the other property's oracle after the intervention: rows are true values, counts are means over training runs.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ze_confusion: Vec<Vec<f64>>,
    /// True if the oracle still reads every property to keep better than chance, judged by the lower ends of the intervals. Otherwise this
    /// strength cannot be an optimum.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub eligible: Option<bool>,
    /// Selectivity by property, if there are several to keep.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub selectivities: Vec<OnFinding>,
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde calls it with a reference")]
pub(super) fn is_zero(n: &usize) -> bool {
    *n == 0
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde calls it with a reference")]
fn is_false(b: &bool) -> bool {
    !*b
}

/// The best strength of a method.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Columns)]
pub struct OptimumFinding {
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
    /// Layer of the oracle; absent from the oldest recordings.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[id]
    pub oracle_layer: Option<usize>,
    /// Name of the swept hyperparameter.
    pub parameter: String,
    /// The best strength.
    pub value: f64,
    /// Completeness on examples not used for the choice.
    pub completeness: Banded,
    /// Selectivity on examples not used for the choice.
    pub selectivity: Banded,
    /// Reliability on examples not used for the choice; its bands account for the choice.
    pub reliability: Banded,
    /// Details of the choice; absent from the oldest recordings.
    #[serde(flatten)]
    pub how: How,
}

/// The choice of an optimum, and the optimum chosen as in the paper.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, Columns)]
pub struct How {
    /// Number of training runs averaged; 0 if unknown.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub replicates: usize,
    /// `held_out`: the strength is chosen on one half of the examples and its scores are measured on the other.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub chosen: Option<String>,
    /// Share of the strengths that are eligible, judged on all examples.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub eligible: Option<f64>,
    /// Strengths chosen on halves of the examples, each with its share of all choices.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub choices: Vec<(f64, f64)>,
    /// Set if the optimum is at an end of the grid.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at_end: Option<End>,
    /// The optimum under the paper's rule: chosen and measured on the same examples.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub paper: Option<PaperFinding>,
    /// Selectivity by property at this strength, if there are several to keep.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub selectivities: Vec<OnFinding>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PaperFinding {
    pub value: f64,
    /// Completeness at that strength.
    pub completeness: Banded,
    /// Selectivity at that strength.
    pub selectivity: Banded,
    /// Reliability at that strength; its bands do not account for the choice.
    pub reliability: Banded,
    /// Set if the optimum is at an end of the grid.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at_end: Option<End>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Shift {
    /// A value of a property, or a word.
    pub label: String,
    pub before: f64,
    pub after: f64,
}

/// One example before and after the intervention.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Columns)]
pub struct ExampleFinding {
    /// Index in the test split, from 0.
    pub index: usize,
    /// Number of test examples.
    pub of: usize,
    /// The sentence with its mask.
    pub text: String,
    /// Name of the method in the registry.
    pub method: String,
    /// Hyperparameters that differ from the method's defaults.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub options: BTreeMap<String, f64>,
    /// Name of the swept hyperparameter.
    pub parameter: String,
    /// Strength of the method.
    pub value: f64,
    /// Output of the oracles: for each property its name and the probability of each value.
    pub oracle: Vec<(String, Vec<Shift>)>,
    /// Properties that are undefined for the example, although the oracles output probabilities for them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub absent: Vec<String>,
    /// The model's own probabilities of the two forms (full softmax over its vocabulary).
    pub words: Vec<Shift>,
    /// Index of the correct form in `words`.
    pub correct: usize,
}

impl ReliabilityFinding {
    /// The key of the curve that contains the point.
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
    pub fn method_key(&self) -> MethodKey {
        MethodKey { name: self.method.clone(), options: self.options.clone() }
    }
}

#[cfg(test)]
mod tests {
    use lab::LabId;
    use lab::finding::KindSet;

    use super::*;
    use crate::Finding;

    impl KindSet for Kind {
        fn read<'de, D: serde::Deserializer<'de>>(_: LabId, kind: &str, rest: D) -> Result<Self, D::Error> {
            Kind::read(kind, rest)
        }

        fn knows(_: LabId, kind: &str) -> bool {
            KINDS.iter().any(|k| k.name == kind)
        }
    }

    #[test]
    fn finding_is_a_flat_object_with_published_keys() {
        let finding = Finding {
            lab: LabId::Interventions,
            spec: "abc".into(),
            model: "bert-mini".into(),
            seed: 3,
            n: 100,
            r#final: false,
            t: 0.5,
            level: Some(0.95),
            body: lab::Body::Lab(Kind::Reliability(ReliabilityFinding {
                method: "fgsm".into(),
                options: BTreeMap::new(),
                layer: 3,
                oracle: OracleKind::Mlp,
                oracle_layer: 3,
                parameter: "epsilon".into(),
                value: 0.112,
                completeness: Estimate { mean: 0.9, lo: 0.8, hi: 1.0 }.into(),
                selectivity: Estimate::exact(0.4).into(),
                reliability: Estimate::exact(0.55).into(),
                n_c: 100,
                n_s: 17,
                mean_harmonic: 0.5,
                completeness_prior: None,
                beside: Beside { replicates: 5, s_floor: Some(0.8), ..Beside::default() },
            })),
        };
        let json = serde_json::to_value(&finding).unwrap();
        for key in [
            "replicates",
            "s_floor",
            "kind",
            "lab",
            "spec",
            "model",
            "seed",
            "n",
            "final",
            "t",
            "level",
            "method",
            "layer",
        ] {
            assert!(json.get(key).is_some(), "{key}");
        }
        assert_eq!(json["kind"], "reliability");
        assert_eq!(json["oracle"], "mlp");
        assert_eq!(json["completeness"]["lo"], 0.8);
        assert_eq!(serde_json::from_value::<Finding>(json).unwrap(), finding);
    }
}
