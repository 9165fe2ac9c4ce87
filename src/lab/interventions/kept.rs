//! Parts of findings: properties to keep, and texts whose tokens are examples.

use serde::{Deserialize, Serialize};

use super::banded::Banded;
use stats::estimate::Estimate;

/// An additional property to keep.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FurtherData {
    pub property: String,
    pub values: Vec<String>,
    /// Number of test examples by value of the target (rows) and of this property (columns, the last for examples without it).
    pub counts: Vec<Vec<usize>>,
    /// Number of training examples for the property's oracles after decorrelation from the target.
    pub n_oracle: usize,
    /// Association with the target (phi, or Cramér's V) in the oracles' training data, before and after decorrelation.
    pub phi: (f64, f64),
}

/// Selectivity on one of several properties to keep.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct OnFinding {
    /// Name of the property.
    pub property: String,
    /// Mean over the test examples that have the property.
    pub selectivity: Banded,
    /// Number of test examples that have the property.
    pub n: usize,
    /// Selectivity of an oracle that always answers the majority value.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub s_floor: Option<f64>,
    /// Balanced accuracy of the property's oracle after the intervention.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub balanced_accuracy: Option<Estimate>,
    /// True if the lower end of that accuracy's interval is above chance.
    pub eligible: bool,
}

/// Texts whose tokens are the examples of a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TokensFinding {
    /// Maximum number of a text's tokens that are examples.
    pub per_text: usize,
    /// Number of texts in the parts of oracles, interventions and tests.
    pub texts: [usize; 3],
    /// Number of tokens that are not examples, because of the caps.
    pub left_out: usize,
}
