//! Level of the intervals of the lab, which need no resamples.

use serde::{Deserialize, Serialize};

/// Level of the intervals.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct IntervalSpec {
    /// Level of the intervals.
    pub level: f64,
}

impl Default for IntervalSpec {
    fn default() -> Self {
        Self { level: 0.95 }
    }
}
