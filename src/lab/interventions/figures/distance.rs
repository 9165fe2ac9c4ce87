//! Distance of one method's states from real ones, by strength.

use super::{axis, layer, parameter, properties, scale_of, written_out};
use crate::distance::DistanceFinding;
use crate::key::MethodKey;
use crate::results::Results;
use figure::layers::{Datum, Intervals, Line, Rule, counted, grouped};
use figure::{Axis, Figure, Layer, Role};
use lab::{EngineInfo, Origin, Tagged};
use model::source::in_print;
use stats::Estimate;

/// Distances from real states, relative to those of the unedited states, against the strength of one method in one model. `None` if nothing
/// was measured.
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
    layers.push(Layer::Rule(Rule::level(1.0, "unedited").in_legend()));
    let mut origin = Origin::default();
    properties(results, model).into_iter().for_each(|(key, value)| origin.add(&key, value));
    let n = counted(points.iter().map(|d| d.n), "edited states").unwrap_or_default();
    origin.add("n", format!("{n}, compared with {} real states", grouped(first.value.real_states)));
    written_out([method.name.as_str()].into_iter()).into_iter().for_each(|(key, text)| origin.add(&key, text));
    origin.results(first, points.iter().all(|p| p.is_final), ", Student's t over examples, one training run");
    scale_of(results, model, &first.value.parameter).into_iter().for_each(|(key, text)| origin.add(&key, text));
    origin.explain([
        (
            "distance, relative to unedited states",
            "a distance after the edit divided by the same distance before it; 1 is no change",
        ),
        ("real states", "hidden states of unedited sentences"),
        ("nearest", "Euclidean distance to the nearest real state"),
        ("Mahalanobis", "distance from the mean of the real states in units of their covariance"),
        ("norm", "length of the state"),
        ("counterpart", "Euclidean distance to the state of the same sentence with the other value of the property"),
    ]);
    origin.add("model", model);
    Some(Figure {
        name: format!("distance-{short}-{}", method.file_name()),
        title: format!(
            "Distance from real states: {}, {short}, {}",
            method.title(),
            layer(results, model, first.value.layer)
        ),
        x: axis(&method.name, parameter(&first.value.parameter).1),
        y: around_one(&layers),
        layers,
        provenance: origin.computed_by(engine),
    })
}

/// A logarithmic axis around the data, with a labelled tick below 1. Round ends would leave much of it empty.
fn around_one(layers: &[Layer]) -> Axis {
    let lines = layers.iter().filter_map(|l| if let Layer::Line(line) = l { Some(line) } else { None });
    let ends = lines.flat_map(|l| &l.points).filter_map(|p| p.band).filter(|(lo, hi)| *lo > 0.0 && hi.is_finite());
    let (lo, hi) = ends.fold((1.0f64, 1.0f64), |(a, b), (lo, hi)| (a.min(lo), b.max(hi)));
    const AIR: f64 = 1.15;
    Axis::log("distance, relative to unedited states").from_to((lo / AIR).min(0.5), AIR * hi.max(2.0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use figure::axis::{Fitted, Room};

    /// Regression: states at .85 of the unedited distance used to be drawn on an axis whose lowest label was 1.
    #[test]
    fn axis_is_labelled_on_both_sides_of_one() {
        let point = |y: f64| Datum { x: 1.0, y, band: Some((y, y)), ..Datum::default() };
        let line = Line { label: String::new(), role: Role::line(0), points: [0.85, 8.0].map(point).to_vec() };
        let axis = around_one(&[Layer::Line(line)]);
        assert!(axis.range.is_some_and(|(from, to)| from == 0.5 && (to - 9.2).abs() < 1e-9), "{:?}", axis.range);
        let room = Room { length: 200.0, gap: 4.0, terse: false, measure: &|_| 11.0 };
        let ticks = Fitted::new(&axis, [], true).ticks(&room);
        assert!(ticks.iter().any(|t| t.value < 1.0 && !t.label.is_empty()), "{ticks:?}");
    }

    /// Regression: an axis for distances from .45 used to begin at .2, and a third of it was empty.
    #[test]
    fn axis_begins_just_below_the_data() {
        let point = |y: f64| Datum { x: 1.0, y, band: Some((y, y)), ..Datum::default() };
        let line = Line { label: String::new(), role: Role::line(0), points: [0.45, 2.2].map(point).to_vec() };
        let axis = around_one(&[Layer::Line(line)]);
        assert!(axis.range.is_some_and(|(from, _)| from > 0.38 && from < 0.45), "{:?}", axis.range);
    }
}
