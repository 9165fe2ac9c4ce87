//! Distance of one method's states from real ones, against its strength.

use super::{axis, parameter};
use crate::distance::DistanceFinding;
use crate::key::MethodKey;
use crate::results::Results;
use figure::layers::{Datum, Intervals, Line, Rule};
use figure::{Axis, Figure, Layer, Role};
use lab::{EngineInfo, Origin, Tagged};
use model::source::in_print;
use stats::Estimate;

/// Distances from real states in units of the unchanged states' own, against the strength of one method in one model. None
/// where nothing was measured.
pub fn distance(results: &Results, engine: Option<&EngineInfo>, model: &str, method: &MethodKey) -> Option<Figure> {
    let mine = results.distances.iter().filter(|d| d.model == model && d.value.method_key() == *method);
    let mut points: Vec<&Tagged<DistanceFinding>> = mine.collect();
    points.sort_by(|a, b| a.value.value.total_cmp(&b.value.value));
    let first = *points.first()?;
    let short = in_print(model);
    let series = first.value.relative();
    let line = |(k, (name, _)): (usize, &(&'static str, Estimate))| {
        let point = |d: &&Tagged<DistanceFinding>| {
            let (_, e) = *d.value.relative().get(k)?;
            let band = Some((e.lo, e.hi));
            Some(Datum { x: d.value.value, y: e.mean, band, n: d.n.into(), ..Datum::default() })
        };
        let points = points.iter().filter_map(point).collect();
        Layer::Line(Line { label: (*name).to_owned(), role: Role::nth(k), points })
    };
    let mut layers: Vec<Layer> = series.iter().enumerate().map(line).collect();
    layers.extend(first.level.map(|level| Layer::Intervals(Intervals::covering(level, "examples"))));
    layers.push(Layer::Rule(Rule::level(1.0, "unchanged")));
    let mut origin = Origin::default();
    origin.add("n", format!("{} (held against {} real states)", first.n, first.value.real_states));
    origin.results(first, points.iter().all(|p| p.is_final), ", bootstrap over examples, one training");
    origin.add("model", model);
    Some(Figure {
        name: format!("distance-{short}-{}", method.file_name()),
        title: format!("Distance from real states: {}, {short}, layer {}", method.title(), first.value.layer),
        x: axis(&method.name, parameter(&first.value.parameter).1),
        y: Axis::log("distance (1: unchanged states)"),
        layers,
        provenance: origin.computed_by(engine),
    })
}
