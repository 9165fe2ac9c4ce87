//! Figures of the lab.

use super::results::Results;
use crate::base::suggest::unknown;
use crate::figure::Figure;
use crate::lab::{Details, EngineInfo};

/// The figures that have names.
const FIGURES: [&str; 4] = ["heatmap", "f1-ratio", "map-ratio", "accuracy"];

/// Everything that there is to draw.
#[must_use]
pub fn all(_results: &Results, _engine: Option<&EngineInfo>) -> Vec<Figure> {
    Vec::new()
}

/// The figure of a name.
///
/// # Errors
/// A sentence that says what there is.
pub fn pick(
    name: &str,
    _details: &Details<'_>,
    _results: &Results,
    _engine: Option<&EngineInfo>,
) -> Result<Figure, String> {
    match FIGURES.contains(&name) {
        true => Err("the session has no points to draw".into()),
        false => Err(unknown("figure", name, &FIGURES)),
    }
}
