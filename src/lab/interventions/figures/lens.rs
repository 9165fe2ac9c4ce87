//! The logit lens by layer, next to a linear oracle.

use crate::lens::LensFinding;
use crate::results::Results;
use figure::layers::{Datum, Intervals, Line, Rule};
use figure::{Axis, Figure, Layer, Role};
use lab::{EngineInfo, Origin, Tagged};
use model::source::in_print;
use stats::estimate::Estimate;

/// A line of the figure.
type Reading = fn(&LensFinding) -> Estimate;

/// Share of examples that the model's own head and a linear oracle read correctly from each layer. `None` without a lens.
pub fn lens(results: &Results, engine: Option<&EngineInfo>, model: &str) -> Option<Figure> {
    let mut points: Vec<&Tagged<LensFinding>> = results.lens.iter().filter(|l| l.model == model).collect();
    points.sort_by_key(|l| l.value.layer);
    let first = *points.first()?;
    let series: [(&str, Reading); 2] =
        [("the model's own head (logit lens)", |l| l.head), ("a linear oracle", |l| l.oracle)];
    let line = |(k, (label, of)): (usize, (&str, Reading))| {
        let point = |l: &&Tagged<LensFinding>| {
            let (x, y) = (l.value.layer as f64, of(&l.value));
            Datum { x, y: y.mean, band: Some((y.lo, y.hi)), n: l.n.into(), ..Datum::default() }
        };
        Layer::Line(Line { label: label.into(), role: Role::nth(k), points: points.iter().map(point).collect() })
    };
    let mut layers: Vec<Layer> = series.into_iter().enumerate().map(line).collect();
    layers.extend(first.level.map(|level| Layer::Intervals(Intervals::covering(level, "examples"))));
    layers.push(Layer::Rule(Rule::level(first.value.majority, "majority")));
    let mut origin = Origin::default();
    origin.add("n", first.n.to_string());
    origin.results(first, true, "");
    origin.add("model", model);
    let short = in_print(model);
    let figure = Figure {
        name: format!("lens-{short}"),
        title: format!("Share of examples classified correctly at each layer of {short}"),
        x: Axis::linear("layer").in_whole_numbers(),
        y: Axis::linear("share of test examples").from_to(0.0, 1.0),
        layers,
        provenance: origin.computed_by(engine),
    };
    Some(figure.with_terms(&[("oracle", "a probe trained on the same states")]))
}
