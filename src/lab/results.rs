//! What the results of all labs have in common: their provenance, and how one lab's are found among all.

use serde::{Deserialize, Serialize};

use super::finding::Finding;
use super::{LabId, Results};

/// A result with its provenance.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Tagged<T> {
    /// Hash of the spec.
    pub spec: String,
    /// Name of the model.
    pub model: String,
    /// Seed of the run.
    pub seed: u64,
    /// Examples behind it.
    pub n: usize,
    /// False while it is still being refined.
    pub is_final: bool,
    /// Seconds since the run began.
    pub t: f64,
    /// Level of the intervals.
    pub level: Option<f64>,
    /// The result.
    pub value: T,
}

impl<T: Clone> Tagged<T> {
    /// A result with the provenance of its finding.
    #[must_use]
    pub fn new(finding: &Finding, value: &T) -> Self {
        Self {
            spec: finding.spec.clone(),
            model: finding.model.clone(),
            seed: finding.seed,
            n: finding.n,
            is_final: finding.r#final,
            t: finding.t,
            level: finding.level,
            value: value.clone(),
        }
    }
}

/// The results of one lab.
pub trait LabResults: Sized + 'static {
    /// The lab.
    const LAB: LabId;
    /// These results among those of all labs, where they are this lab's.
    fn within(all: &Results) -> Option<&Self>;
    /// Those of a lab that has not run.
    fn none() -> &'static Self;
}

/// Puts `new` in the place of the entry that is the same thing, or at the end.
pub fn replace<T>(list: &mut Vec<T>, new: T, same: impl Fn(&T, &T) -> bool) {
    match list.iter_mut().find(|old| same(old, &new)) {
        Some(old) => *old = new,
        None => list.push(new),
    }
}
