//! Figures of two runs of a lab, side by side.

use super::common_figures::{by_value, in_common};
use super::{EngineInfo, Results, Spec, by_id, share_examples};
use figure::Figure;

/// A run: its number, results and spec.
pub type Numbered<'a> = (usize, &'a Results, &'a Spec);

/// The figures that both runs have and whose lines or bars can be drawn together. `engine` is part of their provenance.
pub fn figures_of_both(
    (_, a, a_spec): Numbered<'_>,
    (_, b, b_spec): Numbered<'_>,
    engine: Option<&EngineInfo>,
) -> Vec<(Figure, Figure)> {
    let all = |results, spec: &Spec| by_id(spec.lab()).figures(results, engine);
    in_common(all(a, a_spec), all(b, b_spec), [a_spec.models(), b_spec.models()])
}

/// All values that two figures of these runs have in common, with differences and tests, as lines of at most `room` cells if possible.
pub fn values_of_both(
    (n, a, a_spec): Numbered<'_>,
    (m, b, b_spec): Numbered<'_>,
    (f, g): &(Figure, Figure),
    room: usize,
) -> Vec<String> {
    let numbers = |results, spec: &Spec| by_id(spec.lab()).numbers(results);
    let shared = share_examples(a_spec, b_spec);
    by_value((n, f, &numbers(a, a_spec)), (m, g, &numbers(b, b_spec)), shared, room)
}
