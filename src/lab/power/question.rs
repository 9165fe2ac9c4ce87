//! What can be asked while an experiment runs, and afterwards.

use serde::{Deserialize, Serialize};

/// A question to the lab.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "question", rename_all = "snake_case")]
pub enum Question {
    /// What would the comparison say under other terms, on fewer items?
    Adjust(Adjust),
}

/// Other terms for a comparison that has been made.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Adjust {
    /// Level of the test.
    pub alpha: f64,
    /// Wanted power.
    pub target: f64,
    /// Margin of equivalence.
    pub margin: f64,
    /// Items of the pilot, the first ones in the order drawn by the seed; none takes all.
    #[serde(default)]
    pub pilot: Option<usize>,
}
