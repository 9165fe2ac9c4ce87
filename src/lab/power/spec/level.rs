//! Confidence level of the lab's intervals, which need no resamples.

use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct IntervalSpec {
    pub level: f64,
}

impl Default for IntervalSpec {
    fn default() -> Self {
        Self { level: 0.95 }
    }
}
