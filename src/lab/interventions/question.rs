//! Questions that the lab answers during and after an experiment.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::key::MethodKey;

/// A question that the lab can answer during or after a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "question", rename_all = "snake_case")]
pub enum Question {
    /// The effect of one strength of one method, overall and on one example.
    Point(PointQuestion),
}

/// One strength of one method of the experiment, and one example.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PointQuestion {
    /// One of the models of the experiment.
    pub model: String,
    /// Name of the method in the registry.
    pub method: String,
    /// Hyperparameters other than the swept one.
    pub options: BTreeMap<String, f64>,
    /// Value of the swept hyperparameter.
    pub value: f64,
    /// Index of the test example to show.
    pub example: usize,
}

impl PointQuestion {
    pub fn key(&self) -> MethodKey {
        MethodKey::new(&self.method, &self.options)
    }
}
