//! Questions to an experiment, during a run and afterwards.

use serde::{Deserialize, Serialize};

use super::spec::Spec;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "question", rename_all = "snake_case")]
pub enum Question {
    /// Repeats the comparison with different settings of the test, or on fewer items.
    Adjust(Adjust),
}

/// Different settings of the test for a finished comparison.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Adjust {
    /// Significance level.
    pub alpha: f64,
    /// Target power.
    pub target: f64,
    pub margin: f64,
    /// Number of items in the pilot, taken from the start of the order drawn by the seed; `None` for all.
    #[serde(default)]
    pub pilot: Option<usize>,
}

impl Adjust {
    /// The spec that would give this answer directly. A plan is only valid for its own level and margin.
    pub fn of(&self, spec: &Spec) -> Spec {
        let mut spec = spec.clone();
        let test = &mut spec.test;
        if (test.alpha, test.margin) != (self.alpha, self.margin) {
            spec.plan = None;
        }
        (test.alpha, test.target, test.margin) = (self.alpha, self.target, self.margin);
        spec
    }
}
