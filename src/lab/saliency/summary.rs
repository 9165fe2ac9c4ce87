//! What a run found, in plain words.

use super::results::Results;

/// The lines.
#[must_use]
pub fn lines(results: &Results) -> Vec<String> {
    let asked = results
        .data
        .iter()
        .map(|d| format!("{} originals and {} perturbed partners", d.value.originals, d.value.perturbed));
    asked.collect()
}
