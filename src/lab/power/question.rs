//! Questions during an experiment, and afterwards.

use serde::{Deserialize, Serialize};

use super::spec::Spec;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "question", rename_all = "snake_case")]
pub enum Question {
    /// The comparison under other terms, or on fewer items.
    Adjust(Adjust),
}

/// Other terms for a finished comparison.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Adjust {
    /// Level of the test.
    pub alpha: f64,
    /// Wanted power.
    pub target: f64,
    /// Margin of equivalence.
    pub margin: f64,
    /// Items of the pilot, the first ones in the order drawn by the seed; `None` means all.
    #[serde(default)]
    pub pilot: Option<usize>,
}

impl Adjust {
    /// The spec that asks this about the comparison of another spec. A plan is only valid for the level and the margin
    /// with which it was made.
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
