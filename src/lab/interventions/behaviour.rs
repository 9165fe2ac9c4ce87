//! Behaviour of the language model itself after an intervention: its preferred form, its confidence in the correct form, and the rank of
//! that form among the verb forms.

use lab::Columns;
use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::banded::Banded;
use super::finding::is_zero;
use super::key::MethodKey;

/// Behaviour of the language model with the edited hidden state.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Columns)]
pub struct BehaviourFinding {
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
    /// Name of the swept hyperparameter.
    pub parameter: String,
    /// Strength of the method.
    #[id]
    pub value: f64,
    /// Share of examples whose preferred word form changes.
    pub flip_rate: Banded,
    /// Probability of the correct form before the intervention, relative to both forms.
    pub correct_before: Banded,
    /// Probability of the correct form after the intervention, relative to both forms.
    pub correct_after: Banded,
    /// Number of training runs averaged; 0 if unknown.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub replicates: usize,
    /// Ranks and the paired test; absent from recordings made by older versions.
    #[serde(flatten)]
    pub told: Option<Told>,
}

/// Rank of the correct form, and the intervention's effect on the model's preference.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Columns)]
pub struct Told {
    /// Mean reciprocal rank of the correct form among the verb forms of all sentences, before the intervention.
    pub rank_before: Banded,
    /// Mean reciprocal rank of the correct form among the verb forms of all sentences, after the intervention.
    pub rank_after: Banded,
    /// Number of verb forms.
    pub forms: usize,
    /// Number of examples for which the model prefers the correct form before the intervention but not after it, in the first training run.
    pub lost: u64,
    /// Number of examples for which the model prefers the correct form after the intervention but not before it, in the first training run.
    pub won: u64,
    /// Exact McNemar p-value for `lost` and `won`.
    pub p: f64,
    /// p-value for the hypothesis that the preference changes at no strength of the sweep, from a max-T test over all strengths. Absent
    /// before the sweep is complete, and from recordings made by older versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sweep_p: Option<f64>,
}

impl BehaviourFinding {
    pub fn method_key(&self) -> MethodKey {
        MethodKey { name: self.method.clone(), options: self.options.clone() }
    }
}
