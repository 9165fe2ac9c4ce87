//! Results with their provenance.

use serde::{Deserialize, Serialize};

use super::columns::Columns;
use super::finding::Head;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Tagged<T> {
    pub spec: String,
    pub model: String,
    pub seed: u64,
    pub n: usize,
    pub is_final: bool,
    pub t: f64,
    pub level: Option<f64>,
    pub value: T,
}

impl<T: Clone> Tagged<T> {
    pub fn new(finding: Head<'_>, value: &T) -> Self {
        Self {
            spec: finding.spec.to_owned(),
            model: finding.model.to_owned(),
            seed: finding.seed,
            n: finding.n,
            is_final: finding.r#final,
            t: finding.t,
            level: finding.level,
            value: value.clone(),
        }
    }
}

/// Replaces the entry that the finding supersedes, or appends the finding.
pub fn put<T: Columns + Clone>(list: &mut Vec<Tagged<T>>, finding: Head<'_>, value: &T) {
    replace(list, Tagged::new(finding, value), |a, b| a.model == b.model && a.value.same(&b.value));
}

/// Replaces the entry with the same identity, or appends `new`.
pub fn replace<T>(list: &mut Vec<T>, new: T, same: impl Fn(&T, &T) -> bool) {
    match list.iter_mut().find(|old| same(old, &new)) {
        Some(old) => *old = new,
        None => list.push(new),
    }
}
