//! Comparison of a model with the results of a different implementation, given in `expected.*` files next to its weights.
//!
//! `expected.safetensors` with `expected.json` contain a padded batch with hidden states, attentions, logits, gradients, attributions and
//! edited passes. `expected.json` alone, with `cases`, contains rounded summaries of single texts.

mod attributions;
mod edits;
mod expected;
mod forward;
mod report;
mod rounded;
mod tokens;

use std::path::Path;

pub use self::report::{Report, Row, Verdict};

use self::expected::Expected;
use self::forward::Case;
use self::report::Table;
use super::error::Result;
use super::{Model, ModelError};
use base::Pulse;

/// Absolute tolerances; the float32 noise of the reference data is at least three times smaller.
mod tolerance {
    /// Hidden states, attentions and sentence vectors.
    pub(crate) const HIDDEN: f64 = 2e-5;
    pub(crate) const LOGITS: f64 = 1e-4;
    /// Softmax probabilities.
    pub(crate) const PROBABILITY: f64 = 1e-5;
    /// Gradients, relative to the largest gradient.
    pub(crate) const GRADIENT: f64 = 1e-4;
    /// Integrated gradients, relative to the largest score.
    pub(crate) const ATTRIBUTION: f64 = 1e-3;
    /// Difference between two passes of this program that must agree with each other.
    pub(crate) const SAME: f64 = 1e-6;
    /// Summaries rounded to five decimals.
    pub(crate) const ROUNDED: f64 = 2e-4;
}

/// Compares a model with the `expected.*` files in `dir`, calling `pulse` between passes.
///
/// # Errors
/// - [`ModelError::MissingFile`] if there are no expected values;
/// - [`ModelError::Expected`] for an entry that is missing, has the wrong shape or is out of range;
/// - [`ModelError::Cancelled`], and errors of a forward pass.
pub fn check(model: &Model, dir: &Path, pulse: &mut dyn Pulse) -> Result<Report> {
    let expected = Expected::open(dir)?;
    let mut table = Table::default();
    if expected.has_tensors() {
        Case::open(model, &expected)?.compare(&mut table, pulse)?;
    } else {
        rounded::compare(model, &expected, &mut table, pulse)?;
    }
    Ok(Report {
        model: model.name().to_owned(),
        hash: model.hash().to_owned(),
        device: model.device(),
        reference: expected.reference(),
        rows: table.into_rows(),
    })
}

#[cfg(test)]
mod tests;
