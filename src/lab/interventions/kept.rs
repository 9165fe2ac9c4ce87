//! Findings on several properties to keep.

use serde::{Deserialize, Serialize};

use super::banded::Banded;
use stats::estimate::Estimate;

/// A further property to keep.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FurtherData {
    /// Its name.
    pub property: String,
    /// Names of its values.
    pub values: Vec<String>,
    /// Counts by target value (rows) and by its value (columns; the last one for undefined), test split.
    pub counts: Vec<Vec<usize>>,
    /// Examples of its oracles after decorrelation from the target.
    pub n_oracle: usize,
    /// Association with the target (phi, or Cramér's V) in the oracle training data, before and after decorrelation.
    pub phi: (f64, f64),
}

/// Selectivity on one of several properties to keep.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct OnFinding {
    /// Name of the property.
    pub property: String,
    /// Mean over the test examples that have it.
    pub selectivity: Banded,
    /// Number of examples that have it.
    pub n: usize,
    /// Selectivity of an oracle that gives its majority value for every example.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub s_floor: Option<f64>,
    /// Balanced accuracy of its oracle after the intervention.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub balanced_accuracy: Option<Estimate>,
    /// True if that accuracy's lower end is above chance.
    pub eligible: bool,
}
